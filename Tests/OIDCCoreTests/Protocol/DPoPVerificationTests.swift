import OIDCCore
import OIDCCrypto
import Testing

@Suite("DPoP proofs, checked by a server")
struct DPoPVerificationTests {
    static let now = Instant(secondsSinceEpoch: 1_562_265_296)

    static func claims(_ changes: [String: JSONValue?]) -> JSONObject {
        var claims = JSONObject()
        claims["jti"] = "j"
        claims["htm"] = "POST"
        claims["htu"] = "https://server.example.com/token"
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    static func proof(_ changes: [String: JSONValue?] = [:], header: [String: JSONValue?] = [:]) throws
        -> String
    {
        let key = try SampleProvider.key(.p256)
        var members = SampleProvider.header([
            "typ": "dpop+jwt", "jwk": JSONWebKey(publicKey: key.publicKey).json,
        ])
        for (name, value) in header { members[name] = value }
        return try JWTSigner(key).sign(header: members, claims: claims(changes))
    }

    static func verify(_ proof: String, accessToken: String? = nil, nonce: String? = nil) throws
        -> DPoP.VerifiedProof
    {
        try DPoP.verify(
            proof, method: .post, url: try DPoPTests.url(), accessToken: accessToken, expectedNonce: nonce,
            now: now)
    }

    @Test("no leeway traps", arguments: [Int64.min, -1, 0, .max])
    func leeway(_ leeway: Int64) throws {
        let proof = try Self.proof()
        let url = try DPoPTests.url()
        let verified = try? DPoP.verify(proof, method: .post, url: url, now: Self.now, leeway: leeway)
        #expect((verified != nil) == (leeway >= 0))
    }

    @Test("our proof is valid, with token and nonce")
    func holds() throws {
        let key = try DPoPKey.generate()
        let proof = try key.proof(
            method: .post, url: try DPoPTests.url(), accessToken: "at", nonce: "n", now: Self.now,
            random: Random.bytes)
        #expect(try Self.verify(proof, accessToken: "at", nonce: "n").thumbprint == key.thumbprint)
        #expect(try Self.verify(proof).thumbprint == key.thumbprint)
    }

    static let claims: [([String: JSONValue?], String)] = [
        (["jti": nil], "jti: expected a string"), (["jti": ""], "jti: expected a string"),
        (["htm": "GET"], "htm: expected POST"), (["htm": "post"], "htm: expected POST"),
        (["htm": nil], "htm: expected POST"),
        (["htu": "https://server.example.com/other"], "htu: expected https://server.example.com/token"),
        (["htu": "https://evil.example/token"], "htu: expected https://server.example.com/token"),
        (["htu": "http://server.example.com/token"], "htu: expected https://server.example.com/token"),
        (["htu": nil], "htu: expected https://server.example.com/token"),
        (["iat": nil], "iat: expected about 2019-07-04T18:34:56Z"),
        (["iat": "1"], "iat: expected about 2019-07-04T18:34:56Z"),
        (["iat": 1_562_265_235], "iat: expected about 2019-07-04T18:34:56Z"),
        (["iat": 1_562_265_357], "iat: expected about 2019-07-04T18:34:56Z"),
        (["iat": JSONValue(.min)], "iat: expected about 2019-07-04T18:34:56Z"),
    ]

    @Test("a claim that does not fit the request is named", arguments: claims)
    func refused(_ changes: [String: JSONValue?], _ reason: String) throws {
        #expect(throws: DPoP.Refusal(reason: reason, wantsNonce: false)) {
            try Self.verify(try Self.proof(changes))
        }
    }

    @Test("query, fragment, default port and the case of the host do not matter in htu")
    func normalizedTarget() throws {
        for text in ["https://SERVER.example.com:443/token?x=y", "https://server.example.com/token#f"] {
            #expect(throws: Never.self) { try Self.verify(try Self.proof(["htu": .string(text)])) }
        }
    }

    @Test("a proof for another access token, or for none, is not valid")
    func accessTokenHash() throws {
        let refusal = DPoP.Refusal(reason: "ath: expected the access token's hash", wantsNonce: false)
        for changes in [[:], ["ath": "x"], ["ath": 1]] as [[String: JSONValue?]] {
            #expect(throws: refusal) { try Self.verify(try Self.proof(changes), accessToken: "at") }
        }
    }

    @Test("a missing or wrong nonce leads to a request for the right one")
    func nonce() throws {
        let refusal = DPoP.Refusal(reason: "nonce: expected the one that was given out", wantsNonce: true)
        for changes in [[:], ["nonce": "x"], ["nonce": 1]] as [[String: JSONValue?]] {
            #expect(throws: refusal) { try Self.verify(try Self.proof(changes), nonce: "n") }
        }
        #expect(throws: Never.self) { try Self.verify(try Self.proof(["nonce": "n"]), nonce: "n") }
    }

    @Test("the key must be a public one, in a header of the right type")
    func header() throws {
        let type = DPoP.Refusal(reason: "typ: expected dpop+jwt", wantsNonce: false)
        #expect(throws: type) { try Self.verify(try Self.proof(header: ["typ": "JWT"])) }
        #expect(throws: type) { try Self.verify(try Self.proof(header: ["typ": nil])) }
        let key = DPoP.Refusal(reason: "jwk: expected a public key", wantsNonce: false)
        let secret = try JSONValue(parsing: RFCVector.hs256.key)
        let withPrivateMember = try JSONValue(parsing: RFCVector.es256.key)
        for value: JSONValue? in [nil, 1, [:], secret, withPrivateMember] {
            #expect(throws: key) { try Self.verify(try Self.proof(header: ["jwk": value])) }
        }
    }

    @Test("a proof that is not signed with the key in its header is not valid")
    func foreignKey() throws {
        let other = JSONWebKey(publicKey: try PrivateKey.generate(.p256).publicKey).json
        let refusal = DPoP.Refusal(reason: "signature: no key verifies it with ES256", wantsNonce: false)
        #expect(throws: refusal) { try Self.verify(try Self.proof(header: ["jwk": other])) }
    }

    @Test("an unsigned or broken proof is not valid")
    func form() throws {
        let jwk = JSONWebKey(publicKey: try SampleProvider.key(.p256).publicKey).json.compact
        let unsigned = SampleProvider.unsigned(
            header: #"{"alg":"none","typ":"dpop+jwt","jwk":\#(jwk)}"#,
            payload: JSONValue.object(Self.claims([:])).compact)
        let refusal = DPoP.Refusal(
            reason: "alg: expected a signature algorithm, found \"none\"", wantsNonce: false)
        #expect(throws: refusal) { try Self.verify(unsigned) }
        let malformed = DPoP.Refusal(reason: "expected three parts between dots, found 1", wantsNonce: false)
        #expect(throws: malformed) { try Self.verify("x") }
    }
}
