import Testing

@testable import OIDCCore

@Suite("Discovery (OpenID Connect Discovery, RFC 8414)")
struct DiscoveryTests {
    @Test(
        "the well-known places, whether or not the issuer ends in a slash",
        arguments: [
            ("https://op.example", ""), ("https://op.example/", ""), ("https://op.example/a/b", "/a/b"),
            ("https://op.example/a/", "/a"),
        ])
    func places(_ issuer: String, _ path: String) throws {
        let urls = try ProviderMetadata.wellKnownURLs(issuer: issuer)
        #expect(
            urls.map(\.text) == [
                "https://op.example\(path)/.well-known/openid-configuration",
                "https://op.example/.well-known/oauth-authorization-server\(path)",
            ])
    }

    @Test("the port of the issuer is kept")
    func port() throws {
        let urls = try ProviderMetadata.wellKnownURLs(issuer: "http://127.0.0.1:9480")
        #expect(urls.first?.text == "http://127.0.0.1:9480/.well-known/openid-configuration")
    }

    @Test(
        "an issuer is https without query and fragment, or http on loopback",
        arguments: [
            ("op.example", "issuer: expected an https address without query and fragment, found op.example"),
            ("", "issuer: expected an https address without query and fragment, found "),
            (
                "https://op.example?x=1",
                "issuer: expected an https address without query and fragment, found https://op.example?x=1"
            ),
            (
                "https://op.example#x",
                "issuer: expected an https address without query and fragment, found https://op.example#x"
            ),
            (
                "javascript:alert(1)",
                "issuer: expected an https address without query and fragment, found javascript:alert(1)"
            ),
            ("http://op.example", "issuer: plain http is for loopback only, found http://op.example"),
        ])
    func badIssuer(_ issuer: String, _ message: String) {
        let error = Fixture.error { try ProviderMetadata.wellKnownURLs(issuer: issuer) }
        #expect(error?.kind == .usage)
        #expect(error?.message == message)
    }

    @Test("the address of the metadata in the place of the issuer is explained")
    func metadataAddress() {
        let error = Fixture.error {
            try ProviderMetadata.wellKnownURLs(
                issuer: "https://op.example/a/.well-known/openid-configuration")
        }
        #expect(error?.hint == "--issuer https://op.example/a")
    }

    @Test("oidcc-client-test-discovery-openid-config: the document is used")
    func document() throws {
        let metadata = try #require(try read(Fixture.json(JSONValue.object(Fixture.document()).compact)))
        #expect(metadata.tokenEndpoint?.text == "https://op.example/token")
        #expect(ProviderEndpoint.allCases.allSatisfy { metadata[$0] != nil })
        #expect(metadata.codeChallengeMethodsSupported == ["S256"])
        #expect(metadata.authorizationResponseIssParameterSupported)
        #expect(!metadata.requirePushedAuthorizationRequests)
        #expect(metadata.isDiscovered)
    }

    @Test("oidcc-client-test-discovery-jwks-uri-keys: the keys are at jwks_uri")
    func keys() throws {
        #expect(try Fixture.metadata().jwksURI?.text == "https://op.example/jwks")
    }

    @Test(
        "oidcc-client-test-discovery-issuer-mismatch: another issuer is refused, with no word of trusting it",
        arguments: [
            "https://evil.example", "https://op.example/x", "HTTPS://op.example", "https://op.example//",
        ])
    func issuerMismatch(_ found: String) throws {
        let document = try Fixture.document(["issuer": .string(found)])
        #expect(
            throws: OIDCError.untrusted(.discovery, "issuer: expected https://op.example, found \(found)")
        ) {
            try ProviderMetadata(document: document, expectedIssuer: "https://op.example")
        }
    }

    @Test(
        "an issuer that differs by one slash is refused, and the remedy prints the one that was found",
        arguments: [
            ("https://op.example", "https://op.example/"), ("https://op.example/", "https://op.example"),
        ])
    func trailingSlash(_ expected: String, _ found: String) throws {
        let document = try Fixture.document(["issuer": .string(found)])
        #expect(
            throws: OIDCError.untrusted(
                .discovery, "issuer: expected \(expected), found \(found)", hint: "--issuer \(found)")
        ) {
            try ProviderMetadata(document: document, expectedIssuer: expected)
        }
    }

    @Test("an issuer that looks the same in other code points is another one")
    func normalisation() throws {
        let document = try Fixture.document(["issuer": "https://op.example/\u{E9}"])
        let error = Fixture.error {
            try ProviderMetadata(document: document, expectedIssuer: "https://op.example/e\u{301}")
        }
        #expect(error?.kind == .untrusted)
    }

    @Test("a missing or empty issuer is refused", arguments: [JSONValue?.none, .some(.null), .some("")])
    func noIssuer(_ value: JSONValue?) throws {
        let document = try Fixture.document(["issuer": value])
        let error = Fixture.error {
            try ProviderMetadata(document: document, expectedIssuer: "https://op.example")
        }
        #expect(error?.kind == .refused)
        #expect(error?.message.contains("issuer") == true)
    }

    @Test(
        "a member that we use must have its type",
        arguments: [
            ("issuer", 7, "discovery: issuer: expected a string, found a number"),
            ("token_endpoint", ["x"], "discovery: token_endpoint: expected a string, found an array"),
            ("jwks_uri", true, "discovery: jwks_uri: expected a string, found a boolean"),
            (
                "scopes_supported", "openid",
                "discovery: scopes_supported: expected an array of strings, found a string"
            ),
            (
                "code_challenge_methods_supported", ["S256", 1],
                "discovery: code_challenge_methods_supported: expected an array of strings, "
                    + "found an array with a number"
            ),
            (
                "authorization_response_iss_parameter_supported", "true",
                "discovery: authorization_response_iss_parameter_supported: expected true or false, "
                    + "found a string"
            ),
            (
                "require_pushed_authorization_requests", 1,
                "discovery: require_pushed_authorization_requests: expected true or false, found a number"
            ),
            (
                "mtls_endpoint_aliases", "x",
                "discovery: mtls_endpoint_aliases: expected an object, found a string"
            ),
        ] as [(String, JSONValue, String)])
    func wrongType(_ name: String, _ value: JSONValue, _ message: String) {
        #expect(throws: OIDCError(.refused, message, stage: .discovery)) {
            try Fixture.metadata([name: value])
        }
    }

    @Test("members that we don't use are not judged, and null is absence")
    func unknownMembers() throws {
        let metadata = try Fixture.metadata([
            "check_session_iframe": 7, "op_policy_uri": "javascript:x", "service_documentation": [],
            "revocation_endpoint": .some(.null), "introspection_endpoint": "",
        ])
        #expect(metadata.revocationEndpoint == nil)
        #expect(metadata.introspectionEndpoint == nil)
    }

    @Test(
        "an endpoint is an http(s) address, and the message names the member",
        arguments: [
            "javascript:alert(1)", "file:///etc/passwd", "/authorize", "authorize", "ftp://op.example/",
            "https://", "https://op example/", "https://op.example/\u{1B}[2J", "https://user@op.example/",
        ])
    func notWebAddress(_ text: String) {
        let error = Fixture.error { try Fixture.metadata(["authorization_endpoint": .string(text)]) }
        #expect(error?.kind == .refused)
        #expect(
            error?.message.hasPrefix(
                "discovery: authorization_endpoint: expected an http(s) address, found ") == true)
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test("an endpoint has no fragment (RFC 6749 §3.1)")
    func fragment() {
        let error = Fixture.error { try Fixture.metadata(["token_endpoint": "https://op.example/#t"]) }
        #expect(error?.message.contains("token_endpoint: expected an address without a fragment") == true)
    }

    @Test(
        "an issuer that is not on loopback names no plain-http endpoint, on loopback neither",
        arguments: ProviderEndpoint.allCases,
        ["http://op.example/x", "http://127.0.0.1/x", "http://localhost:80/x", "HTTP://op.example/x"])
    func plainHTTP(_ endpoint: ProviderEndpoint, _ text: String) {
        let document = Fixture.error { try Fixture.metadata([endpoint.rawValue: .string(text)]) }
        #expect(document?.kind == .refused)
        #expect(
            document?.message
                == "discovery: \(endpoint.rawValue): expected an https address, found \(text)")
        let alias = Fixture.error {
            try Fixture.metadata([
                "mtls_endpoint_aliases": .object(JSONObject([(endpoint.rawValue, .string(text))]))
            ])
        }
        #expect(
            alias?.message.hasPrefix("discovery: mtls_endpoint_aliases.\(endpoint.rawValue): ") == true)
    }

    @Test("even the setting does not let an https issuer name plain-http endpoints")
    func insecureSettingForHTTPSIssuer() throws {
        let document = try Fixture.document(["token_endpoint": "http://op.example/token"])
        let error = Fixture.error {
            try ProviderMetadata(
                document: document, expectedIssuer: Fixture.issuer, allowsInsecureHTTP: true)
        }
        #expect(error?.kind == .refused)
    }

    @Test(
        "an issuer on loopback may name plain http there, and elsewhere not",
        arguments: [
            ("http://127.0.0.1:9/t", true), ("http://[::1]:9/t", true), ("http://op.example/t", false),
        ])
    func loopbackIssuer(_ endpoint: String, _ isAllowed: Bool) throws {
        let document = JSONObject([("issuer", "http://localhost:9"), ("token_endpoint", .string(endpoint))])
        let error = Fixture.error {
            try ProviderMetadata(document: document, expectedIssuer: "http://localhost:9")
        }
        #expect((error == nil) == isAllowed)
    }

    @Test("a plain-http issuer that was allowed may name its own plain-http endpoints, on loopback not")
    func allowedInsecureIssuer() throws {
        func read(_ endpoint: String, allows: Bool) -> OIDCError? {
            Fixture.error {
                try ProviderMetadata(
                    document: JSONObject([
                        ("issuer", "http://op.internal"), ("token_endpoint", .string(endpoint)),
                    ]), expectedIssuer: "http://op.internal", allowsInsecureHTTP: allows)
            }
        }
        #expect(read("http://op.internal/t", allows: true) == nil)
        #expect(read("http://op.internal/t", allows: false)?.kind == .refused)
        #expect(read("http://127.0.0.1/t", allows: true)?.kind == .refused)
    }

    @Test(
        "what is no metadata is one line",
        arguments: [
            (Fixture.html(), "discovery: expected a JSON object, found an HTML page with status 200"),
            (Fixture.json(""), "discovery: expected a JSON object, found an empty body with status 200"),
            (Fixture.json(" \n "), "discovery: expected a JSON object, found an empty body with status 200"),
            (Fixture.json("[]"), "discovery: expected a JSON object, found an array"),
            (
                Fixture.json(#"{"issuer":"a","issuer":"b"}"#),
                "discovery: expected a JSON object, found text that is no JSON "
                    + "(duplicate member “issuer” at byte 14) with status 200"
            ),
            (
                Fixture.json(#"{"issuer""#),
                "discovery: expected a JSON object, found text that is no JSON (the text ends too early"
            ),
            (
                Fixture.html(status: 403),
                "discovery: https://op.example/m answered an HTML page with status 403"
            ),
            (
                HTTPResponse(status: 302),
                "discovery: https://op.example/m answered a redirect (status 302), which is not followed"
            ),
        ])
    func noMetadata(_ response: HTTPResponse, _ message: String) {
        let error = Fixture.error { try read(response) }
        #expect(error?.kind == .refused)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "none")")
    }

    @Test("429 and 5xx mean try later", arguments: [429, 500, 502, 503, 599])
    func temporary(_ status: Int) {
        let error = Fixture.error { try read(Fixture.json("{}", status: status, [("Retry-After", "7")])) }
        #expect(error?.kind == .unreachable)
        #expect(error?.retryAfter == 7)
    }

    @Test("nothing at the first place: the second is asked; nothing at both: one line")
    func places() throws {
        let found = ScriptedTransport(
            Fixture.json("", status: 404), Fixture.json(JSONValue.object(try Fixture.document()).compact))
        _ = try ProviderMetadata.discover(issuer: Fixture.issuer, over: found)
        #expect(
            found.requests.map(\.url.path) == [
                "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
            ])
        let none = ScriptedTransport(Fixture.html(status: 404), Fixture.html(status: 404))
        #expect(throws: ProviderMetadata.notFound(issuer: Fixture.issuer)) {
            try ProviderMetadata.discover(issuer: Fixture.issuer, over: none)
        }
    }

    @Test("an untrusted first place ends discovery: the second is not asked")
    func untrustedPlace() throws {
        let document = try Fixture.document(["issuer": "https://evil.example"])
        let transport = ScriptedTransport(Fixture.json(JSONValue.object(document).compact))
        let error = Fixture.error {
            try ProviderMetadata.discover(issuer: Fixture.issuer, over: transport)
        }
        #expect(error?.kind == .untrusted)
        #expect(transport.requests.count == 1)
    }

    private func read(_ response: HTTPResponse) throws -> ProviderMetadata? {
        try ProviderMetadata.call(Fixture.url("https://op.example/m"), expectedIssuer: Fixture.issuer)
            .read(response)
    }
}

extension JSONObject {
    init(_ members: [(String, JSONValue)]) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
