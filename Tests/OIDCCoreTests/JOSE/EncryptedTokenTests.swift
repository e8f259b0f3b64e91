@testable import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("Encrypted tokens")
struct EncryptedTokenTests {
    typealias Sample = SampleProvider

    static let secret = Redacted("a client secret of thirty-two by")
    static let failure = Sample.untrusted(
        "the token cannot be decrypted: it was changed, or is encrypted to another key",
        hint: .advice(.checkDecryptionKey))

    static func own(_ kind: PrivateKey.Kind = .p256) throws -> TokenDecryption {
        try TokenDecryption(Sample.key(kind))
    }

    static func open(_ compact: String, _ decryption: TokenDecryption?) throws -> String {
        try TokenDecryption.decrypted(compact, decryption, stage: .idToken)
    }

    static func encrypted(
        _ text: String = "text", _ kind: PrivateKey.Kind = .p256, _ algorithm: KeyManagement = .ecdhES,
        _ encryption: ContentEncryption = .a128CBC, header: [String: JSONValue] = [:]
    ) throws -> String {
        try JWE.encrypt(
            Array(text.utf8), to: Sample.key(kind).publicKey, algorithm, encryption,
            header: Sample.header(header))
    }

    /// Returns a token with other members in its header, or without some.
    static func changing(_ compact: String, _ members: [String: JSONValue?]) throws -> String {
        var parts = compact.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var header = try JWE(compact: compact).header
        for (name, value) in members { header[name] = value }
        parts[0] = Base64URL.encode(JSONValue.object(header).bytes)
        return parts.joined(separator: ".")
    }

    @Test("the examples are decrypted with the key of their JWK", arguments: EncryptedVector.all)
    func vectors(_ vector: EncryptedVector) throws {
        let key = try PrivateKey(decryptionJWK: Array(vector.key.utf8))
        #expect(try Self.open(vector.compact, TokenDecryption(key)) == vector.text)
        let pem = try PrivateKey(pem: key.pem, passphrase: nil)
        #expect(try Self.open(vector.compact, TokenDecryption(pem)) == vector.text)
    }

    @Test("RFC 7520 6: the signature inside the encrypted token is verified")
    func nested() throws {
        let key = try PrivateKey(decryptionJWK: Array(EncryptedVector.rfc7520x6.key.utf8))
        let signed = try Self.open(EncryptedVector.rfc7520x6.compact, TokenDecryption(key))
        let keys = try JWKSet(parsing: Array(EncryptedVector.hobbiton.utf8))
        #expect(try JWS(compact: signed).verify(keys: keys) == .valid)
    }

    @Test("RSA1_5, PBES2, AES key wrapping and unregistered dir are refused before any key is used")
    func refusedAlgorithms() throws {
        for (section, algorithm, compact) in EncryptedVector.refused {
            let isRSA = algorithm == "RSA1_5"
            for decryption in [try Self.own(isRSA ? .rsa2048 : .p256)] {
                let expected = isRSA ? "RSA-OAEP-256, RSA-OAEP" : "ECDH-ES, ECDH-ES+A128KW, ECDH-ES+A256KW"
                let error = Sample.untrusted(
                    "alg: expected \(expected), found \"\(algorithm)\"",
                    hint: .advice(algorithm == "dir" ? .allowDirectEncryption : .checkTokenEncryption))
                #expect(throws: error, "\(section)") { try Self.open(compact, decryption) }
            }
        }
    }

    static let combinations = ContentEncryption.allCases.flatMap { encryption in
        [KeyManagement.ecdhES, .ecdhESA128KW, .ecdhESA256KW].map { ($0, encryption) }
    }

    @Test("each algorithm decrypts what was encrypted, on each curve", arguments: combinations)
    func roundTrip(_ algorithm: KeyManagement, _ encryption: ContentEncryption) throws {
        for kind in [PrivateKey.Kind.p256, .p384, .p521] {
            let compact = try Self.encrypted("a text", kind, algorithm, encryption)
            #expect(try Self.open(compact, Self.own(kind)) == "a text")
        }
    }

    @Test(
        "OIDC Core 10.2: dir decrypts with the client's secret, if it is registered",
        arguments: ContentEncryption.allCases)
    func direct(_ encryption: ContentEncryption) throws {
        let compact = try JWE.encrypt(Array("a text".utf8), with: Self.secret, encryption)
        #expect(try Self.open(compact, TokenDecryption(secret: Self.secret)) == "a text")
        #expect(throws: Self.failure) { try Self.open(compact, TokenDecryption(secret: Redacted("another"))) }
        #expect(throws: OIDCError.self) { try Self.open(compact, Self.own()) }
    }

