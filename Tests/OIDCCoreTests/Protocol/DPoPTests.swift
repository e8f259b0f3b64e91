import OIDCCore
import OIDCCrypto
import Testing

@Suite("DPoP")
struct DPoPTests {
    static let now = Instant(secondsSinceEpoch: 1_562_265_296)

    static func url(_ text: String = "https://server.example.com/token") throws -> WebURL {
        try #require(WebURL(text))
    }

    /// RFC 9449 §4.1, figure 2.
    static let rfcProof =
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscE"
        + "JoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19."
        + "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaW"
        + "F0IjoxNTYyMjY1Mjk2fQ.pAqut2IRDm_De6PR93SYmGBPXpwrAk90e8cP2hjiaG5QsGSuKDYW7_X620BxqhvYC8ynrrvZLTk41mSRroapUA"
    static let rfcThumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

    @Test("the proof of RFC 9449 §4.1 is valid, and its key has the thumbprint of §6.1")
    func rfcVector() throws {
        let proof = try DPoP.verify(Self.rfcProof, method: .post, url: try Self.url(), now: Self.now)
        #expect(proof.thumbprint == Self.rfcThumbprint)
        #expect(proof.identifier == "-BwC3ESc6acc2lTc")
    }

    @Test("ath of RFC 9449 §7.1 is the hash of its token")
    func accessTokenHash() throws {
        let proof = try DPoPKey.generate().proof(
            method: .get, url: try Self.url("https://resource.example.org/protectedresource"),
            accessToken: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", now: Self.now, random: Random.bytes)
        #expect(try JWS(compact: proof).claims?["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    }

    @Test("a proof has the claims of §4.2, and no others")
    func proof() throws {
        let key = try DPoPKey.generate()
        let bytes = (0..<16).map { UInt8($0) }
        let compact = try key.proof(
            method: .post, url: try Self.url("HTTPS://Server.Example.COM:443/token?a=b#c"), nonce: "n",
            now: Self.now
        ) { count in Array(bytes.prefix(count)) }
        let token = try JWS(compact: compact)
        #expect(token.header.names == ["typ", "jwk", "alg"])
        #expect(token.header["typ"] == "dpop+jwt")
        #expect(token.header["alg"] == "ES256")
        #expect(token.header["jwk"]?.object?.names == ["crv", "kty", "x", "y"])
        let expected: JSONValue = [
            "jti": .string(Base64URL.encode(bytes)), "htm": "POST", "htu": "https://server.example.com/token",
            "iat": .init(Self.now.secondsSinceEpoch - 5), "nonce": "n",
        ]
        #expect(token.claims == expected.object)
        let keys = JWKSet(keys: [JSONWebKey(publicKey: key.privateKey.publicKey)])
        #expect(try token.verify(keys: keys) == .valid)
    }

    @Test("each proof has a jti of its own, of 128 bits")
    func freshness() throws {
        let key = try DPoPKey.generate()
        let identifiers = try (0..<20).map { _ in
            let proof = try key.proof(method: .get, url: try Self.url(), now: Self.now, random: Random.bytes)
            return try #require(try JWS(compact: proof).claims?["jti"]?.string)
        }
        #expect(Set(identifiers).count == 20)
        #expect(identifiers.allSatisfy { Base64URL.decode($0)?.count == 16 })
    }

    static let targets: [(String, String)] = [
        ("https://a", "https://a/"), ("https://a?x=1", "https://a/"),
        ("http://127.0.0.1:9480/t#x", "http://127.0.0.1:9480/t"),
        ("https://A:443/B%2f", "https://a/B%2f"), ("http://[::1]:80/t", "http://[::1]/t"),
    ]

    @Test("htu is the URL without query and fragment", arguments: targets)
    func target(_ text: String, _ expected: String) throws {
        let proof = try DPoPKey.generate().proof(
            method: .get, url: try Self.url(text), now: Self.now, random: Random.bytes)
        #expect(try JWS(compact: proof).claims?["htu"] == .string(expected))
    }

    @Test("a key comes back from its PEM with the same thumbprint, and prints nothing")
    func storedKey() throws {
        let key = try DPoPKey.generate()
        #expect(try DPoPKey(pem: key.pem).thumbprint == key.thumbprint)
        #expect(key.thumbprint == (try JSONWebKey.thumbprint(of: key.privateKey.publicKey)))
        var text = "\(key) \(key.pem)"
        dump(key, to: &text)
        #expect(!text.contains("PRIVATE KEY"))
        #expect(throws: OIDCError(.usage, "dpop_key: not a private key in PEM form")) {
            try DPoPKey(pem: Redacted("x"))
        }
    }

    static func response(_ status: Int, nonces: [String] = ["n"], challenge: String? = nil, body: String = "")
        -> HTTPResponse
    {
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        for nonce in nonces { response.headers.append("dpop-nonce", nonce) }
        response.headers["WWW-Authenticate"] = challenge
        return response
    }

    @Test("FAPI 2.0 client: a nonce from the authorization server is demanded by its error (§8)")
    func tokenEndpointNonce() {
        let body = #"{"error":"use_dpop_nonce"}"#
        for status in [400, 401] {
            #expect(DPoP.nonce(demandedBy: Self.response(status, body: body)) != nil)
        }
        for response in [
            Self.response(200, body: body), Self.response(400, nonces: [], body: body), Self.response(400),
            Self.response(400, body: #"{"error":"invalid_dpop_proof"}"#),
            Self.response(400, nonces: ["a", "b"], body: body),
            Self.response(400, body: "use_dpop_nonce"), Self.response(400, nonces: ["a b"], body: body),
        ] {
            #expect(DPoP.nonce(demandedBy: response) == nil)
        }
    }

    @Test("FAPI 2.0 client: rs-dpop-auth-scheme-case-insensitivity")
    func resourceNonce() {
        for challenge in [
            "DPoP error=\"use_dpop_nonce\"", "dpop error=use_dpop_nonce",
            "Bearer, DPOP algs=\"ES256\", ERROR=\"use_dpop_nonce\"",
        ] {
            #expect(DPoP.isNonceDemand(resourceResponse: Self.response(401, challenge: challenge)))
        }
        for response in [
            Self.response(401), Self.response(401, challenge: "DPoP error=\"invalid_token\""),
            Self.response(401, challenge: "Bearer error=\"use_dpop_nonce\""),
            Self.response(401, nonces: [], challenge: "DPoP error=\"use_dpop_nonce\""),
            Self.response(400, challenge: "DPoP error=\"use_dpop_nonce\""),
        ] {
            #expect(!DPoP.isNonceDemand(resourceResponse: response))
        }
    }

    @Test("a nonce has the characters of §8.1, and one field")
    func nonceGrammar() {
        #expect(
            DPoP.nonce(in: Self.response(200, nonces: ["eyJ7S_zG.eyJH0-Z.HX4w-7v"]))
                == "eyJ7S_zG.eyJH0-Z.HX4w-7v")
        for nonces in [
            [], [""], ["a b"], ["a\"b"], ["a\\b"], ["é"], ["a", "a"], [String(repeating: "x", count: 4_097)],
        ] {
            #expect(DPoP.nonce(in: Self.response(200, nonces: nonces)) == nil)
        }
    }
}
