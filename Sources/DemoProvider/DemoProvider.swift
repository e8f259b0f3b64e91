package import OIDCCore
package import OIDCCrypto

/// An OpenID provider as a value: a request and the time give an answer and the next state.
///
/// It does no I/O and reads no clock; randomness is passed in. It performs all checks that a provider must
/// perform.
package struct DemoProvider: Sendable {
    package let issuer: WebURL
    package var configuration: DemoConfiguration
    /// The grant types of the token endpoint.
    package var grantHandlers = GrantHandler.standard

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
        for (url, document) in configuration.clientDocuments {
            if let client = DemoClient(document: document, at: url) { state.clients[url] = client }
        }
    }

    /// Answers a request. Only its path selects the endpoint; the `Host` and the TLS terminator's name are
    /// ignored.
    package mutating func handle(_ request: HTTPRequest, at time: Instant) -> HTTPResponse {
        let now = time.adding(configuration.clockOffset)
        let (endpoint, path) = route(request.url.path)
        sweepNowAndThen(now)
        return stamped(answer(Call(request: request, endpoint: endpoint, path: path, now: now)), at: time)
    }

    /// Adds the headers that every answer has; tests also use it for their own answers.
    package func stamped(_ response: HTTPResponse, at time: Instant) -> HTTPResponse {
        var response = response
        response.headers["Date"] = HTTPDate.text(time.adding(configuration.clockOffset))
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }

    /// Returns a random string of 192 bits.
    package func secret() -> String { Base64URL.encode(random(24)) }

    private mutating func sweepNowAndThen(_ now: Instant) {
        requestsUntilSweep -= 1
        guard requestsUntilSweep == 0 else { return }
        requestsUntilSweep = 500
        state.sweep(at: now)
    }
}
