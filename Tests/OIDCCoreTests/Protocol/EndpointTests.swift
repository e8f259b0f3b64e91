import Testing

@testable import OIDCCore

@Suite("Revocation (RFC 7009) and introspection (RFC 7662)")
struct EndpointTests {
    private func revocation(
        _ authentication: ClientAuthentication = .none
    ) throws -> EndpointCall<Revocation.Answer> {
        try Revocation.call(
            Redacted("t&k"), hint: .refreshToken, at: Fixture.url("https://op.example/revoke"),
            client: Client(id: "cli", authentication: authentication), now: Fixture.now,
            random: Fixture.random())
    }

    private func introspection() throws -> EndpointCall<Introspection> {
        try Introspection.call(
            Redacted("tk"), hint: nil, at: Fixture.url("https://op.example/introspect"),
            client: Client(id: "cli", authentication: .clientSecretPost(Redacted("pw"))), now: Fixture.now,
            random: Fixture.random())
    }

    @Test(
        "a refusal to introspect says that introspection needs a confidential client, if that is the reason",
        arguments: [
            (ClientAuthentication.none, 401, "invalid_client", Hint.advice(.introspectAsOtherClient)),
            (.none, 400, "invalid_request", .advice(.introspectAsOtherClient)),
            (.none, 403, "", .advice(.introspectAsOtherClient)), (.none, 503, "", .tryAgain(seconds: nil)),
            (.clientSecretPost(Redacted("pw")), 401, "invalid_client", .advice(.checkClient)),
            (
                .clientSecretPost(Redacted("pw")), 400, "unauthorized_client",
                .advice(.introspectAsOtherClient)
            ),
            (.clientSecretPost(Redacted("pw")), 403, "", .advice(.introspectAsOtherClient)),
            (.clientSecretPost(Redacted("pw")), 400, "invalid_request", nil),
        ] as [(ClientAuthentication, Int, String, Hint?)])
    func introspectionHints(
        _ authentication: ClientAuthentication, _ status: Int, _ code: String, _ hint: Hint?
    ) throws {
        let call = try Introspection.call(
            Redacted("tk"), hint: nil, at: Fixture.url("https://op.example/introspect"),
            client: Client(id: "cli", authentication: authentication), now: Fixture.now,
            random: Fixture.random())
        let body = code.isEmpty ? "" : #"{"error":"\#(code)"}"#
        let error = Fixture.error { try call.read(Fixture.json(body, status: status)) }
        #expect(error?.hint == hint, "\(error?.message ?? "")")
    }

