import OIDCCore

/// A row of the table of endpoints: the path and methods of its requests, and the function that answers them.
struct Handler: Sendable {
    typealias Answer = @Sendable (inout DemoProvider, Call) throws(Refusal) -> HTTPResponse

    /// The path below the issuer's path. The sample API and the protected resource also answer everything
    /// below their own.
    let path: String
    /// The accepted methods; others are refused (RFC 9110 §15.5.6). Nil accepts any.
    let methods: [HTTPMethod]?
    /// The server whose DPoP nonces the responses carry.
    private let nonces: NonceRealm?
    /// Whether a refusal becomes a page for a browser, not a JSON object (RFC 6749 §5.2).
    private let isPage: Bool
    private let answer: Answer

    init(
        _ path: String, _ methods: [HTTPMethod]?, nonces: NonceRealm? = nil, isPage: Bool = false,
        _ answer: @escaping Answer
    ) {
        self.path = path
        self.methods = methods
        self.nonces = nonces
        self.isPage = isPage
        self.answer = answer
    }

    func response(to call: Call, by provider: inout DemoProvider) -> HTTPResponse {
        let response: HTTPResponse
        do {
            response = try answer(&provider, call)
        } catch {
            response = isPage ? provider.errorPage(error) : error.response
        }
        return nonces.map { provider.withNonce(response, $0, call) } ?? response
    }
}
