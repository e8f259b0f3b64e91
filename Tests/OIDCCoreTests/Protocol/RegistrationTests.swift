import Testing

@testable import OIDCCore

@Suite("Dynamic client registration (RFC 7591)")
struct RegistrationTests {
    private func call(
        _ registration: Registration = Registration(clientName: "oidc"), token: String? = nil
    ) throws -> EndpointCall<RegisteredClient> {
        try registration.call(
            at: Fixture.url("https://op.example/register"), initialAccessToken: token.map { Redacted($0) })
    }

    @Test("oidcc-client-test-dynamic-registration: a native public client with a redirect on loopback")
    func request() throws {
        var registration = Registration(clientName: "oidc", scope: Scope("openid email"))
        registration.postLogoutRedirectURIs = ["http://127.0.0.1/out"]
        registration.extra["contacts"] = ["a@b.example"]
        registration.extra["application_type"] = "web"
        let request = try call(registration, token: "iat").request
        #expect(request.headers["Authorization"] == "Bearer iat")
        #expect(request.headers["Content-Type"] == "application/json")
        let document = try JSONValue(parsing: request.body)
        #expect(document["application_type"] == "native")
        #expect(document["redirect_uris"] == ["http://127.0.0.1/callback"])
        #expect(document["grant_types"] == ["authorization_code", "refresh_token"])
        #expect(document["response_types"] == ["code"])
        #expect(document["token_endpoint_auth_method"] == "none")
        #expect(document["scope"] == "openid email")
        #expect(document["post_logout_redirect_uris"] == ["http://127.0.0.1/out"])
        #expect(document["contacts"] == ["a@b.example"])
    }

    @Test("the registered client is returned, with what the provider replaced")
    func answer() throws {
        let registered = try call().read(
            Fixture.json(
                #"{"client_id":"c1","client_secret":"s","client_secret_expires_at":0,"#
                    + #""registration_access_token":"rat","registration_client_uri":"https://op.example/c1","#
                    + #""token_endpoint_auth_method":"client_secret_basic","redirect_uris":["https://evil"]}"#,
                status: 201))
        #expect(registered.clientID == "c1")
        #expect(registered.clientSecret?.revealed == "s")
        #expect(registered.clientSecretExpiresAt == nil)
        #expect(registered.registrationAccessToken?.revealed == "rat")
        let access = try registered.access(from: Fixture.url("https://op.example"))
        #expect(access?.uri.text == "https://op.example/c1" && access?.token.revealed == "rat")
        #expect(registered.registrationClientURI?.text == "https://op.example/c1")
        #expect(registered.tokenEndpointAuthMethod == "client_secret_basic")
        #expect(registered.redirectURIs == ["https://evil"])
    }

