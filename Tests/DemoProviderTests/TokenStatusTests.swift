import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: UserInfo, JWT access tokens, revocation, introspection")
struct TokenStatusTests {
    @Test("UserInfo returns the claims of the scope, and accepts the token only in the header")
    func userInfo() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["scope": "openid email"]).text("access_token")
        let claims = try world.userInfo(token).json()
        #expect(claims == ["sub": "alice", "email": "alice@example.com", "email_verified": true])
        #expect(try world.get("/userinfo?access_token=\(token)").status == 401)
        #expect(try world.post("/userinfo", [("access_token", token)]).status == 401)
        world.now = world.now.adding(300)
        #expect(try world.userInfo(token).challenges.first?.error == "invalid_token")
    }

    @Test("UserInfo without the openid scope is insufficient_scope")
    func userInfoScope() throws {
        var world = try DemoWorld()
        let response = try world.userInfo(try world.signIn(["scope": "api:read"]).text("access_token"))
        #expect(response.status == 403)
        #expect(response.challenges.first?.error == "insufficient_scope")
    }

    @Test("a signed UserInfo answer verifies and names issuer and client")
    func signedUserInfo() throws {
        var world = try DemoWorld { $0.signsUserInfo = true }
        let response = try world.userInfo(try world.signIn().text("access_token"))
        #expect(response.mediaType == "application/jwt")
        let token = try JWS(compact: response.text)
        #expect(try token.verify(keys: try world.keys()) == .valid)
        #expect(token.claims?["iss"] == "http://127.0.0.1:9480")
        #expect(token.claims?["aud"] == "demo")
    }

    @Test("a JWT access token has the claims of RFC 9068")
    func accessTokenJWT() throws {
        var world = try DemoWorld { $0.issuesJWTAccessTokens = true }
        let tokens = try world.signIn(["audience": "urn:api"])
        let token = try JWS(compact: tokens.text("access_token"))
        #expect(token.header["typ"] == "at+jwt")
        #expect(try token.verify(keys: try world.keys()) == .valid)
        let claims = try #require(token.claims)
        for name in ["iss", "sub", "aud", "exp", "iat", "jti", "client_id", "scope"] {
            #expect(claims[name] != nil, "\(name)")
        }
        #expect(claims["aud"] == "urn:api")
    }

    @Test(
        "revoking a refresh token revokes all tokens of the sign-in; revoking an access token only that one")
    func revocation() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        let access = try tokens.text("access_token")
        let refresh = try tokens.text("refresh_token")
        func revoke(_ token: String, _ client: String = "demo") throws -> HTTPResponse {
            try world.post("/revoke", [("token", token), ("client_id", client)])
        }
        #expect(try revoke("unknown").status == 200)
        #expect(try revoke(access).status == 200)
        #expect(try world.userInfo(access).status == 401)
        let again = try world.refresh(refresh).json()
        #expect(try revoke(try again.text("refresh_token")).status == 200)
        #expect(try world.userInfo(try again.text("access_token")).status == 401)
        #expect(try world.refresh(try again.text("refresh_token")).oauthError == "invalid_grant")
    }

    @Test("another client cannot revoke a token")
    func foreignRevocation() throws {
        var world = try DemoWorld { $0.clients.append(DemoClient(id: "other")) }
        let access = try world.signIn().text("access_token")
        let response = try world.post("/revoke", [("token", access), ("client_id", "other")])
        #expect(response.oauthError == "unauthorized_client")
        #expect(try world.userInfo(access).status == 200)
    }

    @Test("introspection describes active tokens; of others it says only that they are not active")
    func introspection() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn(["scope": "openid offline_access"])
        func introspect(_ token: String) throws -> JSONValue {
            try world.post("/introspect", [("token", token), ("client_id", "demo")]).json()
        }
        let access = try introspect(tokens.text("access_token"))
        #expect(access["active"] == true)
        #expect(access["sub"] == "alice")
        #expect(access["scope"] == "openid offline_access")
        #expect(try introspect(tokens.text("refresh_token"))["active"] == true)
        #expect(try introspect("unknown") == ["active": false])
        world.now = world.now.adding(300)
        #expect(try introspect(tokens.text("access_token")) == ["active": false])
    }

    @Test("introspection is signed for a client that asks for that (RFC 9701 §5)")
    func signedIntrospection() throws {
        var world = try DemoWorld()
        let access = try world.signIn().text("access_token")
        let answer = try world.post(
            "/introspect", [("token", access), ("client_id", "demo")],
            headers: [("Accept", "application/token-introspection+jwt")])
        #expect(answer.mediaType == "application/token-introspection+jwt")
        let token = try JWS(compact: answer.text)
        #expect(try token.verify(keys: try world.keys()) == .valid)
        #expect(token.header["typ"] == "token-introspection+jwt")
        let claims = try #require(token.claims)
        #expect(claims["iss"] == "http://127.0.0.1:9480" && claims["aud"] == "demo" && claims["iat"] != nil)
        #expect(claims["token_introspection"]?["active"] == true && claims["sub"] == nil)
    }

    @Test("the scopes address and phone open claims of sources, and a source takes its own token only")
    func claimSources() throws {
        var world = try DemoWorld()
        let access = try world.signIn(["scope": "openid address phone"]).text("access_token")
        let claims = try world.userInfo(access).json()
        #expect(claims["_claim_names"] == ["address": "registry", "phone_number": "carrier"])
        let sources = try #require(claims["_claim_sources"])
        let aggregated = try JWS(compact: try #require(sources["registry"]?["JWT"]?.string))
        #expect(try aggregated.verify(keys: try world.keys()) == .valid)
        let token = try #require(sources["carrier"]?["access_token"]?.string)
        func fetch(_ token: String) throws -> HTTPResponse {
            try world.get("/claims", headers: [("Authorization", "Bearer \(token)")])
        }
        let fetched = try JWS(compact: try fetch(token).text)
        #expect(fetched.claims?["phone_number"] == "+1 555 0100" && fetched.claims?["aud"] == "demo")
        for other in [access, try #require(sources["registry"]?["JWT"]?.string), token + "A"] {
            #expect(try fetch(other).status == 401)
        }
        #expect(try world.get("/claims").status == 401)
        world.now = world.now.adding(world.provider.configuration.idTokenLifetime)
        #expect(try fetch(token).status == 401)
        #expect(try world.userInfo(world.signIn().text("access_token")).json()["_claim_names"] == nil)
    }
}
