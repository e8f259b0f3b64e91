import Testing

@testable import OIDCCore

@Suite("Token request (RFC 6749 §4 and §6)")
struct TokenRequestTests {
    private func endpoint(
        _ client: Client = Client(id: "cli"), format: RequestFormat = .form,
        extra: [FormEncoding.Pair] = []
    ) throws -> TokenEndpoint {
        TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: client, format: format,
            extraParameters: extra)
    }

    private func sent(_ request: TokenRequest, _ endpoint: TokenEndpoint) throws -> HTTPRequest {
        try endpoint.call(request, now: Fixture.now, random: Fixture.random()).request
    }

    @Test("a code is sent with its verifier and redirect URI, only in the body")
    func code() throws {
        let code = try Fixture.code()
        let request = try sent(.authorizationCode(code, resources: ["https://api.example/"]), endpoint())
        #expect(request.method == .post)
        #expect(request.url.text == "https://op.example/token")
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.headers["Accept"] == "application/json")
        #expect(
            request.form == [
                FormEncoding.Pair("grant_type", "authorization_code"), FormEncoding.Pair("code", "the code"),
                FormEncoding.Pair("redirect_uri", "http://127.0.0.1:8400/callback"),
                FormEncoding.Pair("code_verifier", code.pending.pkce.verifier.revealed),
                FormEncoding.Pair("resource", "https://api.example/"), FormEncoding.Pair("client_id", "cli"),
            ])
    }

    @Test("a scope among the extra parameters gives way to the scope of a refresh, and stays on others")
    func extraScope() throws {
        let endpoint = try endpoint(extra: [FormEncoding.Pair("scope", "all")])
        func scopes(_ request: TokenRequest) throws -> [String] {
            try sent(request, endpoint).form.filter { $0.name == "scope" }.map(\.value)
        }
        #expect(try scopes(.refresh(Redacted("t"), scope: Scope("a"))) == ["a"])
        #expect(try scopes(.refresh(Redacted("t"))) == ["all"])
    }

    @Test("each grant has its parameters")
    func grants() throws {
        let secret = Redacted("t0ken")
        var exchange = TokenExchange(
            subjectToken: secret, subjectTokenType: .idToken,
            actor: TokenExchange.Actor(token: Redacted("act"), type: TokenTypeIdentifier("jwt")))
        exchange.requestedTokenType = .accessToken
        exchange.audiences = ["a", "b"]
        exchange.resources = ["https://r.example"]
        exchange.scope = Scope("x y")
        let urn = "urn%3Aietf%3Aparams%3Aoauth%3A"
        let rows: [(TokenRequest, String)] = [
            (
                .refresh(secret, scope: Scope("a b"), resources: ["https://r.example"], audience: "aud"),
                "grant_type=refresh_token&refresh_token=t0ken&scope=a%20b&audience=aud"
                    + "&resource=https%3A%2F%2Fr.example&client_id=cli"
            ),
            (.refresh(secret), "grant_type=refresh_token&refresh_token=t0ken&client_id=cli"),
            (
                .clientCredentials(
                    scope: Scope("s"), audience: "a", authorizationDetails: [["type": "x"]]),
                "grant_type=client_credentials&scope=s&audience=a"
                    + "&authorization_details=%5B%7B%22type%22%3A%22x%22%7D%5D&client_id=cli"
            ),
            (.clientCredentials(scope: Scope("")), "grant_type=client_credentials&client_id=cli"),
            (
                .tokenExchange(exchange),
                "grant_type=\(urn)grant-type%3Atoken-exchange&subject_token=t0ken"
                    + "&subject_token_type=\(urn)token-type%3Aid_token&actor_token=act"
                    + "&actor_token_type=\(urn)token-type%3Ajwt"
                    + "&requested_token_type=\(urn)token-type%3Aaccess_token&scope=x%20y&audience=a"
                    + "&audience=b&resource=https%3A%2F%2Fr.example&client_id=cli"
            ),
            (
                .jwtBearer(assertion: secret, scope: Scope("s"), audience: "a"),
                "grant_type=\(urn)grant-type%3Ajwt-bearer&assertion=t0ken&scope=s&audience=a&client_id=cli"
            ),
        ]
        for (request, body) in rows { #expect(try sent(request, endpoint()).bodyText == body) }
    }

    @Test("only requests that redeem a code or a refresh token are marked as single-use")
    func singleUse() throws {
        let secret = Redacted("t0ken")
        let rows: [(TokenRequest, Bool)] = [
            (.authorizationCode(try Fixture.code()), true), (.refresh(secret), true),
            (.clientCredentials(), false), (.jwtBearer(assertion: secret), false),
            (.tokenExchange(TokenExchange(subjectToken: secret, subjectTokenType: .idToken)), false),
        ]
        for (request, expected) in rows {
            #expect(try sent(request, endpoint()).redeemsSingleUseSecret == expected)
            // So does the repeat that a demand for a DPoP nonce leads to (RFC 9449 §8).
            let again = try endpoint().call(
                request, now: Fixture.now, random: Fixture.random(), dpopNonce: "n")
            #expect(again.request.redeemsSingleUseSecret == expected)
        }
    }

    @Test("the format json writes the same parameters as an object, a repeated one as an array")
    func json() throws {
        let request = try sent(
            .clientCredentials(audience: "a\"b", resources: ["https://a.example", "https://b.example"]),
            endpoint(
                Client(id: "cli", authentication: .clientSecretPost(Redacted("pw"))), format: .json))
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(
            request.bodyText
                == #"{"grant_type":"client_credentials","audience":"a\"b","#
                + #""resource":["https://a.example","https://b.example"],"client_id":"cli","client_secret":"pw"}"#
        )
    }

    @Test(
        "extra parameters overwrite no parameter of the protocol",
        arguments: [
            "grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret",
            "client_assertion", "client_assertion_type", "refresh_token", "device_code", "assertion",
            "subject_token", "subject_token_type", "actor_token", "actor_token_type",
        ])
    func extraProtocolParameter(_ name: String) {
        let error = Fixture.error {
            try sent(.clientCredentials(), endpoint(extra: [FormEncoding.Pair(name, "x")]))
        }
        #expect(
            error
                == .usage(
                    "token request: \(name) is a parameter of the protocol and cannot be replaced",
                    hint: .advice(.removeTokenParameter))
        )
    }

    @Test("extra parameters go along, unless a setting of their own is set too")
    func extra() throws {
        let extra = [FormEncoding.Pair("audience", "x&y")]
        #expect(
            try sent(.clientCredentials(), endpoint(extra: extra)).bodyText
                == "grant_type=client_credentials&audience=x%26y&client_id=cli")
        let error = Fixture.error {
            try sent(.clientCredentials(audience: "a"), endpoint(extra: extra))
        }
        #expect(error?.kind == .usage)
        #expect(
            error?.message == "token request: audience is also set by its own setting")
    }

    @Test("a scope or resource that breaks its grammar is never sent")
    func badInput() {
        #expect(
            Fixture.error { try sent(.clientCredentials(scope: Scope("a\\b")), endpoint()) }?.message
                .hasPrefix("scope: ") == true)
        #expect(
            Fixture.error { try sent(.clientCredentials(resources: ["api"]), endpoint()) }?.message
                .hasPrefix("resource: ") == true)
        #expect(
            Fixture.error { try sent(.clientCredentials(), endpoint(Client(id: ""))) }?.message
                == "client_id is not set")
    }

    @Test("an empty token, as from an empty file, is not left out unnoticed")
    func emptyToken() {
        let rows: [(TokenRequest, String)] = [
            (.refresh(Redacted("")), "refresh_token is empty"),
            (.tokenExchange(TokenExchange(subjectToken: Redacted(""))), "subject_token is empty"),
            (.jwtBearer(assertion: Redacted("")), "assertion is empty"),
        ]
        for (request, message) in rows {
            #expect(Fixture.error { try sent(request, endpoint()) } == .usage(message))
        }
    }

    @Test("no description shows a secret")
    func redaction() throws {
        var dumped = ""
        dump(TokenRequest.refresh(Redacted("s3cret")), to: &dumped)
        dump(TokenRequest.authorizationCode(try Fixture.code()), to: &dumped)
        dump(Client(id: "cli", authentication: .clientSecretPost(Redacted("s3cret"))), to: &dumped)
        #expect(!dumped.contains("s3cret"))
        #expect(!dumped.contains("the code"))
    }
}

extension Fixture {
    static func code() throws -> AuthorizationCode {
        let pending = try pending()
        return try pending.acceptPasted(
            "?code=the%20code&iss=https://op.example&state=\(pending.state.revealed)")
    }
}
