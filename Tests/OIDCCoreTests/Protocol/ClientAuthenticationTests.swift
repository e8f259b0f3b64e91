import OIDCCrypto
import TestSupport
import Testing

@testable import OIDCCore

@Suite("Client authentication (RFC 6749 §2.3, OpenID Connect Core §9)")
struct ClientAuthenticationTests {
    private func sent(
        _ client: Client, random: (Int) -> [UInt8] = Fixture.random()
    ) throws -> HTTPRequest {
        try TokenEndpoint(url: Fixture.url("https://op.example/token"), client: client)
            .call(.clientCredentials(), now: Fixture.now, random: random).request
    }

    @Test("a public client sends its id and nothing else")
    func none() throws {
        let request = try sent(Client(id: "cli"))
        #expect(request.bodyText == "grant_type=client_credentials&client_id=cli")
        #expect(request.headers["Authorization"] == nil)
        #expect(!request.usesClientCertificate)
    }

    @Test("oidcc-client-test-client-secret-basic: id and secret are form-encoded before Basic")
    func basic() throws {
        let client = Client(id: "my:cli", authentication: .clientSecretBasic(Redacted("p w+ä%:")))
        let request = try sent(client)
        let credentials = Base64.encode(Array("my%3Acli:p%20w%2B%C3%A4%25%3A".utf8))
        #expect(request.headers["Authorization"] == "Basic \(credentials)")
        #expect(request.bodyText == "grant_type=client_credentials")
    }

    @Test("client_secret_post puts the secret into the body, never into the URL")
    func post() throws {
        let request = try sent(Client(id: "cli", authentication: .clientSecretPost(Redacted("p&w"))))
        #expect(request.bodyText == "grant_type=client_credentials&client_id=cli&client_secret=p%26w")
        #expect(request.headers["Authorization"] == nil)
        #expect(request.url.query == nil)
    }

    @Test(
        "tls_client_auth and self_signed_tls_client_auth name the client and ask for the certificate (RFC 8705 §2)"
    )
    func certificate() throws {
        for authentication in [ClientAuthentication.tlsClientAuth, .selfSignedTLSClientAuth] {
            let request = try sent(Client(id: "cli", authentication: authentication))
            #expect(request.bodyText == "grant_type=client_credentials&client_id=cli")
            #expect(request.usesClientCertificate)
        }
        let bound = try sent(Client(id: "cli", presentsCertificate: true))
        #expect(bound.usesClientCertificate)
    }

    @Test(
        "private_key_jwt: an assertion for the issuer only, signed, short-lived and fresh",
        arguments: [PrivateKey.Kind.p256, .p384, .p521, .rsa2048, .ed25519])
    func privateKey(_ kind: PrivateKey.Kind) throws {
        let key = try SampleKeys.key(kind)
        let client = Client(
            id: "cli", authentication: .privateKeyJWT(try JWTSigner(key, keyID: "k1")),
            assertionAudience: "https://op.example")
        let random = Fixture.random()
        let requests = [try sent(client, random: random), try sent(client, random: random)]
        let tokens = try requests.map { try JWS(compact: #require($0.value("client_assertion"))) }
        let token = tokens[0]
        #expect(
            requests[0].value("client_assertion_type")
                == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        #expect(requests[0].value("client_id") == "cli")
        #expect(token.header["kid"] == "k1")
        #expect(token.header["alg"]?.string == key.supportedAlgorithms.first?.rawValue)
        let claims = try #require(token.claims)
        #expect(claims["iss"] == "cli")
        #expect(claims["sub"] == "cli")
        #expect(claims["aud"] == "https://op.example")
        #expect(claims["iat"]?.integer == Fixture.now.secondsSinceEpoch - 5)
        #expect(claims["exp"]?.integer == Fixture.now.secondsSinceEpoch + 115)
        #expect(claims["jti"]?.string?.utf8.count == 22)
        #expect(claims["jti"] != tokens[1].claims?["jti"])
        let keys = JWKSet(keys: [JSONWebKey(publicKey: key.publicKey, keyID: "k1")])
        #expect(try token.verify(keys: keys) == .valid)
        let others = JWKSet(keys: [
            JSONWebKey(publicKey: try SampleKeys.otherKey(kind).publicKey, keyID: "k1")
        ])
        #expect(try token.verify(keys: others) != .valid)
    }

    @Test("without an issuer the audience is the endpoint's URL, still one string")
    func audienceOfAddress() throws {
        let signer = try JWTSigner(try PrivateKey.generate(.p256))
        let request = try sent(Client(id: "cli", authentication: .privateKeyJWT(signer)))
        let token = try JWS(compact: #require(request.value("client_assertion")))
        #expect(token.claims?["aud"] == "https://op.example/token")
    }

    @Test("client_secret_jwt: an HMAC under the secret, which stays here")
    func secretJWT() throws {
        let secret = Redacted(String(repeating: "s", count: 32))
        let request = try sent(
            Client(
                id: "cli", authentication: .clientSecretJWT(secret, .hs256),
                assertionAudience: "https://op.example"))
        #expect(!request.bodyText.contains("sss"))
        let token = try JWS(compact: #require(request.value("client_assertion")))
        let keys = JWKSet(keys: [JSONWebKey(secret: Redacted(Array(secret.revealed.utf8)))])
        #expect(try token.verify(keys: keys, allowsSymmetric: true) == .valid)
    }

    @Test(
        "client_secret_jwt: a secret shorter than the hash is refused (RFC 7518 §3.2)",
        arguments: [(SignatureAlgorithm.hs256, 32), (.hs384, 48), (.hs512, 64)])
    func shortSecret(_ algorithm: SignatureAlgorithm, _ needed: Int) throws {
        func error(_ count: Int) -> OIDCError? {
            let secret = Redacted(String(repeating: "s", count: count))
            return Fixture.error {
                try sent(Client(id: "cli", authentication: .clientSecretJWT(secret, algorithm)))
            }
        }
        #expect(error(needed) == nil)
        #expect(error(needed - 1)?.kind == .usage)
        #expect(
            error(needed - 1)?.message
                == "client_secret: \(algorithm.rawValue) needs at least \(needed) bytes, found \(needed - 1)")
    }

    @Test("an assertion from outside is requested for each call, and its failure is returned")
    func outsideAssertion() throws {
        let request = try sent(
            Client(id: "cli", authentication: .assertion { Redacted("from.ci.system") }))
        #expect(request.value("client_assertion") == "from.ci.system")
        let failure = OIDCError(.failed, "no identity here")
        let failing = Client(
            id: "cli", authentication: .assertion { () throws(OIDCError) in throw failure })
        #expect(Fixture.error { try sent(failing) } == failure)
    }
}
