import Testing

@testable import OIDCCore

@Suite("Token response (RFC 6749 §5)")
struct TokenResponseTests {
    func read(
        _ response: HTTPResponse, _ request: TokenRequest? = nil,
        _ change: (inout TokenEndpoint) throws -> Void = { _ in }
    ) throws -> TokenSet {
        let request = request ?? .clientCredentials(scope: Scope("a b"))
        var endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        try change(&endpoint)
        let call = try endpoint.call(request, now: Fixture.now, random: Fixture.random())
        switch try call.read(response) {
        case .tokens(let tokens): return tokens
        case .faulty(let error, _, _): throw error
        case .nonceDemanded: throw OIDCError(.failed, "no tokens")
        }
    }

    func read(_ text: String) throws -> TokenSet {
        try read(Fixture.json(text))
    }

    @Test("a complete response is read")
    func complete() throws {
        let tokens = try read(
            #"{"access_token":"at","token_type":"Bearer","expires_in":3600,"refresh_token":"rt","#
                + #""id_token":"a.b.c","scope":"a","unknown":{"x":[1]}}"#)
        #expect(tokens.access.token.revealed == "at")
        #expect(tokens.access.type == .bearer)
        #expect(tokens.access.obtainedAt == Fixture.now)
        #expect(tokens.access.expiresAt == Fixture.now.adding(3_600))
        #expect(tokens.access.scope == Scope("a"))
        #expect(tokens.refreshToken?.revealed == "rt")
        #expect(tokens.idToken?.revealed == "a.b.c")
    }

    @Test(
        "FAPI 2.0 client: token_type in another case; no expires_in; no scope in the answer",
        arguments: ["bearer", "BEARER", "bEaReR"])
    func variety(_ type: String) throws {
        let tokens = try read(#"{"access_token":"at","token_type":"\#(type)"}"#)
        #expect(tokens.access.type == .bearer)
        #expect(tokens.access.expiresAt == nil)
        #expect(tokens.access.scope == Scope("b a"))
        #expect(tokens.refreshToken == nil)
        #expect(tokens.idToken == nil)
    }

    @Test(
        "expires_in is a positive number, also as a string; anything else is unknown, which is fresh until refused",
        arguments: [
            ("3600", 3600), (#""3600""#, 3600), ("0", nil), (#""0""#, nil), ("-0", nil), ("0.5", nil),
            ("3600.9", 3600), ("3.6e3", 3600), ("-1", nil), (#""3600.0""#, 3600), (#""0300""#, 300),
            (#""3.6e3""#, 3600),
            (#""-1""#, nil), (#""1h""#, nil), (#""""#, nil), ("null", nil), ("true", nil), ("[3600]", nil),
            ("1e300", nil), ("1e999", nil), ("-1e999", nil), ("9223372036854775807", nil),
            ("9223372036854775808", nil), ("2147483648", nil), ("2147483647", 2_147_483_647),
            (#""99999999999999999999""#, nil), (#"" 3600""#, nil), (#""+3600""#, nil),
        ] as [(String, Int64?)])
    func expiresIn(_ text: String, _ seconds: Int64?) throws {
        let tokens = try read(#"{"access_token":"at","token_type":"Bearer","expires_in":\#(text)}"#)
        #expect(tokens.access.expiresAt == seconds.map { Fixture.now.adding($0) })
    }

    @Test(
        "an answer that breaks the protocol is refused, naming the member",
        arguments: [
            (#"{"token_type":"Bearer"}"#, "token: access_token is missing from the answer"),
            (
                #"{"access_token":null,"token_type":"Bearer"}"#,
                "token: access_token is missing from the answer"
            ),
            (
                #"{"access_token":"","token_type":"Bearer"}"#,
                "token: access_token: expected a string, found an empty one"
            ),
            (
                #"{"access_token":7,"token_type":"Bearer"}"#,
                "token: access_token: expected a string, found a number"
            ),
            (#"{"access_token":"at"}"#, "token: token_type is missing from the answer"),
            (
                #"{"access_token":"at","token_type":"mac"}"#,
                "token: token_type: expected Bearer, found mac"
            ),
            (
                #"{"access_token":"at","token_type":"N_A"}"#,
                "token: token_type: expected Bearer, found N_A"
            ),
            (
                #"{"access_token":"at","token_type":["Bearer"]}"#,
                "token: token_type: expected a string, found an array"
            ),
            (
                #"{"access_token":"at\r\nX: y","token_type":"Bearer"}"#,
                "token: access_token: expected visible ASCII characters, found something else among them"
            ),
            (
                #"{"access_token":"ät","token_type":"Bearer"}"#,
                "token: access_token: expected visible ASCII characters, found something else among them"
            ),
            (
                #"{"access_token":"at","token_type":"Bearer","id_token":{}}"#,
                "token: id_token: expected a string, found an object"
            ),
            (
                #"{"access_token":"at","token_type":"Bearer","scope":7}"#,
                "token: scope: expected a string, found a number"
            ),
            (
                #"{"access_token":"at","token_type":"Bearer","scope":"a\u001bb"}"#,
                #"token: scope: expected ASCII words without " and \, found a\u{1B}b"#
            ),
            (
                #"{"access_token":"a","access_token":"b","token_type":"Bearer"}"#,
                "token: expected a JSON object, found text that is not JSON "
                    + "(duplicate member \"access_token\" at byte 20) with status 200"
            ),
            ("[]", "token: expected a JSON object, found an array"),
            ("", "token: expected a JSON object, found an empty body with status 200"),
        ])
    func broken(_ body: String, _ message: String) {
        var expected = Fixture.refused(message, .token)
        let isOther = message.hasSuffix("found mac") || message.hasSuffix("found N_A")
        if message.contains("token_type"), !isOther { expected.hint = .set(.tokenType, to: "Bearer") }
        #expect(throws: expected) { try read(body) }
    }

    @Test("an access token of megabytes is refused")
    func size() {
        let long = String(repeating: "a", count: 65_537)
        let error = Fixture.error { try read(#"{"access_token":"\#(long)","token_type":"Bearer"}"#) }
        #expect(error?.message == "token: access_token: expected at most 65536 characters, found 65537")
        #expect(error?.kind == .refused)
    }

    @Test("absence written as null or an empty string is absence, and a scope may be an array")
    func oddities() throws {
        let tokens = try read(
            #"{"access_token":"at","token_type":"Bearer","refresh_token":"","id_token":null,"error":null,"#
                + #""scope":["a","b c"]}"#)
        #expect(tokens.refreshToken == nil)
        #expect(tokens.idToken == nil)
        #expect(tokens.access.scope == Scope("a b c"))
    }

    @Test("an HTML page is not a token response")
    func html() {
        #expect(
            throws: OIDCError(
                .refused, "token: expected a JSON object, found an HTML page with status 200", stage: .token)
        ) { try read(Fixture.html()) }
    }

    @Test("a form-encoded answer is understood, a repeated member in it refused")
    func formEncoded() throws {
        func form(_ body: String) -> HTTPResponse {
            HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/x-www-form-urlencoded")]),
                body: Array(body.utf8))
        }
        let tokens = try read(form("access_token=a%2Bt&token_type=bearer&scope=a%20b&expires_in=60"))
        #expect(tokens.access.token.revealed == "a+t")
        #expect(tokens.access.expiresAt == Fixture.now.adding(60))
        let twice = Fixture.error { try read(form("access_token=a&access_token=b&token_type=bearer")) }
        #expect(
            twice == .protocolViolation(.token, "access_token", expected: "at most one", found: "several"))
        let failed = Fixture.error {
            try read(form("error=bad_verification_code&error_description=old+code"))
        }
        #expect(failed?.oauthError == "bad_verification_code")
        #expect(failed?.message == "token: the provider answered bad_verification_code (\"old code\")")
    }

    @Test("a token exchange may return a token that is not an access token (RFC 8693 §2.2.1)")
    func notApplicable() throws {
        let exchange = TokenExchange(subjectToken: Redacted("st"))
        let tokens = try read(
            Fixture.json(
                #"{"access_token":"at","token_type":"n_a","issued_token_type":"#
                    + #""urn:ietf:params:oauth:token-type:id_token"}"#), .tokenExchange(exchange))
        #expect(tokens.access.type == .notApplicable)
        #expect(tokens.issuedTokenType == TokenTypeIdentifier.idToken.urn)
    }

    @Test(
        "a token exchange issues the requested type, or nothing is used (RFC 8693 §2.2.1)",
        arguments: [
            (nil, "access_token", .bearer), (nil, "jwt", .bearer), (nil, nil, .bearer),
            (nil, "refresh_token", .notApplicable), (nil, "saml2", .notApplicable),
            ("access_token", "access_token", .bearer), ("access_token", "jwt", .bearer),
            ("access_token", nil, .bearer), ("access_token", "refresh_token", nil),
            ("access_token", "access_token\\u001b[31m", nil), ("jwt", "access_token", nil),
            ("id_token", "id_token", .bearer), ("id_token", "access_token", nil),
        ] as [(String?, String?, TokenType?)])
    func issuedType(_ requested: String?, _ issued: String?, _ type: TokenType?) throws {
        var exchange = TokenExchange(subjectToken: Redacted("st"))
        exchange.requestedTokenType = requested.map(TokenTypeIdentifier.init)
        let urn = "urn:ietf:params:oauth:token-type:"
        let member = issued.map { #","issued_token_type":"\#(urn)\#($0)""# } ?? ""
        let answer = Fixture.json(#"{"access_token":"at","token_type":"Bearer"\#(member)}"#)
        guard let type else {
            let error = Fixture.error { try read(answer, .tokenExchange(exchange)) }
            #expect(error?.kind == .refused && error?.member == "issued_token_type")
            return
        }
        #expect(try read(answer, .tokenExchange(exchange)).access.type == type)
    }

    @Test("what is no access token is put into no header (RFC 8693 §2.2.1, RFC 6749 appendix A.12)")
    func credentials() throws {
        func token(_ text: String, _ type: TokenType) -> AccessToken {
            AccessToken(
                token: Redacted(text), type: type, obtainedAt: Fixture.now, expiresAt: nil, scope: nil)
        }
        #expect(try token("at", .bearer).credentials(.resource) == "Bearer at")
        #expect(try token("at", .dpop).credentials(.resource) == "DPoP at")
        for token in [token("at", .notApplicable), token("", .bearer), token("a\nb", .bearer)] {
            let error = Fixture.error { try token.credentials(.resource) }
            #expect(error?.kind == .refused)
        }
    }

    @Test("an unasked DPoP token cannot be presented, and is refused")
    func unaskedDPoP() {
        #expect(
            throws: OIDCError.protocolViolation(
                .token, "token_type", expected: "Bearer", found: "DPoP", hint: .set(.dpop, to: "true"))
        ) { try read(#"{"access_token":"at","token_type":"dpop"}"#) }
    }

    @Test(
        "a scope separated by commas or plus signs is a list, as is an array",
        arguments: [#""b,a""#, #""a+b""#, #"["a","b"]"#, #""a b""#])
    func separators(_ scope: String) throws {
        let tokens = try read(#"{"access_token":"at","token_type":"Bearer","scope":\#(scope)}"#)
        #expect(tokens.access.scope == Scope("a b"))
    }

    @Test(
        "a missing or unknown token_type is assumed to be the configured one (Weibo, eBay), Bearer is Bearer",
        arguments: [
            ("", "token"), (#","token_type":"""#, "token"), (#","token_type":null"#, "token"),
            (#","token_type":"User Access Token""#, "token"), (#","token_type":["x"]"#, "token"),
            (#","token_type":"bearer""#, "Bearer"), (#","token_type":"dpop""#, nil),
        ])
    func assumedType(_ member: String, _ expected: String?) throws {
        let answer = Fixture.json(#"{"access_token":"at"\#(member)}"#)
        let assumed = try #require(TokenType.assumable("token"))
        let type = try? read(answer, nil) { $0.assumedTokenType = assumed }.access.type.name
        #expect(type == expected)
        let bound = Fixture.error {
            try read(answer, nil) {
                $0.assumedTokenType = assumed
                $0.dpop = try DPoPKey.generate()
            }
        }
        #expect(expected == nil ? bound == nil : bound?.kind == .refused)
        #expect(bound?.hint != .set(.tokenType, to: "Bearer"))
    }

    @Test(
        "without the setting, the hint names it",
        arguments: ["", #","token_type":"""#, #","token_type":"user""#, #","token_type":["x"]"#])
    func typeHint(_ member: String) {
        let error = Fixture.error { try read(#"{"access_token":"at"\#(member)}"#) }
        #expect(error?.kind == .refused && error?.hint == .set(.tokenType, to: "Bearer"))
    }

    @Test(
        "the hint does not take a type of another meaning for Bearer (RFC 6749 §7.1)",
        arguments: ["mac", "PoP"])
    func otherMeaning(_ type: String) {
        let error = Fixture.error { try read(#"{"access_token":"at","token_type":"\#(type)"}"#) }
        #expect(error?.kind == .refused && error?.hint == nil)
    }

    @Test("a type that could break a header, or DPoP, is never assumed")
    func unassumable() {
        for text in ["", "DPoP", "dpop", "User Access Token", "a\r\nb", "é"] {
            #expect(TokenType.assumable(text) == nil)
        }
        #expect(TokenType.assumable("bearer") == .bearer)
    }
}
