package import OIDCCore
package import OIDCCrypto

/// An OpenID provider as a value: a request and the time give an answer and the next state.
///
/// No I/O, no clock; its randomness is passed in. It checks for real what a provider must check.
package struct DemoProvider: Sendable {
    package let issuer: WebURL
    package var configuration: DemoConfiguration

    let random: @Sendable (Int) -> [UInt8]
    var keys: SigningKeys
    var state = State()
    private var requestsUntilSweep = 500

    package init(
        issuer: WebURL, configuration: DemoConfiguration = DemoConfiguration(),
        random: @escaping @Sendable (Int) -> [UInt8] = { Random.bytes($0) }
    ) throws(CryptoError) {
        self.issuer = issuer
        self.configuration = configuration
        self.random = random
        keys = try SigningKeys(configuration)
        for client in configuration.clients { state.clients[client.id] = client }
    }

    /// The answer to a request, whose path alone says where it was sent: what stands before a TLS
    /// terminator, or a name in `Host`, does not matter.
    package mutating func handle(_ request: HTTPRequest, at time: Instant) -> HTTPResponse {
        let now = time.adding(configuration.clockOffset)
        let (endpoint, path) = route(request.url.path)
        sweepNowAndThen(now)
        return stamped(answer(Call(request: request, endpoint: endpoint, path: path, now: now)), at: time)
    }

    /// Adds the headers that every answer has; the tests use it for answers that they put instead of ours.
    package func stamped(_ response: HTTPResponse, at time: Instant) -> HTTPResponse {
        var response = response
        response.headers["Date"] = HTTPDate.text(time.adding(configuration.clockOffset))
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }

    /// Random text that no one guesses: 192 bits.
    func secret() -> String { Base64URL.encode(random(24)) }

    private mutating func sweepNowAndThen(_ now: Instant) {
        requestsUntilSweep -= 1
        guard requestsUntilSweep == 0 else { return }
        requestsUntilSweep = 500
        state.sweep(at: now)
    }
}
