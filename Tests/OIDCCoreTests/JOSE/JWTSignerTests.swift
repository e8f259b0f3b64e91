import OIDCCore
import OIDCCrypto
import Testing

@Suite("Signing tokens")
struct JWTSignerTests {
    typealias Sample = SampleProvider

    static let defaults: [(PrivateKey.Kind, SignatureAlgorithm)] = [
        (.rsa2048, .rs256), (.p256, .es256), (.p384, .es384), (.p521, .es512), (.ed25519, .edDSA),
    ]

    @Test("a key has its usual algorithm", arguments: defaults)
    func usual(_ kind: PrivateKey.Kind, _ algorithm: SignatureAlgorithm) throws {
        let signer = try JWTSigner(try Sample.key(kind), keyID: "k")
        #expect(signer.algorithm == algorithm)
        #expect(signer.publicKey == (try Sample.key(kind).publicKey))
        let token = try JWS(compact: try signer.sign(claims: Sample.claims()))
        #expect(token.algorithmName == algorithm.rawValue)
        #expect(token.keyID == "k")
        #expect(token.claims == Sample.claims())
        #expect(try token.verify(keys: try Sample.publicKeys(kind)) == .valid)
    }

    @Test("the first listed algorithm that fits the key is used")
    func listed() throws {
        let key = try Sample.key(.rsa2048)
        #expect(try JWTSigner(key, supported: ["ES256", "PS256"]).algorithm == .ps256)
        #expect(try JWTSigner(key, supported: ["PS256", "RS256"]).algorithm == .rs256)
        #expect(try JWTSigner(try Sample.key(.ed25519), supported: ["Ed25519"]).algorithm == .edDSA)
        let error = OIDCError(
            .usage,
            "the private key supports RS256, RS384, RS512, PS256, PS384, PS512, not ES256, HS256")
        #expect(throws: error) { try JWTSigner(key, supported: ["ES256", "HS256"]) }
    }

    @Test("an algorithm that does not fit the key is refused")
    func misfit() throws {
        #expect(throws: OIDCError(.usage, "the private key supports ES256, not RS256")) {
            try JWTSigner(try Sample.key(.p256), algorithm: .rs256)
        }
        #expect(throws: OIDCError(.usage, "client_secret: ES256 needs a secret that is not empty")) {
            try JWTSigner(secret: Redacted("x"), algorithm: .es256)
        }
        #expect(throws: OIDCError(.usage, "client_secret: HS256 needs a secret that is not empty")) {
            try JWTSigner(secret: Redacted(""))
        }
    }

    @Test("alg and kid are the signer's, even if the header has others")
    func header() throws {
        let header = Sample.header(["alg": "none", "kid": "x", "typ": "JWT"])
        let token = try JWS(
            compact: try JWTSigner(try Sample.key(.p256), keyID: "k").sign(
                header: header, claims: JSONObject()))
        #expect(token.header["alg"] == "ES256")
        #expect(token.keyID == "k")
        #expect(token.header["typ"] == "JWT")
    }

    @Test("an authentication code covers header and payload as they are sent")
    func authenticationCode() throws {
        let secret = Redacted("a secret that is long enough: 40 bytes..")
        let compact = try JWTSigner(secret: secret, algorithm: .hs384).sign(
            payload: Array(RFCVector.joe.utf8))
        let token = try JWS(compact: compact)
        let code = try Digest.authenticationCode(
            token.signingInput, key: Array(secret.revealed.utf8), .sha384)
        #expect(token.signature == code)
        #expect(String(decoding: token.payload, as: UTF8.self) == RFCVector.joe)
    }

    @Test("a description of a signer shows no key")
    func redacted() throws {
        let secret = "a secret that nobody should see"
        var text = "\(try JWTSigner(secret: Redacted(secret)))"
        dump(try JWTSigner(secret: Redacted(secret)), to: &text)
        #expect(!text.contains(secret) && !text.contains("[97, 32") && !text.contains("- 97\n"))
    }
}