    @Test("the token goes into the body, with its kind and the client's proof")
    func requests() throws {
        #expect(
            try revocation().request.bodyText
                == "token=t%26k&token_type_hint=refresh_token&client_id=cli")
        #expect(try introspection().request.bodyText == "token=tk&client_id=cli&client_secret=pw")
    }

    @Test("a revocation succeeds by its status, with any body", arguments: ["", "<html>", "{}"])
    func revoked(_ body: String) throws {
        #expect(try revocation().read(Fixture.json(body)) == .revoked)
    }

    @Test(
        "a revocation that is refused or fails",
        arguments: [
            (400, #"{"error":"unsupported_token_type"}"#, OIDCError.Kind.refused, "unsupported_token_type"),
            (401, #"{"error":"invalid_client"}"#, .refused, "invalid_client"), (400, "", .refused, nil),
            (503, "", .unreachable, nil), (302, "", .refused, nil),
        ] as [(Int, String, OIDCError.Kind, String?)])
    func notRevoked(_ status: Int, _ body: String, _ kind: OIDCError.Kind, _ code: String?) {
        let error = Fixture.error {
            try revocation(.clientSecretPost(Redacted("pw"))).read(Fixture.json(body, status: status))
        }
        #expect(error?.kind == kind)
        #expect(error?.oauthError == code)
        #expect(error?.stage == .revocation)
    }

    // Spring Authorization Server answers an empty 401 (7.1, captured 2026-11).
    @Test(
        "a provider that does not accept a public client revokes none of its tokens; an invalid token is another matter",
        arguments: [
            (401, "", Revocation.Answer.notOffered), (401, #"{"error":"invalid_client"}"#, .notOffered),
            (403, "", .notOffered), (400, #"{"error":"unauthorized_client"}"#, .notOffered),
            (401, #"{"error":"invalid_token"}"#, nil), (400, #"{"error":"invalid_request"}"#, nil),
            (503, "", nil),
        ] as [(Int, String, Revocation.Answer?)])
    func publicClient(_ status: Int, _ body: String, _ answer: Revocation.Answer?) throws {
        #expect((try? revocation().read(Fixture.json(body, status: status))) == answer)
        let confidential = try revocation(.clientSecretPost(Redacted("pw")))
        #expect(Fixture.error { try confidential.read(Fixture.json(body, status: status)) } != nil)
    }

    @Test(
        "revocation_endpoint_auth_methods_supported without none: no revocation for public clients (RFC 8414 §2)",
        arguments: [
            (["client_secret_basic"], "none", false), (["none", "client_secret_basic"], "none", true),
            (nil, "none", true), (["client_secret_basic"], "secret", true),
        ] as [([String]?, String, Bool)])
    func offered(_ methods: [String]?, _ client: String, _ isOffered: Bool) throws {
        let metadata = try Fixture.metadata([
            "revocation_endpoint": "https://op.example/revoke",
            "revocation_endpoint_auth_methods_supported": methods.map { .array($0.map { .string($0) }) },
        ])
        let authentication: ClientAuthentication =
            client == "none" ? .none : .clientSecretBasic(Redacted("pw"))
        let url = metadata.revocationURL(for: Client(id: "cli", authentication: authentication))
        #expect((url != nil) == isOffered)
    }

    @Test("an introspection answer is active or not, with its claims", arguments: [true, false])
    func introspected(_ isActive: Bool) throws {
        let answer = try introspection().read(Fixture.json(#"{"active":\#(isActive),"sub":"alice"}"#))
        #expect(answer.isActive == isActive)
        #expect(answer.claims["sub"] == "alice")
    }

    @Test(
        "an answer without active as true or false is refused",
        arguments: [
            ("{}", "introspection: active is missing from the answer"),
            (#"{"active":"true"}"#, "introspection: active: expected true or false, found a string"),
            (#"{"active":1}"#, "introspection: active: expected true or false, found a number"),
            (#"{"active":null}"#, "introspection: active is missing from the answer"),
            ("eyJ.x.y", "introspection: expected a JSON object, found text that is not JSON"),
        ])
    func broken(_ body: String, _ message: String) {
        let error = Fixture.error { try introspection().read(Fixture.json(body)) }
        #expect(error?.kind == .refused)
        #expect(error?.message.hasPrefix(message) == true)
    }

    @Test("a client that is refused gets a hint what to check")
    func unauthorized() {
        let error = Fixture.error { try introspection().read(Fixture.json("", status: 401)) }
        #expect(error?.hint == .advice(.checkClient))
    }
}

@Suite("RP-initiated logout")
struct LogoutTests {
    private func begin(
        redirect: String?, endpoint: String = "https://op.example/logout"
    ) throws -> PendingLogout {
        try Logout(clientID: "cli", idTokenHint: Redacted("a.b.c"), postLogoutRedirectURI: redirect)
            .begin(at: Fixture.url(endpoint), random: Fixture.random())
    }

    @Test(
        "oidcc-client-test-rp-init-logout: id_token_hint, client_id, and state where a redirect is registered"
    )
    func address() throws {
        let pending = try begin(redirect: "http://127.0.0.1:8400/out", endpoint: "https://op.example/l?x=1")
        #expect(pending.url.value("x") == "1")
        #expect(pending.url.value("id_token_hint") == "a.b.c")
        #expect(pending.url.value("client_id") == "cli")
        #expect(pending.url.value("post_logout_redirect_uri") == "http://127.0.0.1:8400/out")
        let state = try #require(pending.url.value("state"))
        #expect(state.utf8.count == 22)
        #expect(pending.accept([FormEncoding.Pair("state", state)]))
    }

    @Test("without a registered redirect there is no state, and no request is accepted")
    func noRedirect() throws {
        let pending = try begin(redirect: nil)
        #expect(pending.url.text == "https://op.example/logout?id_token_hint=a.b.c&client_id=cli")
        #expect(pending.urlWithoutToken.text == "https://op.example/logout?client_id=cli")
        #expect(!pending.accept([]))
        #expect(!pending.accept([FormEncoding.Pair("state", "")]))
    }

    @Test(
        "oidcc-client-test-rp-init-logout-other-state, -no-state: not accepted as our sign-out",
        arguments: ["", "state=", "state=other", "state=STATE&state=STATE", "x=STATE"])
    func strangers(_ query: String) throws {
        let pending = try begin(redirect: "http://127.0.0.1:8400/out")
        let state = try #require(pending.url.value("state"))
        let pairs = try #require(FormEncoding.decode(query)).map {
            FormEncoding.Pair($0.name, $0.value == "STATE" ? state : $0.value)
        }
        #expect(!pending.accept(pairs))
    }

    @Test("a redirect that breaks the rules is named")
    func badRedirect() {
        let error = Fixture.error { try begin(redirect: "http://example.com/out") }
        #expect(error?.message.hasPrefix("post_logout_redirect_uri: ") == true)
        #expect(error?.kind == .usage)
    }

    @Test("neither description nor mirror shows the ID token")
    func redaction() throws {
        let pending = try begin(redirect: nil)
        var dumped = "\(pending)"
        dump(pending, to: &dumped)
        #expect(!dumped.contains("a.b.c"))
    }
}
