import Testing

@testable import OIDCCore

@Suite("The metadata document (OpenID Connect Discovery §4.3, RFC 8414 §3.3)")
struct MetadataDocumentTests {
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
            throws: OIDCError.untrusted(
                .discovery, "issuer", expected: "https://op.example", found: found,
                hint: .advice(.checkIssuerSpelling))
        ) {
            try ProviderMetadata(document: document, expectedIssuer: "https://op.example")
        }
    }

    @Test(
        "an issuer that differs by one slash, or is below, is refused, and the hint has the one that was found",
        arguments: [
            ("https://op.example", "https://op.example/"), ("https://op.example/", "https://op.example"),
            ("https://op.example/uaa", "https://op.example/uaa/oauth/token"),
        ])
    func trailingSlash(_ expected: String, _ found: String) throws {
        let document = try Fixture.document(["issuer": .string(found)])
        #expect(
            throws: OIDCError.untrusted(
                .discovery, "issuer", expected: expected, found: found, hint: .useIssuer(found))
        ) {
            try ProviderMetadata(document: document, expectedIssuer: expected)
        }
    }

    @Test("an issuer that looks the same in other code points is another one")
    func normalization() throws {
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
        #expect(throws: Fixture.refused(message, .discovery)) {
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
        "an endpoint is an http(s) URL, and the message names the member",
        arguments: [
            "javascript:alert(1)", "file:///etc/passwd", "/authorize", "authorize", "ftp://op.example/",
            "https://", "https://op example/", "https://op.example/\u{1B}[2J", "https://user@op.example/",
        ])
    func notWebAddress(_ text: String) {
        let error = Fixture.error { try Fixture.metadata(["authorization_endpoint": .string(text)]) }
        #expect(error?.kind == .refused)
        #expect(
            error?.message.hasPrefix(
                "discovery: authorization_endpoint: expected an http(s) URL, found ") == true)
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test("an endpoint has no fragment (RFC 6749 §3.1)")
    func fragment() {
        let error = Fixture.error { try Fixture.metadata(["token_endpoint": "https://op.example/#t"]) }
        #expect(error?.message.contains("token_endpoint: expected a URL without a fragment") == true)
    }

    @Test(
        "a plain-http endpoint of an issuer that is not on loopback is refused, even on loopback",
        arguments: ProviderEndpoint.discovered,
        ["http://op.example/x", "http://127.0.0.1/x", "http://localhost:80/x", "HTTP://op.example/x"])
    func plainHTTP(_ endpoint: ProviderEndpoint, _ text: String) {
        let document = Fixture.error { try Fixture.metadata([endpoint.rawValue: .string(text)]) }
        #expect(document?.kind == .refused)
        #expect(
            document?.message
                == "discovery: \(endpoint.rawValue): expected an https URL, found \(text)")
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
}
