import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: grants without a user")
struct GrantTests {
    private static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let types = "urn:ietf:params:oauth:token-type:"

    /// A provider that trusts a CI system, and that system's signer.
    private func trusting() throws -> (DemoWorld, JWTSigner) {
        let key = try PrivateKey.generate(.p256)
        let world = try DemoWorld {
            $0.user = .approves("alice")
            $0.trustedIssuers = [
                TrustedIssuer(
                    issuer: "https://ci.example",
                    keys: JWKSet(keys: [JSONWebKey(publicKey: key.publicKey, keyID: "ci")]))
            ]
        }
        return (world, try JWTSigner(key, keyID: "ci"))
    }

    private func ciToken(_ signer: JWTSigner, _ changes: [String: JSONValue?] = [:]) throws -> String {
        var claims = JSONObject()
        let values: [String: JSONValue] = [
            "iss": "https://ci.example", "sub": "repo:a/b", "aud": "http://127.0.0.1:9480",
            "iat": 1_800_000_000, "exp": 1_800_000_300,
        ]
        for (name, value) in values { claims[name] = value }
        for (name, value) in changes { claims[name] = value }
        return try signer.sign(claims: claims)
    }

    private func exchangePairs(_ token: String, _ type: String) -> [(String, String)] {
        [
            ("grant_type", GrantTests.exchange), ("client_id", "demo"), ("subject_token", token),
            ("subject_token_type", GrantTests.types + type),
        ]
    }

    @Test("a trusted issuer's token is exchanged for an access token of its subject")
    func exchangeTrusted() throws {
        var (world, signer) = try trusting()
        world.provider.configuration.issuesJWTAccessTokens = true
        let pairs = exchangePairs(try ciToken(signer), "jwt") + [("scope", "api:read")]
        let answer = try world.post("/token", pairs).json()
        #expect(answer["issued_token_type"]?.string == GrantTests.types + "access_token")
        #expect(answer["refresh_token"] == nil)
        #expect(try JWS(compact: answer.text("access_token")).claims?["sub"] == "repo:a/b")
    }

    @Test(
        "an invalid subject token is refused",
        arguments: [
            ("iss", "https://evil.example"), ("aud", "https://other.example"), ("exp", 1_800_000_000),
            ("sub", nil), ("iat", 1_800_009_999),
        ] as [(String, JSONValue?)])
    func exchangeRefused(name: String, value: JSONValue?) throws {
        var (world, signer) = try trusting()
        let response = try world.post("/token", exchangePairs(try ciToken(signer, [name: value]), "jwt"))
        #expect(response.oauthError == "invalid_request")
    }

    @Test("an access token is exchanged for less scope, never for more, and not after it has expired")
    func exchangeOwn() throws {
        var (world, _) = try trusting()
        let token = try world.signIn(["scope": "openid api:read"]).text("access_token")
        let pairs = exchangePairs(token, "access_token")
        #expect(try world.post("/token", pairs + [("scope", "api:read")]).json()["scope"] == "api:read")
        #expect(try world.post("/token", pairs + [("scope", "api:write")]).oauthError == "invalid_scope")
        world.now = world.now.adding(300)
        #expect(try world.post("/token", pairs).oauthError == "invalid_request")
    }

    @Test("jwt-bearer takes a trusted issuer's token, and no other")
    func jwtBearer() throws {
        var (world, signer) = try trusting()
        func send(_ assertion: String) throws -> HTTPResponse {
            try world.post(
                "/token",
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("client_id", "demo"),
                    ("assertion", assertion), ("scope", "api:read"),
                ])
        }
        #expect(try send(ciToken(signer)).status == 200)
        #expect(try send(ciToken(signer, ["aud": "x"])).oauthError == "invalid_grant")
        let stranger = try JWTSigner(try PrivateKey.generate(.p256), keyID: "ci")
        #expect(try send(ciToken(stranger)).oauthError == "invalid_grant")
    }

    @Test("a token request may be JSON, and must be if the configuration requires it")
    func jsonRequests() throws {
        var world = try DemoWorld { $0.requiresJSONTokenRequests = true }
        let form = [
            ("grant_type", "client_credentials"), ("client_id", "demo-confidential"),
            ("client_secret", "demo-secret"),
        ]
        #expect(try world.post("/token", form).oauthError == "invalid_request")
        var body = JSONObject()
        for (name, value) in form { body[name] = .string(value) }
        let request = HTTPRequest(
            .post, try world.url("/token"), headers: HTTPHeaders([("Content-Type", "application/json")]),
            body: JSONValue.object(body).bytes)
        #expect(world.send(request).status == 200)
        world.provider.configuration.requiresJSONTokenRequests = false
        #expect(world.send(request).status == 200)
        #expect(try world.post("/token", form).status == 200)
    }

    @Test("an unknown grant, and one a client may not use, are refused")
    func refusedGrants() throws {
        var world = try DemoWorld {
            $0.clients.append(DemoClient(id: "narrow", grantTypes: ["refresh_token"]))
        }
        let unknown = try world.post("/token", [("grant_type", "password"), ("client_id", "demo")])
        #expect(unknown.oauthError == "unsupported_grant_type")
        let narrow = try world.post(
            "/token", [("grant_type", "authorization_code"), ("client_id", "narrow"), ("code", "x")])
        #expect(narrow.oauthError == "unauthorized_client")
        let inQuery = try world.post("/token?client_secret=x", [("grant_type", "client_credentials")])
        #expect(inQuery.oauthError == "invalid_request")
    }
}