    @Test(
        "an answer without a usable client_id is refused",
        arguments: [
            ("{}", "registration: client_id is missing from the answer"),
            (#"{"client_id":""}"#, "registration: client_id: expected a string, found an empty one"),
            (#"{"client_id":["c"]}"#, "registration: client_id: expected a string, found an array"),
            (#"{"client_id":"c\n"}"#, "registration: client_id: expected ASCII characters, found c "),
            (
                #"{"client_id":"c","client_secret":7}"#,
                "registration: client_secret: expected a string, found a number"
            ),
        ])
    func broken(_ body: String, _ message: String) {
        #expect(throws: Fixture.refused(message, .registration)) {
            try call().read(Fixture.json(body, status: 201))
        }
    }

    @Test(
        "a secret is kept, unless the method is none",
        arguments: [("none", nil), ("client_secret_basic", "s")] as [(String, String?)])
    func secretOfAPublicClient(_ method: String, _ kept: String?) throws {
        let body = #"{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"\#(method)"}"#
        let registered = try call().read(Fixture.json(body, status: 201))
        #expect(registered.clientSecret?.revealed == kept)
        #expect(registered.tokenEndpointAuthMethod == method)
    }

    @Test(
        "a refusal has its hint, and a code if a token is needed",
        arguments: [
            (400, #"{"error":"invalid_redirect_uri"}"#, .advice(.checkRedirectURI)),
            (400, #"{"error":"invalid_client_metadata"}"#, nil),
            (401, "", "give the initial access token that the provider issues for registration"),
            (
                401, #"{"error":"invalid_token"}"#,
                "give the initial access token that the provider issues for registration"
            ),
        ] as [(Int, String, Hint?)])
    func refused(_ status: Int, _ body: String, _ hint: Hint?) {
        let error = Fixture.error { try call().read(Fixture.json(body, status: status)) }
        #expect(error?.kind == .refused)
        #expect(error?.hint == hint)
        #expect(error?.code == (status == 401 ? .registrationNeedsToken : nil))
    }

    @Test(
        "a token that is not a header value, or a bad redirect URI, is not sent",
        arguments: ["", "a\r\nb", "ä"])
    func badInput(_ token: String) {
        #expect(Fixture.error { try call(token: token) }?.kind == .usage)
        let registration = Registration(clientName: "x", redirectURIs: ["http://example.com/"])
        #expect(Fixture.error { try call(registration) }?.message.hasPrefix("redirect_uri: ") == true)
    }

    private func registered(_ more: String, _ registration: Registration? = nil) throws -> RegisteredClient {
        try call(registration ?? Registration(clientName: "oidc")).read(
            Fixture.json(#"{"client_id":"c1"\#(more)}"#, status: 201))
    }

    @Test(
        "refresh tokens and an authentication method are requested if the authorization server supports them")
    func atServer() throws {
        func registration(_ changes: [String: JSONValue?]) throws -> Registration {
            Registration(
                clientName: "oidc", redirectURIs: ["http://127.0.0.1/cb"], at: try Fixture.metadata(changes))
        }
        #expect(try registration([:]).grantTypes == ["authorization_code", "refresh_token"])
        #expect(
            try registration(["grant_types_supported": ["authorization_code"]]).grantTypes == [
                "authorization_code"
            ])
        let both: JSONValue = ["refresh_token", "authorization_code"]
        #expect(
            try registration(["grant_types_supported": both]).grantTypes == [
                "authorization_code", "refresh_token",
            ])
        let methods: [(JSONValue?, String)] = [
            (nil, "none"), (["client_secret_basic", "none"], "none"),
            (["client_secret_post"], "client_secret_post"),
            (["client_secret_post", "client_secret_basic"], "client_secret_post"),
            (["private_key_jwt", "client_secret_basic", "client_secret_post"], "client_secret_basic"),
            (["client_secret_post", "none"], "none"),
            (["private_key_jwt"], "none"),
        ]
        for (supported, expected) in methods {
            let chosen = try registration(["token_endpoint_auth_methods_supported": supported])
            #expect(chosen.tokenEndpointAuthMethod == expected)
            #expect(JSONValue.object(try chosen.document())["application_type"] == "native")
        }
    }

    @Test(
        "a registration answer with another redirect is refused; ours are kept as far as they were registered"
    )
    func redirects() throws {
        let urls = ["http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb"]
        let registration = Registration(clientName: "oidc", redirectURIs: urls)
        func usable(_ answer: String) throws -> [String] {
            try registered(answer, registration).redirectURIs(of: registration)
        }
        #expect(try usable("") == urls)
        #expect(try usable(#","redirect_uris":[]"#) == urls)
        #expect(try usable(#","redirect_uris":["\#(urls[1])","\#(urls[0])"]"#) == urls)
        #expect(try usable(#","redirect_uris":["\#(urls[1])"]"#) == [urls[1]])
        // RFC 8252 §7.3: any port of a loopback URL may be used, so a server may leave it out.
        #expect(try usable(#","redirect_uris":["http://127.0.0.1/cb"]"#) == urls)
        for other in [
            #"["http://127.0.0.1/other"]"#, #"["http://localhost/cb"]"#, #"["https://127.0.0.1/cb"]"#,
            #"["https://evil.test/cb"]"#, #"["\#(urls[0])","https://evil.test/cb"]"#,
            #"["http://127.0.0.1:3/cb"]"#,
            #"["http://127.0.0.1:1/cb/"]"#, #"["http://localhost:1/cb"]"#, #"["javascript:alert(1)"]"#,
        ] {
            let error = Fixture.error { try usable(#","redirect_uris":\#(other)"#) }
            #expect(error?.kind == .refused && error?.member == "redirect_uris")
        }
    }

    @Test("the method follows the metadata if they list only none, else the answer")
    func authentication() throws {
        func method(_ answer: String, _ supported: JSONValue?) throws -> (String?, String?) {
            let found = try registered(answer).authentication(
                at: Fixture.metadata(["token_endpoint_auth_methods_supported": supported]))
            return (found.method, found.secret?.revealed)
        }
        let secret = #","client_secret":"s""#
        #expect(try method(secret, ["none"]) == ("none", nil))
        #expect(try method(secret, nil) == (nil, "s"))
        #expect(try method("", nil) == ("none", nil))
        #expect(try method(secret, ["none", "client_secret_basic"]) == (nil, "s"))
        #expect(
            try method(secret + #","token_endpoint_auth_method":"client_secret_post""#, nil)
                == ("client_secret_post", "s"))
        #expect(try method(secret + #","token_endpoint_auth_method":"none""#, nil) == ("none", nil))
        for bad in [
            #","token_endpoint_auth_method":"client_secret_basic""#,
            secret + #","token_endpoint_auth_method":"private_key_jwt""#,
        ] {
            let error = Fixture.error { try method(bad, nil) }
            #expect(error?.kind == .refused && error?.member == "token_endpoint_auth_method")
        }
    }

    @Test("a client's ID has at most 2,048 characters")
    func longID() throws {
        func answer(_ count: Int) throws -> RegisteredClient {
            try call(Registration(clientName: "oidc")).read(
                Fixture.json(#"{"client_id":"\#(String(repeating: "x", count: count))"}"#, status: 201))
        }
        #expect(try answer(2_048).clientID.utf8.count == 2_048)
        let error = Fixture.error { try answer(2_049) }
        #expect(error?.member == "client_id" && error?.message.contains("at most 2048") == true)
    }

    @Test("a client that was registered without the code grant is refused")
    func otherGrants() throws {
        _ = try registered(#","grant_types":["authorization_code"]"#)
        let error = Fixture.error { try registered(#","grant_types":["implicit"]"#) }
        #expect(error?.member == "grant_types" && error?.message.contains("found implicit") == true)
    }

    @Test("a secret expires when the answer says so, and zero means never")
    func expiry() throws {
        let second = try registered(#","client_secret":"s","client_secret_expires_at":1000"#)
        #expect(second.clientSecretExpiresAt == Instant(secondsSinceEpoch: 1_000))
        let never = try registered(#","client_secret":"s","client_secret_expires_at":0"#)
        #expect(never.clientSecretExpiresAt == nil)
    }

    @Test(
        "registration_client_uri is https on any host; only a server on this machine or in a private network leads there",
        arguments: [
            ("https://op.example", "https://op.example/c1", true),
            ("https://op.example", "https://other.example:8443/c1", true),
            ("https://op.example", "https://op.example/c1#x", false),
            ("https://op.example", "http://op.example/c1", false),
            ("https://op.example", "http://127.0.0.1:9200/index/_all", false),
            ("https://op.example", "https://127.0.0.1/c1", false),
            ("https://op.example", "https://[::ffff:127.0.0.1]/c1", false),
            ("https://op.example", "https://localhost/c1", false),
            ("https://op.example", "https://169.254.169.254/c1", false),
            ("https://op.example", "https://10.0.0.1/c1", false),
            ("https://10.0.0.1", "https://10.0.0.2/c1", true),
            ("https://10.0.0.1", "https://127.0.0.1/c1", false),
            ("http://localhost:1", "http://127.0.0.1:1/c1", true),
            ("http://op.internal", "http://op.internal/c1", true),
            ("http://op.internal", "http://127.0.0.1/c1", false),
        ])
    func access(server: String, uri: String, isAllowed: Bool) throws {
        let client = try registered(
            #","registration_access_token":"rat","registration_client_uri":"\#(uri)""#)
        let server = try Fixture.url(server)
        let error = Fixture.error { try client.access(from: server) }
        #expect((error == nil) == isAllowed)
        #expect(
            isAllowed || error?.kind == .untrusted && error?.member == "registration_client_uri",
            "\(error as Any)")
    }

    @Test("a registration access token that a header cannot contain is refused")
    func accessToken() throws {
        let client = try registered(
            #","registration_access_token":"r\r\n","registration_client_uri":"https://op.example/c1""#)
        let error = Fixture.error { try client.access(from: Fixture.url("https://op.example")) }
        #expect(error?.member == "registration_access_token")
    }
}
