import DemoProvider
import OIDCCore
import TestSupport
import Testing

/// A provider, a clock and a browser in memory, with the requests that tests repeat.
struct DemoWorld {
    /// RFC 7636 appendix B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let redirect = "http://127.0.0.1:8765/callback"

    var provider: FaultyProvider
    var now = Instant(secondsSinceEpoch: 1_800_000_000)
    var browser = BrowserStandIn()

    init(
        issuer: String = "http://127.0.0.1:9480", faults: Set<Fault> = [],
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = DemoConfiguration()
        configuration.signingKeys = try SampleKeys.signing
        change(&configuration)
        provider = try FaultyProvider(
            issuer: try #require(WebURL(issuer)), configuration: configuration, faults: faults)
    }

    mutating func send(_ request: HTTPRequest) -> HTTPResponse { provider.handle(request, at: now) }

    func url(_ path: String) throws -> WebURL {
        try #require(WebURL("\(provider.issuer.text)\(path)"))
    }

    mutating func get(_ path: String, headers: [(String, String)] = []) throws -> HTTPResponse {
        send(HTTPRequest(.get, try url(path), headers: HTTPHeaders(headers)))
    }

    mutating func post(
        _ path: String, _ pairs: [(String, String)], headers: [(String, String)] = []
    ) throws -> HTTPResponse {
        var request = HTTPRequest.form(try url(path), pairs.map { FormEncoding.Pair($0.0, $0.1) })
        for (name, value) in headers { request.headers.append(name, value) }
        return send(request)
    }

    func authorizePairs(_ changes: [String: String?] = [:]) -> [FormEncoding.Pair] {
        var values: [String: String?] = [
            "response_type": "code", "client_id": "demo", "redirect_uri": DemoWorld.redirect,
            "scope": "openid profile email offline_access", "state": "state-1", "nonce": "nonce-1",
            "code_challenge": DemoWorld.challenge, "code_challenge_method": "S256",
        ]
        values.merge(changes) { $1 }
        return values.compactMap { name, value in value.map { FormEncoding.Pair(name, $0) } }
    }

    func authorizeURL(_ changes: [String: String?] = [:]) throws -> WebURL {
        try url("/authorize").appendingQuery(authorizePairs(changes))
    }

    /// Lets the browser go on until it would leave the provider, or stays on a page.
    mutating func browse(_ url: WebURL) -> (request: HTTPRequest?, page: HTTPResponse) {
        var request = browser.open(url)
        while true {
            let response = send(request)
            guard let next = browser.next(after: response, to: request) else { return (nil, response) }
            if next.url.origin != provider.issuer.origin { return (next, response) }
            request = next
        }
    }

    /// Returns the parameters that reach the client's redirect URI.
    mutating func callback(_ changes: [String: String?] = [:]) throws -> [String: String] {
        let address = try authorizeURL(changes)
        let request = try #require(browse(address).request)
        let text = request.method == .post ? String(decoding: request.body, as: UTF8.self) : request.url.query
        let pairs = try #require(FormEncoding.decode(text ?? ""))
        return Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
    }

    mutating func redeem(_ code: String, _ changes: [String: String?] = [:]) throws -> HTTPResponse {
        var values: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": DemoWorld.redirect,
            "client_id": "demo", "code_verifier": DemoWorld.verifier,
        ]
        values.merge(changes) { $1 }
        return try post("/token", values.compactMap { name, value in value.map { (name, $0) } })
    }

    /// A whole sign-in.
    mutating func signIn(_ changes: [String: String?] = [:]) throws -> JSONValue {
        let response = try redeem(try #require(callback(changes)["code"]))
        try #require(response.status == 200, "\(response.text)")
        return try response.json()
    }

    mutating func refresh(_ token: String, _ more: [(String, String)] = []) throws -> HTTPResponse {
        try post(
            "/token",
            [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "demo")] + more)
    }

    mutating func userInfo(_ token: String) throws -> HTTPResponse {
        try get("/userinfo", headers: [("Authorization", "Bearer \(token)")])
    }

    mutating func keys() throws -> JWKSet { try JWKSet(parsing: try get("/jwks").body) }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The `error` of an OAuth answer.
    var oauthError: String? { (try? json())?["error"]?.string }
}

extension JSONValue {
    func text(_ name: String) throws -> String { try #require(self[name]?.string) }
}
