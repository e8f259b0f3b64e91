import Testing

@testable import OIDCCore

@Suite("Authorization response (RFC 6749 §4.1.2, RFC 9207)")
struct AuthorizationResponseTests {
    /// Pairs of a query in which STATE is replaced by the right state.
    private func pairs(_ query: String, _ pending: PendingAuthorization) throws -> [FormEncoding.Pair] {
        try #require(FormEncoding.decode(query)).map {
            switch $0.value {
            case "STATE": FormEncoding.Pair($0.name, pending.state.revealed)
            case "LONG": FormEncoding.Pair($0.name, String(repeating: "a", count: 8_193))
            default: $0
            }
        }
    }

    private static let iss = "iss=https%3A%2F%2Fop.example"

    @Test(
        "the answer to this sign-in gives its code",
        arguments: [
            "code=abc&state=STATE&\(iss)", "\(iss)&state=STATE&code=abc",
            "code=abc&state=STATE&\(iss)&session_state=x&scope=openid&authuser=0",
        ])
    func accepted(_ query: String) throws {
        let pending = try Fixture.pending()
        let code = try #require(try pending.accept(pairs(query, pending)))
        #expect(code.code.revealed == "abc")
        #expect(code.pending == pending)
    }

    @Test(
        "a response that does not belong to this sign-in is ignored, and the wait continues",
        arguments: [
            "", "x=y", "code=abc", "code=abc&state=", "code=abc&state=other&\(iss)", "error=access_denied",
            "error=access_denied&state=other", "state=STATE&state=STATE&code=abc&\(iss)",
            "state=STATE&state=other&code=abc&\(iss)", "code=abc&code=abc&state=STATE&\(iss)",
            "code=abc&state=STATE&\(iss)&\(iss)", "error=a&error=b&state=STATE&\(iss)",
            "error=access_denied&state=STATE&iss=https%3A%2F%2Fevil.example",
        ])
    func stranger(_ query: String) throws {
        let pending = try Fixture.pending()
        #expect(try pending.accept(pairs(query, pending)) == nil)
    }

    @Test(
        "an answer with our state that cannot be read ends the sign-in; with another state it is a stranger's",
        arguments: ["code=%ff&state=STATE", "error=%ff&code=abc&state=STATE"])
    func unreadable(_ query: String) throws {
        let pending = try Fixture.pending()
        let ours = query.replacing("STATE", with: pending.state.revealed)
        let error = Fixture.error { try pending.accept(form: ours) }
        #expect(error?.kind == .refused)
        for state in ["other", "%ff", "\(pending.state.revealed)&state=other"] {
            let other = query.replacing("STATE", with: state)
            #expect(try pending.accept(form: other) == nil, "\(state)")
        }
        #expect(try pending.accept(form: "code=abc&state=\(pending.state.revealed)&x=%zz") == nil)
    }

    @Test("FAPI 2.0 client: a state that starts or ends like ours does not match", arguments: [0, 1])
    func almostState(_ variant: Int) throws {
        let pending = try Fixture.pending()
        let state = pending.state.revealed
        let other = variant == 0 ? String(state.dropLast()) : state + "A"
        let answer = [FormEncoding.Pair("code", "abc"), FormEncoding.Pair("state", other)]
        #expect(try pending.accept(answer) == nil)
    }

    @Test(
        "FAPI 2.0 client: another or a missing iss beside a code ends the sign-in as untrusted",
        arguments: [
            ("code=abc&state=STATE&iss=https%3A%2F%2Fevil.example", "https://evil.example"),
            ("code=abc&state=STATE&iss=https%3A%2F%2Fop.example%2F", "https://op.example/"),
            ("state=STATE&iss=https%3A%2F%2Fevil.example", "https://evil.example"),
            ("code=abc&state=STATE&iss=", ""), ("code=abc&state=STATE", "none"),
            ("code=abc&error=x&state=STATE&iss=https%3A%2F%2Fevil.example", "https://evil.example"),
        ])
    func wrongIssuer(_ query: String, _ found: String) throws {
        let pending = try Fixture.pending()
        #expect(
            throws: OIDCError.untrusted(
                .authorization, "iss", expected: "https://op.example", found: found)
        ) { try pending.accept(pairs(query, pending)) }
    }

    @Test("iss may be missing if the metadata does not promise it, but is compared if it is present")
    func issuerNotPromised() throws {
        let pending = try Fixture.pending(["authorization_response_iss_parameter_supported": nil])
        #expect(try pending.accept(pairs("code=abc&state=STATE", pending)) != nil)
        let error = Fixture.error {
            try pending.accept(pairs("code=abc&state=STATE&iss=https%3A%2F%2Fevil.example", pending))
        }
        #expect(error?.kind == .untrusted)
    }

    @Test("oidcc-client-test-form-post-error: an error ends the sign-in, with the provider's text cleaned")
    func providerError() throws {
        let pending = try Fixture.pending()
        let query =
            "error=invalid_scope&error_description=no%1B%5B31m+such%0Ascope"
            + "&error_uri=https%3A%2F%2Fop.example%2Fe&state=STATE&\(Self.iss)"
        #expect(
            throws: OIDCError(
                .refused,
                "authorize: the provider answered invalid_scope "
                    + "(\"no[31m such scope\", see https://op.example/e)", hint: .advice(.checkScope),
                stage: .authorization, oauthError: "invalid_scope")
        ) { try pending.accept(pairs(query, pending)) }
    }

    @Test(
        "iss is compared without normalization (RFC 9207 §2.4)",
        arguments: [
            "https://op.example/", "https://OP.example", "HTTPS://op.example", "https://op.example:443",
            "https://op.example/.", "https://op.example?", "https://op%2Eexample", "https://op.example.",
            " https://op.example",
        ])
    func normalizedIssuer(_ issuer: String) throws {
        for promised: JSONValue? in [true, nil] {
            let pending = try Fixture.pending(["authorization_response_iss_parameter_supported": promised])
            let state = FormEncoding.Pair("state", pending.state.revealed)
            let iss = FormEncoding.Pair("iss", issuer)
            let error = Fixture.error { try pending.accept([FormEncoding.Pair("code", "abc"), state, iss]) }
            #expect(error?.kind == .untrusted && error?.member == "iss")
            // An error from another issuer is neither shown nor acted on: the wait goes on.
            let refusal = [FormEncoding.Pair("error", "access_denied"), state, iss]
            #expect(try pending.accept(refusal) == nil)
        }
    }

    @Test("for a resource, an error that lacks the promised iss is rejected, and not shown (RFC 9207 §2.4)")
    func strictErrorWithoutIssuer() throws {
        func pending(promised: JSONValue?) throws -> PendingAuthorization {
            var request = Fixture.request()
            request.rejectsErrorsWithoutIssuer = true
            return try request.begin(
                Fixture.metadata(["authorization_response_iss_parameter_supported": promised]),
                random: Fixture.random())
        }
        let strict = try pending(promised: true)
        for query in [
            "error=access_denied&error_description=call+0900&state=STATE", "error=x&code=abc&state=STATE",
        ] {
            #expect(
                throws: OIDCError.untrusted(.authorization, "iss", expected: Fixture.issuer, found: "none")
            ) { try strict.accept(pairs(query, strict)) }
        }
        let error = Fixture.error {
            try strict.accept(pairs("error=access_denied&state=STATE&\(Self.iss)", strict))
        }
        #expect(error?.oauthError == "access_denied")
        let unpromised = try pending(promised: nil)
        #expect(
            Fixture.error { try unpromised.accept(pairs("error=access_denied&state=STATE", unpromised)) }?
                .oauthError == "access_denied")
    }

    @Test("an error answer that lacks the promised iss ends the sign-in, and the lack is remarked on")
    func errorWithoutIssuer() throws {
        let pending = try Fixture.pending()
        let error = Fixture.error { try pending.accept(pairs("error=access_denied&state=STATE", pending)) }
        #expect(error?.kind == .refused)
        #expect(error?.oauthError == "access_denied")
        #expect(error?.message.hasSuffix("the answer lacks iss, which the provider promises") == true)
    }

    @Test("an error without a code is named as such, and has no OAuth error")
    func emptyError() throws {
        let pending = try Fixture.pending()
        let error = #expect(throws: OIDCError.self) {
            try pending.accept(pairs("state=STATE&error=&error_description=x&\(Self.iss)", pending))
        }
        #expect(error?.message == "authorize: the provider answered an error without a code (\"x\")")
        #expect(error?.oauthError == nil)
    }

    @Test(
        "the right state with neither error nor a usable code ends the sign-in",
        arguments: [
            ("state=STATE&\(iss)", "authorize: the answer contains neither code nor error"),
            ("state=STATE", "authorize: the answer contains neither code nor error"),
            (
                "state=STATE&code=&\(iss)",
                "authorize: code: expected up to 8192 ASCII characters, found an empty one"
            ),
            (
                "state=STATE&code=a%0D%0Ab&\(iss)",
                "authorize: code: expected up to 8192 ASCII characters, found other characters"
            ),
            (
                "state=STATE&code=LONG&\(iss)",
                "authorize: code: expected up to 8192 ASCII characters, found 8193"
            ),
        ])
    func noCode(_ query: String, _ message: String) throws {
        let pending = try Fixture.pending()
        #expect(throws: Fixture.refused(message, .authorization)) {
            try pending.accept(pairs(query, pending))
        }
    }

    @Test("error and code together are never a success", arguments: ["error=access_denied", "error="])
    func errorAndCode(_ error: String) throws {
        let pending = try Fixture.pending()
        let thrown = Fixture.error {
            try pending.accept(pairs("\(error)&code=abc&state=STATE&\(Self.iss)", pending))
        }
        #expect(thrown?.kind == .refused)
        #expect(thrown?.message.contains("; the code beside it was not used") == true)
    }

    @Test(
        "tokens in the URL are never a success", arguments: ["access_token", "id_token", "refresh_token"])
    func tokens(_ name: String) throws {
        let pending = try Fixture.pending()
        let query = "code=abc&\(name)=eyJ.secret&state=STATE&\(Self.iss)"
        let error = Fixture.error { try pending.accept(pairs(query, pending)) }
        #expect(error?.kind == .refused)
        #expect(error?.message == "authorize: \(name): expected code alone, found a token in the URL")
    }

    @Test(
        "the hint fits the error and the request",
        arguments: [
            ("login_required", "none", "sign in without prompt=none"),
            ("interaction_required", "none", "sign in without prompt=none"),
            ("consent_required", nil, .signIn),
            ("access_denied", nil, .advice(.signInAndAllow)),
            ("server_error", nil, .tryAgain(seconds: nil)),
            ("temporarily_unavailable", nil, .tryAgain(seconds: nil)),
            ("unauthorized_client", nil, "register the client for the authorization code grant"),
            ("invalid_target", nil, .advice(.checkTarget)),
            ("unmet_authentication_requirements", nil, .advice(.checkACRValues)),
            ("something_else", nil, nil),
        ] as [(String, String?, Hint?)])
    func hints(_ code: String, _ prompt: String?, _ hint: Hint?) throws {
        let pending = try Fixture.pending(prompt: prompt)
        let error = Fixture.error {
            try pending.accept(pairs("error=\(code)&state=STATE&\(Self.iss)", pending))
        }
        #expect(error?.kind == (hint == .tryAgain(seconds: nil) ? .unreachable : .refused))
        #expect(error?.oauthError == code)
        #expect(error?.hint == hint)
    }

    @Test(
        "a refusal that names consent has the prompt in its hint",
        arguments: [
            (nil, "no+Consent+in+prompt", .set(.prompt, to: "consent")),
            ("consent", "prompt+consent+is+unknown", .set(.prompt, to: "off")), (nil, "no+such+thing", nil),
        ] as [(String?, String, Hint?)])
    func consent(_ prompt: String?, _ description: String, _ hint: Hint?) throws {
        let pending = try Fixture.pending(prompt: prompt)
        let query = "error=invalid_request&error_description=\(description)&state=STATE&\(Self.iss)"
        #expect(Fixture.error { try pending.accept(pairs(query, pending)) }?.hint == hint)
    }

    @Test(
        "other parameters of the redirect are kept (QuickBooks' realmId), except secrets and repeated ones"
    )
    func extra() throws {
        let pending = try Fixture.pending()
        let query =
            "code=abc&state=STATE&realmId=123&x=1&x=2&client_secret=s&session_state=y&hd=example.com&\(Self.iss)"
        let code = try #require(try pending.accept(pairs(query, pending)))
        #expect(JSONValue.object(code.extra) == ["realmId": "123"])
    }
}
