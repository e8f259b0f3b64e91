import DemoProvider
import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@testable import OIDCCore

@Suite("Signed authorization requests (JAR, RFC 9101)")
struct RequestObjectTests {
    private static func signing(
        _ kind: PrivateKey.Kind = .p256, _ algorithm: SignatureAlgorithm? = nil
    ) throws -> RequestObjectSigning {
        RequestObjectSigning(try JWTSigner(SampleKeys.key(kind), algorithm: algorithm, keyID: "k"))
    }

    private static func object(_ pending: PendingAuthorization) throws -> JWS {
        let pairs = FormEncoding.decode(pending.url.query ?? "") ?? []
        return try JWS(compact: try #require(pairs.first { $0.name == "request" }?.value))
    }

    private static func signed(
        isPushed: Bool, _ change: (inout AuthorizationRequest) -> Void = { _ in }
    ) throws -> PendingAuthorization {
        var request = Fixture.request()
        change(&request)
        let pending = try request.begin(Fixture.metadata(), random: Fixture.random(), isPushed: isPushed)
        return try pending.signed(
            by: signing(), at: Fixture.metadata(), keys: nil, now: Fixture.now, random: Fixture.random(),
            isPushed: isPushed)
    }

    @Test("the object has all parameters as claims, and iss, aud, nbf, exp and typ")
    func claims() throws {
        let pending = try Self.signed(isPushed: false) {
            $0.maxAge = .seconds(300)
            $0.resources = ["https://a.example", "https://b.example"]
            $0.authorizationDetails = [["type": "payment"]]
            $0.responseMode = .jwt
        }
        let object = try Self.object(pending)
        let claims = try #require(object.claims)
        let now = Fixture.now.secondsSinceEpoch
        #expect(object.header["typ"] == "oauth-authz-req+jwt" && object.keyID == "k")
        #expect(
            claims["iss"] == "cli" && claims["aud"] == .string(Fixture.issuer) && claims["client_id"] == "cli"
        )
        #expect(claims["nbf"] == JSONValue(now))
        let expiry = try #require(claims["exp"]?.integer)
        #expect(expiry > now && expiry <= now + 3_600)
        #expect(
            claims["state"]?.string == pending.state.revealed
                && claims["nonce"]?.string == pending.nonce?.revealed)
        #expect(claims["code_challenge_method"] == "S256" && claims["response_type"] == "code")
        #expect(claims["max_age"] == 300 && claims["response_mode"] == "jwt")
        #expect(claims["resource"] == ["https://a.example", "https://b.example"])
        #expect(claims["authorization_details"] == [["type": "payment"]])
        #expect(claims["code_verifier"] == nil)
        #expect(try object.verify(keys: SampleProvider.publicKeys(.p256, keyID: "k")) == .valid)
    }

    @Test(
        "in a URL, client_id, response_type and scope stand beside it, with the same values; pushed, client_id alone"
    )
    func outside() throws {
        func names(_ pending: PendingAuthorization) -> [String] {
            (FormEncoding.decode(pending.url.query ?? "") ?? []).map(\.name)
        }
        let value = try Self.signed(isPushed: false)
        #expect(names(value) == ["response_type", "client_id", "scope", "request"])
        #expect(value.url.value("scope") == "openid profile" && value.url.value("response_type") == "code")
        #expect(
            names(try Self.signed(isPushed: false) { $0.scope = Scope("read") }) == [
                "response_type", "client_id", "request",
            ])
        #expect(try Self.signed(isPushed: true).parameters.map(\.name) == ["client_id", "request"])
    }

    @Test("without a known issuer, no request is signed, as it would be good anywhere")
    func withoutIssuer() throws {
        var metadata = try Fixture.metadata()
        metadata.issuer = nil
        let pending = try Fixture.request().begin(metadata, random: Fixture.random())
        #expect(throws: OIDCError.self) {
            try pending.signed(
                by: Self.signing(), at: metadata, keys: nil, now: Fixture.now, random: Fixture.random(),
                isPushed: false)
        }
    }

    @Test("a provider that takes only signed requests gets no plain one")
    func required() throws {
        let metadata = try Fixture.metadata(["require_signed_request_object": true])
        var request = Fixture.request()
        let error = Fixture.error { try request.begin(metadata, random: Fixture.random()) }
        #expect(error?.kind == .refused && error?.hint == .advice(.signRequests))
        request.signing = try Self.signing()
        #expect(throws: Never.self) { try request.begin(metadata, random: Fixture.random()) }
    }

    static let ways = [false, true].flatMap { isPushed in
        [PrivateKey.Kind.p256, .rsa2048, .ed25519].map { ($0, isPushed) }
    }

    @Test("a provider that demands signed requests takes it, by value and pushed", arguments: ways)
    func signIn(kind: PrivateKey.Kind, isPushed: Bool) throws {
        let keys = try JWKSet(keys: [JSONWebKey(publicKey: SampleKeys.key(kind).publicKey, keyID: "k")])
        let provider = try InMemoryProvider {
            $0.clients[0].keys = keys
            $0.requiresSignedRequests = true
            $0.requiresPushedAuthorization = isPushed
        }
        #expect(throws: OIDCError.self) { try provider.signIn() }
        let session = try provider.signIn {
            $0.request.signing = try Self.signing(kind, kind == .rsa2048 ? .ps256 : nil)
            $0.request.responseMode = .jwt
        }
        #expect(session.subject == "alice")
        if isPushed {
            let sent = try #require(provider.with { $0.requests(to: .pushedAuthorization).last })
            #expect(Set(sent.form.map(\.name)) == ["client_id", "request"])
        }
    }

    @Test("HS256 and none are taken only from a client that is registered so")
    func otherAlgorithms() throws {
        let provider = try InMemoryProvider { $0.clients[0].allowsUnsignedRequests = true }
        #expect(try provider.signIn { $0.request.signing = .unsigned }.subject == "alice")
        let strict = try InMemoryProvider()
        #expect(throws: (any Error).self) { try strict.signIn { $0.request.signing = .unsigned } }
        let secret = Redacted("a client secret of thirty-two by")
        let confidential = try InMemoryProvider { $0.clients[1].secret = secret }
        let client = Client(id: "demo-confidential", authentication: .clientSecretBasic(secret))
        let session = try confidential.signIn(client: client) {
            $0.request.signing = RequestObjectSigning(try JWTSigner(secret: secret))
        }
        #expect(session.subject == "alice")
    }

    @Test("the demo provider refuses an object of another key")
    func refused() throws {
        let keys = try JWKSet(keys: [JSONWebKey(publicKey: SampleKeys.otherKey(.p256).publicKey, keyID: "k")])
        let provider = try InMemoryProvider {
            $0.clients[0].keys = keys
            $0.requiresPushedAuthorization = true
        }
        let error = #expect(throws: OIDCError.self) {
            try provider.signIn { $0.request.signing = try Self.signing() }
        }
        #expect(error?.oauthError == "invalid_request_object")
    }

    // MARK: - By reference

    /// A host that keeps what was published last.
    private final class Host: Sendable {
        static let url = "https://client.example/request.jwt"
        let object = Mutex<String?>(nil)

        var reference: RequestObjectReference {
            get throws {
                try RequestObjectReference(Host.url) { object in self.object.withLock { $0 = object } }
            }
        }
    }

    private static func provider(
        _ host: Host, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> InMemoryProvider {
        let keys = JWKSet(keys: [JSONWebKey(publicKey: try SampleKeys.key(.p256).publicKey, keyID: "k")])
        return try InMemoryProvider {
            $0.clients[0].keys = keys
            $0.clients[0].allowsUnsignedRequests = true
            $0.requestObject = { url in url == Host.url ? host.object.withLock { $0 } : nil }
            change(&$0)
        }
    }

    @Test(
        "by reference, the object is published first, and its hash is the fragment (OIDC Core §6.2)",
        arguments: [true, false])
    func byReference(isSigned: Bool) throws {
        let host = Host()
        let provider = try Self.provider(host)
        var login = try provider.login()
        var signing = isSigned ? try Self.signing() : .unsigned
        signing.reference = try host.reference
        login.request.signing = signing
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        let object = try #require(host.object.withLock { $0 })
        let hash = Base64URL.encode(try Digest.hash(Array(object.utf8), .sha256))
        #expect(url.value("request_uri") == "\(Host.url)#\(hash)" && url.value("request") == nil)
        #expect(url.value("scope") == login.request.scope.text && url.value("state") == nil)
        #expect(try JWS(compact: object).claims?["state"]?.string == pending.state.revealed)
        let outcome = try login.finish(try pending.acceptPasted(provider.callback(of: url)))
        #expect(outcome.session.subject == "alice")
    }

    @Test("a provider that was given another object than that of the hash refuses it")
    func replaced() throws {
        let host = Host()
        let provider = try Self.provider(host)
        var login = try provider.login()
        login.request.signing = try Self.signing()
        login.request.signing?.reference = try host.reference
        let (_, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        host.object.withLock { $0 = "x.y.z" }
        #expect(throws: (any Error).self) { try provider.callback(of: url) }
    }

    @Test(
        "no request by reference is pushed (RFC 9126 §2.1), or sent where none is supported; nothing is published"
    )
    func referenceRefused() throws {
        for (isPushed, kind) in [(true, OIDCError.Kind.usage), (false, .refused)] {
            let host = Host()
            let provider = try Self.provider(host) {
                $0.requiresPushedAuthorization = isPushed
                if !isPushed { $0.requestObject = nil }
            }
            let error = #expect(throws: OIDCError.self) {
                try provider.signIn {
                    $0.request.signing = try Self.signing()
                    $0.request.signing?.reference = try host.reference
                }
            }
            #expect(error?.kind == kind && host.object.withLock { $0 } == nil, "\(String(describing: error))")
        }
    }

    @Test(
        "request_uri is an https URL without a fragment, and not too long (RFC 9101 §5.2.1)",
        arguments: [
            "http://client.example/r", "https://client.example/r#x", "r", "urn:x",
            "https://client.example/" + String(repeating: "x", count: 450),
        ])
    func referenceForm(text: String) {
        #expect(throws: OIDCError.self) { try RequestObjectReference(text) { _ in } }
    }

    // MARK: - Encrypted

    static let encryptions: [(PrivateKey.Kind, KeyManagement, Bool)] = [
        (.rsa2048, .rsaOAEP256, false), (.p256, .ecdhES, false), (.p384, .ecdhESA256KW, true),
    ]

    @Test("a request is encrypted to the provider's key for it, by value and pushed", arguments: encryptions)
    func encrypted(kind: PrivateKey.Kind, algorithm: KeyManagement, isPushed: Bool) throws {
        let key = try SampleKeys.otherKey(kind)
        let host = Host()
        let provider = try Self.provider(host) {
            $0.requestDecryptionKey = key
            $0.requiresSignedRequests = true
            $0.requiresPushedAuthorization = isPushed
        }
        var login = try provider.login()
        login.request.signing = try Self.signing()
        let encryption = try RequestObjectEncryption(algorithm, at: login.metadata)
        login.request.signing?.encryption = encryption
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        if !isPushed {
            let object = try JWE(compact: try #require(url.value("request")))
            #expect(object.header["enc"] == "A256GCM" && object.header["cty"] == "JWT")
            #expect(object.header["alg"]?.string == algorithm.rawValue && object.header["kid"] == "requests")
        }
        let outcome = try login.finish(try pending.acceptPasted(provider.callback(of: url)))
        #expect(outcome.session.subject == "alice")
    }

    @Test(
        "a request is encrypted to a key that is for this alone (RFC 7517 §4.2 to §4.4)",
        arguments: [
            ("sig", nil, false), ("sig", "RSA-OAEP-256", false), (nil, nil, false),
            ("enc", "RSA-OAEP", false), ("enc", nil, true), (nil, "RSA-OAEP-256", true),
        ] as [(String?, String?, Bool)])
    func keyUse(use: String?, algorithm: String?, isFor: Bool) throws {
        var key = try #require(
            JSONWebKey(publicKey: SampleKeys.otherKey(.rsa2048).publicKey).json.object)
        key["use"] = use.map { .string($0) }
        key["alg"] = algorithm.map { .string($0) }
        var signing = try Self.signing()
        signing.encryption = try RequestObjectEncryption(.rsaOAEP256, at: Fixture.metadata())
        let metadata = try Fixture.metadata()
        let keys = FixedKeys(JWKSet(keys: [try JSONWebKey(.object(key))]))
        let pending = try Fixture.request().begin(
            Fixture.metadata(), random: Fixture.random(), isPushed: false)
        let result = Result { () throws(OIDCError) in
            try pending.signed(
                by: signing, at: metadata, keys: keys, now: Fixture.now, random: Fixture.random(),
                isPushed: false)
        }
        if isFor {
            _ = try result.get()
        } else {
            let error = #expect(throws: OIDCError.self) { try result.get() }
            #expect(error?.message.contains("no key to encrypt requests to") == true)
        }
    }

    @Test("without a key of the provider for it, no request is sent, as a signing key must not encrypt")
    func withoutKey() throws {
        let host = Host()
        let provider = try Self.provider(host)
        let error = #expect(throws: OIDCError.self) {
            try provider.signIn {
                $0.request.signing = try Self.signing()
                let encryption = try RequestObjectEncryption(.rsaOAEP256, at: $0.metadata)
                $0.request.signing?.encryption = encryption
            }
        }
        #expect(error?.kind == .refused && error?.message.contains("RSA-OAEP-256") == true)
        #expect(provider.with { $0.requests(to: .authorize).isEmpty })
    }

    @Test(
        "the content encryption is A256GCM, another that is listed, or the standard's default",
        arguments: [
            (["A128GCM", "A256GCM"], ContentEncryption.a256GCM), (["XC20P", "A128GCM"], .a128GCM),
            (["XC20P"], nil), (nil, .a128CBC),
        ] as [([String]?, ContentEncryption?)])
    func content(listed: [String]?, chosen: ContentEncryption?) throws {
        var metadata = try Fixture.metadata()
        metadata.raw["request_object_encryption_enc_values_supported"] = listed.map {
            .array($0.map { .string($0) })
        }
        #expect((try? RequestObjectEncryption(.ecdhES, at: metadata))?.content == chosen)
    }
}
