import OIDCCore
import OIDCCrypto
import Testing

@Suite("Signed UserInfo")
struct SignedUserInfoTests {
    typealias Sample = SampleProvider

    static func read(
        _ body: String, rules: UserInfo.Rules = UserInfoTests.rules, keys: (any KeySource)?
    ) throws -> UserInfoAnswer {
        let call = try UserInfo.call(
            endpoint: try #require(WebURL("https://op.example/userinfo")), accessToken: UserInfoTests.token,
            rules: rules, keys: keys, now: Sample.now)
        return try call.read(UserInfoTests.response(body, type: "application/jwt"))
    }

    static func keys() throws -> RotatingKeys { RotatingKeys(try Sample.publicKeys(.p256)) }

    static func body(_ changes: [String: JSONValue?] = [:]) throws -> String {
        var claims: [String: JSONValue?] = ["nonce": nil, "exp": nil, "iat": nil]
        claims.merge(changes) { $1 }
        return try Sample.token(claims: claims)
    }

    @Test("oidcc-client-test-userinfo-signed: verified and shown")
    func signed() throws {
        let answer = try Self.read(try Self.body(["email": "a@op"]) + "\n", keys: try Self.keys())
        guard case .claims(let claims) = answer else {
            Issue.record("expected claims")
            return
        }
        #expect(claims["email"] == "a@op")
        #expect(claims["sub"] == "alice")
    }

    static let refusals: [([String: JSONValue?], String)] = [
        (
            ["iss": "https://evil.example"],
            "iss: expected \"https://op.example\", found \"https://evil.example\""
        ),
        (["iss": 7], "iss: expected a string, found 7"),
        (["iss": nil], "iss: expected \"https://op.example\", found none"),
        (["aud": nil], "aud: expected \"client\", found none"),
        (["aud": "other"], "aud: expected \"client\", found \"other\""),
        (["aud": []], "aud: expected \"client\", found []"),
        (["sub": "bob"], "sub: expected \"alice\" as in the ID token, found \"bob\""),
        (["sub": nil], "sub: expected \"alice\" as in the ID token, found none"),
        (
            ["exp": JSONValue(Sample.seconds - 60)],
            "exp: expected a time after \(Sample.now), found \(Sample.now.adding(-60))"
        ), (["exp": "x"], "exp: expected seconds since 1970, found \"x\""),
    ]

