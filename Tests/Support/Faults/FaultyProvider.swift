package import DemoProvider
package import OIDCCore
package import OIDCCrypto

/// The demo provider with faults: it works as specified, and its answers are changed on their way out.
///
/// It also keeps the requests that it had, which tests count.
package struct FaultyProvider: Sendable {
    /// What it does wrong on purpose; may change while it runs.
    package var faults: Set<Fault>
    /// Where the redirects and endpoints of faults lead.
    package var foreignOrigin = "https://other.example"
    /// The latest requests, oldest first, each with the endpoint that answered it.
    package private(set) var log: [(endpoint: Endpoint, request: HTTPRequest)] = []

    var demo: DemoProvider
    /// The redirect URLs of the clients that registered themselves.
    var registeredRedirects: [String: [String]] = [:]
    private var counts: [Endpoint: Int] = [:]
    private var grantCounts: [String: Int] = [:]
    private var limits: [Fault: Int] = [:]
    private static let logLimit = 500
    private static let loggedBodyLimit = 65_536

    package init(
        issuer: WebURL, configuration: DemoConfiguration = DemoConfiguration(), faults: Set<Fault> = [],
        random: @escaping @Sendable (Int) -> [UInt8] = { Random.bytes($0) }
    ) throws(CryptoError) {
        demo = try DemoProvider(issuer: issuer, configuration: configuration, random: random)
        demo.addTestGrants()
        self.faults = faults
    }

    package var issuer: WebURL { demo.issuer }

    package var configuration: DemoConfiguration {
        get { demo.configuration }
        set { demo.configuration = newValue }
    }

    /// Replaces the signing keys; tokens signed by the ones before still verify.
    package mutating func rotateKeys() throws(CryptoError) { try demo.rotateKeys() }

    /// Answers a request as `DemoProvider` does, with the active faults.
    package mutating func handle(_ request: HTTPRequest, at time: Instant) -> HTTPResponse {
        let call = FaultyCall(request, demo, at: time)
        record(call)
        guard !call.wasMoved, let fault = answerFault(call.endpoint) else { return answer(call) }
        guard let broken = brokenAnswer(fault, call) else { return answer(call) }
        return demo.stamped(broken, at: time)
    }

    /// The requests that an endpoint has had.
    package func requestCount(_ endpoint: Endpoint) -> Int { counts[endpoint] ?? 0 }

    /// The requests with that `grant_type` that reached the token endpoint, without those a fault answered whole.
    package func requestCount(grant: String) -> Int { grantCounts[grant] ?? 0 }

    package func requests(to endpoint: Endpoint) -> [HTTPRequest] {
        log.filter { $0.endpoint == endpoint }.map(\.request)
    }

    package mutating func resetCounts() {
        counts = [:]
        grantCounts = [:]
        log = []
    }

    /// Adds a fault that ends after that many answers; only for faults of a whole answer.
    package mutating func inject(_ fault: Fault, times: Int) {
        faults.insert(fault)
        limits[fault] = times
    }

    func has(_ fault: Fault) -> Bool { faults.contains(fault) }

    /// The demo's answer with the faults that concern its endpoint.
    mutating func answer(_ call: FaultyCall) -> HTTPResponse {
        if let grant = call.grant { grantCounts[grant, default: 0] += 1 }
        if let refusal = demandingProof(call) { return demo.stamped(refusal, at: call.time) }
        if call.endpoint == .token, has(.keys(.rotationBeforeSigning)) { try? rotateKeys() }
        if let answer = faultyAuthorizationError(call) { return answer }
        if let refusal = registrationRefusal(call) { return demo.stamped(refusal, at: call.time) }
        let response = demo.handle(call.request, at: call.time)
        noteRegistration(call, response)
        guard !faults.isEmpty else { return response }
        switch call.endpoint {
        case .discovery: return changedMetadata(response)
        case .jwks: return changedKeySet(response)
        case .authorize, .login, .consent: return changedAuthorization(response)
        case .token: return changedProofDemand(changedTokens(response, call))
        case .device: return changedDevice(response)
        case .userinfo: return changedProofDemand(changedUserInfo(response, call))
        case .pushedAuthorization, .resource: return changedProofDemand(response)
        case .endSession: return changedEndSession(response)
        default: return response
        }
    }

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

    private mutating func record(_ call: FaultyCall) {
        counts[call.endpoint, default: 0] += 1
        var request = call.request
        request.body = Array(request.body.prefix(FaultyProvider.loggedBodyLimit))
        log.append((call.endpoint, request))
        if log.count > FaultyProvider.logLimit { log.removeFirst(log.count - FaultyProvider.logLimit) }
    }
}

/// A request with what the faults look at.
struct FaultyCall {
    /// As the demo gets it, without the `/moved` of a redirect within the origin.
    let request: HTTPRequest
    let endpoint: Endpoint
    /// The endpoint's path, below the issuer's own.
    let path: String
    let wasMoved: Bool
    let time: Instant

    init(_ request: HTTPRequest, _ demo: DemoProvider, at time: Instant) {
        var request = request
        let moved = "\(demo.address("/moved"))/"
        let text = request.url.text
        wasMoved = text.hasPrefix(moved)
        if wasMoved, let url = WebURL("\(demo.address("/"))\(text.dropFirst(moved.count))") {
            request.url = url
        }
        self.request = request
        (endpoint, path) = demo.route(request.url.path)
        self.time = time
    }

    /// The `grant_type` of a token request.
    var grant: String? {
        guard endpoint == .token, request.method == .post else { return nil }
        let pairs = FormEncoding.decode(String(decoding: request.body, as: UTF8.self))
        return pairs?.first { $0.name == "grant_type" }?.value
            ?? (try? JSONValue(parsing: request.body))?["grant_type"]?.string
    }

    var isRefresh: Bool { grant == "refresh_token" }
}

extension HTTPResponse {
    /// The object of an answer with status 200; nil for anything else.
    var successObject: JSONObject? {
        status == 200 ? (try? JSONValue(parsing: body))?.object : nil
    }

    /// The same answer with another body.
    func with(_ object: JSONObject) -> HTTPResponse {
        var response = self
        response.body = JSONValue.object(object).bytes
        return response
    }

    /// Adds text before the closing brace of a JSON object.
    mutating func appendMember(_ text: String) {
        body = body.dropLast() + Array(",\(text)}".utf8)
    }

    static func refusal(
        _ code: String, _ description: String, status: Int = 400, headers: [(String, String)] = []
    ) -> HTTPResponse {
        let body: JSONValue = ["error": .string(code), "error_description": .string(description)]
        return HTTPResponse(
            status: status,
            headers: HTTPHeaders(
                [("Content-Type", "application/json"), ("Cache-Control", "no-store")] + headers),
            body: body.bytes)
    }
}
