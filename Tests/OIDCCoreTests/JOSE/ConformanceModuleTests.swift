import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// The OpenID Foundation's client modules that concern ID tokens and keys, by their names.
@Suite("Conformance modules: ID token and keys")
struct ConformanceModuleTests {
    typealias Sample = SampleProvider

    static func expectRefusal(
        _ message: String, _ claims: [String: JSONValue?], hint: Hint? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let token = try Sample.token(claims: claims)
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        #expect(throws: Sample.untrusted(message, hint: hint), sourceLocation: sourceLocation) {
            try Sample.validate(token, keys: keys)
        }
    }

    static func expectBadSignature(_ kind: PrivateKey.Kind, _ algorithm: SignatureAlgorithm) throws {
        let compact = try Sample.token(kind, algorithm)
        let token = try JWS(compact: compact)
        let parts = compact.split(separator: ".")
        var signature = token.signature
        signature[5] ^= 0x5A
        let changed = "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))"
        #expect(throws: Sample.untrusted("signature: no key verifies it with \(algorithm.rawValue)")) {
            try Sample.validate(changed, keys: RotatingKeys(try Sample.publicKeys(kind)))
        }
    }

    @Test("oidcc-client-test: an ID token of a provider that does everything right is accepted")
    func clientTest() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        #expect(try Sample.validate(try Sample.token(), keys: keys).subject == "alice")
    }

    @Test("oidcc-client-test-nonce-invalid")
    func nonceInvalid() throws {
        try Self.expectRefusal("nonce: expected the one of this sign-in, found another", ["nonce": "other"])
    }

    @Test("oidcc-client-test-invalid-iss")
    func invalidIssuer() throws {
        try Self.expectRefusal(
            "iss: expected \"https://op.example\", found \"https://op.example/other\"",
            ["iss": "https://op.example/other"])
    }

    @Test("oidcc-client-test-missing-sub")
    func missingSubject() throws {
        try Self.expectRefusal("sub: expected a string, found none", ["sub": nil])
    }

    @Test("oidcc-client-test-invalid-aud")
    func invalidAudience() throws {
        try Self.expectRefusal("aud: expected \"client\", found \"client1\"", ["aud": "client1"])
    }

    @Test("oidcc-client-test-missing-aud")
    func missingAudience() throws {
        try Self.expectRefusal("aud: expected \"client\", found none", ["aud": nil])
    }

    @Test("oidcc-client-test-missing-iat")
    func missingIssuedAt() throws {
        try Self.expectRefusal("iat: expected seconds since 1970, found none", ["iat": nil])
    }

    @Test("oidcc-client-test-invalid-athash")
    func invalidAccessTokenHash() throws {
        var rules = Sample.rules
        rules.accessToken = Sample.accessToken
        let token = try Sample.token(claims: ["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"])
        #expect(throws: Sample.untrusted("at_hash: expected the access token's hash, found another")) {
            try Sample.validate(token, rules, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }

    @Test("oidcc-client-test-kid-absent-single-jwks")
    func singleKeyWithoutID() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.rsa2048, keyID: "k"))
        #expect(throws: Never.self) { try Sample.validate(try Sample.token(.rsa2048), keys: keys) }
    }

    @Test("oidcc-client-test-kid-absent-multiple-jwks: every key that fits is tried")
    func severalKeysWithoutID() throws {
        let other = JSONWebKey(publicKey: try SampleKeys.otherKey(.rsa2048).publicKey, keyID: "a")
        let right = JSONWebKey(publicKey: try Sample.key(.rsa2048).publicKey, keyID: "b")
        for set in [[other, right], [right, other]] {
            let keys = RotatingKeys(JWKSet(keys: set))
            #expect(throws: Never.self) { try Sample.validate(try Sample.token(.rsa2048), keys: keys) }
        }
        let keys = RotatingKeys(JWKSet(keys: [other, other]))
        #expect(throws: Sample.untrusted("signature: no key of 2 verifies it with RS256")) {
            try Sample.validate(try Sample.token(.rsa2048), keys: keys)
        }
    }

    @Test("oidcc-client-test-idtoken-sig-rs256")
    func signedWithRS256() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.rsa2048))
        #expect(throws: Never.self) { try Sample.validate(try Sample.token(.rsa2048, .rs256), keys: keys) }
    }

    @Test("oidcc-client-test-idtoken-sig-none")
    func unsigned() throws {
        let payload = JSONValue.object(Sample.claims()).compact
        for name in ["none", "None", "NONE"] {
            let header = #"{"typ":"JWT","alg":"\#(name)"}"#
            let token = Sample.unsigned(header: header, payload: payload, signature: [])
            #expect(throws: Sample.untrusted("alg: expected a signature algorithm, found \"\(name)\"")) {
                try Sample.validate(token, keys: RotatingKeys(try Sample.publicKeys(.rsa2048)))
            }
        }
    }

    @Test("oidcc-client-test-invalid-sig-rs256")
    func badRS256() throws { try Self.expectBadSignature(.rsa2048, .rs256) }

    @Test("oidcc-client-test-invalid-sig-es256")
    func badES256() throws { try Self.expectBadSignature(.p256, .es256) }

    @Test("oidcc-client-test-invalid-sig-hs256")
    func badHS256() throws {
        var rules = Sample.rules
        rules.clientSecret = Redacted("a client secret of thirty-two by")
        let token = try JWTSigner(secret: Redacted("a guess at that secret, too long")).sign(
            claims: Sample.claims())
        #expect(
            throws: Sample.untrusted(
                "signature: no key verifies it with HS256", hint: .advice(.signWithPublishedKey))
        ) {
            try Sample.validate(token, rules, keys: RotatingKeys(JWKSet(keys: [])))
        }
    }

    @Test("oidcc-client-test-discovery-jwks-uri-keys")
    func keysOfTheProvider() throws {
        let set = try JWKSet(parsing: try Sample.publicKeys(.rsa2048, .p256, .ed25519, keyID: "k").json.bytes)
        for kind in [PrivateKey.Kind.rsa2048, .p256, .ed25519] {
            let token = try Sample.token(kind, keyID: "k")
            #expect(throws: Never.self) { try Sample.validate(token, keys: RotatingKeys(set)) }
        }
    }

    @Test("oidcc-client-test-signing-key-rotation: both sign-ins succeed")
    func keyRotation() throws {
        let old = try PrivateKey.generate(.p256)
        let first = JWKSet(keys: [JSONWebKey(publicKey: old.publicKey, keyID: "1")])
        let keys = RotatingKeys(first, then: try Sample.publicKeys(.p256, keyID: "2"))
        try Sample.validate(try JWTSigner(old, keyID: "1").sign(claims: Sample.claims()), keys: keys)
        try Sample.validate(try Sample.token(keyID: "2"), keys: keys)
        #expect(keys.requests == [false, false, true])
    }

    @Test("oidcc-client-test-signing-key-rotation-just-before-signing: one refetch")
    func keyRotationJustBeforeSigning() throws {
        let old = JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey, keyID: "1")
        let keys = RotatingKeys(JWKSet(keys: [old]), then: try Sample.publicKeys(.p256, keyID: "2"))
        try Sample.validate(try Sample.token(keyID: "2"), keys: keys)
        #expect(keys.requests == [false, true])
    }

    @Test("oidcc-client-test-refresh-token-invalid-issuer")
    func refreshWithAnotherIssuer() throws {
        try Self.expectRefusal(
            "iss: expected \"https://op.example\", found \"https://op2.example\"",
            ["iss": "https://op2.example"])
    }

    @Test("oidcc-client-test-refresh-token-invalid-sub")
    func refreshWithAnotherSubject() throws {
        var rules = Sample.rules
        rules.previous = .init(issuer: Sample.issuer, subject: "alice", audience: ["client"])
        let token = try Sample.token(claims: ["sub": "mallory"])
        #expect(throws: Sample.untrusted("sub: expected \"alice\" as at the sign-in, found \"mallory\"")) {
            try Sample.validate(token, rules, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }

    @Test("FAPI 2.0 client: aud as an array is accepted")
    func audienceArray() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        #expect(throws: Never.self) {
            try Sample.validate(try Sample.token(claims: ["aud": ["client"]]), keys: keys)
        }
    }

    @Test("FAPI 2.0 client: null alg, alternate alg")
    func otherAlgorithm() throws {
        var rules = Sample.rules
        rules.allowedAlgorithms = ["PS256", "ES256"]
        let keys = RotatingKeys(try Sample.publicKeys(.rsa2048))
        let null = Sample.unsigned(
            header: #"{"alg":null}"#, payload: JSONValue.object(Sample.claims()).compact)
        #expect(throws: Sample.untrusted("alg: expected a string, found null")) {
            try Sample.validate(null, rules, keys: keys)
        }
        #expect(throws: Sample.untrusted("alg: expected PS256, ES256, found \"RS256\"")) {
            try Sample.validate(try Sample.token(.rsa2048, .rs256), rules, keys: keys)
        }
    }

    @Test("FAPI 2.0 client: expired and missing exp")
    func expiry() throws {
        try Self.expectRefusal(
            "exp: expected a time after \(Sample.now), found \(Sample.now.adding(-300))",
            ["exp": JSONValue(Sample.seconds - 300)])
        try Self.expectRefusal("exp: expected seconds since 1970, found none", ["exp": nil])
    }

    @Test("FAPI 2.0 client: secondary aud")
    func secondaryAudience() throws {
        try Self.expectRefusal(
            "azp: expected \"client\" (aud is [client, https://other.example]), found none",
            ["aud": ["client", "https://other.example"]])
    }

    @Test("FAPI 2.0 client: missing nonce")
    func missingNonce() throws {
        try Self.expectRefusal(
            "nonce: expected the one of this sign-in, found none", ["nonce": nil],
            hint: .advice(.turnNonceOff))
    }
}
