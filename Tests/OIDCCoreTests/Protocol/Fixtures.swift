import Testing

@testable import OIDCCore

/// What every table here starts from; nothing of it touches a network, a clock or a random source.
enum Fixture {
    static func context(_ transport: some HTTPTransport) -> OIDCContext {
        OIDCContext(
            transport: transport, now: { now },
            random: { count in (0..<count).map { _ in UInt8.random(in: 0...255) } })
    }

    static let now = Instant(secondsSinceEpoch: 1_800_000_000)
    static let issuer = "https://op.example"

    /// Bytes that differ from call to call, and are the same in every run.
    static func random() -> (Int) -> [UInt8] {
        var next: UInt8 = 0
        return { count in
            (0..<count).map { _ in
                next &+= 1
                return next
            }
        }
    }

    static func url(_ text: String) throws -> WebURL {
        try #require(WebURL(text))
    }

    static func object(_ text: String) throws -> JSONObject {
        try #require(try JSONValue(parsing: text).object)
    }

    static func metadata(_ changes: [String: JSONValue?] = [:]) throws -> ProviderMetadata {
        try ProviderMetadata(document: document(changes), expectedIssuer: issuer)
    }

    /// A provider that offers everything; `nil` removes a member.
    static func document(_ changes: [String: JSONValue?] = [:]) throws -> JSONObject {
        var document = try object(
            """
            {"issuer":"https://op.example","authorization_endpoint":"https://op.example/authorize",
            "token_endpoint":"https://op.example/token","userinfo_endpoint":"https://op.example/userinfo",
            "jwks_uri":"https://op.example/jwks",
            "device_authorization_endpoint":"https://op.example/device",
            "pushed_authorization_request_endpoint":"https://op.example/par",
            "revocation_endpoint":"https://op.example/revoke",
            "introspection_endpoint":"https://op.example/introspect",
            "end_session_endpoint":"https://op.example/logout",
            "registration_endpoint":"https://op.example/register",
            "response_types_supported":["code"],"code_challenge_methods_supported":["S256"],
            "authorization_response_iss_parameter_supported":true}
            """)
        for (name, value) in changes { document[name] = value }
        return document
    }

    static func json(_ text: String, status: Int = 200, _ headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/json")] + headers),
            body: Array(text.utf8))
    }

    /// A refusal with the cause that its message is rendered from.
    static func refused(_ message: String, _ stage: Stage) -> OIDCError {
        let cause = SampleProvider.cause(String(message.dropFirst(stage.title.utf8.count + 2)))
        return OIDCError(.refused, message, stage: stage, cause: cause)
    }

    static func html(status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "text/html; charset=utf-8")]),
            body: Array("<html><body>Sign in</body></html>".utf8))
    }

    static func request(redirectURI: String = "http://127.0.0.1:8400/callback") -> AuthorizationRequest {
        AuthorizationRequest(
            client: Client(id: "cli"), redirectURI: redirectURI, scope: Scope("openid profile"))
    }

    static func pending(
        _ changes: [String: JSONValue?] = [:], prompt: String? = nil
    ) throws -> PendingAuthorization {
        var request = request()
        request.prompt = prompt
        return try request.begin(metadata(changes), random: random())
    }

    static func error(_ body: () throws -> some Any) -> OIDCError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? OIDCError
        }
    }
}

extension HTTPRequest {
    var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The form in the body.
    var form: [FormEncoding.Pair] { FormEncoding.decode(bodyText) ?? [] }

    func value(_ name: String) -> String? {
        let values = form.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }
}

extension WebURL {
    var pairs: [FormEncoding.Pair] { FormEncoding.decode(query ?? "") ?? [] }

    func value(_ name: String) -> String? {
        let values = pairs.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }
}

/// Answers from a list, and keeps what it was asked.
final class ScriptedTransport: HTTPTransport, @unchecked Sendable {
    // Used by one test on one thread.
    private(set) var requests: [HTTPRequest] = []
    private var answers: [Result<HTTPResponse, OIDCError>]

    init(_ answers: [Result<HTTPResponse, OIDCError>]) {
        self.answers = answers
    }

    convenience init(_ answers: HTTPResponse...) {
        self.init(answers.map { .success($0) })
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        requests.append(request)
        guard !answers.isEmpty else { throw OIDCError(.failed, "the test has no further answer") }
        return try answers.removeFirst().get()
    }
}

extension JSONObject {
    init(_ members: [(String, JSONValue)]) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
