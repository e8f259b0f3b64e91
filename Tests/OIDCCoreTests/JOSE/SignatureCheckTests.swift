import OIDCCrypto
import TestSupport
import Testing

@testable import OIDCCore

@Suite("Signatures")
struct SignatureCheckTests {
    static func invalid(_ reason: String) -> SignatureCheck { .invalid(reason: reason) }

    @Test(
        "a token of an RFC verifies with its key, as the only one and among others", arguments: RFCVector.all)
    func vectors(_ vector: RFCVector) throws {
        let token = try JWS(compact: vector.compact)
        #expect(try token.verify(keys: try vector.keys(), allowsSymmetric: true) == .valid)
        let all = "{\"keys\":[\(RFCVector.all.map(\.key).joined(separator: ","))]}"
        let set = try JWKSet(parsing: Array(all.utf8))
        #expect(set.keys.count == RFCVector.all.count)
        #expect(try token.verify(keys: set, allowsSymmetric: true) == .valid)
    }

    @Test("a token of an RFC verifies with no other RFC's key", arguments: RFCVector.all)
    func otherKeys(_ vector: RFCVector) throws {
        let token = try JWS(compact: vector.compact)
        for other in RFCVector.all where other.algorithm != vector.algorithm {
            #expect(try token.verify(keys: try other.keys(), allowsSymmetric: true) != .valid)
        }
    }

