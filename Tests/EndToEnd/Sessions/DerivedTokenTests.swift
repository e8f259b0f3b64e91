import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("several tokens of one session", .serialized, .waiting)
struct DerivedTokenTests {
    private static let scope = "openid offline_access api:read api:write"

    private func world(_ change: (inout DemoConfiguration) -> Void = { _ in }) throws -> SessionWorld {
        try SessionWorld.signedIn(["--scope", DerivedTokenTests.scope], [:], change)
    }

    @Test("a narrower scope gets a token of its own, stored beside the session's token")
    func narrower() throws {
        let world = try world()
        defer { world.remove() }
        let own = try world.program.run("token").token
        let narrow = try world.program.run("token", "--scope", "api:read", "-o", "json")
        #expect(narrow.status == 0, "\(narrow.errorOutput)")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(narrow.output.utf8)) as? [String: Any])
        #expect(object["scope"] as? String == "api:read")
        #expect(world.refreshes == 1)
        #expect(
            try world.program.run("token", "--scope", "api:read").token == object["access_token"] as? String)
        #expect(try world.program.run("token").token == own)
        #expect(try world.program.run("token", "--scope", DerivedTokenTests.scope).token == own)
        #expect(world.refreshes == 1)
    }

    @Test("a refreshed session still has the scope it was granted, even after a narrower refresh")
    func notNarrowedByAccident() throws {
        let world = try world()
        defer { world.remove() }
        #expect(try world.program.run("token", "--scope", "api:read").status == 0)
        try world.age()
        let own = try world.program.run("token", "-o", "json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(own.output.utf8)) as? [String: Any])
        #expect(Scope(object["scope"] as? String ?? "") == Scope(DerivedTokenTests.scope))
        #expect(try world.program.run("token", "--scope", "api:read").status == 0)
        #expect(world.refreshes == 3)
    }

    @Test("a resource gets a token for it")
    func resource() throws {
        let world = try world { $0.issuesJWTAccessTokens = true }
        defer { world.remove() }
        let own = try world.program.run("token").token
        let other = try world.program.run("token", "--resource", "https://api.example/")
        #expect(other.status == 0, "\(other.errorOutput)")
        #expect(other.token != own)
        #expect(try world.program.run("token", "--resource", "https://api.example/").token == other.token)
        #expect(try world.program.run("token").token == own)
        #expect(world.refreshes == 1)
    }

    @Test("a wider scope is 3, with a login line that gives it and loses nothing; nothing is sent")
    func wider() throws {
        let world = try world()
        defer { world.remove() }
        let outcome = try world.program.run(
            "token", "--scope", "api:admin", "--issuer", world.provider.origin, "--client-id", "demo")
        #expect(outcome.status == 3)
        #expect(outcome.output == "")
        #expect(outcome.error?.contains("api:admin") == true)
        let line =
            "try: oidc login --issuer \(world.provider.origin) --client-id demo"
            + " --scope '\(DerivedTokenTests.scope) api:admin'"
        #expect(outcome.errorOutput.contains(line), "\(outcome.errorOutput)")
        #expect(world.refreshes == 0)
        #expect(try world.program.run("token", "--refresh", "--scope", "api:admin").status == 3)
        #expect(world.refreshes == 0)
    }

    @Test("a token with another scope than requested is printed with a warning, and not stored")
    func otherScope() throws {
        let world = try world()
        defer { world.remove() }
        world.provider.with { $0.faults = [.refreshResponse(.scopeNarrower)] }
        let outcome = try world.program.run("token", "--scope", "api:read")
        #expect(outcome.status == 0)
        #expect(outcome.errorOutput.contains("api:read"))
        world.provider.with { $0.faults = [] }
        let again = try world.program.run("token", "--scope", "api:read")
        #expect(again.status == 0, "\(again.errorOutput)")
        #expect(again.token != outcome.token)
        #expect(world.refreshes == 2)
    }

    @Test("a token for another audience than requested is refused, and the rotated refresh token is stored")
    func otherAudience() throws {
        let world = try world { $0.issuesJWTAccessTokens = true }
        defer { world.remove() }
        let own = try world.program.run("token").token
        let foreign = try world.program.run("token", "--resource", "https://other.example/").token
        let refresh = try #require(world.stored()["refresh_token"] as? String)
        world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            return .json(
                #"{"access_token":"\#(foreign)","token_type":"Bearer","expires_in":300,"refresh_token":"kept"}"#
            )
        }
        let outcome = try world.program.run("token", "--resource", "https://api.example/")
        #expect(outcome.status == 4)
        #expect(outcome.output == "")
        #expect(outcome.error?.contains("aud") == true)
        #expect(try world.stored()["refresh_token"] as? String == "kept")
        #expect(refresh != "kept")
        #expect(try world.program.run("token").token == own)
    }

    @Test("a refresh whose answer is narrower than the session is recorded, and then wider is 3")
    func narrowedByProvider() throws {
        let world = try world()
        defer { world.remove() }
        world.provider.with { $0.faults = [.refreshResponse(.scopeNarrower)] }
        #expect(try world.program.run("token", "--refresh").status == 0)
        #expect(try world.program.run("token", "--scope", "api:read").status == 3)
    }

    @Test("without a new refresh token in the answer the old one is kept")
    func keptRefreshToken() throws {
        let world = try world { $0.rotatesRefreshTokens = false }
        defer { world.remove() }
        let before = try world.stored()["refresh_token"] as? String
        world.provider.with { $0.faults = [.refreshResponse(.refreshTokenMissing)] }
        #expect(try world.program.run("token", "--refresh").status == 0)
        #expect(try world.stored()["refresh_token"] as? String == before)
        #expect(try world.program.run("token", "--refresh").status == 0)
    }
}
