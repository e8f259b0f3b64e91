import OIDCCrypto
import Testing

@testable import OIDCCore

@Suite("Identity assertions for a resource's authorization server (ID-JAG)")
struct IdentityAssertionFlowTests {
    private static let issuer = "https://as.example"
    private static let resource = "https://mcp.example.com/mcp"
    private static let jag = "urn:ietf:params:oauth:token-type:id-jag"

    private static func token(
        _ changes: [String: JSONValue?] = [:], type: JSONValue? = "oauth-id-jag+jwt",
        algorithm: JSONValue = "ES256"
    ) -> String {
        var claims = JSONObject([
            ("iss", "https://idp.example"), ("sub", "alice"), ("aud", .string(issuer)),
            ("client_id", "at-server"),
            ("resource", .string(resource)), ("exp", JSONValue(Fixture.now.secondsSinceEpoch + 300)),
        ])
        for (name, value) in changes { claims[name] = value }
        var header = JSONObject([("alg", algorithm)])
        header["typ"] = type
        let parts = [JSONValue.object(header).bytes, JSONValue.object(claims).bytes, [1, 2, 3]]
        return parts.map { Base64URL.encode($0) }.joined(separator: ".")
    }

    private static func answer(
        _ assertion: String, issued: String? = jag, type: String = "N_A"
    ) -> HTTPResponse {
        let member = issued.map { #","issued_token_type":"\#($0)""# } ?? ""
        return Fixture.json(
            #"{"access_token":"\#(assertion)","token_type":"\#(type)","expires_in":300\#(member)}"#)
    }

    private func issue(
        _ transport: ScriptedTransport,
        _ subject: IdentityAssertion.Subject = .idToken(Redacted("the-id-token"))
    ) throws -> TokenSet {
        let own = TokenEndpoint(
            url: try Fixture.url("https://idp.example/token"), client: Client(id: "at-home"))
        let server = TokenEndpoint(
            url: try Fixture.url("https://as.example/token"),
            client: Client(id: "at-server", authentication: .clientSecretBasic(Redacted("s%cret"))))
        let environment = OIDCContext(
            transport: transport, cache: NoCache(), now: { Fixture.now },
            random: { Array(repeating: 7, count: $0) })
        return try IdentityAssertion(
            issuer: "https://idp.example", audience: Self.issuer, resources: [Self.resource],
            scope: Scope("a b")
        ).issue(for: subject, from: own, at: server, environment).tokens.get()
    }

    @Test(
        "the session's token is exchanged at home for an assertion, and that at the server for an access token"
    )
    func flow() throws {
        let assertion = Self.token()
        let transport = ScriptedTransport(
            Self.answer(assertion),
            Fixture.json(#"{"access_token":"at","token_type":"Bearer","expires_in":60}"#))
        #expect(try issue(transport).access.token.revealed == "at")
        let (exchange, redemption) = (transport.requests[0], transport.requests[1])
        #expect(exchange.url.text == "https://idp.example/token")
        #expect(exchange.value("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(exchange.value("requested_token_type") == Self.jag)
        #expect(exchange.value("audience") == Self.issuer)
        #expect(exchange.value("resource") == Self.resource)
        #expect(exchange.value("scope") == "a b")
        #expect(exchange.value("subject_token") == "the-id-token")
        #expect(exchange.value("subject_token_type") == "urn:ietf:params:oauth:token-type:id_token")
        #expect(exchange.value("client_id") == "at-home" && exchange.headers["Authorization"] == nil)
        #expect(redemption.url.text == "https://as.example/token")
        #expect(redemption.value("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(redemption.value("assertion") == assertion)
        #expect(redemption.value("resource") == Self.resource && redemption.value("scope") == "a b")
        let credentials = Base64.encode(Array("at-server:s%25cret".utf8))
        #expect(redemption.headers["Authorization"] == "Basic \(credentials)")
        #expect(!redemption.bodyText.contains("the-id-token") && redemption.value("subject_token") == nil)
    }

    @Test("a refresh token is exchanged under its own type")
    func refreshToken() throws {
        let transport = ScriptedTransport(
            Self.answer(Self.token()), Fixture.json(#"{"access_token":"at","token_type":"Bearer"}"#))
        _ = try issue(transport, .refreshToken(Redacted("rt")))
        #expect(
            transport.requests[0].value("subject_token_type")
                == "urn:ietf:params:oauth:token-type:refresh_token")
    }

    private static let wrong: [(HTTPResponse, String, OIDCError.Kind)] = [
        (answer(token(), issued: nil), "issued_token_type", .refused),
        (answer(token(), issued: "urn:ietf:params:oauth:token-type:id_token"), "issued_token_type", .refused),
        (answer(token(), type: "Bearer"), "token_type", .refused),
        (answer("opaque"), "access_token", .refused), (answer("e30.W10.AAAA"), "access_token", .refused),
        (answer(token(type: "JWT")), "typ", .refused), (answer(token(type: nil)), "typ", .refused),
        (answer(token(["aud": "https://as.example/"])), "aud", .untrusted),
        (answer(token(["aud": "https://evil.example"])), "aud", .untrusted),
        (answer(token(["aud": ["https://as.example", "https://evil.example"]])), "aud", .untrusted),
        (answer(token(["aud": nil])), "aud", .untrusted), (answer(token(["aud": 7])), "aud", .untrusted),
        (answer(token(["client_id": "at-home"])), "client_id", .untrusted),
        (answer(token(["resource": "https://other.example"])), "resource", .untrusted),
        (answer(token(["iss": "https://other.example"])), "iss", .untrusted),
        (answer(token(["iss": nil])), "iss", .untrusted), (answer(token(["exp": nil])), "exp", .untrusted),
        (answer(token(["exp": JSONValue(Fixture.now.secondsSinceEpoch - 61)])), "exp", .untrusted),
        (answer(token(["exp": "soon"])), "exp", .untrusted),
        (answer(token(algorithm: "none")), "alg", .untrusted),
        (answer(token(algorithm: "NONE")), "alg", .untrusted),
    ]

    @Test(
        "anything but an assertion for this server, client and resource is not sent there", arguments: wrong)
    func refused(_ answer: HTTPResponse, _ member: String, _ kind: OIDCError.Kind) throws {
        let transport = ScriptedTransport(answer)
        let error = Fixture.error { try issue(transport) }
        #expect(error?.kind == kind && error?.member == member)
        #expect(transport.requests.count == 1)
        let secret = try JSONValue(parsing: answer.body)["access_token"]?.string ?? ""
        #expect(error?.description.contains(secret) == false)
    }

    @Test("claims that the provider leaves out, and an audience of one in an array, are accepted")
    func lenient() throws {
        for claims: [String: JSONValue?] in [
            ["client_id": nil, "resource": nil],
            ["aud": ["https://as.example"], "resource": [.string(Self.resource)]],
        ] {
            let transport = ScriptedTransport(
                Self.answer(Self.token(claims)), Fixture.json(#"{"access_token":"at","token_type":"Bearer"}"#)
            )
            #expect(try issue(transport).access.token.revealed == "at")
        }
    }

    @Test("a refusal says which of the two providers refused, without a secret")
    func refusals() throws {
        let refusal = Fixture.json(
            #"{"error":"invalid_grant","error_description":"the-id-token is old"}"#, status: 400)
        let home = Fixture.error { try issue(ScriptedTransport(refusal)) }
        #expect(home?.kind == .refused && home?.oauthError == "invalid_grant")
        #expect(home?.message.hasSuffix(", at the user's own provider idp.example") == true)
        #expect(home?.message.contains("the-id-token") == false)
        let assertion = Self.token()
        let server = Fixture.error {
            try issue(
                ScriptedTransport(
                    Self.answer(assertion),
                    Fixture.json(
                        #"{"error":"invalid_grant","error_description":"\#(assertion)"}"#, status: 400)))
        }
        #expect(
            server?.message.contains("own provider") == false && server?.message.contains(assertion) == false)
    }
}
