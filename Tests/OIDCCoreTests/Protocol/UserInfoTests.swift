import OIDCCore
import OIDCCrypto
import Testing

@Suite("UserInfo")
struct UserInfoTests {
    typealias Sample = SampleProvider

    static let token = AccessToken(
        token: Redacted("at"), type: .bearer, obtainedAt: Sample.now, expiresAt: nil, scope: nil)
    static var rules: UserInfo.Rules {
        .init(subject: "alice", issuer: Sample.issuer, clientID: Sample.clientID)
    }

    static func call(
        _ token: AccessToken = token, proof: String? = nil, rules: UserInfo.Rules = rules,
        keys: (any KeySource)? = nil
    ) throws -> EndpointCall<UserInfoAnswer> {
        try UserInfo.call(
            endpoint: try #require(WebURL("https://op.example/userinfo")), accessToken: token, proof: proof,
            rules: rules, keys: keys ?? FixedKeys(try Sample.publicKeys(.p256)), now: Sample.now)
    }

    static func response(_ body: String, type: String? = "application/json", status: Int = 200)
        -> HTTPResponse
    {
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        response.headers["Content-Type"] = type
        return response
    }

    static func read(_ response: HTTPResponse, rules: UserInfo.Rules = rules) throws -> UserInfoAnswer {
        try call(rules: rules).read(response)
    }

    static func untrusted(_ message: String) -> OIDCError { Sample.untrusted(message, stage: .userInfo) }

    @Test("oidcc-client-test-userinfo-bearer-header: the token is in the header and nowhere else")
    func bearerHeader() throws {
        let request = try Self.call().request
        #expect(request.method == .get)
        #expect(request.url.text == "https://op.example/userinfo")
        #expect(request.headers["Authorization"] == "Bearer at")
        #expect(request.headers["Accept"] == "application/json, application/jwt")
        #expect(request.headers["DPoP"] == nil)
        #expect(request.body.isEmpty)
    }

    @Test("a bound token goes with its scheme and a proof (RFC 9449 §7.1)")
    func boundToken() throws {
        var token = Self.token
        token.type = .dpop
        let request = try Self.call(token, proof: "p.r.f").request
        #expect(request.headers["Authorization"] == "DPoP at")
        #expect(request.headers.values("DPoP") == ["p.r.f"])
    }

    @Test(
        "a token that is not a valid header value is never sent",
        arguments: ["", "a\r\nX: y", "a b", "a\u{7F}", "é"])
    func tokenCharacters(_ text: String) throws {
        var token = Self.token
        token.token = Redacted(text)
        let error = OIDCError(
            .refused, "userinfo: access_token: expected printable ASCII characters", stage: .userInfo)
        #expect(throws: error) { try Self.call(token) }
    }

    @Test(
        "a media type or challenge that repeats the token is shown without it",
        arguments: [200, 401, 403, 503], ["x", ""])
    func repeatedToken(status: Int, body: String) throws {
        var token = Self.token
        token.token = Redacted("0123456789abcdefghij")
        var response = Self.response(body, type: "x/\(token.token.revealed)", status: status)
        for challenge in [nil, #"Bearer error="invalid_token", error_description="0123456789abcdefghij""#] {
            response.headers["WWW-Authenticate"] = challenge
            let call = try Self.call(token)
            var shown: OIDCError?
            do throws(OIDCError) {
                if case .unauthorized(_, let error) = try call.read(response) { shown = error }
            } catch {
                shown = error
            }
            let message = try #require(shown).message
            #expect(!message.contains("0123456789"), "\(message)")
        }
    }

    @Test("oidcc-client-test-scope-userinfo-claims: the claims come as they were sent")
    func claims() throws {
        let body = #"{"sub":"alice","email":"alice@op.example","address":{"locality":"Ålesund"},"n":1e999}"#
        for type in ["application/json", "application/json; charset=UTF-8", "text/json", nil] {
            let expected = try #require(try JSONValue(parsing: body).object)
            #expect(try Self.read(Self.response(body, type: type)) == .claims(expected))
        }
    }