    @Test("the key for dir is the left of the secret's hash (OIDC Core 10.2)")
    func directKey() throws {
        let (short, long) = (
            try Digest.hash(Array(Self.secret.revealed.utf8), .sha256),
            try Digest.hash(Array(Self.secret.revealed.utf8), .sha512)
        )
        #expect(try ContentEncryption.a128GCM.key(from: Self.secret) == Array(short.prefix(16)))
        #expect(try ContentEncryption.a256GCM.key(from: Self.secret) == short)
        #expect(try ContentEncryption.a128CBC.key(from: Self.secret) == short)
        #expect(try ContentEncryption.a256CBC.key(from: Self.secret) == long)
    }

    /// Tokens of each way to find the content key, with the means to decrypt them.
    static func tokens() throws -> [(String, TokenDecryption)] {
        let (oaep, kw) = (EncryptedVector.oaep256, EncryptedVector.a256KW)
        return [
            (try encrypted(), try own()),
            (try encrypted("text", .p521, .ecdhESA128KW, .a256GCM), try own(.p521)),
            (try JWE.encrypt([1], with: secret, .a256CBC), TokenDecryption(secret: secret)),
            (oaep.compact, try TokenDecryption(PrivateKey(decryptionJWK: Array(oaep.key.utf8)))),
            (
                EncryptedVector.rfc7516A1.compact,
                try TokenDecryption(PrivateKey(decryptionJWK: Array(oaep.key.utf8)))
            ), (kw.compact, try TokenDecryption(PrivateKey(decryptionJWK: Array(kw.key.utf8)))),
        ]
    }

