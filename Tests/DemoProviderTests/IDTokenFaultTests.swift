import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("faults of ID tokens and keys")
struct IDTokenFaultTests {
    /// Unusual, but within the rules; that another user signed in shows only beside UserInfo or an
    /// earlier token.
    private static let legal: Set<IDTokenFault> = [
        .audienceArray, .keyIDMissing, .audienceSecondaryAuthorized, .subjectInvalid,
        .subjectAlone, .accessTokenHashMissing, .codeHashForeign,
    ]

    private func validate(_ world: inout DemoWorld, _ tokens: JSONValue) throws {
        let rules = IDTokenRules(
            issuer: "http://127.0.0.1:9480", clientID: "demo", nonce: "nonce-1",
            accessToken: try tokens.text("access_token"), maxAge: .seconds(300), leeway: .seconds(60),
            allowedAlgorithms: ["RS256", "ES256"])
        _ = try IDToken.validate(
            try tokens.text("id_token"), rules, keys: FixedKeys(try world.keys()), now: world.now)
    }

    @Test("a client refuses each bad ID token, and takes the unusual ones", arguments: IDTokenFault.allCases)
    func refused(fault: IDTokenFault) throws {
        var world = try DemoWorld(faults: [.idToken(fault)]) {
            if fault == .signatureDER { $0.signingAlgorithms = [.es256] }
        }
        let tokens = try world.signIn()
        guard fault != .missing else {
            #expect(tokens["id_token"] == nil)
            return
        }
        if IDTokenFaultTests.legal.contains(fault) {
            try validate(&world, tokens)
        } else {
            #expect(throws: OIDCError.self) { try validate(&world, tokens) }
        }
    }

    @Test("a fault of refreshed ID tokens does not change the first one")
    func refreshedAlone() throws {
        var world = try DemoWorld(faults: [
            .refreshedIDToken(.subjectInvalid), .refreshedIDToken(.issuerInvalid),
        ])
        let first = try world.signIn()
        try validate(&world, first)
        let second = try world.refresh(try first.text("refresh_token")).json()
        let claims = try #require(JWS(compact: second.text("id_token")).claims)
        #expect(claims["sub"] == "mallory")
        #expect(claims["iss"] == "https://other.example")
    }

    @Test(
        "a bad signature is bad with every algorithm", arguments: [SignatureAlgorithm.rs256, .es256, .hs256])
    func badSignature(algorithm: SignatureAlgorithm) throws {
        var world = try DemoWorld(faults: [.idToken(.signatureInvalid)]) {
            $0.clients[0].idTokenAlgorithm = algorithm
            $0.clients[0].secret = Redacted(String(repeating: "s", count: 32))
        }
        let token = try JWS(compact: try world.signIn().text("id_token"))
        #expect(token.algorithm == algorithm)
        let secret = JSONWebKey(secret: Redacted([UInt8](repeating: 0x73, count: 32)))
        let keys = algorithm.isSymmetric ? JWKSet(keys: [secret]) : try world.keys()
        #expect(try token.verify(keys: keys, allowsSymmetric: true) != .valid)
        world.provider.faults = []
        let good = try JWS(compact: try world.signIn().text("id_token"))
        #expect(try good.verify(keys: keys, allowsSymmetric: true) == .valid)
    }

    @Test(
        "no key of a broken set verifies a token",
        arguments: [
            KeySetFault.empty, .withoutKeys, .onlyForeign, .encryptionUse, .wrongAlgorithm, .weakRSA,
            .symmetric,
        ])
    func brokenKeySet(fault: KeySetFault) throws {
        var world = try DemoWorld(faults: [.keys(fault)])
        let tokens = try world.signIn()
        #expect(throws: (any Error).self) { try validate(&world, tokens) }
    }

    @Test(
        "unusual key sets verify tokens",
        arguments: [KeySetFault.single, .withoutKeyIDs, .unknownKinds, .duplicateKeyIDs, .twoThousand])
    func unusualKeySet(fault: KeySetFault) throws {
        var world = try DemoWorld(faults: [.keys(fault), .idToken(.keyIDMissing)])
        try validate(&world, try world.signIn())
    }

    @Test("with rotation before signing, keys fetched earlier do not have the key")
    func rotation() throws {
        var world = try DemoWorld(faults: [.keys(.rotationBeforeSigning)]) { $0.signingAlgorithms = [.es256] }
        let early = try world.keys()
        let token = try JWS(compact: try world.signIn().text("id_token"))
        #expect(!early.keys.contains { $0.keyID == token.keyID })
        #expect(try token.verify(keys: try world.keys()) == .valid)
    }

    @Test("ten thousand keys are more than a bounded client reads")
    func tenThousandKeys() throws {
        var world = try DemoWorld(faults: [.keys(.tenThousand)])
        #expect(try world.get("/jwks").body.count > 1 << 20)
    }
}
