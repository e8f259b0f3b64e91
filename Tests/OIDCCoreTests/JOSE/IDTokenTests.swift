import OIDCCore
import OIDCCrypto
import Testing

@Suite("ID tokens")
struct IDTokenTests {
    typealias Sample = SampleProvider

    @Test("the claims of an accepted token have names")
    func accepted() throws {
        let compact = try Sample.token(
            claims: ["aud": ["client", "other"], "azp": "client", "auth_time": IDTokenClaimTests.number(-5)])
        let token = try Sample.validate(compact, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        #expect(token.compact == compact)
        #expect(token.issuer == Sample.issuer)
        #expect(token.subject == "alice")
        #expect(token.audience == ["client", "other"])
        #expect(token.expiresAt == Sample.now.adding(300))
        #expect(token.issuedAt == Sample.now)
        #expect(token.authenticatedAt == Sample.now.adding(-5))
        #expect(IDToken.stored(compact) == token)
    }

    static let people: [([String: JSONValue?], String?)] = [
        ([:], nil), (["name": "Alice L."], "Alice L."),
        (["name": "Alice", "preferred_username": "al"], "al"),
        (["name": "Alice", "preferred_username": "al", "email": "a@op"], "a@op"), (["email": ""], nil),
        (["email": 1, "name": "Alice"], "Alice"), (["email": "\u{1B}[2J\u{202E}a@op"], "[2Ja@op"),
        (["email": "\u{200B}", "name": "Alice"], "Alice"),
    ]

    @Test("a user is named by email, user name or name, without control characters", arguments: people)
    func displayName(_ claims: [String: JSONValue?], _ expected: String?) throws {
        #expect(IDToken.stored(try Sample.token(claims: claims))?.displayName == expected)
    }

    @Test("a damaged stored token is ignored")
    func stored() throws {
        for compact in [
            "", "a.b.c", try Sample.token(claims: ["exp": nil]), try Sample.token(claims: ["sub": nil]),
        ] {
            #expect(IDToken.stored(compact) == nil)
        }
        #expect(IDToken.stored(try Sample.token(claims: ["exp": 1])) != nil)
    }

    static let malformed: [(String, String)] = [
        ("", "expected three parts between dots, found 1"),
        (
            Sample.unsigned(header: #"{"alg":"ES256"}"#, payload: "[]"),
            "the payload is not a JSON object but an array"
        ),
        (
            Sample.unsigned(header: #"{"alg":"ES256"}"#, payload: ""),
            "the payload is not valid JSON: the text is incomplete at byte 0"
        ),
        (
            Sample.unsigned(header: #"{"alg":"ES256"}"#, payload: #"{"sub":"a","sub":"b"}"#),
            "the payload is not valid JSON: duplicate member \"sub\" at byte 11"
        ),
        (
            Sample.unsigned(header: #"{"alg":"none"}"#, payload: "{}"),
            "alg: expected a signature algorithm, found \"none\""
        ),
        (Sample.unsigned(header: "{}", payload: "{}"), "alg: expected a string, found none"),
        (
            Sample.unsigned(header: #"{"alg":"ES256","crit":["x"]}"#, payload: "{}"),
            "crit: expected no critical extension, found \"x\""
        ),
        (
            Sample.unsigned(header: #"{"alg":"HS256"}"#, payload: "{}"),
            "alg: expected a signature with the provider's key, found HS256"
        ),
    ]

    @Test("a token of a wrong form is refused before its claims", arguments: malformed)
    func form(_ compact: String, _ message: String) throws {
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        let hint: Hint? = message.hasSuffix("HS256") ? .allowAlgorithm("HS256") : nil
        #expect(throws: Sample.untrusted(message, hint: hint)) { try Sample.validate(compact, keys: keys) }
        #expect(keys.requests.isEmpty)
    }

    @Test("typ and other members of the header do not matter", arguments: ["JWT", "jwt", "at+jwt", "x"])
    func type(_ type: String) throws {
        let token = try Sample.token(header: ["typ": .string(type), "x": [1]])
        #expect(throws: Never.self) {
            try Sample.validate(token, keys: RotatingKeys(try Sample.publicKeys(.p256)))
        }
    }

    @Test("alg must be one that the metadata lists")
    func allowList() throws {
        var rules = Sample.rules
        rules.allowedAlgorithms = ["RS256", "none", "HS256"]
        let keys = RotatingKeys(try Sample.publicKeys(.p256, .rsa2048))
        #expect(throws: Sample.untrusted("alg: expected RS256, HS256, found \"ES256\"")) {
            try Sample.validate(try Sample.token(), rules, keys: keys)
        }
        #expect(throws: Sample.untrusted("alg: expected a signature algorithm, found \"none\"")) {
            try Sample.validate(Sample.unsigned(header: #"{"alg":"none"}"#, payload: "{}"), rules, keys: keys)
        }
        #expect(throws: Never.self) {
            try Sample.validate(try Sample.token(.rsa2048, .rs256), rules, keys: keys)
        }
    }

    @Test("HMAC is verified with the client's secret, and only if the client is registered for it")
    func clientSecret() throws {
        let secret = Redacted("a client secret of thirty-two by")
        let token = try JWTSigner(secret: secret).sign(claims: Sample.claims())
        let keys = RotatingKeys(try Sample.publicKeys(.p256))
        var rules = Sample.rules
        let refusal = Sample.untrusted(
            "alg: expected a signature with the provider's key, found HS256", hint: .allowAlgorithm("HS256"))
        #expect(throws: refusal) { try Sample.validate(token, rules, keys: keys) }
        rules.clientSecret = secret
        #expect(throws: Never.self) { try Sample.validate(token, rules, keys: keys) }
        #expect(keys.requests.isEmpty)
        rules.clientSecret = Redacted("another secret of thirty-two byt")
        #expect(
            throws: Sample.untrusted(
                "signature: no key verifies it with HS256", hint: .advice(.signWithPublishedKey))
        ) {
            try Sample.validate(token, rules, keys: keys)
        }
        rules.clientSecret = Redacted("short")
        let short =
            "no key for HS256 (a key is not used: HS256 needs a secret of 32 bytes or more (RFC 7518 §3.2))"
        #expect(throws: Sample.untrusted(short, hint: .advice(.signWithPublishedKey))) {
            try Sample.validate(token, rules, keys: keys)
        }
    }

    static let hashes: [(PrivateKey.Kind, SignatureAlgorithm, HashAlgorithm)] = [
        (.p256, .es256, .sha256), (.p384, .es384, .sha384), (.p521, .es512, .sha512),
        (.rsa2048, .rs384, .sha384),
        (.rsa2048, .ps512, .sha512), (.ed25519, .edDSA, .sha512), (.ed25519, .edDSA, .sha256),
    ]

    @Test("at_hash is the left half of the hash that belongs to alg", arguments: hashes)
    func accessTokenHash(_ kind: PrivateKey.Kind, _ algorithm: SignatureAlgorithm, _ hash: HashAlgorithm)
        throws
    {
        let whole = try Digest.hash(Array(Sample.accessToken.utf8), hash)
        let half = Base64URL.encode(Array(whole.prefix(whole.count / 2)))
        let keys = RotatingKeys(try Sample.publicKeys(kind))
        var rules = Sample.rules
        rules.accessToken = Sample.accessToken
        let right = try Sample.token(kind, algorithm, claims: ["at_hash": .string(half)])
        #expect(throws: Never.self) { try Sample.validate(right, rules, keys: keys) }
        #expect(throws: Never.self) {
            try Sample.validate(try Sample.token(kind, algorithm), rules, keys: keys)
        }
        let wrong: [JSONValue] = [
            .string(Base64URL.encode(whole)), .string(Base64URL.encode(Array(whole.suffix(whole.count / 2)))),
            "",
            .string(half + "="),
        ]
        for value in wrong {
            let token = try Sample.token(kind, algorithm, claims: ["at_hash": value])
            #expect(throws: Sample.untrusted("at_hash: expected the access token's hash, found another")) {
                try Sample.validate(token, rules, keys: keys)
            }
        }
        let number = try Sample.token(kind, algorithm, claims: ["at_hash": 1])
        #expect(throws: Sample.untrusted("at_hash: expected a string, found 1")) {
            try Sample.validate(number, rules, keys: keys)
        }
    }

    @Test("at_hash of the example in OIDC Core appendix A.3")
    func coreExample() throws {
        var rules = Sample.rules
        rules.accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let token = try Sample.token(.rsa2048, .rs256, claims: ["at_hash": "77QmUPtjPfzWtF2AnpK9RQ"])
        #expect(throws: Never.self) {
            try Sample.validate(token, rules, keys: RotatingKeys(try Sample.publicKeys(.rsa2048)))
        }
    }
}