    @Test("a token with any part changed, cut or empty fails with the same error as one for another key")
    func changed() throws {
        for (compact, decryption) in try Self.tokens() {
            let parts = compact.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            for index in 1..<5 {
                let part = try #require(Base64URL.decode(parts[index]))
                var others: [[UInt8]] = [part + [0], part.isEmpty ? [1] : []]
                for position in Set([0, part.count / 2, part.count - 1]) where part.indices.contains(position)
                {
                    var other = part
                    other[position] ^= 1
                    others += [other, Array(part.prefix(position))]
                }
                for other in others where other != part {
                    var changed = parts
                    changed[index] = Base64URL.encode(other)
                    #expect(throws: Self.failure, "part \(index), \(other.count) bytes, of \(compact)") {
                        try Self.open(changed.joined(separator: "."), decryption)
                    }
                }
            }
        }
        #expect(throws: Self.failure) { try Self.open(Self.encrypted(), TokenDecryption(Self.stranger())) }
        #expect(throws: Self.failure) {
            try Self.open(EncryptedVector.oaep256.compact, Self.own(.rsa2048))
        }
    }

    private static func stranger() throws -> PrivateKey { try SampleKeys.otherKey(.p256) }

    @Test("enc changed to one with a key of the same length fails with the same error")
    func changedEncryption() throws {
        for (compact, decryption) in try Self.tokens() {
            for encryption in ContentEncryption.allCases {
                let changed = try Self.changing(compact, ["enc": .string(encryption.rawValue), "x": 1])
                #expect(throws: Self.failure) { try Self.open(changed, decryption) }
            }
        }
    }

    static let badPoints: [JSONValue?] = {
        let zero = Base64URL.encode([UInt8](repeating: 0, count: 32))
        let one = Base64URL.encode([UInt8](repeating: 0, count: 31) + [1])
        let all = Base64URL.encode([UInt8](repeating: 0xFF, count: 32))
        func point(_ x: String, _ y: String, _ curve: String = "P-256") -> JSONValue {
            ["kty": "EC", "crv": .string(curve), "x": .string(x), "y": .string(y)]
        }
        return [
            nil, "", 1, [], ["kty": "EC"], point(zero, zero), point(one, one), point(all, all),
            point(one, one, "P-384"), point("AQ", "AQ"), point(zero + zero, zero), point(one, one, "X25519"),
            ["kty": "OKP", "crv": "Ed25519", "x": .string(one)],
            ["kty": "RSA", "n": .string(all), "e": "AQAB"], ["kty": "oct", "k": .string(all)],
        ]
    }()

    @Test("an epk that is not a point of the key's own curve fails with the same error", arguments: badPoints)
    func invalidPoint(_ point: JSONValue?) throws {
        for algorithm in [KeyManagement.ecdhES, .ecdhESA128KW] {
            let compact = try Self.changing(Self.encrypted("text", .p256, algorithm), ["epk": point])
            #expect(throws: Self.failure) { try Self.open(compact, Self.own()) }
        }
    }

    @Test("an epk on another curve than the key's fails with the same error")
    func otherCurve() throws {
        let compact = try Self.encrypted("text", .p384)
        #expect(throws: Self.failure) { try Self.open(compact, Self.own(.p256)) }
    }

    @Test("apu and apv that are not base64url fail with the same error", arguments: ["apu", "apv"])
    func parties(_ name: String) throws {
        for value: JSONValue in ["not base64!", 7] {
            let compact = try Self.changing(Self.encrypted(), [name: value])
            #expect(throws: Self.failure) { try Self.open(compact, Self.own()) }
        }
    }

    static let headers: [([String: JSONValue?], String)] = [
        (["alg": nil], "alg: expected a string, found none"),
        (["alg": 1], "alg: expected a string, found a number"),
        (["enc": nil], "enc: expected a string, found none"),
        (["zip": "DEF"], "zip: expected none, found one"),
        (["crit": ["exp"], "exp": 1], "crit: expected none, found one"),
    ]

    @Test("a header without alg or enc, and one with zip or crit, is refused", arguments: headers)
    func header(_ changes: [String: JSONValue?], _ message: String) throws {
        let compact = try Self.changing(Self.encrypted(), changes)
        #expect(throws: Sample.untrusted(message)) { try Self.open(compact, Self.own()) }
    }

    @Test("a compressed token that is right otherwise is refused, so it cannot unpack to gigabytes")
    func compressed() throws {
        let compact = try Self.encrypted(header: ["zip": "DEF"])
        #expect(throws: Sample.untrusted("zip: expected none, found one")) {
            try Self.open(compact, Self.own())
        }
    }

    @Test(
        "an enc that is not supported is refused",
        arguments: ["A192GCM", "A128CBC+HS256", "", "none", "a256gcm"])
    func content(_ name: String) throws {
        let compact = try Self.changing(Self.encrypted(), ["enc": .string(name)])
        let error = Sample.untrusted(
            "enc: expected A128GCM, A256GCM, A128CBC-HS256, A256CBC-HS512, found \"\(name)\"",
            hint: .advice(.checkTokenEncryption))
        #expect(throws: error) { try Self.open(compact, Self.own()) }
    }

    @Test("a p2c of a billion costs nothing: password-based encryption is refused by its name")
    func passwordCost() throws {
        for algorithm in ["PBES2-HS256+A128KW", "PBES2-HS512+A256KW"] {
            let compact = try Self.changing(
                Self.encrypted(),
                ["alg": .string(algorithm), "p2c": 1_000_000_000, "p2s": "AAAAAAAAAAA"])
            #expect(throws: OIDCError.self) { try Self.open(compact, Self.own()) }
            #expect(throws: OIDCError.self) { try Self.open(compact, TokenDecryption(secret: Self.secret)) }
        }
    }

    @Test("a token in JSON form with 10,000 recipients is refused without reading them")
    func recipients() throws {
        let recipient = #"{"header":{"alg":"ECDH-ES+A128KW","kid":"x"},"encrypted_key":"AAAA"}"#
        let list = [String](repeating: recipient, count: 10_000).joined(separator: ",")
        let json =
            "{\"protected\":\"e30\",\"recipients\":[\(list)],\"iv\":\"\",\"ciphertext\":\"\",\"tag\":\"\"}"
        var rules = Sample.rules
        rules.decryption = try Self.own()
        #expect(throws: Sample.untrusted("expected three parts between dots, found 1")) {
            try Sample.validate(json, rules, keys: FixedKeys(Sample.publicKeys(.p256)))
        }
    }

    @Test("tokens and headers of more than a bounded size are refused before they are parsed")
    func size() throws {
        let header = Base64URL.encode([UInt8](repeating: 0x20, count: 20_000))
        #expect(throws: Sample.untrusted("the header is longer than 16384 bytes")) {
            try Self.open("\(header).a.a.a.a", Self.own())
        }
        let text = String(repeating: "A", count: 1 << 20)
        #expect(throws: Sample.untrusted("longer than 1048576 bytes")) {
            try Self.open("e30...\(text).", Self.own())
        }
        let deep = Base64URL.encode(Array((String(repeating: "[", count: 12_000)).utf8))
        #expect(throws: OIDCError.self) { try Self.open("\(deep)....", Self.own()) }
    }

    @Test("parts that are not base64url, or a header that is not an object, are refused")
    func forms() throws {
        for (compact, message) in [
            ("!.a.a.a.a", "the header is not base64url"),
            ("W10....", "the header is not a JSON object but an array"),
            ("e30.!...", "the encrypted key is not base64url"),
            ("e30..!..", "the initialization vector is not base64url"),
            ("e30...!.", "the ciphertext is not base64url"),
            ("e30....!", "the authentication tag is not base64url"),
            ("....", "the header is not valid JSON"),
        ] {
            let error = #expect(throws: OIDCError.self) { try Self.open(compact, Self.own()) }
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        }
        #expect(throws: OIDCError.self) { try Self.open("a.b.c", Self.own()) }
    }

    @Test("a decrypted text that is not UTF-8 fails with the same error")
    func notText() throws {
        let compact = try JWE.encrypt([0xFF, 0xFE], to: Sample.key(.p256).publicKey, .ecdhES, .a128GCM)
        #expect(throws: Self.failure) { try Self.open(compact, Self.own()) }
    }
}