    @Test("issuer, audience, subject and times are checked", arguments: refusals)
    func claims(_ changes: [String: JSONValue?], _ message: String) throws {
        #expect(throws: UserInfoTests.untrusted(message)) {
            try Self.read(try Self.body(changes), keys: try Self.keys())
        }
    }

    @Test("an answer that another key signed, or none, is refused")
    func bare() throws {
        let body = try Self.body()
        let stranger = JWKSet(keys: [JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey)])
        #expect(throws: UserInfoTests.untrusted("signature: no key verifies it with ES256")) {
            try Self.read(body, keys: FixedKeys(stranger))
        }
        let algorithm = Sample.unsigned(header: #"{"alg":"none"}"#, payload: #"{"sub":"alice"}"#)
        #expect(throws: OIDCError.self) { try Self.read(algorithm, keys: try Self.keys()) }
    }

    @Test("an invalid signature is refused, after one refetch")
    func signature() throws {
        let other = JWKSet(keys: [JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey)])
        let keys = RotatingKeys(other)
        #expect(throws: UserInfoTests.untrusted("signature: no key verifies it with ES256")) {
            try Self.read(try Self.body(), keys: keys)
        }
        #expect(keys.requests == [false, true])
        let rotated = RotatingKeys(other, then: try Sample.publicKeys(.p256))
        #expect(throws: Never.self) { try Self.read(try Self.body(), keys: rotated) }
    }

    static let forms: [(String, String)] = [
        ("{}", "expected three parts between dots, found 1"),
        (
            Sample.unsigned(header: #"{"alg":"none"}"#, payload: "{}"),
            "alg: expected a signature algorithm, found \"none\""
        ),
        (
            Sample.unsigned(header: #"{"alg":"HS256"}"#, payload: "{}"),
            "alg: expected a signature with the provider's key, found HS256"
        ),
        (
            Sample.unsigned(header: #"{"alg":"ES256"}"#, payload: "[]"),
            "the payload is not a JSON object but an array"
        ),
        (
            Sample.unsigned(header: #"{"alg":"ES256","crit":["a"]}"#, payload: "{}"),
            "crit: expected no critical extension, found \"a\""
        ),
    ]

    @Test("an answer that is not a signed token is refused", arguments: forms)
    func form(_ body: String, _ message: String) throws {
        let hint: Hint? = message.hasSuffix("HS256") ? .allowAlgorithm("HS256", in: .userInfo) : nil
        let error = Sample.untrusted(message, stage: .userInfo, hint: hint)
        #expect(throws: error) { try Self.read(body, keys: try Self.keys()) }
    }

    @Test("alg must be one that the metadata lists")
    func allowList() throws {
        var rules = UserInfoTests.rules
        rules.signing = { UserInfo.Signing(allowedAlgorithms: ["RS256"]) }
        #expect(throws: UserInfoTests.untrusted("alg: expected RS256, found \"ES256\"")) {
            try Self.read(try Self.body(), rules: rules, keys: try Self.keys())
        }
    }

    @Test("HMAC is verified with the client's secret if the client is registered for it")
    func clientSecret() throws {
        var rules = UserInfoTests.rules
        rules.signing = {
            UserInfo.Signing(clientSecret: Redacted("a client secret of thirty-two by"))
        }
        let signer = try JWTSigner(secret: Redacted("a client secret of thirty-two by"))
        let body = try signer.sign(claims: Sample.claims())
        #expect(throws: Never.self) { try Self.read(body, rules: rules, keys: try Self.keys()) }
    }

    @Test("HMAC is a matter of the algorithms of UserInfo, not of those of ID tokens")
    func registeredSecret() throws {
        let client = Client(id: "client", authentication: .clientSecretBasic(Redacted("secret")))
        for (userInfo, idToken, isUsed) in [
            (["HS256"], nil, true), (["HS256", "none"], ["RS256"], true), (["HS256", "RS256"], nil, false),
            (nil, ["HS256"], false), (nil, nil, false), ([], ["HS256"], false),
        ] as [([String]?, [String]?, Bool)] {
            var metadata = ProviderMetadata(issuer: "https://op.example")
            metadata.userInfoSigningAlgValuesSupported = userInfo
            metadata.idTokenSigningAlgValuesSupported = idToken
            let signing = try UserInfo.Signing(metadata) { client }
            #expect((signing.clientSecret != nil) == isUsed, "\(String(describing: userInfo))")
            #expect(signing.allowedAlgorithms == userInfo)
        }
    }

    @Test("a client that is registered for signed answers accepts no other, encrypted or not")
    func required() throws {
        var rules = UserInfoTests.rules
        rules.isSignatureRequired = true
        let own = try Sample.key(.p256)
        let decryption = try TokenDecryption(own)
        rules.signing = {
            var signing = UserInfo.Signing()
            signing.decryption = { () throws(OIDCError) in decryption }
            return signing
        }
        let error = Sample.untrusted(
            "expected a signed answer, as the client is registered for, found a plain one", stage: .userInfo,
            hint: .advice(.acceptPlainUserInfo))
        #expect(throws: error) { try UserInfoTests.read(Fixture.json(#"{"sub":"alice"}"#), rules: rules) }
        let encrypted = try JWE.encrypt(
            Array(#"{"sub":"alice"}"#.utf8), to: own.publicKey, .ecdhES, .a256GCM, header: JSONObject())
        #expect(throws: error) { try Self.read(encrypted, rules: rules, keys: try Self.keys()) }
        #expect(throws: Never.self) { try Self.read(try Self.body(), rules: rules, keys: try Self.keys()) }
    }

    @Test("a signed answer is refused if there is no issuer or no keys")
    func unknownIssuer() throws {
        var rules = UserInfoTests.rules
        rules.issuer = nil
        let error = Sample.untrusted(
            "a signed answer cannot be checked without issuer and jwks_uri", stage: .userInfo,
            hint: .advice(.setIssuerOrKeys))
        #expect(throws: error) { try Self.read(try Self.body(), rules: rules, keys: try Self.keys()) }
        #expect(throws: error) { try Self.read(try Self.body(), keys: nil) }
    }
}
