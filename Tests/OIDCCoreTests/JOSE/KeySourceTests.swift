import OIDCCore
import OIDCCrypto
import Testing

@Suite("Keys that were fetched before")
struct KeySourceTests {
    typealias Sample = SampleProvider

    static func oldKeys(_ keyID: String?) throws -> JWKSet {
        JWKSet(keys: [JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey, keyID: keyID)])
    }

    @Test(
        "an unknown kid, or a signature that fails under cached keys, refetches once",
        arguments: ["old", "new", nil])
    func refetches(_ oldKeyID: String?) throws {
        let keys = RotatingKeys(try Self.oldKeys(oldKeyID), then: try Sample.publicKeys(.p256, keyID: "new"))
        try Sample.validate(try Sample.token(keyID: "new"), keys: keys)
        #expect(keys.requests == [false, true])
    }

    @Test("a token without kid causes a refetch too if no cached key verifies it")
    func withoutKeyID() throws {
        let keys = RotatingKeys(try Self.oldKeys(nil), then: try Sample.publicKeys(.p256))
        try Sample.validate(try Sample.token(), keys: keys)
        #expect(keys.requests == [false, true])
    }

    @Test("keys that verify are not fetched again")
    func notNeeded() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        try Sample.validate(try Sample.token(), keys: keys)
        #expect(keys.requests == [false])
    }

    @Test("fresh keys are not fetched twice")
    func freshKeys() throws {
        let keys = RotatingKeys(
            try Self.oldKeys("old"), then: try Sample.publicKeys(.p256), mayBeStale: false)
        #expect(throws: Sample.untrusted("no key with kid \"new\" for ES256")) {
            try Sample.validate(try Sample.token(keyID: "new"), keys: keys)
        }
        #expect(keys.requests == [false])
    }

    @Test("after one refetch the token is refused")
    func onlyOnce() throws {
        let keys = RotatingKeys(try Self.oldKeys("k"))
        #expect(throws: Sample.untrusted("signature: no key with kid \"k\" verifies it with ES256")) {
            try Sample.validate(try Sample.token(keyID: "k"), keys: keys)
        }
        #expect(keys.requests == [false, true])
    }

    @Test(
        "a signature that the key with its kid does not verify is tried with the issuer's other keys, after the refetch",
        arguments: [true, false])
    func otherKeyOfIssuer(mayBeStale: Bool) throws {
        // Hydra 26.2 after a rotation: the old kid, and a signature with the new key.
        let old = try Self.oldKeys("old").keys
        let both = JWKSet(keys: old + (try Sample.publicKeys(.p256, keyID: "new")).keys)
        let keys = RotatingKeys(
            mayBeStale ? JWKSet(keys: old) : both, then: both, mayBeStale: mayBeStale)
        try Sample.validate(try Sample.token(keyID: "old"), keys: keys)
        #expect(keys.requests == (mayBeStale ? [false, true] : [false]))
    }

    @Test("a kid that no key has is not a reason to try the others")
    func unknownKeyID() throws {
        let keys = RotatingKeys(try Sample.publicKeys(.p256, keyID: "new"))
        #expect(throws: Sample.untrusted("no key with kid \"unknown\" for ES256")) {
            try Sample.validate(try Sample.token(keyID: "unknown"), keys: keys)
        }
    }

    @Test("a key of another issuer in the same set is not tried (Entra ID)")
    func otherIssuer() throws {
        let own = try Self.oldKeys("old").keys
        let other = try #require(try Sample.publicKeys(.p256, keyID: "new").keys.first?.json.object)
        var members = other
        members["issuer"] = "https://login.example/other-tenant"
        let foreign = try JWKSet(.object(JSONObject([("keys", .array([.object(members)]))])))
        let keys = RotatingKeys(JWKSet(keys: own + foreign.keys))
        #expect(throws: Sample.untrusted("signature: no key with kid \"old\" verifies it with ES256")) {
            try Sample.validate(try Sample.token(keyID: "old"), keys: keys)
        }
    }

    @Test("a failed refetch is reported as such, not as a bad token")
    func outOfReach() throws {
        let error = OIDCError(.unreachable, "jwks: no connection", stage: .keys)
        let keys = RotatingKeys(try Self.oldKeys("k"), thenFailingWith: error)
        #expect(throws: error) { try Sample.validate(try Sample.token(keyID: "k"), keys: keys) }
    }

    @Test("an empty key set is an error, never a reason to skip the check")
    func empty() throws {
        let keys = RotatingKeys(JWKSet(keys: []))
        #expect(throws: Sample.untrusted("the key set is empty")) {
            try Sample.validate(try Sample.token(), keys: keys)
        }
        #expect(keys.requests == [false, true])
    }

    @Test("fixed keys are what they are")
    func fixed() throws {
        let keys = FixedKeys(try Sample.publicKeys(.p256))
        #expect(!keys.mayBeStale)
        #expect(keys.keys(refetching: true) == keys.keys(refetching: false))
        #expect(throws: Never.self) { try Sample.validate(try Sample.token(), keys: keys) }
    }
}