@Suite("Keys for encrypted tokens")
struct DecryptionKeyTests {
    typealias Sample = SampleProvider

    @Test("a key that cannot decrypt, or not by the registered algorithm, is refused")
    func misfits() throws {
        #expect(throws: OIDCError.self) { try TokenDecryption(Sample.key(.ed25519)) }
        #expect(throws: OIDCError.self) { try TokenDecryption(Sample.key(.p256), registered: .rsaOAEP) }
        #expect(throws: OIDCError.self) { try TokenDecryption(Sample.key(.rsa2048), registered: .ecdhES) }
        #expect(throws: OIDCError.self) { try TokenDecryption(Sample.key(.p256), registered: .direct) }
        #expect(throws: Never.self) { try TokenDecryption(Sample.key(.p384), registered: .ecdhESA128KW) }
    }

    @Test("only the registered algorithm is accepted")
    func registered() throws {
        let decryption = try TokenDecryption(Sample.key(.p256), registered: .ecdhESA256KW)
        #expect(throws: Never.self) {
            try EncryptedTokenTests.open(EncryptedTokenTests.encrypted("x", .p256, .ecdhESA256KW), decryption)
        }
        let error = Sample.untrusted(
            "alg: expected ECDH-ES+A256KW, found \"ECDH-ES\"", hint: .advice(.checkTokenEncryption))
        #expect(throws: error) { try EncryptedTokenTests.open(EncryptedTokenTests.encrypted(), decryption) }
    }

    static let bad: [(String, CryptoError)] = [
        ("x", .invalidKey("not a JSON Web Key")), ("[]", .invalidKey("not a JSON Web Key")),
        ("{}", .invalidKey("kty is missing")),
        (#"{"kty":"oct","k":"AA"}"#, .unsupported("the type of key in kty")),
        (#"{"kty":"OKP","crv":"X25519"}"#, .unsupported("the type of key in kty")),
        (#"{"kty":"EC","crv":"secp256k1"}"#, .unsupported("the curve in crv")),
        (#"{"kty":"EC","crv":"P-256"}"#, .invalidKey("x is missing")),
        (#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, .invalidKey("d is missing")),
        (#"{"kty":"EC","crv":"P-256","x":"!","y":"AA","d":"AA"}"#, .invalidKey("x: expected base64url")),
        (
            #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}"#,
            .invalidKey("d of P-256 must have 32 bytes")
        ),
        (#"{"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB"}"#, .invalidKey("p is missing")),
        (#"{"kty":"EC","use":"sig"}"#, .invalidKey("use: expected \"enc\", found another")),
    ]

    @Test("a JWK that is not a private RSA or elliptic key for encryption is refused", arguments: bad)
    func refused(_ jwk: String, _ error: CryptoError) throws {
        #expect(throws: error) { try PrivateKey(decryptionJWK: Array(jwk.utf8)) }
    }

    @Test("RSA keys of fewer than 2048 bits are refused (RFC 7518 4.3)")
    func smallKey() throws {
        let number = Base64URL.encode([UInt8](repeating: 0xF1, count: 128))
        let half = Base64URL.encode([UInt8](repeating: 0xF1, count: 64))
        let jwk = """
            {"kty":"RSA","n":"\(number)","e":"AQAB","d":"\(number)","p":"\(half)","q":"\(half)",\
            "dp":"\(half)","dq":"\(half)","qi":"\(half)"}
            """
        #expect(throws: CryptoError.invalidKey("an RSA key must have 2048 to 16384 bits, not 1024")) {
            try PrivateKey(decryptionJWK: Array(jwk.utf8))
        }
    }
}

@Suite("Encrypted ID tokens and UserInfo")
struct EncryptedIDTokenTests {
    typealias Sample = SampleProvider

    static func rules(_ decryption: TokenDecryption?) -> IDTokenRules {
        var rules = Sample.rules
        rules.decryption = decryption
        return rules
    }

    static func encrypted(_ signed: String) throws -> String { try EncryptedTokenTests.encrypted(signed) }

    static func keys() throws -> FixedKeys { FixedKeys(try Sample.publicKeys(.p256)) }

    @Test("an encrypted ID token is decrypted and validated, and the signed token in it is kept")
    func accepted() throws {
        let signed = try Sample.token()
        let token = try Sample.validate(
            Self.encrypted(signed), Self.rules(EncryptedTokenTests.own()), keys: Self.keys())
        #expect(token.compact == signed && token.subject == Sample.subject)
    }

    @Test("without a key, the error says that the token is encrypted, and what to set")
    func withoutKey() throws {
        let error = Sample.untrusted(
            "the token is encrypted, and there is no key to decrypt it", hint: .advice(.giveDecryptionKey))
        for compact in [try Self.encrypted(Sample.token()), "a.b.c.d.e", "...."] {
            #expect(throws: error) { try Sample.validate(compact, Self.rules(nil), keys: Self.keys()) }
        }
    }

    @Test("a client that is registered for encryption refuses a plain ID token (OIDC Core 3.1.3.7)")
    func plain() throws {
        let registered = try TokenDecryption(Sample.key(.p256), registered: .ecdhES)
        let error = Sample.untrusted(
            "expected an encrypted token, as the client is registered for, found a plain one",
            hint: .advice(.checkTokenEncryption))
        for decryption in [registered, TokenDecryption(secret: EncryptedTokenTests.secret)] {
            #expect(throws: error) {
                try Sample.validate(Sample.token(), Self.rules(decryption), keys: Self.keys())
            }
        }
        #expect(throws: Never.self) {
            try Sample.validate(Sample.token(), Self.rules(EncryptedTokenTests.own()), keys: Self.keys())
        }
    }

    @Test("anyone can encrypt: the token inside is verified as ever, and must be signed")
    func inner() throws {
        let rules = Self.rules(try EncryptedTokenTests.own())
        let none = Sample.unsigned(header: #"{"alg":"none"}"#, payload: #"{"sub":"alice"}"#, signature: [])
        let stranger = try JWTSigner(SampleKeys.otherKey(.p256)).sign(claims: Sample.claims())
        for (inner, message) in [
            ("{\"sub\":\"alice\"}", "expected three parts between dots, found 1"),
            ("", "expected three parts"),
            (none, "alg: expected a signature algorithm"), (stranger, "no key verifies it"),
            (try Sample.token(claims: ["nonce": "another"]), "nonce: expected"),
            (try Sample.token(claims: ["aud": "another"]), "aud: expected"),
            (try Self.encrypted(Sample.token()), "an encrypted token (JWE) is not supported"),
        ] {
            let error = #expect(throws: OIDCError.self) {
                try Sample.validate(Self.encrypted(inner), rules, keys: Self.keys())
            }
            #expect(error?.message.contains(message) == true && error?.kind == .untrusted, "\(inner)")
        }
    }

    private static func read(_ body: String, _ decryption: TokenDecryption?) throws -> UserInfoAnswer {
        var rules = UserInfoTests.rules
        rules.signing = {
            var signing = UserInfo.Signing()
            signing.decryption = { () throws(OIDCError) in decryption }
            return signing
        }
        return try SignedUserInfoTests.read(body, rules: rules, keys: Self.keys())
    }

    @Test("an encrypted UserInfo answer is decrypted, and a signature in it is verified")
    func userInfo() throws {
        let own = try EncryptedTokenTests.own()
        let signed = try SignedUserInfoTests.body(["email": "a@op"])
        for inner in [signed, #"{"sub":"alice","email":"a@op"}"#] {
            let answer = try Self.read(Self.encrypted(inner) + "\n", own)
            guard case .claims(let claims) = answer else { throw OIDCError(.failed, "no claims") }
            #expect(claims["email"] == "a@op")
        }
        let stranger = try JWTSigner(SampleKeys.otherKey(.p256)).sign(claims: Sample.claims())
        for inner in [stranger, #"{"sub":"bob"}"#, "{}", "[]", "text"] {
            #expect(throws: OIDCError.self) { try Self.read(Self.encrypted(inner), own) }
        }
        let error = Sample.untrusted(
            "the token is encrypted, and there is no key to decrypt it", stage: .userInfo,
            hint: .advice(.giveDecryptionKey))
        #expect(throws: error) { try Self.read(Self.encrypted(signed), nil) }
    }
}
