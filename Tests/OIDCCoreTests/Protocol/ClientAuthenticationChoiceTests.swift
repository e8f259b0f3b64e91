import OIDCCrypto
import TestSupport
import Testing

@testable import OIDCCore

@Suite("The choice of a client authentication method")
struct ClientAuthenticationChoiceTests {
    private static let secret = String(repeating: "s", count: 64)

    private func choose(
        method: String? = nil, _ credentials: ClientCredentials, methods: [String]?,
        algorithms: [String]? = nil
    ) throws -> ClientAuthentication {
        var metadata = ProviderMetadata(issuer: Fixture.issuer)
        metadata.tokenEndpointAuthMethodsSupported = methods
        metadata.tokenEndpointAuthSigningAlgValuesSupported = algorithms
        return try ClientAuthentication.choose(method: method, credentials, metadata)
    }

    private static func credentials(_ names: String) throws -> ClientCredentials {
        var credentials = ClientCredentials()
        if names.contains("secret") { credentials.secret = Redacted(secret) }
        if names.contains("key") { credentials.privateKey = try PrivateKey.generate(.p256) }
        if names.contains("assertion") { credentials.assertion = { Redacted("a.b.c") } }
        credentials.hasCertificate = names.contains("certificate")
        return credentials
    }

    @Test("a provider that lists no usable method is an error that says so")
    func none() throws {
        let error = Fixture.error { try choose(Self.credentials("secret"), methods: []) }
        #expect(error?.message.contains("takes no method, and") == true)
    }