    @Test("a symmetric key of a set verifies only if that is allowed")
    func symmetric() throws {
        let token = try JWS(compact: RFCVector.hs256.compact)
        #expect(
            try token.verify(keys: try RFCVector.hs256.keys())
                == Self.invalid(
                    "no key for HS256 (a key is not used: symmetric keys in a key set are not used)"
                ))
    }

    @Test("a secret shorter than the hash is not used (RFC 7518 §3.2)")
    func shortSecret() throws {
        let secret = Redacted("thirty-one characters, too few.")
        let token = try JWS(compact: try JWTSigner(secret: secret).sign(claims: JSONObject()))
        let keys = JWKSet(keys: [JSONWebKey(secret: Redacted(Array(secret.revealed.utf8)))])
        #expect(
            try token.verify(keys: keys, allowsSymmetric: true)
                == Self.invalid(
                    "no key for HS256 (a key is not used: HS256 needs a secret of 32 bytes or more (RFC 7518 §3.2))"
                ))
    }

    @Test("at most 64 keys are tried for one signature")
    func manyKeys() throws {
        let token = try JWS(compact: try SampleProvider.token())
        let own = try #require(try SampleProvider.publicKeys(.p256).keys.first)
        let other = try #require(
            try JWKSet(keys: [JSONWebKey(publicKey: PrivateKey.generate(.p256).publicKey)]).keys.first)
        let others = Array(repeating: other, count: 63)
        #expect(try token.verify(keys: JWKSet(keys: others + [own])) == .valid)
        #expect(
            try token.verify(keys: JWKSet(keys: others + [other, own, own]))
                == Self.invalid(
                    "signature: no key of 64 verifies it with ES256 (2 more that fit were not tried)"))
        // Keys that do not fit do not count.
        let unfit = try SampleProvider.publicKeys(.rsa2048).keys
        let many = Array(repeating: unfit, count: 100).flatMap { $0 }
        #expect(try token.verify(keys: JWKSet(keys: many + [own])) == .valid)
    }

    static let headers: [(String, String)] = [
        (#"{}"#, "alg: expected a string, found none"),
        (#"{"alg":null}"#, "alg: expected a string, found null"),
        (#"{"alg":["RS256"]}"#, "alg: expected a string, found an array"),
        (#"{"alg":"none"}"#, "alg: expected a signature algorithm, found \"none\""),
        (#"{"alg":"nOnE"}"#, "alg: expected a signature algorithm, found \"nOnE\""),
        (#"{"alg":""}"#, "alg: expected a supported algorithm, found \"\""),
        (#"{"alg":"rs256"}"#, "alg: expected a supported algorithm, found \"rs256\""),
        (#"{"alg":"RS256 "}"#, "alg: expected a supported algorithm, found \"RS256\\u{20}\""),
        (#"{"alg":"RS1"}"#, "alg: expected a supported algorithm, found \"RS1\""),
        (#"{"alg":"ES256K"}"#, "alg: expected a supported algorithm, found \"ES256K\""),
        (#"{"alg":"A128KW"}"#, "alg: expected a supported algorithm, found \"A128KW\""),
        (#"{"alg":"\u001b[31m"}"#, "alg: expected a supported algorithm, found \"[31m\""),
        (#"{"alg":"ES256","crit":["exp"],"exp":1}"#, "crit: expected no critical extension, found \"exp\""),
        (#"{"alg":"ES256","crit":[]}"#, "crit: expected no critical extension, found \"\""),
        (
            #"{"alg":"ES256","crit":["b64"],"b64":false}"#,
            "crit: expected no critical extension, found \"b64\""
        ),
        (#"{"alg":"ES256","crit":null}"#, "crit: expected no critical extension, found \"null\""),
        (#"{"alg":"ES256","kid":1}"#, "kid: expected a string, found a number"),
    ]

    @Test("a header that cannot be accepted is refused with any keys", arguments: headers)
    func header(_ header: String, _ reason: String) throws {
        let token = try JWS(compact: SampleProvider.unsigned(header: header, payload: "{}"))
        #expect(try token.verify(keys: try SampleProvider.publicKeys(.p256)) == Self.invalid(reason))
    }

    @Test("an unsigned token is never valid (RFC 7515 A.5)")
    func unsecured() throws {
        let token = try JWS(compact: RFCVector.unsecured)
        let refusal = JWS.HeaderRefusal("alg", expected: "a signature algorithm", found: "\"none\"")
        #expect(throws: refusal) { try token.acceptedAlgorithm(allowed: ["none"]) }
        #expect(
            try token.verify(keys: try RFCVector.hs256.keys(), allowsSymmetric: true)
                == Self.invalid(refusal.cause.message))
    }

    @Test("only an algorithm of the allow-list verifies")
    func allowList() throws {
        let token = try JWS(compact: try SampleProvider.token(.rsa2048, .rs256))
        #expect(try token.acceptedAlgorithm(allowed: ["ES256", "RS256"]) == .rs256)
        #expect(throws: JWS.HeaderRefusal("alg", expected: "ES256, PS256", found: "\"RS256\"")) {
            // A signature is expected, whatever the provider lists.
            try token.acceptedAlgorithm(allowed: ["none", "ES256", "PS256"])
        }
        let none = "an algorithm that the provider lists (it lists no signature algorithm)"
        for allowed in [[], ["none"]] {
            #expect(throws: JWS.HeaderRefusal("alg", expected: none, found: "\"RS256\"")) {
                try token.acceptedAlgorithm(allowed: allowed)
            }
        }
    }

    static let algorithms: [(PrivateKey.Kind, SignatureAlgorithm)] = [
        (.rsa2048, .rs256), (.rsa2048, .rs384), (.rsa2048, .rs512), (.rsa2048, .ps256), (.rsa2048, .ps384),
        (.rsa2048, .ps512), (.p256, .es256), (.p384, .es384), (.p521, .es512), (.ed25519, .edDSA),
    ]

    @Test(
        "a signed token verifies with its key, and with no other header, payload or key",
        arguments: algorithms)
    func roundTrip(_ kind: PrivateKey.Kind, _ algorithm: SignatureAlgorithm) throws {
        let compact = try SampleProvider.token(kind, algorithm)
        let keys = try SampleProvider.publicKeys(kind)
        #expect(try JWS(compact: compact).verify(keys: keys) == .valid)
        let parts = compact.split(separator: ".").map(String.init)
        let otherPayload = "\(parts[0]).\(Base64URL.encode(Array("{}".utf8))).\(parts[2])"
        let header = Base64URL.encode(Array("{\"typ\":\"JWT\",\"alg\":\"\(algorithm.rawValue)\"}".utf8))
        let otherHeader = "\(header).\(parts[1]).\(parts[2])"
        let otherKey = JWKSet(keys: [JSONWebKey(publicKey: try SampleKeys.otherKey(kind).publicKey)])
        let reason = "signature: no key verifies it with \(algorithm.rawValue)"
        #expect(try JWS(compact: otherPayload).verify(keys: keys) == Self.invalid(reason))
        #expect(try JWS(compact: otherHeader).verify(keys: keys) == Self.invalid(reason))
        #expect(try JWS(compact: compact).verify(keys: otherKey) == Self.invalid(reason))
        #expect(try JWS(compact: "\(parts[0]).\(parts[1]).").verify(keys: keys) == Self.invalid(reason))
    }

    @Test("the name Ed25519 of RFC 9864 means the same algorithm")
    func ed25519() throws {
        let key = try SampleProvider.key(.ed25519)
        let input = "\(Base64URL.encode(Array(#"{"alg":"Ed25519"}"#.utf8))).e30"
        let signature = try key.sign(Array(input.utf8), .edDSA)
        let token = try JWS(compact: "\(input).\(Base64URL.encode(signature))")
        let keys = try SampleProvider.publicKeys(.ed25519)
        #expect(try token.verify(keys: keys) == .valid)
        #expect(try token.acceptedAlgorithm(allowed: ["EdDSA"]) == .edDSA)
    }

    @Test("a public key is not used as an HMAC secret (CVE-2016-10555)")
    func algorithmConfusion() throws {
        let json = try SampleProvider.publicKeys(.rsa2048).json
        let modulus = try #require(json["keys"]?.array?.first?["n"]?.string)
        for secret in [
            modulus, json.compact, String(decoding: try SampleProvider.key(.rsa2048).pem, as: UTF8.self),
        ] {
            let token = try JWS(compact: try JWTSigner(secret: Redacted(secret)).sign(claims: JSONObject()))
            for allowsSymmetric in [false, true] {
                let check = try token.verify(
                    keys: try SampleProvider.publicKeys(.rsa2048), allowsSymmetric: allowsSymmetric)
                #expect(
                    check == Self.invalid("no key for HS256 (a key is not used: kty or crv does not fit)"))
            }
        }
    }

    @Test("keys and URLs in the token's header are ignored (CVE-2018-0114)")
    func embeddedKeys() throws {
        let attacker = try PrivateKey.generate(.p256)
        let jwk = JSONWebKey(publicKey: attacker.publicKey, keyID: "k").json
        let header = SampleProvider.header([
            "jwk": jwk, "jku": "https://evil.example/keys", "x5u": "https://evil.example/x", "x5c": ["AAAA"],
        ])
        let compact = try JWTSigner(attacker, keyID: "k").sign(
            header: header, claims: SampleProvider.claims())
        let keys = try SampleProvider.publicKeys(.p256, keyID: "k")
        #expect(
            try JWS(compact: compact).verify(keys: keys)
                == Self.invalid("signature: no key with kid \"k\" verifies it with ES256"))
    }

    @Test("a weak or broken key of the set is not used, and the message says why")
    func unusableKeys() throws {
        let token = try JWS(compact: try SampleProvider.token(.rsa2048, .rs256, keyID: "k"))
        let weak = Base64URL.encode([UInt8](repeating: 0xFF, count: 128))
        let set = try JWKSet(
            parsing: Array(
                """
                {"keys":[{"kty":"RSA","kid":"k","n":"\(weak)","e":"AQAB"},{"kty":"RSA","kid":"k","n":"!","e":"AQAB"},\
                {"kty":"RSA","kid":"other","n":"?","e":"AQAB"}]}
                """.utf8))
        #expect(
            try token.verify(keys: set)
                == Self.invalid(
                    "no key with kid \"k\" for RS256 (a key is not used: "
                        + "an RSA key must have 2048 to 16384 bits, not 1024; n is not base64url)"))
        let offCurve = Base64URL.encode([UInt8](repeating: 1, count: 32))
        let curveSet = try JWKSet(
            parsing: Array(#"{"kty":"EC","crv":"P-256","x":"\#(offCurve)","y":"\#(offCurve)"}"#.utf8))
        #expect(
            try JWS(compact: try SampleProvider.token()).verify(keys: curveSet)
                == Self.invalid("no key for ES256 (a key is not used: the point is not on P-256)"))
    }

    @Test("a token is not valid if there are no keys")
    func noKeys() throws {
        let token = try JWS(compact: try SampleProvider.token())
        #expect(try token.verify(keys: JWKSet(keys: [])) == Self.invalid("the key set is empty"))
    }
}
