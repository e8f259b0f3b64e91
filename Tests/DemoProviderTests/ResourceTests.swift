import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@Suite("the demo provider: the sample API")
struct ResourceTests {
    @Test("the sample API opens by scope")
    func resourceScopes() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["scope": "openid api:read"]).text("access_token")
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try world.get("/api/items", headers: bearer).status == 200)
        let write = try world.post("/api/items", [], headers: bearer)
        #expect(write.status == 403)
        #expect(write.challenges.first?.scope == Scope("api:write"))
        let without = try world.get("/api/items")
        #expect(without.status == 401)
        #expect(without.challenges.first?.isScheme("Bearer") == true)
        #expect(without.challenges.first?.error == nil)
        #expect(try world.get("/api/nothing", headers: bearer).status == 404)
    }

    @Test("a token for another resource is refused")
    func resourceAudience() throws {
        var world = try DemoWorld()
        let token = try world.signIn(["resource": "https://other.example/"]).text("access_token")
        #expect(try world.get("/api/hello", headers: [("Authorization", "Bearer \(token)")]).status == 401)
    }

    @Test("the admin resource demands a fresh, stronger sign-in, which acr_values gives")
    func stepUp() throws {
        var world = try DemoWorld { $0.accessTokenLifetime = 3_600 }
        func admin(_ token: String) throws -> HTTPResponse {
            try world.get("/api/admin", headers: [("Authorization", "Bearer \(token)")])
        }
        let weak = try admin(try world.signIn(["scope": "openid api:admin"]).text("access_token"))
        #expect(weak.status == 401)
        let challenge = try #require(weak.challenges.first)
        #expect(challenge.error == "insufficient_user_authentication")
        let acr = try #require(challenge.acrValues)
        #expect(challenge.maxAge == 300)
        let strong = try world.signIn(["scope": "openid api:admin", "acr_values": acr, "max_age": "300"])
        let token = try strong.text("access_token")
        #expect(try admin(token).status == 200)
        world.now = world.now.adding(301)
        #expect(try admin(token).status == 401)
    }
}
