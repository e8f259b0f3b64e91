import Testing

@testable import OIDCCore

@Suite("Authorization request (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1)")
struct AuthorizationRequestTests {
    @Test("the URL has the code flow, S256, state and nonce, and never the verifier")
    func plain() throws {
        let pending = try Fixture.pending()
        let url = pending.url
        #expect(url.withoutQuery == "https://op.example/authorize")
        #expect(url.value("response_type") == "code")
        #expect(url.value("client_id") == "cli")
        #expect(url.value("redirect_uri") == "http://127.0.0.1:8400/callback")
        #expect(url.value("scope") == "openid profile")
        #expect(url.value("state") == pending.state.revealed)
        #expect(url.value("nonce") == pending.nonce?.revealed && pending.nonce != nil)
        #expect(url.value("code_challenge") == (try pending.pkce.challenge))
        #expect(url.value("code_challenge_method") == "S256")
        #expect(url.value("response_mode") == nil)
        #expect(!url.text.contains(pending.pkce.verifier.revealed))
        #expect(url.text.contains("scope=openid%20profile&"))
    }

    @Test("state and nonce have 128 random bits, the verifier 256, all fresh")
    func entropy() throws {
        var asked: [Int] = []
        var next: UInt8 = 0
        let random = { (count: Int) -> [UInt8] in
            asked.append(count)
            next += 1
            return [UInt8](repeating: next, count: count)
        }
        let metadata = try Fixture.metadata()
        let first = try Fixture.request().begin(metadata, random: random)
        let second = try Fixture.request().begin(metadata, random: random)
        #expect(asked.sorted() == [16, 16, 16, 16, 32, 32])
        let secrets = try [first, second].flatMap {
            [$0.state.revealed, try #require($0.nonce).revealed, $0.pkce.verifier.revealed]
        }
        #expect(Set(secrets).count == 6)
    }

    @Test("without a nonce nothing is sent in its place, and state and verifier stay")
    func withoutNonce() throws {
        var request = Fixture.request()
        request.sendsNonce = false
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random())
        #expect(pending.nonce == nil && pending.url.value("nonce") == nil)
        #expect(!pending.url.text.includes("nonce"))
        #expect(pending.url.value("state")?.utf8.count == 22 && pending.url.value("code_challenge") != nil)
    }

    @Test("without openid there is no nonce: oidc-provider 9 refuses one, and no ID token is asked for")
    func nonceWithoutOpenID() throws {
        var request = Fixture.request()
        for scope in ["", "api:read", "openidx profile"] {
            request.scope = Scope(scope)
            let pending = try request.begin(Fixture.metadata(), random: Fixture.random())
            #expect(pending.nonce == nil && pending.url.value("nonce") == nil)
        }
    }

    @Test("every setting becomes its parameter, encoded to keep spaces, + and other scripts")
    func settings() throws {
        var request = Fixture.request(redirectURI: "com.example.app:/back")
        request.audience = "https://api.example/ a+b"
        request.resources = ["https://a.example/", "urn:example:b"]
        request.responseMode = .formPost
        request.prompt = "login consent"
        request.maxAge = .seconds(0)
        request.loginHint = "jürgen+x@example.com"
        request.acrValues = "urn:a urn:b"
        request.uiLocales = "de en"
        request.authorizationDetails = [["type": "payment"]]
        request.dpopThumbprint = "thumb"
        request.extraParameters = [FormEncoding.Pair("access_type", "off&line")]
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random())
        let expected = [
            "redirect_uri": "com.example.app:/back", "audience": "https://api.example/ a+b",
            "response_mode": "form_post", "prompt": "login consent", "max_age": "0",
            "login_hint": "jürgen+x@example.com", "acr_values": "urn:a urn:b", "ui_locales": "de en",
            "authorization_details": #"[{"type":"payment"}]"#, "dpop_jkt": "thumb",
            "access_type": "off&line",
        ]
        for (name, value) in expected { #expect(pending.url.value(name) == value, "\(name)") }
        let resources = pending.url.pairs.filter { $0.name == "resource" }.map(\.value)
        #expect(resources == ["https://a.example/", "urn:example:b"])
        #expect(!(pending.url.query ?? "+").contains("+"))
        #expect(pending.responseMode == .formPost)
        #expect(pending.maxAge == .seconds(0))
    }

