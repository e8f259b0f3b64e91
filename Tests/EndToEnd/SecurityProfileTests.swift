import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@testable import oidc

@Suite("security profiles")
struct SecurityProfileTests {
    private static func settings(
        _ profile: String, _ more: [(Setting, JSONValue)] = [], hasKey: Bool = true
    ) -> Settings {
        var values: [(Setting, JSONValue)] = [
            (.issuer, "https://op.example"), (.clientID, "cli"), (.securityProfile, .string(profile)),
        ]
        if hasKey { values.append((.privateKeyFile, "key.pem")) }
        let entries = (values + more).map {
            SettingLayers.Entry(setting: $0.0, value: $0.1, origin: .option("--set"))
        }
        return Settings(SettingLayers(profile: nil, entries: entries))
    }

    @Test("a profile turns on what it demands, below every setting")
    func implied() {
        for profile in ["none", "oauth21"] {
            let settings = Self.settings(profile)
            #expect(settings.signIn.pushing == .auto && !settings.token.bindsTokens)
            #expect(settings.client.method == nil && settings.securityProfileViolations.isEmpty)
        }
        let fapi2 = Self.settings("fapi2")
        #expect(fapi2.signIn.pushing == .require && fapi2.token.bindsTokens)
        #expect(fapi2.client.method == "private_key_jwt" && fapi2.signIn.responseMode == nil)
        #expect(fapi2.client.idTokenAlgorithms == SecurityProfile.algorithms)
        let signing = Self.settings("fapi2-message-signing")
        #expect(signing.signIn.requestObject == .signed && signing.signIn.responseMode == .jwt)
        let posted = Self.settings("fapi2-message-signing", [(.responseMode, "form_post.jwt")])
        #expect(posted.signIn.responseMode == .formPostJWT)
        let certificate = Self.settings("fapi2", [(.tlsClientCertificate, "c.pem")], hasKey: false)
        #expect(certificate.client.method == "tls_client_auth" && !certificate.token.bindsTokens)
        for settings in [fapi2, signing, posted, certificate] {
            #expect(settings.securityProfileViolations.isEmpty)
        }
        let none = fapi2.overridden(by: [
            SettingLayers.Entry(setting: .securityProfile, value: "none", origin: .option("--set"))
        ])
        #expect(none.signIn.pushing == .auto && !none.token.bindsTokens)
    }

    // MARK: - Settings

    private static let forbidden: [(String, [(Setting, JSONValue)], String)] = [
        ("oauth21", [(.allowInsecureHTTP, true)], "§1.5"),
        ("fapi2", [(.tokenEndpoint, "https://op.example/token")], "token_endpoint is set"),
        ("fapi2", [(.flow, "device")], "flow is device"),
        ("fapi2", [(.redirectURI, "com.example.app:/callback")], "FAPI 2.0 Security Profile §5.3.2.2"),
        ("fapi2", [(.par, "off")], "par is off"),
        (
            "fapi2", [(.requestURI, "https://c.example/r"), (.requestObjectOut, "r")], "request_uri is set"
        ),
        ("fapi2", [(.dpop, false)], "dpop is false"),
        ("fapi2", [(.clientAuth, "client_secret_basic")], "client_auth is client_secret_basic"),
        ("fapi2", [(.clientAssertionAudience, "token_endpoint")], "client_assertion_audience"),
        ("fapi2", [(.clientAuthSigningAlg, "RS256")], "client_auth_signing_alg is RS256"),
        ("fapi2", [(.idTokenSignedResponseAlg, "HS256")], "FAPI 2.0 Security Profile §5.4.1"),
        (
            "fapi2-message-signing", [(.requestObject, "off")], "FAPI 2.0 Message Signing §5.3.2"
        ),
        (
            "fapi2-message-signing", [(.requestObjectSigningAlg, "none")],
            "request_object_signing_alg is none"
        ),
        ("fapi2-message-signing", [(.responseMode, "form_post")], "response_mode is form_post"),
    ]

    @Test("a setting that the profile forbids is an error with the clause", arguments: forbidden.indices)
    func settings(index: Int) {
        let (profile, values, words) = Self.forbidden[index]
        let found = Self.settings(profile, values).securityProfileViolations
        #expect(found.contains { $0.kind == .usage && $0.message.contains(words) }, "\(found)")
        #expect(Self.settings("none", values).securityProfileViolations.isEmpty)
    }

