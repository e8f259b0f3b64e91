import OIDCCore
import OIDCCrypto
import Testing

@Suite("Key sets")
struct JWKSetTests {
    static func parse(_ text: String) throws -> JWKSet { try JWKSet(parsing: Array(text.utf8)) }

    static let malformed: [(String, String)] = [
        ("", "not valid JSON: the text is incomplete at byte 0"),
        ("<html>", "not valid JSON: expected a value at byte 0"),
        ("[]", "expected an object, found an array"), ("{}", "keys: expected an array, found none"),
        (#"{"keys":{}}"#, "keys: expected an array, found an object"),
        (#"{"keys":null}"#, "keys: expected an array, found null"),
        (#"{"keys":[],"keys":[]}"#, "not valid JSON: duplicate member \"keys\" at byte 11"),
    ]

    @Test("a document that is not a key set is refused with a reason", arguments: malformed)
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: JWKSet.Malformed.self) { try Self.parse(text) }
        #expect(error?.reason == reason)
    }

    @Test("a key set may also be a single key")
    func forms() throws {
        #expect(try Self.parse(RFCVector.es256.key).keys.count == 1)
        #expect(try Self.parse("{\"keys\":[\(RFCVector.es256.key)]}").keys.count == 1)
        #expect(try Self.parse("{\"keys\":[]}").keys.isEmpty)
    }

    @Test("a key that is published with its private half is named")
    func published() throws {
        let set = try Self.parse(
            #"{"keys":[{"kty":"OKP","kid":"a","crv":"Ed25519","x":"AA","d":"AA"},{"kty":"OKP","kid":"b"}]}"#)
        #expect(set.publishedPrivateKeyIDs == ["a"])
        let other = try Self.parse(#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#)
        #expect(other.publishedPrivateKeyIDs.isEmpty)
    }

    static let ignored = [
        "null", "1", "[]", "{}", #"{"kty":1}"#, #"{"kty":"AKP","pub":"AA"}"#,
        #"{"kty":"rsa","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"RSA","n":"AQAB"}"#, #"{"kty":"RSA","n":1,"e":"AQAB"}"#,
        #"{"kty":"RSA","n":"AQ==","e":"AQAB"}"#,
        #"{"kty":"RSA","n":"","e":"AQAB"}"#, #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#,
        #"{"kty":"EC","x":"AA","y":"AA"}"#, #"{"kty":"OKP","crv":"X25519","x":"AA"}"#,
        #"{"kty":"OKP","crv":"Ed448","x":"AA"}"#, #"{"kty":"oct"}"#, #"{"kty":"oct","k":""}"#,
        #"{"kty":"oct","k":"AA","use":1}"#, #"{"kty":"oct","k":"AA","kid":1}"#,
        #"{"kty":"oct","k":"AA","key_ops":"verify"}"#, #"{"kty":"oct","k":"AA","alg":[]}"#,
    ]

    @Test("a key that is not understood is passed over, and the others are used", arguments: ignored)
    func passedOver(_ key: String) throws {
        let set = try Self.parse("{\"keys\":[\(key),\(RFCVector.es256.key)]}")
        #expect(set.keys.count == 1)
        #expect(try JWS(compact: RFCVector.es256.compact).verify(keys: set) == .valid)
    }

    /// What a key says of itself, and whether an ES256 signature may be verified with it.
    static let uses: [(String, Bool)] = [
        ("", true), (#","use":"sig""#, true), (#","use":"enc""#, false), (#","use":"other""#, false),
        (#","key_ops":["verify"]"#, true), (#","key_ops":["sign","verify"]"#, true),
        (#","key_ops":["sign"]"#, false),
        (#","key_ops":[]"#, false), (#","key_ops":["encrypt"]"#, false), (#","alg":"ES256""#, true),
        (#","alg":"ES384""#, false), (#","alg":"RS256""#, false), (#","alg":"ECDH-ES""#, false),
        (#","alg":"es256""#, false), (#","use":"sig","key_ops":["sign"]"#, false),
        (#","x5c":["!"],"x5t":1,"x5u":{},"ext":true"#, true),
    ]

    @Test("use, key_ops and alg of a key are respected; other members are ignored", arguments: uses)
    func respectsUse(_ members: String, _ isUsed: Bool) throws {
        let set = try Self.parse(RFCVector.es256.key.dropLast() + members + "}")
        let candidates = set.candidates(algorithm: .es256, keyID: nil, allowsSymmetric: false)
        #expect(candidates.count == (isUsed ? 1 : 0))
        let check = try JWS(compact: RFCVector.es256.compact).verify(keys: set)
        #expect((check == .valid) == isUsed)
    }

    @Test("a key fits only the algorithms of its type and curve")
    func types() throws {
        let all = try Self.parse("{\"keys\":[\(RFCVector.all.map(\.key).joined(separator: ","))]}")
        for algorithm in SignatureAlgorithm.allCases {
            let candidates = all.candidates(algorithm: algorithm, keyID: nil, allowsSymmetric: true)
            let expected = algorithm == .es384 ? 0 : 1
            #expect(candidates.count == expected, "\(algorithm)")
        }
    }

    @Test(
        "a kid selects the keys that have it; if there are none, those without a kid; never those with another"
    )
    func selection() throws {
        let key = try SampleProvider.key(.p256).publicKey
        let keys = JWKSet(keys: ["a", "b", nil, "a"].map { JSONWebKey(publicKey: key, keyID: $0) })
        func chosen(_ keyID: String?) -> [String?] {
            keys.candidates(algorithm: .es256, keyID: keyID, allowsSymmetric: false).map(\.keyID)
        }
        #expect(chosen("a") == ["a", "a"])
        #expect(chosen("c") == [nil])
        #expect(chosen("A") == [nil])
        #expect(chosen(nil) == ["a", "b", nil, "a"])
        let named = JWKSet(keys: [JSONWebKey(publicKey: key, keyID: "\u{E9}")])
        #expect(named.candidates(algorithm: .es256, keyID: "e\u{301}", allowsSymmetric: false).isEmpty)
    }

    @Test("of several keys with one kid, the one that verifies counts")
    func sharedKeyID() throws {
        let others = try (0..<3).map { _ in
            JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey, keyID: "k")
        }
        let right = JSONWebKey(publicKey: try SampleProvider.key(.p256).publicKey, keyID: "k")
        let token = try JWS(compact: try SampleProvider.token(keyID: "k"))
        #expect(try token.verify(keys: JWKSet(keys: others + [right])) == .valid)
        #expect(
            try token.verify(keys: JWKSet(keys: others))
                == .invalid(reason: "signature: no key with kid \"k\" verifies it with ES256"))
    }

    @Test("ten thousand keys are read and searched one by one", .timeLimit(.minutes(1)))
    func manyKeys() throws {
        let junk = (0..<9_999).map { #"{"kty":"EC","crv":"P-256","kid":"k\#($0)","x":"AA","y":"AA"}"# }
        let right = JSONWebKey(publicKey: try SampleProvider.key(.p256).publicKey, keyID: "right").json
            .compact
        let set = try Self.parse("{\"keys\":[\((junk + [right]).joined(separator: ","))]}")
        #expect(set.keys.count == 10_000)
        #expect(try JWS(compact: try SampleProvider.token(keyID: "right")).verify(keys: set) == .valid)
        // Without a `kid`, the first of those that fit are tried, and no more.
        #expect(try JWS(compact: try SampleProvider.token()).verify(keys: set) != .valid)
    }

    @Test("a published key set can be read back, and has no private member and no secret")
    func publishing() throws {
        for kind in PrivateKey.Kind.allCases {
            let key = JSONWebKey(
                publicKey: try SampleProvider.key(kind).publicKey, keyID: "k",
                algorithm: try SampleProvider.key(kind).supportedAlgorithms.first)
            #expect(try JWKSet(JWKSet(keys: [key]).json).keys == [key])
        }
        let json = try #require(try Self.parse(RFCVector.es256.key).keys.first?.json.object)
        #expect(json.names == ["crv", "kty", "x", "y"])
        let secret = try #require(try Self.parse(RFCVector.hs256.key).keys.first)
        #expect(secret.json == ["kty": "oct"])
        #expect(!"\(secret)".contains("35, 51, 53") && "\(secret)".contains("(secret)"))
    }

    @Test("thumbprints are those of RFC 7638 §3.1 and RFC 8037 A.3")
    func thumbprints() throws {
        for (json, expected) in [
            (RFCVector.thumbprintKey, RFCVector.thumbprint),
            (RFCVector.edDSA.key, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        ] {
            guard case .asymmetric(let parameters)? = try Self.parse(json).keys.first?.material else {
                Issue.record("no public key")
                continue
            }
            #expect(try JSONWebKey.thumbprint(of: try PublicKey(parameters)) == expected)
        }
    }

    @Test("reading ends with keys or a reason, whichever byte is changed")
    func fuzz() throws {
        let text = Array(
            "{\"keys\":[\(RFCVector.es256.key),\(RFCVector.edDSA.key),\(RFCVector.hs256.key)]}".utf8)
        let token = try JWS(compact: RFCVector.es256.compact)
        for index in text.indices {
            var changed = text
            changed[index] ^= 1 << UInt8(index % 8)
            guard let set = try? JWKSet(parsing: changed) else { continue }
            _ = try token.verify(keys: set)
        }
        for count in text.indices {
            #expect(throws: JWKSet.Malformed.self) { try JWKSet(parsing: Array(text.prefix(count))) }
        }
    }

    @Test("keys are fetched with a GET, and an answer without keys is an error that says so")
    func fetching() throws {
        let call = JWKSet.call(try #require(WebURL("https://op.example/keys")))
        #expect(call.request.method == .get)
        #expect(call.stage == .keys)
        let good = HTTPResponse(status: 200, body: Array(RFCVector.es256.key.utf8))
        #expect(try call.read(good).keys.count == 1)
        let page = HTTPResponse(status: 200, body: Array("<html>".utf8))
        let reason =
            "jwks: https://op.example/keys is not a key set: not valid JSON: expected a value at byte 0"
        #expect(throws: OIDCError(.refused, reason, stage: .keys)) { try call.read(page) }
        #expect(throws: OIDCError.self) { try call.read(HTTPResponse(status: 404)) }
        let error = #expect(throws: OIDCError.self) { try call.read(HTTPResponse(status: 503)) }
        #expect(error?.kind == .unreachable)
    }
}
