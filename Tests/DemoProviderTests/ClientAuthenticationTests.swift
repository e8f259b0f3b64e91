import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: client authentication")
struct ClientAuthenticationTests {
    private let grant = [("grant_type", "client_credentials"), ("scope", "api:read")]

    private func basic(_ id: String, _ secret: String) -> [(String, String)] {
        [("Authorization", "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))")]
    }

    @Test("Basic and post prove a client with a secret")
    func secrets() throws {
        var world = try DemoWorld()
        let byBasic = try world.post("/token", grant, headers: basic("demo-confidential", "demo-secret"))
        #expect(byBasic.status == 200)
        #expect(try byBasic.json()["refresh_token"] == nil)
        let byPost = try world.post(
            "/token", grant + [("client_id", "demo-confidential"), ("client_secret", "demo-secret")])
        #expect(byPost.status == 200)
    }

    @Test("a wrong secret is invalid_client, with a challenge if Basic was used")
    func wrongSecret() throws {
        var world = try DemoWorld()
        let byBasic = try world.post("/token", grant, headers: basic("demo-confidential", "wrong"))
        #expect(byBasic.status == 401)
        #expect(byBasic.oauthError == "invalid_client")
        #expect(byBasic.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        let byPost = try world.post(
            "/token", grant + [("client_id", "demo-confidential"), ("client_secret", "wrong")])
        #expect(byPost.oauthError == "invalid_client")
        #expect(try world.post("/token", grant + [("client_id", "demo-confidential")]).status == 401)
    }

    @Test("id and secret are form-encoded within Basic")
    func formEncodedBasic() throws {
        let id = "a client:1"
        let secret = "100% p+q/ü"
        var world = try DemoWorld {
            $0.clients = [DemoClient(id: id, secret: secret, authenticationMethods: ["client_secret_basic"])]
        }
        let encoded = basic(FormEncoding.encode(id), FormEncoding.encode(secret))
        #expect(try world.post("/token", grant, headers: encoded).status == 200)
        #expect(try world.post("/token", grant, headers: basic(id, secret)).status == 401)
        let posted = try world.post("/token", grant + [("client_id", id), ("client_secret", secret)])
        #expect(posted.oauthError == "invalid_client")
    }

    @Test("two methods at once are refused")
    func twoMethods() throws {
        var world = try DemoWorld()
        let response = try world.post(
            "/token", grant + [("client_secret", "demo-secret")],
            headers: basic("demo-confidential", "demo-secret"))
        #expect(response.oauthError == "invalid_request")
    }

    @Test("a public client cannot use client_credentials")
    func publicClient() throws {
        var world = try DemoWorld()
        #expect(try world.post("/token", grant + [("client_id", "demo")]).oauthError == "unauthorized_client")
    }

    private struct Asserting {
        var world: DemoWorld
        let key: PrivateKey

        init(_ change: (inout DemoConfiguration) -> Void = { _ in }) throws {
            let key = try PrivateKey.generate(.p256)
            self.key = key
            world = try DemoWorld {
                let keys = JWKSet(keys: [JSONWebKey(publicKey: key.publicKey, keyID: "k1")])
                $0.clients.append(DemoClient(id: "keyed", keys: keys))
                change(&$0)
            }
        }

        func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
            let now = world.now.secondsSinceEpoch
            var claims: JSONObject = JSONObject()
            let values: [String: JSONValue] = [
                "iss": "keyed", "sub": "keyed", "aud": "http://127.0.0.1:9480", "jti": "one",
                "iat": JSONValue(now), "exp": JSONValue(now + 60),
            ]
            for (name, value) in values { claims[name] = value }
            for (name, value) in changes { claims[name] = value }
            return claims
        }

        mutating func send(_ assertion: String) throws -> HTTPResponse {
            try world.post(
                "/token",
                [
                    ("grant_type", "client_credentials"), ("scope", "api:read"),
                    ("client_assertion", assertion),
                    ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ])
        }
    }

    @Test("private_key_jwt is verified, and each assertion works once")
    func privateKeyJWT() throws {
        var asserting = try Asserting()
        let signer = try JWTSigner(asserting.key, keyID: "k1")
        let assertion = try signer.sign(claims: asserting.claims())
        #expect(try asserting.send(assertion).status == 200)
        #expect(try asserting.send(assertion).oauthError == "invalid_client")
        let second = try signer.sign(claims: asserting.claims(["jti": "two"]))
        #expect(try asserting.send(second).status == 200)
    }

    @Test(
        "an assertion with a wrong claim is refused",
        arguments: [
            ("aud", "https://other.example"), ("aud", nil), ("iss", "demo"), ("sub", "demo"),
            ("exp", 1_800_000_000), ("exp", nil), ("exp", 1_800_100_000), ("iat", 1_800_000_100),
            ("nbf", 1_800_000_100), ("jti", nil),
        ] as [(String, JSONValue?)])
    func wrongClaim(name: String, value: JSONValue?) throws {
        var asserting = try Asserting()
        let assertion = try JWTSigner(asserting.key).sign(claims: asserting.claims([name: value]))
        let response = try asserting.send(assertion)
        #expect(response.status == 401)
        #expect(response.oauthError == "invalid_client")
    }

    @Test("an assertion signed by another key, or not at all, is refused")
    func wrongKey() throws {
        var asserting = try Asserting()
        let other = try JWTSigner(try PrivateKey.generate(.p256), keyID: "k1")
        #expect(try asserting.send(other.sign(claims: asserting.claims())).oauthError == "invalid_client")
        let header = Base64URL.encode(Array("{\"alg\":\"none\"}".utf8))
        let claims = Base64URL.encode(JSONValue.object(asserting.claims()).bytes)
        #expect(try asserting.send("\(header).\(claims).").oauthError == "invalid_client")
    }

    @Test("the audience of assertions can be demanded as one string")
    func demandedAudience() throws {
        var asserting = try Asserting { $0.assertionAudience = "http://127.0.0.1:9480" }
        let signer = try JWTSigner(asserting.key)
        let wide = asserting.claims(["aud": ["http://127.0.0.1:9480"]])
        #expect(try asserting.send(signer.sign(claims: wide)).status == 401)
        #expect(try asserting.send(signer.sign(claims: asserting.claims())).status == 200)
    }

    @Test("client_secret_jwt is an HMAC with the client's secret")
    func clientSecretJWT() throws {
        var asserting = try Asserting()
        let claims = asserting.claims(["iss": "demo-confidential", "sub": "demo-confidential"])
        let right = try JWTSigner(secret: Redacted("demo-secret"))
        let wrong = try JWTSigner(secret: Redacted("guess"))
        #expect(try asserting.send(wrong.sign(claims: claims)).oauthError == "invalid_client")
        #expect(try asserting.send(right.sign(claims: claims)).status == 200)
    }

    @Test("a CI system's own token proves the client that trusts it")
    func federatedClient() throws {
        let key = try PrivateKey.generate(.p256)
        var world = try DemoWorld {
            $0.trustedIssuers = [
                TrustedIssuer(
                    issuer: "https://ci.example",
                    keys: JWKSet(keys: [JSONWebKey(publicKey: key.publicKey)]))
            ]
            let identity = FederatedIdentity(issuer: "https://ci.example", subject: "repo:a/b")
            $0.clients = [
                DemoClient(
                    id: "ci", authenticationMethods: ["private_key_jwt"], federatedIdentity: identity)
            ]
        }
        func send(_ subject: String) throws -> HTTPResponse {
            var claims = JSONObject()
            claims["iss"] = "https://ci.example"
            claims["sub"] = .string(subject)
            claims["aud"] = "http://127.0.0.1:9480"
            claims["exp"] = JSONValue(world.now.secondsSinceEpoch + 60)
            let assertion = try JWTSigner(key).sign(claims: claims)
            return try world.post(
                "/token",
                grant + [
                    ("client_assertion", assertion), ("client_id", "ci"),
                    ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ])
        }
        #expect(try send("repo:a/b").status == 200)
        #expect(try send("repo:evil/b").oauthError == "invalid_client")
    }

    @Test("a certificate counts only if the terminator's header is trusted")
    func certificate() throws {
        let der = Array("a certificate".utf8)
        let thumbprint = Base64URL.encode(try Digest.hash(der, .sha256))
        let pem = "-----BEGIN CERTIFICATE-----\n\(Base64.encode(der))\n-----END CERTIFICATE-----\n"
        let header = [("X-Client-Cert", FormEncoding.encode(pem))]
        func world(_ trusted: String?) throws -> DemoWorld {
            try DemoWorld {
                $0.certificateHeader = trusted
                $0.clients = [
                    DemoClient(
                        id: "tls", authenticationMethods: ["self_signed_tls_client_auth"],
                        certificateThumbprint: thumbprint)
                ]
            }
        }
        var trusting = try world("X-Client-Cert")
        let pairs = grant + [("client_id", "tls")]
        let response = try trusting.post("/token", pairs, headers: header)
        #expect(response.status == 200)
        #expect(try trusting.post("/token", pairs).oauthError == "invalid_client")
        let token = try response.json().text("access_token")
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try trusting.get("/api/items", headers: bearer + header).status == 200)
        #expect(try trusting.get("/api/items", headers: bearer).status == 401)
        var wary = try world(nil)
        #expect(try wary.post("/token", pairs, headers: header).oauthError == "invalid_client")
    }
}