    @Test("without a key or certificate, no client meets FAPI 2.0")
    func withoutKey() {
        let found = Self.settings("fapi2", hasKey: false).securityProfileViolations
        #expect(found.map(\.message).contains { $0.hasPrefix("neither private_key_file nor") })
        let certificate = [(Setting.tlsClientCertificate, JSONValue.string("c.pem"))]
        let signing = Self.settings("fapi2-message-signing", certificate, hasKey: false)
        #expect(
            signing.securityProfileViolations.map(\.message).contains {
                $0.hasPrefix("private_key_file is not set")
            })
    }

    // MARK: - Provider

    private static var metadata: ProviderMetadata {
        var metadata = ProviderMetadata(issuer: "https://op.example")
        metadata.isDiscovered = true
        metadata.codeChallengeMethodsSupported = ["S256"]
        metadata[.pushedAuthorizationRequest] = WebURL("https://op.example/par")
        metadata.dpopSigningAlgValuesSupported = ["ES256"]
        metadata.tokenEndpointAuthMethodsSupported = ["private_key_jwt", "none"]
        metadata.idTokenSigningAlgValuesSupported = ["RS256", "PS256"]
        metadata.authorizationResponseIssParameterSupported = true
        metadata.responseModesSupported = ["query", "jwt"]
        metadata.authorizationSigningAlgValuesSupported = ["RS256", "ES256"]
        metadata.raw["request_object_signing_alg_values_supported"] = ["PS256"]
        return metadata
    }

    private static let lacking: [(String, @Sendable (inout ProviderMetadata) -> Void, String)] = [
        ("oauth21", { $0.codeChallengeMethodsSupported = ["plain"] }, "OAuth 2.1 (draft 15) §4.1.1"),
        (
            "fapi2", { $0[.pushedAuthorizationRequest] = nil },
            "pushed_authorization_request_endpoint is missing"
        ),
        ("fapi2", { $0.dpopSigningAlgValuesSupported = ["RS256"] }, "dpop_signing_alg_values_supported"),
        ("fapi2", { $0.tokenEndpointAuthMethodsSupported = ["none"] }, "does not list private_key_jwt"),
        ("fapi2", { $0.idTokenSigningAlgValuesSupported = ["RS256"] }, "id_token_signing_alg"),
        (
            "fapi2", { $0.tokenEndpointAuthSigningAlgValuesSupported = ["RS256"] },
            "token_endpoint_auth_signing_alg_values_supported lists none"
        ),
        (
            "fapi2", { $0.authorizationResponseIssParameterSupported = false },
            "authorization_response_iss_parameter_supported is not true"
        ),
        (
            "fapi2-message-signing",
            { $0.raw["request_object_signing_alg_values_supported"] = ["RS256"] },
            "request_object_signing_alg"
        ),
        ("fapi2-message-signing", { $0.responseModesSupported = ["query"] }, "does not list jwt"),
        (
            "fapi2-message-signing", { $0.authorizationSigningAlgValuesSupported = ["RS256"] },
            "authorization_signing_alg_values_supported"
        ),
    ]

    @Test("what a provider lacks is an error with the clause, before the browser", arguments: lacking.indices)
    func provider(index: Int) {
        let (profile, change, words) = Self.lacking[index]
        let settings = Self.settings(profile)
        #expect(settings.securityProfileObstacles(settings.allowed(Self.metadata)).isEmpty)
        var metadata = Self.metadata
        change(&metadata)
        let found = settings.securityProfileObstacles(settings.allowed(metadata))
        #expect(found.contains { $0.kind == .refused && $0.message.contains(words) }, "\(found)")
        #expect(Self.settings("none").securityProfileObstacles(metadata).isEmpty)
    }

    @Test("a provider that binds no tokens to certificates does not meet FAPI 2.0 with one")
    func certificate() {
        let settings = Self.settings("fapi2", [(.tlsClientCertificate, "c.pem")], hasKey: false)
        var metadata = Self.metadata
        metadata.tokenEndpointAuthMethodsSupported = ["tls_client_auth"]
        #expect(settings.securityProfileObstacles(metadata).count == 1)
        metadata.tlsClientCertificateBoundAccessTokens = true
        #expect(settings.securityProfileObstacles(metadata).isEmpty)
    }

    @Test("of the algorithms, only those of FAPI are left, and no device codes")
    func allowed() {
        var metadata = Self.metadata
        metadata[.deviceAuthorization] = WebURL("https://op.example/device")
        metadata.userInfoSigningAlgValuesSupported = nil
        let left = Self.settings("fapi2").allowed(metadata)
        #expect(left.idTokenSigningAlgValuesSupported == ["PS256"])
        #expect(left.userInfoSigningAlgValuesSupported == SecurityProfile.algorithms)
        #expect(left.authorizationSigningAlgValuesSupported == ["ES256"])
        #expect(left.deviceAuthorizationEndpoint == nil)
        #expect(Self.settings("oauth21").allowed(metadata) == metadata)
    }

    // MARK: - Sessions

    @Test("a session whose token is not bound, or whose client showed a secret, is refused")
    func session() throws {
        let provider = try InMemoryProvider()
        let bearer = try provider.signIn()
        var bound = try provider.signIn(dpop: DPoPKey.generate())
        let settings = Self.settings("fapi2")
        #expect(settings.securityProfileFlaw(bearer)?.contains("its token is not bound") == true)
        #expect(settings.securityProfileFlaw(bound)?.contains("its client authenticated by none") == true)
        bound.clientAuthentication = "private_key_jwt"
        #expect(settings.securityProfileFlaw(bound) == nil)
        // Without its access token, the next one would be bound as the last one was.
        var revoked = bearer
        revoked.tokens.access.token = Redacted("")
        #expect(settings.securityProfileFlaw(revoked)?.contains("its token is not bound") == true)
        for profile in ["none", "oauth21"] {
            #expect(Self.settings(profile).securityProfileFlaw(bearer) == nil)
        }
    }

    @Test("every rule has a test in which it is violated")
    func coverage() {
        let bySettings = Self.forbidden.flatMap { Self.settings($0.0, $0.1).securityProfileViolations }
        let byProvider = Self.lacking.flatMap { profile, change, _ in
            var metadata = Self.metadata
            change(&metadata)
            let settings = Self.settings(profile)
            return settings.securityProfileObstacles(settings.allowed(metadata))
        }
        let messages = (bySettings + byProvider).map(\.message)
        for rule in SecurityRule.all {
            #expect(
                messages.contains { $0.contains("demands \(rule.demand) (\(rule.clause))") }, "\(rule.demand)"
            )
        }
    }
}

