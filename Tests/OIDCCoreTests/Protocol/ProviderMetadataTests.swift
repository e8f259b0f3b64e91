import Testing

@testable import OIDCCore

@Suite("Provider metadata (OpenID Connect Discovery §3, RFC 8414 §2)")
struct ProviderMetadataTests {
    @Test(
        "the endpoints that the steps ahead need must be there",
        arguments: [ProviderEndpoint.authorization, .token, .deviceAuthorization])
    func required(_ endpoint: ProviderEndpoint) throws {
        let metadata = try Fixture.metadata([endpoint.rawValue: nil])
        #expect(
            throws: OIDCError(
                .refused, "discovery: \(endpoint.rawValue) is missing from the metadata",
                hint: .setEndpoint(endpoint), stage: .discovery)
        ) { try metadata.validate(for: [endpoint], scope: Scope("")) }
        try Fixture.metadata().validate(for: [endpoint], scope: Scope("openid"))
    }

    @Test("jwks_uri is required if openid is requested, and only then")
    func keysForOpenID() throws {
        let metadata = try Fixture.metadata(["jwks_uri": nil])
        try metadata.validate(for: [.token], scope: Scope("api"))
        let error = Fixture.error { try metadata.validate(for: [.token], scope: Scope("openid")) }
        #expect(error?.message == "discovery: jwks_uri is missing from the metadata")
    }

    @Test("without discovery a missing endpoint is a missing setting, and missing keys are not an error")
    func configured() throws {
        let token = try Fixture.url("https://op.example/t")
        let metadata = ProviderMetadata(issuer: nil, endpoints: [.token: token])
        try metadata.validate(for: [.token], scope: Scope("openid"))
        #expect(
            throws: OIDCError.usage(
                "authorization_endpoint is not set, and there is no issuer to discover it",
                hint: .setEndpoint(.authorization))
        ) { try metadata.require(.authorization) }
    }

    @Test("endpoints of the configuration win over discovered ones and their aliases")
    func explicit() throws {
        let alias = JSONValue.object(JSONObject([("token_endpoint", "https://mtls.op.example/token")]))
        let mine = try Fixture.url("https://proxy.example/token")
        let metadata = try Fixture.metadata(["mtls_endpoint_aliases": alias]).merging(explicit: [.token: mine]
        )
        #expect(metadata.tokenEndpoint == mine)
        #expect(metadata.url(.token, presentingCertificate: true) == mine)
        #expect(metadata.userInfoEndpoint?.text == "https://op.example/userinfo")
    }

    @Test(
        "oidcc-client-test-mtls-endpoint-aliases: used when a client certificate is configured, and only then"
    )
    func aliases() throws {
        let alias = JSONValue.object(JSONObject([("token_endpoint", "https://mtls.op.example/token")]))
        let metadata = try Fixture.metadata(["mtls_endpoint_aliases": alias])
        #expect(
            metadata.url(.token, presentingCertificate: true)?.text == "https://mtls.op.example/token")
        #expect(metadata.url(.token, presentingCertificate: false)?.text == "https://op.example/token")
        #expect(metadata.url(.userInfo, presentingCertificate: true)?.text == "https://op.example/userinfo")
    }

    @Test(
        "an endpoint of the configuration is https, or http on loopback",
        arguments: [
            ("https://op.example/t", nil), ("http://127.0.0.1:9/t", nil),
            (
                "http://op.example/t",
                "token_endpoint: plain http is for loopback only, found http://op.example/t"
            ),
            (
                "op.example",
                "token_endpoint: expected an https URL without a fragment, found op.example"
            ),
            (
                "https://op.example/#x",
                "token_endpoint: expected an https URL without a fragment, found https://op.example/#x"
            ),
        ] as [(String, String?)])
    func configuredEndpoint(_ text: String, _ message: String?) {
        let error = Fixture.error { try ProviderEndpoint.token.configured(text) }
        #expect(error?.message == message)
        #expect(error == nil || error?.kind == .usage)
    }

    @Test("allow_insecure_http allows a plain-http endpoint of the configuration")
    func insecureConfigured() throws {
        let url = try ProviderEndpoint.token.configured("http://op.example/t", allowsInsecureHTTP: true)
        #expect(!url.isSecure)
    }

    @Test("metadata cannot switch on none, and warnings say what is missing or unsafe")
    func remarks() throws {
        #expect(try Fixture.metadata().remarks == [])
        let metadata = try Fixture.metadata([
            "jwks_uri": nil, "response_types_supported": ["token"],
            "code_challenge_methods_supported": ["plain", "S256"],
            "id_token_signing_alg_values_supported": ["none", "RS256"],
            "authorization_response_iss_parameter_supported": nil,
        ])
        #expect(
            metadata.remarks == [
                "jwks_uri is missing",
                "code_challenge_methods_supported lists plain, which protects nothing",
                "response_types_supported does not list code",
                "id_token_signing_alg_values_supported lists none, which is never accepted",
                "authorization_response_iss_parameter_supported is not true (RFC 9207)",
            ])
        let plain = try Fixture.metadata(["code_challenge_methods_supported": ["plain"]])
        #expect(
            plain.remarks == [
                "code_challenge_methods_supported does not list S256: no sign-in is possible"
            ])
        let silent = try Fixture.metadata(["code_challenge_methods_supported": nil])
        #expect(
            silent.remarks == [
                "code_challenge_methods_supported is missing: S256 is sent all the same"
            ])
    }

    @Test(
        "ID tokens are signed with the client's secret only if the metadata lists nothing but HMAC",
        arguments: [
            (nil, false), ([], false), (["RS256", "HS256"], false), (["HS256"], true),
            (["HS256", "HS512", "none"], true), (["none"], false), (["HS256", "unknown"], false),
            (["HSxyz"], false),
        ] as [([String]?, Bool)])
    func sharedSecret(_ algorithms: [String]?, _ isShared: Bool) {
        var metadata = ProviderMetadata(issuer: "https://op.example")
        metadata.idTokenSigningAlgValuesSupported = algorithms
        let client = Client(id: "c", authentication: .clientSecretBasic(Redacted("s")))
        #expect((metadata.sharedSecret(of: client) != nil) == isShared)
        #expect(metadata.sharedSecret(of: Client(id: "c", authentication: .none)) == nil)
    }

    @Test(
        "what makes a sign-in impossible is known before it is tried, with the error of the sign-in",
        arguments: [
            ("token_endpoint", nil, true, "discovery: token_endpoint is missing from the metadata"),
            ("jwks_uri", nil, false, "discovery: jwks_uri is missing from the metadata"),
            (
                "code_challenge_methods_supported", ["plain"], false,
                "authorize: code_challenge_methods_supported: expected S256 among them, found plain"
            ), ("code_challenge_methods_supported", [], nil, ""),
            (
                "id_token_signing_alg_values_supported", ["none"], false,
                "discovery: id_token_signing_alg_values_supported: expected an algorithm that can be verified, "
                    + "found none"
            ), ("id_token_signing_alg_values_supported", ["none", "ES256"], nil, ""),
            (
                "require_signed_request_object", true, false,
                "authorize: require_signed_request_object: the provider takes only signed requests (RFC 9101)"
            ), ("require_signed_request_object", false, nil, ""),
        ] as [(String, JSONValue?, Bool?, String)])
    func obstacles(member: String, value: JSONValue?, machinesToo: Bool?, message: String) throws {
        let metadata = try Fixture.metadata([member: value])
        let found = metadata.obstacles(to: [.authorization, .token], scope: Scope("openid"))
        #expect(found.map(\.member) == (machinesToo == nil ? [] : [member]))
        #expect(found.map(\.error.message) == (machinesToo == nil ? [] : [message]))
        #expect(metadata.obstacles(to: [.token], scope: Scope("")).isEmpty == (machinesToo != true))
    }
}