    @Test(
        "the first method that credentials and metadata both allow",
        arguments: [
            ("", nil, "none"), ("", ["client_secret_basic"], "none"),
            ("secret", nil, "client_secret_basic"),
            ("secret", ["client_secret_post", "client_secret_basic"], "client_secret_basic"),
            ("secret", ["none", "client_secret_post"], "client_secret_post"),
            ("secret", ["client_secret_jwt"], "client_secret_jwt"),
            ("key", nil, "private_key_jwt"),
            ("key secret", ["client_secret_basic", "private_key_jwt"], "private_key_jwt"),
            ("key secret", ["client_secret_basic"], "client_secret_basic"),
            ("assertion", ["private_key_jwt"], "private_key_jwt"),
            ("certificate", ["tls_client_auth"], "tls_client_auth"),
            ("certificate", ["self_signed_tls_client_auth"], "self_signed_tls_client_auth"),
            ("certificate", ["none"], "none"),
            ("certificate secret", ["client_secret_basic", "tls_client_auth"], "client_secret_basic"),
        ] as [(String, [String]?, String)])
    func automatic(_ credentials: String, _ methods: [String]?, _ expected: String) throws {
        #expect(
            try choose(Self.credentials(credentials), methods: methods).method == expected)
    }

    @Test("metadata cannot switch on none for a client with a secret")
    func noneFromMetadata() throws {
        let error = Fixture.error { try choose(Self.credentials("secret"), methods: ["none"]) }
        #expect(error?.kind == .usage)
        #expect(error?.message.hasPrefix("client authentication: the provider takes none, ") == true)
    }

    @Test("the method that is named wins over the metadata")
    func named() throws {
        let credentials = try Self.credentials("secret key certificate")
        for method in ClientAuthentication.methods {
            #expect(try choose(method: method, credentials, methods: ["other"]).method == method)
        }
    }

    @Test(
        "a named method without its credential is an error that names the setting",
        arguments: [
            ("client_secret_basic", "a secret", .advice(.giveClientSecret)),
            ("client_secret_post", "a secret", .advice(.giveClientSecret)),
            ("client_secret_jwt", "a secret", .advice(.giveClientSecret)),
            ("private_key_jwt", "a key", .advice(.giveClientKey)),
            ("tls_client_auth", "a certificate", .advice(.giveClientCertificate)),
            ("self_signed_tls_client_auth", "a certificate", .advice(.giveClientCertificate)),
        ] as [(String, String, Hint)])
    func missingCredential(_ method: String, _ needed: String, _ hint: Hint) {
        #expect(throws: OIDCError.usage("client authentication: \(method) needs \(needed)", hint: hint)) {
            try choose(method: method, ClientCredentials(), methods: nil)
        }
    }

    @Test("an unknown method is refused with the list")
    func unknown() {
        let error = Fixture.error { try choose(method: "magic", ClientCredentials(), methods: nil) }
        #expect(error?.message.hasPrefix("client authentication: expected one of none, ") == true)
    }

    @Test("the algorithm fits the key and the metadata")
    func algorithm() throws {
        var credentials = ClientCredentials(privateKey: try SampleKeys.key(.rsa2048))
        credentials.privateKeyID = "k"
        func algorithm(_ listed: [String]?) throws -> String? {
            let choice = try choose(credentials, methods: nil, algorithms: listed)
            guard case .privateKeyJWT(let signer) = choice.kind else { return nil }
            #expect(signer.keyID == "k")
            return signer.algorithm.rawValue
        }
        #expect(try algorithm(nil) == "RS256")
        #expect(try algorithm(["ES256", "PS256"]) == "PS256")
        #expect(Fixture.error { try algorithm(["ES256"]) }?.kind == .usage)
    }

    @Test(
        "client_secret_jwt takes the HMAC that the metadata lists",
        arguments: [
            (nil, "HS256"), (["RS256"], "HS256"), (["RS256", "HS384"], "HS384"),
            (["HS512", "HS256"], "HS256"),
        ] as [([String]?, String)])
    func secretAlgorithm(_ listed: [String]?, _ expected: String) throws {
        let choice = try choose(
            Self.credentials("secret"), methods: ["client_secret_jwt"], algorithms: listed)
        guard case .clientSecretJWT(_, let algorithm) = choice.kind else {
            Issue.record("another method")
            return
        }
        #expect(algorithm.rawValue == expected)
    }

    @Test(
        "client_auth_signing_alg chooses the algorithm, whatever the metadata list",
        arguments: [
            (PrivateKey.Kind.rsa2048, "PS256", ["RS256", "PS256"], "PS256"),
            (.rsa2048, "PS512", nil, "PS512"),
            (.ed25519, "Ed25519", ["EdDSA"], "Ed25519"), (.ed25519, "EdDSA", ["Ed25519"], "EdDSA"),
        ] as [(PrivateKey.Kind, String, [String]?, String)])
    func chosenAlgorithm(_ kind: PrivateKey.Kind, _ name: String, _ listed: [String]?, _ sent: String) throws
    {
        var credentials = ClientCredentials(privateKey: try SampleKeys.key(kind))
        credentials.signingAlgorithm = name
        #expect(try sentAlgorithm(choose(credentials, methods: nil, algorithms: listed)) == sent)
    }

    @Test(
        "Ed25519 is named as the provider names it (RFC 9864 §2.2)",
        arguments: [(["Ed25519"], "Ed25519"), (["EdDSA", "Ed25519"], "EdDSA"), (nil, "EdDSA")])
    func newName(_ listed: [String]?, _ sent: String) throws {
        let credentials = ClientCredentials(privateKey: try SampleKeys.key(.ed25519))
        #expect(try sentAlgorithm(choose(credentials, methods: nil, algorithms: listed)) == sent)
    }

    private func sentAlgorithm(_ choice: ClientAuthentication) throws -> String? {
        guard case .privateKeyJWT(let signer) = choice.kind else { return nil }
        return try JWS(compact: signer.sign(claims: JSONObject())).algorithmName
    }

    @Test("an algorithm of another key is an error")
    func otherAlgorithm() throws {
        var credentials = ClientCredentials(privateKey: try SampleKeys.key(.p256))
        credentials.signingAlgorithm = "PS256"
        let error = Fixture.error { try choose(credentials, methods: nil) }
        #expect(error == .usage("the private key supports ES256, not PS256"))
    }

    @Test("client_auth_signing_alg also chooses the HMAC of client_secret_jwt")
    func chosenHMAC() throws {
        var credentials = try Self.credentials("secret")
        credentials.signingAlgorithm = "HS512"
        let choice = try choose(credentials, methods: ["client_secret_jwt"], algorithms: ["HS256"])
        guard case .clientSecretJWT(_, let algorithm) = choice.kind else {
            Issue.record("another method")
            return
        }
        #expect(algorithm == .hs512)
    }

    @Test("the empty secret is for client_secret_basic alone (RFC 6749 §2.3.1)")
    func sentEmptySecret() throws {
        var credentials = ClientCredentials()
        credentials.hasEmptySecret = true
        guard
            case .clientSecretBasic(let secret) = try choose(
                method: "client_secret_basic", credentials, methods: nil
            ).kind
        else {
            Issue.record("another method")
            return
        }
        #expect(secret.revealed.isEmpty)
        #expect(Fixture.error { try choose(method: "client_secret_post", credentials, methods: nil) } != nil)
        #expect(try choose(credentials, methods: ["client_secret_basic"]).method == "none")
    }

    @Test("an empty secret counts as no secret")
    func emptySecret() {
        let error = Fixture.error {
            try choose(ClientCredentials(secret: Redacted("")), methods: nil)
        }
        #expect(error?.kind == .usage)
    }
}