    @Test("oidcc-client-test-userinfo-invalid-sub: an answer about another user is refused")
    func invalidSubject() throws {
        for (body, found) in [
            (#"{"sub":"bob"}"#, "\"bob\""), (#"{"sub":"Alice"}"#, "\"Alice\""), ("{}", "none"),
            (#"{"sub":""}"#, "\"\""),
        ] {
            let error = Self.untrusted("sub: expected \"alice\" as in the ID token, found \(found)")
            #expect(throws: error) { try Self.read(Self.response(body)) }
        }
        #expect(throws: Self.untrusted("sub: expected a string, found 1")) {
            try Self.read(Self.response(#"{"sub":1}"#))
        }
    }

    @Test("sub may be missing if there was no ID token")
    func plainOAuth() throws {
        var rules = Self.rules
        rules.subject = nil
        #expect(
            try Self.read(Self.response(#"{"login":"octocat"}"#), rules: rules)
                == .claims(SampleProvider.header(["login": "octocat"])))
    }

    static let nonsense: [(String, String?, String)] = [
        ("<html>", "text/html", "an HTML page with status 200, sent as \"text/html\""),
        ("", nil, "an empty body with status 200, without a content type"),
        ("[]", "application/json", "an array, sent as \"application/json\""),
        (
            #"{"sub":"alice","sub":"bob"}"#, "application/json",
            "text that is not JSON (duplicate member \"sub\" at byte 15) with status 200, "
                + "sent as \"application/json\""
        ),
        (
            "a.b.c", "text/plain\u{1B}",
            "text that is not JSON (expected a value at byte 0) with status 200, sent as \"text/plain\""
        ),
    ]

    @Test("an answer that is not a JSON object is refused, with its content type", arguments: nonsense)
    func noJSON(_ body: String, _ type: String?, _ found: String) {
        let error = OIDCError(.refused, "userinfo: expected a JSON object, found \(found)", stage: .userInfo)
        #expect(throws: error) { try Self.read(Self.response(body, type: type)) }
    }

    @Test("a 401 is returned with its challenge")
    func unauthorized() throws {
        var response = Self.response("", type: nil, status: 401)
        response.headers["WWW-Authenticate"] =
            #"Bearer error="invalid_token", error_description="expired\#u{1B}""#
        guard case .unauthorized(let challenges, let error) = try Self.read(response) else {
            Issue.record("expected a 401")
            return
        }
        #expect(challenges.map(\.error) == ["invalid_token"])
        #expect(
            error
                == OIDCError(
                    .refused, "userinfo: https://op.example/userinfo answered invalid_token (\"expired\")",
                    stage: .userInfo,
                    oauthError: "invalid_token"))
        guard case .unauthorized([], let bare) = try Self.read(HTTPResponse(status: 401)) else {
            Issue.record("expected a 401")
            return
        }
        #expect(bare.kind == .refused && bare.oauthError == nil)
    }

    @Test(
        "a 400 with invalid_token says the same as a 401, in the challenge or the body; no other code does",
        arguments: [400, 403])
    func invalidToken(_ status: Int) throws {
        for code in ["invalid_token", "invalid_request"] {
            let body = Self.response(#"{"error":"\#(code)"}"#, status: status)
            var challenge = HTTPResponse(status: status)
            challenge.headers["WWW-Authenticate"] = "Bearer error=\"\(code)\""
            for response in [body, challenge] {
                guard code == "invalid_token" else {
                    let error = #expect(throws: OIDCError.self) { try Self.read(response) }
                    #expect(error?.kind == .refused && error?.oauthError == code)
                    continue
                }
                guard case .unauthorized(_, let error) = try Self.read(response) else {
                    Issue.record("expected a token that is no longer accepted")
                    return
                }
                #expect(error.kind == .refused && error.oauthError == code)
            }
        }
    }

    @Test("an error with status 200 is a refusal, unless the answer is about a user")
    func errorWithSuccess() throws {
        var rules = Self.rules
        rules.subject = nil
        for body in [
            #"{"ok":false,"error":"not_authed"}"#, #"{"error":{"code":"denied","message":"no"}}"#,
            #"{"error":"invalid_request","error_description":"broke"}"#,
        ] {
            let error = #expect(throws: OIDCError.self) { try Self.read(Self.response(body), rules: rules) }
            #expect(error?.kind == .refused && error?.oauthError != nil, "\(error?.message ?? "")")
        }
        guard case .unauthorized = try Self.read(Self.response(#"{"error":"invalid_token"}"#), rules: rules)
        else {
            Issue.record("expected a token that is no longer accepted")
            return
        }
        let claims = try #require(try JSONValue(parsing: #"{"sub":"alice","error":"x"}"#).object)
        #expect(try Self.read(Self.response(#"{"sub":"alice","error":"x"}"#)) == .claims(claims))
    }

    @Test("an answer that repeats the token does not carry it into the message", arguments: [401, 403])
    func echoedToken(_ status: Int) throws {
        var token = Self.token
        token.token = Redacted("a-long-access-token")
        let call = try Self.call(token)
        var response = Self.response(
            #"{"error":"invalid_token","error_description":"a-long-access-token is bad"}"#, status: status)
        for challenge in [nil, #"Bearer error="invalid_token", error_description="no a-long-access-token""#] {
            response.headers["WWW-Authenticate"] = challenge
            let message: String
            do throws(OIDCError) {
                guard case .unauthorized(_, let error) = try call.read(response) else { continue }
                message = error.message
            } catch {
                message = error.message
            }
            #expect(message.contains("(secret)") && !message.contains("a-long-access-token"))
        }
    }

    @Test("FAPI 2.0 client: a DPoP nonce required by the resource is recognized, in any case")
    func nonce() throws {
        var token = Self.token
        token.type = .dpop
        for scheme in ["DPoP", "dpop", "DPOP"] {
            var response = HTTPResponse(status: 401)
            response.headers["WWW-Authenticate"] = "\(scheme) error=\"use_dpop_nonce\""
            response.headers["DPoP-Nonce"] = "eyJ7S_zG.eyJH0-Z.HX4w-7v"
            #expect(
                try Self.call(token, proof: "p.r.f").read(response)
                    == .nonceDemanded("eyJ7S_zG.eyJH0-Z.HX4w-7v"))
            // Another proof cannot help a token that is not bound to a key.
            guard case .unauthorized(_, let error) = try Self.read(response) else {
                Issue.record("not a refusal")
                continue
            }
            #expect(error.oauthError == "use_dpop_nonce")
        }
    }

    @Test("403 with JSON that says nothing is a token that is not accepted, as zitadel/oidc answers")
    func bareForbidden() throws {
        for (body, type, isToken) in [
            ("{}", "application/json", true), ("", "application/json", true), ("", nil, false),
            ("<html>", "text/html", false),
            (#"{"error":"insufficient_scope"}"#, "application/json", false),
            (#"{"message":"Forbidden"}"#, "application/json", false),
        ] {
            let answer = Result { try Self.read(Self.response(body, type: type, status: 403)) }
            if isToken {
                guard case .success(.unauthorized([], _)) = answer else {
                    Issue.record("\(body): \(answer)")
                    continue
                }
            } else {
                #expect(throws: OIDCError.self) { try answer.get() }
            }
        }
    }

    @Test("other refusals are errors: 403 with its code, 429 and 5xx for later")
    func refusals() throws {
        var forbidden = HTTPResponse(status: 403)
        forbidden.headers["WWW-Authenticate"] = #"Bearer error="insufficient_scope", scope="openid""#
        let refusal = OIDCError(
            .refused, "userinfo: https://op.example/userinfo answered insufficient_scope", stage: .userInfo,
            oauthError: "insufficient_scope")
        #expect(throws: refusal) { try Self.read(forbidden) }
        var busy = HTTPResponse(status: 503)
        busy.headers["Retry-After"] = "7"
        let error = #expect(throws: OIDCError.self) { try Self.read(busy) }
        #expect(error?.kind == .unreachable)
        #expect(error?.retryAfter == 7)
        for status in [302, 404, 400] {
            let error = #expect(throws: OIDCError.self) { try Self.read(HTTPResponse(status: status)) }
            #expect(error?.kind == .refused)
        }
    }
}
