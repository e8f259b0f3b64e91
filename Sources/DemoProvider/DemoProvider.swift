public import OIDCCore
public import OIDCCrypto

/// An OpenID provider as a value: a request and the time give an answer and the next state.
///
/// No I/O, no clock; its randomness is passed in. It checks for real what a provider must check, and breaks
/// the rules that `faults` name.
public struct DemoProvider: Sendable {
    public let issuer: WebURL
    public var configuration: DemoConfiguration
    /// What it does wrong on purpose; may change while it runs.
    public var faults: Set<Fault>
    /// The latest requests, oldest first, each with the endpoint that answered it.
    public private(set) var log: [(endpoint: Endpoint, request: HTTPRequest)] = []

    let random: @Sendable (Int) -> [UInt8]
    var keys: SigningKeys
    var state = State()
    private var counts: [Endpoint: Int] = [:]
    private var grantCounts: [String: Int] = [:]
    private var limits: [Fault: Int] = [:]
    private var requestsUntilSweep = 500
    private static let logLimit = 500
    private static let loggedBodyLimit = 65_536

    public init(
        issuer: WebURL, configuration: DemoConfiguration = DemoConfiguration(), faults: Set<Fault> = [],
        random: @escaping @Sendable (Int) -> [UInt8] = { Random.bytes($0) }
    ) throws(CryptoError) {
        self.issuer = issuer
        self.configuration = configuration
        self.faults = faults
        self.random = random
        keys = try SigningKeys(configuration)
        for client in configuration.clients { state.clients[client.id] = client }
    }

    /// The answer to a request, whose path alone says where it was sent: what stands before a TLS
    /// terminator, or a name in `Host`, does not matter.
    public mutating func handle(_ request: HTTPRequest, at time: Instant) -> HTTPResponse {
        let now = time.adding(configuration.clockOffset)
        let (endpoint, path, wasMoved) = route(request.url.path)
        let call = Call(request: request, endpoint: endpoint, path: path, now: now)
        record(call)
        var response: HTTPResponse
        if !wasMoved, let fault = answerFault(endpoint), let broken = faultyAnswer(fault, call) {
            response = broken
        } else {
            response = answer(call)
        }
        response.headers["Date"] = HTTPDate.text(now)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }

    /// Requests that an endpoint has had.
    public func requestCount(_ endpoint: Endpoint) -> Int { counts[endpoint] ?? 0 }

    /// Requests that the token endpoint has had with that `grant_type`.
    public func requestCount(grant: String) -> Int { grantCounts[grant] ?? 0 }

    public func requests(to endpoint: Endpoint) -> [HTTPRequest] {
        log.filter { $0.endpoint == endpoint }.map(\.request)
    }

    public mutating func resetCounts() {
        counts = [:]
        grantCounts = [:]
        log = []
    }

    /// A fault that ends by itself after so many answers; only for faults of `Fault.answer`.
    public mutating func inject(_ fault: Fault, times: Int) {
        faults.insert(fault)
        limits[fault] = times
    }

    func has(_ fault: Fault) -> Bool { faults.contains(fault) }

    /// Random text that no one guesses: 192 bits.
    func secret() -> String { Base64URL.encode(random(24)) }

    mutating func countGrant(_ type: String) { grantCounts[type, default: 0] += 1 }

    private mutating func answerFault(_ endpoint: Endpoint) -> Fault? {
        guard let fault = faults.first(where: { $0.answering == endpoint }) else { return nil }
        guard let left = limits[fault] else { return fault }
        limits[fault] = left - 1
        if left <= 1 {
            faults.remove(fault)
            limits[fault] = nil
        }
        return left > 0 ? fault : nil
    }

    private mutating func record(_ call: Call) {
        counts[call.endpoint, default: 0] += 1
        var request = call.request
        request.body = Array(request.body.prefix(DemoProvider.loggedBodyLimit))
        log.append((call.endpoint, request))
        if log.count > DemoProvider.logLimit { log.removeFirst(log.count - DemoProvider.logLimit) }
        requestsUntilSweep -= 1
        guard requestsUntilSweep == 0 else { return }
        requestsUntilSweep = 500
        state.sweep(at: call.now)
    }
}
