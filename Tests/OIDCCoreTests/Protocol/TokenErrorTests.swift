import Testing

@testable import OIDCCore

@Suite("Token endpoint errors (RFC 6749 §5.2)")
struct TokenErrorTests {
    func error(_ response: HTTPResponse, _ request: TokenRequest? = nil) throws -> OIDCError? {
        let endpoint = TokenEndpoint(
            url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
        let call = try endpoint.call(
            request ?? .authorizationCode(Fixture.code()), now: Fixture.now, random: Fixture.random())
        return Fixture.error { try call.read(response) }
    }

    static let refresh = TokenRequest.refresh(Redacted("rt"))

    @Test(
        "an OAuth error is a refusal with the provider's code, with any status",
        arguments: [200, 400, 401, 403, 404, 418])
    func anyStatus(_ status: Int) throws {
        let response = Fixture.json(
            #"{"error":"invalid_grant","error_description":"code \u001b[1mused"}"#, status: status)
        #expect(
            try error(response)
                == OIDCError(
                    .refused, "token: the provider answered invalid_grant (\"code [1mused\")",
                    hint: .advice(.signInForNewCode), stage: .token,
                    oauthError: "invalid_grant"))
    }

    @Test(
        "the message of an error body without the member error is shown",
        arguments: [
            (#"{"status":400,"message":"invalid client"}"#, "invalid client"),
            (#"{"errors":[{"message":"Access token expired"}]}"#, "Access token expired"),
            (#"{"errors":["no such app"]}"#, "no such app"),
            (#"{"detail":"Not \u001b[1mfound"}"#, "Not [1mfound"),
            (#"{"title":"Bad request"}"#, "Bad request"), (#"{"error_description":"gone"}"#, "gone"),
        ])
    func otherMembers(_ body: String, _ words: String) throws {
        let error = try error(Fixture.json(body, status: 400))
        #expect(error?.message == "token: the provider answered \"\(words)\" with status 400")
        #expect(error?.kind == .refused && error?.oauthError == nil)
    }

    @Test(
        "a code that only looks like invalid_grant ends no session",
        arguments: ["\\u001b", "\\u200b", " ", "\\u0000", "\\u0301"])
    func lookalike(_ more: String) throws {
        let found = try error(Fixture.json(#"{"error":"invalid_grant\#(more)"}"#, status: 400), Self.refresh)
        #expect(found?.endsSession == false && found?.kind == .refused, "\(more)")
        #expect(found?.message.contains(#"invalid_grant\u{"#) == true, "\(more)")
    }

    @Test(
        "a code in another member is the provider's code, only in a refusal; it ends a session only at Fitbit",
        arguments: [
            (#"{"errors":[{"errorType":"invalid_grant","message":"used"}],"success":false}"#, true),
            (#"{"status":400,"message":"invalid_grant"}"#, false),
            (#"{"error":{"code":"invalid_grant"}}"#, false), (#"{"error":{"type":"invalid_grant"}}"#, false),
            (#"{"error":{"status":"invalid_grant","message":"gone"}}"#, false),
        ])
    func otherCodes(_ body: String, ends: Bool) throws {
        for status in [400, 403, 404] {
            let found = try error(Fixture.json(body, status: status), Self.refresh)
            // A 404 may be a gateway's.
            let isEnd = ends && status != 404
            #expect(found?.oauthError == "invalid_grant" && found?.endsSession == isEnd, "\(body)")
            #expect(found?.code == (isEnd ? .sessionEnded : .signInAgain), "\(body)")
        }
        let inSuccess = try error(Fixture.json(body), Self.refresh)
        #expect(inSuccess?.endsSession == false)
    }

    @Test(
        "GitHub and Slack refuse a code with status 200 and names of their own",
        arguments: [
            (#"{"error":"bad_verification_code","error_description":"expired"}"#, .advice(.signInForNewCode)),
            (#"{"ok":false,"error":"invalid_code"}"#, .advice(.signInForNewCode)),
            (#"{"error":"incorrect_client_credentials"}"#, .advice(.giveSecretOrCheckClientID)),
            (#"{"error":"redirect_uri_mismatch"}"#, .advice(.checkRedirectURI)),
        ] as [(String, Hint)])
    func ownNames(_ body: String, _ hint: Hint) throws {
        let found = try error(Fixture.json(body))
        #expect(found?.kind == .refused && found?.hint == hint)
    }

    @Test(
        "the hint fits the code",
        arguments: [
            ("invalid_client", .advice(.giveSecretOrCheckClientID)),
            ("unauthorized_client", .advice(.allowGrant)),
            ("unsupported_grant_type", .advice(.chooseGrant)),
            ("invalid_scope", .advice(.checkScope)), ("invalid_target", .advice(.checkTarget)),
            ("use_dpop_nonce", .set(.dpop, to: "true")), ("strange", nil),
        ] as [(String, Hint?)])
    func hints(_ code: String, _ hint: Hint?) throws {
        let found = try error(Fixture.json(#"{"error":"\#(code)"}"#, status: 400))
        #expect(found?.kind == .refused)
        #expect(found?.hint == hint)
    }

    @Test("invalid_grant beside tokens contradicts itself and ends no session", arguments: [200, 400])
    func besideTokens(_ status: Int) throws {
        for member in [#""refresh_token":"rt-2""#, #""access_token":"at","token_type":"Bearer""#] {
            let response = Fixture.json(#"{"error":"invalid_grant",\#(member)}"#, status: status)
            let endpoint = TokenEndpoint(
                url: try Fixture.url("https://op.example/token"), client: Client(id: "cli"))
            let call = try endpoint.call(Self.refresh, now: Fixture.now, random: Fixture.random())
            guard case .faulty(let error, _, _) = try call.read(response) else {
                Issue.record("not faulty")
                continue
            }
            #expect(!error.endsSession && error.message.contains("answered invalid_grant"), "\(error)")
        }
        let alone = try error(Fixture.json(#"{"error":"invalid_grant"}"#, status: status), Self.refresh)
        #expect(alone?.endsSession == true)
        // The token that was presented is not a new one.
        let echo = Fixture.json(#"{"error":"invalid_grant","refresh_token":"rt"}"#, status: status)
        #expect(Self.refresh.failure(echo, withholding: WithheldSecrets()).endsSession)
    }

    @Test("Keycloak's 401 for a wrong or missing secret leads to the client, its other refusals do not")
    func keycloak() throws {
        for (description, hint) in [
            ("Invalid client or Invalid client credentials", .advice(.giveSecretOrCheckClientID)),
            ("Client not enabled to retrieve service account", .advice(.allowGrant)),
        ] as [(String, Hint)] {
            let body = #"{"error":"unauthorized_client","error_description":"\#(description)"}"#
            #expect(try error(Fixture.json(body, status: 401))?.hint == hint)
        }
    }

    @Test(
        "408, 425, 429 and 5xx mean try later, with the code and the time to wait",
        arguments: [408, 425, 429, 500, 503])
    func temporary(_ status: Int) throws {
        for request in [TokenRequest.clientCredentials(), Self.refresh] {
            let response = Fixture.json(
                #"{"error":"invalid_grant"}"#, status: status, [("Retry-After", " 20 ")])
            let found = try error(response, request)
            #expect(found?.kind == .unreachable)
            #expect(found?.oauthError == "invalid_grant")
            #expect(found?.retryAfter == 20)
            #expect(found?.endsSession == false)
            #expect(found?.hint == .tryAgain(seconds: 20))
        }
    }

    @Test(
        "the codes of a temporary failure mean try later with any 4xx, and with 200",
        arguments: ["temporarily_unavailable", "server_error", "slow_down"], [200, 400, 401, 403])
    func temporaryCodes(_ code: String, _ status: Int) throws {
        for request in [TokenRequest.clientCredentials(), Self.refresh] {
            let found = try error(Fixture.json(#"{"error":"\#(code)"}"#, status: status), request)
            #expect(
                found
                    == OIDCError(
                        .unreachable, "token: the provider answered \(code) with status \(status)",
                        hint: .tryAgain(seconds: nil), stage: .token, oauthError: code, code: .tryLater))
        }
    }

    @Test(
        "Retry-After is digits, at most a day",
        arguments: [
            ("-5", nil), ("x", nil), ("9999999", 86_400), ("99999999999999999999", 86_400), ("", nil),
        ])
    func retryAfter(_ text: String, _ seconds: Int?) throws {
        let response = Fixture.json("{}", status: 503, [("Retry-After", text)])
        #expect(try error(response)?.retryAfter == seconds)
    }

    @Test("a Retry-After of zero is none: processes that wait for each other would otherwise all ask")
    func retryAtOnce() throws {
        for date in ["0", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            let found = try error(
                Fixture.json(
                    "{}", status: 429, [("Retry-After", date), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]))
            #expect(found?.retryAfter == nil && found?.hint == .tryAgain(seconds: nil))
        }
    }

    @Test("Retry-After as a date is relative to the answer's Date, or else to its arrival")
    func retryAfterByOurClock() throws {
        var response = Fixture.json("{}", status: 503, [("Retry-After", "Sun, 06 Nov 1994 08:51:37 GMT")])
        #expect(response.retryAfter == nil)
        response.receivedAt = HTTPDate.instant("Sun, 06 Nov 1994 08:51:00 GMT")
        #expect(response.retryAfter == 37)
        response.headers["Date"] = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(response.retryAfter == 120)
    }

    @Test(
        "Retry-After as a date is counted from the answer's own date",
        arguments: [
            ("Sun, 06 Nov 1994 08:51:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 120),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 2094 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 86_400),
            ("Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:51:37 GMT", nil, nil), ("tomorrow", "Sun, 06 Nov 1994 08:49:37 GMT", nil),
        ] as [(String, String?, Int?)])
    func retryAfterDate(_ text: String, _ date: String?, _ seconds: Int?) throws {
        let dates = date.map { [("Date", $0)] } ?? []
        let response = Fixture.json("{}", status: 503, [("Retry-After", text)] + dates)
        let found = try error(response)
        #expect(found?.retryAfter == seconds)
        #expect(found?.hint == .tryAgain(seconds: seconds))
    }

    @Test("invalid_grant on a refresh ends the session", arguments: [200, 400, 401, 403])
    func refreshRefused(_ status: Int) throws {
        let found = try error(Fixture.json(#"{"error":"invalid_grant"}"#, status: status), Self.refresh)
        #expect(
            found
                == OIDCError(
                    .loginRequired, "token: the session has ended: the provider answered invalid_grant",
                    hint: .signIn, stage: .token, oauthError: "invalid_grant", code: .sessionEnded))
        #expect(found?.endsSession == true)
    }

    @Test(
        "a refresh that is refused with another code keeps the session, and the hint is to sign in",
        arguments: [
            (Fixture.json("", status: 400), .signIn), (Fixture.html(status: 403), .signIn),
            (
                Fixture.json(#"{"error":"invalid_client"}"#, status: 401),
                .advice(.giveSecretOrCheckClientID)
            ),
        ] as [(HTTPResponse, Hint)])
    func refreshRefusedOtherwise(_ response: HTTPResponse, _ hint: Hint) throws {
        let found = try error(response, Self.refresh)
        #expect(found?.kind == .refused)
        #expect(found?.endsSession == false)
        #expect(found?.hint == hint)
    }

    @Test("invalid_grant on any other grant is a refusal with its own hint")
    func otherGrants() throws {
        let exchange = TokenExchange(subjectToken: Redacted("st"))
        let requests: [TokenRequest] = [
            .tokenExchange(exchange), .jwtBearer(assertion: Redacted("a")), .clientCredentials(),
        ]
        let found = try requests.map {
            try error(Fixture.json(#"{"error":"invalid_grant"}"#, status: 400), $0)
        }
        #expect(found.allSatisfy { $0?.kind == .refused && $0?.endsSession == false })
        #expect(
            found.map { $0?.hint } == [
                "check the subject token: its lifetime, audience and type",
                "check the assertion: its lifetime, issuer and audience", nil,
            ])
    }

    @Test(
        "an answer that is not an OAuth error is a refusal that names status and content type",
        arguments: [
            (Fixture.html(status: 403), "token: the provider answered an HTML page with status 403"),
            (Fixture.json("", status: 400), "token: the provider answered an empty body with status 400"),
            (
                Fixture.json(#"{"reason":"no"}"#, status: 400),
                "token: the provider answered application/json with status 400"
            ),
            (
                HTTPResponse(
                    status: 404, headers: HTTPHeaders([("Content-Type", "text/plain")]),
                    body: Array("Not found".utf8)),
                "token: the provider answered text/plain with status 404"
            ),
            (
                HTTPResponse(status: 307, headers: HTTPHeaders([("Location", "https://evil.example")])),
                "token: the provider answered a redirect (status 307), which is not followed"
            ),
        ])
    func noOAuthError(_ response: HTTPResponse, _ message: String) throws {
        let found = try error(response)
        #expect(found?.kind == .refused)
        #expect(found?.message == message)
        #expect(found?.oauthError == nil)
    }

    @Test("an error that is an object, as some providers send it")
    func nested() throws {
        let found = try error(
            Fixture.json(
                #"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad\u0007 thing"}}"#,
                status: 400))
        #expect(found?.message == "token: the provider answered INVALID_ARGUMENT (\"bad thing\")")
    }
}