@Suite("security profiles, in the built program", .serialized, .waiting)
struct SecurityProfileCommandTests {
    private static func key(_ program: Program, _ kind: PrivateKey.Kind) throws -> String {
        let file = program.home.appendingPathComponent("key.pem")
        try Data(SampleKeys.key(kind).pem).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file.path
    }

    @Test(
        "each profile signs in at a provider that enforces it, with an RSA key too",
        arguments: DemoConfiguration.Profile.allCases, [PrivateKey.Kind.p256, .rsa2048])
    func signsIn(profile: DemoConfiguration.Profile, kind: PrivateKey.Kind) throws {
        let provider = try ProviderServer(DemoConfiguration(enforcing: profile))
        let program = try Program()
        defer { program.remove() }
        let registered = try program.run(
            "register", "--issuer", provider.origin, "--set", "security_profile=\(profile.rawValue)",
            "--set", "private_key_file=\(try Self.key(program, kind))", "--set",
            "client_auth=private_key_jwt")
        #expect(registered.status == 0, "\(registered)")
        let outcome = try program.signIn(at: provider)
        #expect(outcome.status == 0 && outcome.errorOutput.contains("alice"), "\(outcome)")
        let token = try program.run("token", "--refresh")
        #expect(token.status == 0, "\(token)")
        #expect(try program.run("userinfo", "--claim", "sub").output == "alice\n")
        let status = try program.run("status", "-o", "json")
        #expect(
            try JSONValue(parsing: status.output)["security_profile"]?.string == profile.rawValue,
            "\(status)")
        let doctor = try program.run("doctor")
        #expect(doctor.output.contains("\(profile.rawValue): settings and provider meet it"), "\(doctor)")
    }

    @Test("a provider that enforces FAPI 2.0 takes no client and no request that does not keep to it")
    func enforced() throws {
        let provider = try ProviderServer(DemoConfiguration(enforcing: .fapi2MessageSigning))
        let program = try Program()
        defer { program.remove() }
        let key = try Self.key(program, .p256)
        let plain = try program.run("register", "--issuer", provider.origin, "--set", "client_auth=none")
        #expect(plain.status == 4, "\(plain)")
        let registered = try program.run(
            "register", "--issuer", provider.origin, "--set", "private_key_file=\(key)", "--set",
            "client_auth=private_key_jwt")
        #expect(registered.status == 0, "\(registered)")
        for options in [
            ["--set", "response_mode=query"], ["--set", "client_assertion_audience=token_endpoint"],
        ] {
            let line = ["login", "--no-browser", "--timeout", "20", "--set", "dpop=true"]
            let refused = try program.start(line + options).finish()
            #expect(refused.status == 4, "\(refused)")
        }
    }

    @Test(
        "settings that the profile forbids are 2, and nothing is sent; a provider that lacks something is 4")
    func refused() throws {
        let provider = try ProviderServer()
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_SECURITY_PROFILE"] = "fapi2"
        let forbidden = try program.run("login", "--no-browser")
        #expect(
            forbidden.status == 2 && forbidden.errorOutput.contains("§5.3.3.1"), "\(forbidden)")
        #expect(provider.requestCount(.discovery) == 0)
        #expect(try program.run("register", "--issuer", provider.origin, "-p", "new").status == 2)
        #expect(try program.run("login", "--start").status == 2)
        #expect(provider.requestCount(.discovery) == 0)
        let doctor = try program.run("doctor")
        #expect(doctor.output.contains("security profile") && doctor.status != 0, "\(doctor)")
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program, .p256)
        provider.intercept { request in
            guard request.url.path.contains("well-known") else { return nil }
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: JSONValue.object(Self.metadata(request.url.origin)).bytes)
        }
        let lacking = try program.run("login", "--no-browser")
        #expect(
            lacking.status == 4
                && lacking.errorOutput.contains("pushed_authorization_request_endpoint is missing"),
            "\(lacking)")
        #expect(!lacking.errorOutput.contains("response_type=") && provider.requestCount(.authorize) == 0)
    }

    @Test("what only the profile demands of a provider is checked before anything is sent to it")
    func promise() throws {
        let provider = try ProviderServer()
        var program = try Program(provider)
        defer { program.remove() }
        program.environment["OIDC_SECURITY_PROFILE"] = "fapi2"
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program, .p256)
        provider.intercept { request in
            guard request.url.path.contains("well-known") else { return nil }
            var metadata = Self.metadata(request.url.origin)
            metadata["pushed_authorization_request_endpoint"] = .string("\(request.url.origin)/par")
            metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
            metadata["dpop_signing_alg_values_supported"] = ["ES256"]
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: JSONValue.object(metadata).bytes)
        }
        let refused = try program.run("login", "--no-browser")
        let words = "authorization_response_iss_parameter_supported is not true"
        #expect(refused.status == 4 && refused.errorOutput.contains(words), "\(refused)")
        #expect(refused.errorOutput.contains("§") && provider.requestCount(.authorize) == 0)
    }

    private static func metadata(_ origin: String) -> JSONObject {
        var metadata = JSONObject()
        metadata["issuer"] = .string(origin)
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            metadata[name] = .string("\(origin)/\(name)")
        }
        metadata["code_challenge_methods_supported"] = ["S256"]
        return metadata
    }

    @Test(
        "a stored session that does not meet the profile is 3, also for its ID token; forbidden settings are 2"
    )
    func session() throws {
        let provider = try ProviderServer()
        var program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        #expect(try program.run("token").status == 0)
        program.environment["OIDC_SECURITY_PROFILE"] = "fapi2"
        program.environment["OIDC_PRIVATE_KEY_FILE"] = try Self.key(program, .p256)
        let token = try program.run("token")
        #expect(token.status == 3 && token.errorOutput.contains("its token is not bound"), "\(token)")
        #expect(token.output.isEmpty)
        #expect(try program.run("status").status == 3)
        let idToken = try program.run("token", "--type", "id")
        #expect(idToken.status == 3 && idToken.output.isEmpty, "\(idToken)")
        #expect(try program.run("credential", "kubectl").output.isEmpty)
        // Whatever the session is, a forbidden setting never reaches the provider.
        let requests = provider.requestCount(.token)
        let forbidden = try program.run("token", "--refresh", "--set", "dpop=false")
        #expect(forbidden.status == 2 && provider.requestCount(.token) == requests, "\(forbidden)")
    }
}
