import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("the demo provider: refresh")
struct RefreshTests {
    @Test("a refresh gives new tokens and a new refresh token")
    func rotation() throws {
        var world = try DemoWorld()
        let first = try world.signIn()
        let second = try world.refresh(try first.text("refresh_token")).json()
        #expect(second["refresh_token"] != first["refresh_token"])
        #expect(second["access_token"] != first["access_token"])
        let token = try JWS(compact: second.text("id_token"))
        #expect(token.claims?["nonce"] == nil)
        #expect(token.claims?["sub"] == "alice")
        let third = try world.refresh(try second.text("refresh_token"))
        #expect(third.status == 200)
        #expect(world.provider.requestCount(grant: "refresh_token") == 2)
    }

    @Test("a reused refresh token revokes all tokens of the sign-in")
    func reuse() throws {
        var world = try DemoWorld()
        let first = try world.signIn()
        let second = try world.refresh(try first.text("refresh_token")).json()
        #expect(try world.refresh(try first.text("refresh_token")).oauthError == "invalid_grant")
        let after = try world.refresh(try second.text("refresh_token"))
        #expect(after.oauthError == "invalid_grant")
        #expect(try world.userInfo(try second.text("access_token")).status == 401)
    }

    @Test("within the grace a used refresh token works again", arguments: [(9, 200), (10, 400)])
    func reuseGrace(age: Int64, status: Int) throws {
        var world = try DemoWorld { $0.refreshReuseGrace = 10 }
        let first = try world.signIn()
        _ = try world.refresh(try first.text("refresh_token"))
        world.now = world.now.adding(age)
        #expect(try world.refresh(try first.text("refresh_token")).status == status)
    }

    @Test("without rotation the same refresh token can be used again")
    func withoutRotation() throws {
        var world = try DemoWorld { $0.rotatesRefreshTokens = false }
        let first = try world.signIn()
        for _ in 0..<3 {
            let answer = try world.refresh(try first.text("refresh_token")).json()
            #expect(answer["refresh_token"] == first["refresh_token"])
        }
    }

    @Test("the scope may shrink and grow back, but not beyond what was granted")
    func scope() throws {
        var world = try DemoWorld()
        let first = try world.signIn(["scope": "openid offline_access api:read"])
        let narrow = try world.refresh(try first.text("refresh_token"), [("scope", "api:read")]).json()
        #expect(narrow["scope"] == "api:read")
        let full = try world.refresh(try narrow.text("refresh_token")).json()
        #expect(Scope(try full.text("scope")) == Scope("openid offline_access api:read"))
        let wide = try world.refresh(try full.text("refresh_token"), [("scope", "api:read api:write")])
        #expect(wide.oauthError == "invalid_scope")
    }

    @Test("a refused scope does not use the refresh token up")
    func refusedScopeKeepsToken() throws {
        var world = try DemoWorld()
        let token = try world.signIn().text("refresh_token")
        _ = try world.refresh(token, [("scope", "api:admin")])
        #expect(try world.refresh(token).status == 200)
    }

    @Test("a resource beyond the granted ones is invalid_target")
    func resource() throws {
        var world = try DemoWorld { $0.issuesJWTAccessTokens = true }
        let first = try world.signIn(["resource": "https://a.example/api"])
        #expect(try JWS(compact: first.text("access_token")).claims?["aud"] == "https://a.example/api")
        let other = try world.refresh(
            try first.text("refresh_token"), [("resource", "https://b.example/api")])
        #expect(other.oauthError == "invalid_target")
    }

    @Test("a refresh token is issued only for offline_access, and with prompt=consent if that is required")
    func offlineAccess() throws {
        var world = try DemoWorld()
        #expect(try world.signIn(["scope": "openid"])["refresh_token"] == nil)
        var strict = try DemoWorld { $0.offlineAccessNeedsConsentPrompt = true }
        #expect(try strict.signIn()["refresh_token"] == nil)
        #expect(try strict.signIn(["prompt": "consent"])["refresh_token"] != nil)
    }

    @Test("a refresh token of another client, or an unknown or old one, is refused")
    func foreignToken() throws {
        var world = try DemoWorld { $0.clients.append(DemoClient(id: "other")) }
        let token = try world.signIn().text("refresh_token")
        let foreign = try world.post(
            "/token", [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "other")])
        #expect(foreign.oauthError == "invalid_grant")
        #expect(try world.refresh("unknown").oauthError == "invalid_grant")
        world.now = world.now.adding(31 * 86_400)
        #expect(try world.refresh(token).oauthError == "invalid_grant")
    }
}