    @Test(
        "the endpoint's own query is kept",
        arguments: [
            ("?p=b2c%20x", "https://op.example/authorize?p=b2c%20x&response_type="),
            ("?", "https://op.example/authorize?response_type=code"),
        ])
    func ownQuery(_ query: String, _ prefix: String) throws {
        let endpoint = JSONValue.string("https://op.example/authorize\(query)")
        let url = try Fixture.pending(["authorization_endpoint": endpoint]).url
        #expect(url.text.hasPrefix(prefix), "\(url.text)")
    }

    @Test("an endpoint whose query already has one of our parameters is refused")
    func endpointOverwrites() {
        let error = Fixture.error {
            try Fixture.pending(["authorization_endpoint": "https://op.example/a?redirect_uri=https://evil"])
        }
        #expect(
            error
                == .protocolViolation(
                    .authorization, "authorization_endpoint", expected: "a query without our parameters",
                    found: "redirect_uri"))
    }

    @Test(
        "extra parameters overwrite no parameter of the protocol",
        arguments: [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "response_mode", "max_age", "request", "request_uri", "dpop_jkt",
            "client_secret", "client_assertion", "client_assertion_type", "code_verifier", "code",
        ])
    func extraProtocolParameter(_ name: String) {
        var request = Fixture.request()
        request.extraParameters = [FormEncoding.Pair(name, "x")]
        #expect(
            throws: OIDCError.usage(
                "authorization request: \(name) is a parameter of the protocol and cannot be replaced",
                hint: .advice(.removeAuthorizeParameter))
        ) { try request.begin(Fixture.metadata(), random: Fixture.random()) }
    }

    @Test("an extra parameter with a setting of its own is refused when both are set")
    func extraTwice() throws {
        var request = Fixture.request()
        request.extraParameters = [FormEncoding.Pair("prompt", "consent")]
        let alone = try request.begin(Fixture.metadata(), random: Fixture.random())
        #expect(alone.url.value("prompt") == "consent")
        request.prompt = "login"
        let error = Fixture.error { try request.begin(Fixture.metadata(), random: Fixture.random()) }
        #expect(
            error?.message
                == "authorization request: prompt is also set by its own setting")
        #expect(error?.kind == .usage)
    }

    @Test(
        "offline_access without a prompt sends prompt=consent (OpenID Connect Core §11), unless the settings say otherwise",
        arguments: [
            ("openid offline_access", nil, true, nil, "consent"), ("openid", nil, true, nil, nil),
            ("offline_access", "login", true, nil, "login"), ("offline_access", nil, false, nil, nil),
            ("offline_access", nil, true, #"["none","login"]"#, nil),
            ("offline_access", nil, true, #"["none","consent"]"#, "consent"),
        ] as [(String, String?, Bool, String?, String?)])
    func offlineAccess(
        _ scope: String, _ prompt: String?, _ isWanted: Bool, _ listed: String?, _ sent: String?
    ) throws {
        var request = Fixture.request()
        request.scope = Scope(scope)
        request.prompt = prompt
        request.promptsForOfflineAccess = isWanted
        let supported = try listed.map { try JSONValue(parsing: $0) }
        let metadata = try Fixture.metadata(["prompt_values_supported": supported])
        let pending = try request.begin(metadata, random: Fixture.random())
        #expect(pending.url.value("prompt") == sent && pending.prompt == sent)
        request.prompt = nil
        request.extraParameters = [FormEncoding.Pair("prompt", "select_account")]
        let other = try request.begin(metadata, random: Fixture.random())
        #expect(other.url.value("prompt") == "select_account")
    }

    @Test("a provider that supports only plain is refused, a silent one is sent S256")
    func pkceMethods() throws {
        #expect(
            throws: OIDCError.protocolViolation(
                .authorization, "code_challenge_methods_supported", expected: "S256 among them",
                found: "plain")
        ) { try Fixture.pending(["code_challenge_methods_supported": ["plain"]]) }
        let silent = try Fixture.pending(["code_challenge_methods_supported": nil])
        #expect(silent.url.value("code_challenge_method") == "S256")
        _ = try Fixture.pending(["code_challenge_methods_supported": ["plain", "S256"]])
    }

    @Test("an authorization endpoint that is plain http off loopback is not opened")
    func plainHTTP() throws {
        let endpoint = try Fixture.url("http://op.example/authorize")
        let metadata = ProviderMetadata(issuer: nil, endpoints: [.authorization: endpoint])
        let error = Fixture.error { try Fixture.request().begin(metadata, random: Fixture.random()) }
        #expect(error?.kind == .refused)
        #expect(error?.message.contains("authorization_endpoint: expected an https URL") == true)
    }

    @Test("a missing authorization endpoint is named")
    func missingEndpoint() {
        #expect(
            throws: OIDCError(
                .refused, "discovery: authorization_endpoint is missing from the metadata",
                hint: .setEndpoint(.authorization), stage: .discovery)
        ) { try Fixture.pending(["authorization_endpoint": nil]) }
        let configured = Fixture.error {
            try Fixture.request().begin(ProviderMetadata(issuer: nil), random: Fixture.random())
        }
        #expect(configured?.kind == .usage)
    }

    @Test(
        "a redirect URI is absolute, has no fragment, and is plain http on loopback only",
        arguments: [
            ("", false), ("callback", false), ("/callback", false), ("http://127.0.0.1/c#x", false),
            ("http://example.com/c", false), ("http://[::1]:1/c", true), ("http://localhost/c", true),
            ("https://example.com/c?x=1", true), ("com.example.app:/c", true), ("1app:/c", false),
            ("my app:/c", false), ("app:/c\r\nx", false), ("https:///c", false), ("ä:/c", false),
        ])
    func redirectURI(_ text: String, _ isAllowed: Bool) {
        let error = Fixture.error {
            try Fixture.request(redirectURI: text).begin(Fixture.metadata(), random: Fixture.random())
        }
        #expect((error == nil) == isAllowed, "\(error?.message ?? "")")
        if let error {
            #expect(error.kind == .usage)
            #expect(error.message.hasPrefix("redirect_uri: "))
        }
    }

    @Test(
        "a setting that breaks a rule is named",
        arguments: [
            ("scope", "scope: "), ("resource", "resource: "), ("max_age", "max_age: "),
            ("prompt", "prompt: none cannot be combined with other values"), ("client_id", "client_id "),
            ("authorization_details", "authorization_details: expected an array, found an object"),
        ])
    func badSetting(_ name: String, _ prefix: String) {
        var request = Fixture.request()
        switch name {
        case "scope": request.scope = Scope("openid \"x")
        case "resource": request.resources = ["https://a.example/#f"]
        case "max_age": request.maxAge = .seconds(-1)
        case "prompt": request.prompt = "none login"
        case "client_id": request.client.id = ""
        default: request.authorizationDetails = ["type": "x"]
        }
        let error = Fixture.error { try request.begin(Fixture.metadata(), random: Fixture.random()) }
        #expect(error?.kind == .usage)
        #expect(error?.message.hasPrefix(prefix) == true, "\(error?.message ?? "none")")
    }

    @Test("a request that is too long for a URL is refused, not cut")
    func tooLong() {
        var request = Fixture.request()
        request.loginHint = String(repeating: "x", count: 70_000)
        let error = Fixture.error { try request.begin(Fixture.metadata(), random: Fixture.random()) }
        #expect(error?.kind == .usage)
    }

    @Test("neither description nor mirror shows state, nonce or verifier")
    func redaction() throws {
        let pending = try Fixture.pending()
        var dumped = "\(pending)"
        dump(pending, to: &dumped)
        for secret in [pending.state, try #require(pending.nonce), pending.pkce.verifier] {
            #expect(!dumped.contains(secret.revealed))
        }
    }
}
