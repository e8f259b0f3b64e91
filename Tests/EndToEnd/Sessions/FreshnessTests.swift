import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("when a token is fresh", .serialized, .waiting)
struct FreshnessTests {
    @Test("a fresh token costs no request and no lock")
    func fresh() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        for file in world.program.files(in: ".local/state/oidc") where file.pathExtension == "lock" {
            try FileManager.default.removeItem(at: file)
        }
        let first = try world.program.run("token")
        #expect(first.status == 0)
        #expect(try world.program.run("token").output == first.output)
        #expect(world.provider.with { $0.log.isEmpty })
        #expect(world.program.files(in: ".local/state/oidc").count == 1)
    }

    @Test(
        "--min-valid requires that much time left, and half the lifetime is always enough",
        arguments: [(200, 100, 0), (100, 120, 1), (100, 90, 0), (140, 3_600, 1), (200, 3_600, 0)])
    func minimumValidity(left: Int, wanted: Int, refreshes: Int) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let now = Int(Date().timeIntervalSince1970)
        try world.edit { object in
            var access = object["access"] as? [String: Any] ?? [:]
            access["obtained_at"] = now - 300 + left
            access["expires_at"] = now + left
            object["access"] = access
        }
        #expect(try world.program.run("token", "--min-valid", "\(wanted)").status == 0)
        #expect(world.refreshes == refreshes)
    }

    @Test("--refresh gets another token though the stored one is fresh")
    func forced() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let before = try world.program.run("token").token
        let after = try world.program.run("token", "--refresh").token
        #expect(after != before)
        #expect(try world.program.run("token").token == after)
        #expect(world.refreshes == 1)
    }

    @Test("--type id: judged by its own exp, refreshed when stale, and 3 when a refresh brings no new one")
    func idToken() throws {
        let world = try SessionWorld.signedIn { $0.idTokenLifetime = 0 }
        defer { world.remove() }
        let stale = try #require(try world.stored()["id_token"] as? String)
        world.provider.with { $0.configuration.idTokenLifetime = 300 }
        let first = try world.program.run("token", "--type", "id")
        #expect(first.status == 0, "\(first.errorOutput)")
        #expect(first.token.split(separator: ".").count == 3 && first.token != stale)
        #expect(try world.program.run("token", "--type", "id").token == first.token)
        #expect(world.refreshes == 1)
        world.provider.with { $0.configuration.idTokenLifetime = 0 }
        #expect(try world.program.run("token", "--refresh").status == 0)
        world.provider.with { $0.configuration.refreshReturnsIDToken = false }
        let third = try world.program.run("token", "--type", "id")
        #expect(third.status == 3)
        #expect(third.output == "")
        #expect(third.errorOutput.contains("try: oidc login"))
    }

    @Test("an ID token of another user in a refresh is 7, and only the new refresh token is stored")
    func otherUser() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        var before = try world.stored()
        world.provider.with { $0.faults = [.refreshedIDToken(.subjectInvalid)] }
        let outcome = try world.program.run("token", "--refresh")
        #expect([4, 7].contains(outcome.status))
        #expect(outcome.error?.contains("sub") == true, "\(outcome.errorOutput)")
        var after = try world.stored()
        #expect(after["refresh_token"] as? String != before["refresh_token"] as? String)
        for name in ["refresh_token", "replaced_token"] { (before[name], after[name]) = (nil, nil) }
        #expect(after as NSDictionary == before as NSDictionary)
    }

    @Test("keys that cannot be fetched when an ID token is requested are 5; later the same session gives one")
    func keysOutOfReach() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try FileManager.default.removeItem(at: world.program.home.appendingPathComponent(".cache/oidc"))
        world.provider.intercept { $0.url.path == "/jwks" ? HTTPResponse(status: 503) : nil }
        let outcome = try world.program.run("token", "--type", "id", "--refresh")
        #expect(outcome.status == 5 && outcome.output == "", "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("oidc login"))
        world.provider.intercept(nil)
        #expect(try world.program.run("token", "--type", "id", "--refresh").status == 0)
    }

    @Test("a token without expires_in is fresh until it is refused, and userinfo refreshes once on 401")
    func noLifetime() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        world.provider.with { $0.faults = [.tokenResponse(.expiresInMissing)] }
        #expect(try world.program.signIn(at: world.provider).status == 0)
        world.provider.with { $0.resetCounts() }
        let json = try world.program.run("token", "-o", "json", "--min-valid", "86400")
        #expect(json.output.contains(#""expires_at":null"#))
        #expect(world.refreshes == 0)
        let refusals = Counter()
        world.provider.intercept { request in
            guard request.url.path == "/userinfo" else { return nil }
            refusals.add()
            guard refusals.count == 1 else { return nil }
            let challenge = [("WWW-Authenticate", #"Bearer error="invalid_token""#)]
            return .json("{}", status: 401, challenge)
        }
        let outcome = try world.program.run("userinfo", "--claim", "sub")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(world.refreshes == 1)
        #expect(refusals.count == 2)
    }

    @Test("after the clock was set back, a token from the future is refreshed, and status explains it")
    func clockSetBack() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let future = Int(Date().timeIntervalSince1970) + 7_200
        try world.edit { object in
            var access = object["access"] as? [String: Any] ?? [:]
            access["obtained_at"] = future
            access["expires_at"] = future + 300
            object["access"] = access
        }
        let status = try world.program.run("status")
        #expect(status.status == 0)
        #expect(status.output.contains("clock was set back"))
        #expect(try world.program.run("token").status == 0)
        #expect(world.refreshes == 1)
        #expect(try world.program.run("status").output.contains("expires in"))
    }

    @Test("an expired session without a refresh token is 3 for token and status")
    func noRefreshToken() throws {
        let world = try SessionWorld.signedIn(["--scope", "openid"])
        defer { world.remove() }
        #expect(try world.program.run("status").status == 0)
        try world.age()
        let token = try world.program.run("token")
        #expect(token.status == 3)
        #expect(token.errorOutput.contains("no refresh token"))
        #expect(try world.program.run("status").status == 3)
        let json = try world.program.run("status", "-o", "json")
        #expect(json.status == 3 && !json.output.isEmpty)
        let error = try JSONValue(parsing: json.errorOutput)["error"]
        #expect(error?["kind"] == "login_required" && error?["hint"] == "oidc login", "\(json.errorOutput)")
    }

    @Test("one session among two hundred: token finds it, and status --all lists them all")
    func manySessions() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let text = try String(contentsOf: world.file, encoding: .utf8)
        for index in 0..<200 {
            let copy = text.replacingOccurrences(
                of: #"\"client_id\":\"demo\""#, with: #"\"client_id\":\"c\#(index)\""#)
            let file = world.directory.appendingPathComponent("c\(index)-0000000000000000.json")
            try Data(copy.utf8).write(to: file)
        }
        try world.shell(#"find "$1" -name 'c*.json' -exec chmod 600 {} +"#, [world.directory.path])
        #expect(try world.program.run("token").status == 0)
        let outcome = try world.program.run("status", "--all", "-o", "json")
        #expect(outcome.status == 0, "\(outcome.errorOutput.prefix(300))")
        let list = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[String: Any]])
        #expect(list.count == 201)
        #expect(Set(list.compactMap { $0["client_id"] as? String }).count == 201)
    }

    @Test("signing out while the provider is down drops the session: 5, and says which tokens stay valid")
    func logoutWhileDown() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        world.provider.intercept { _ in HTTPResponse(status: 503) }
        let outcome = try world.program.run("logout")
        #expect(outcome.status == 5, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains("forgotten"))
        #expect(world.program.sessionFiles.isEmpty)
        #expect(try world.program.run("logout").status == 0)
    }

    @Test(
        "a session without openid has no ID token, and no refresh token is spent to find out",
        arguments: [
            ["token", "--type", "id"], ["credential", "kubectl"], ["exec", "--id-token", "--", "true"],
        ])
    func withoutOpenID(command: [String]) throws {
        let world = try SessionWorld.signedIn(["--scope", "email offline_access"])
        defer { world.remove() }
        let outcome = try world.program.start(command).finish()
        #expect(outcome.status == 3 && outcome.output == "")
        #expect(outcome.error == "the session has no ID token", "\(outcome.errorOutput)")
        #expect(world.provider.with { $0.log.isEmpty })
        #expect(try world.program.run("token").status == 0)
    }

    @Test(
        "a new ID token is handed out however short it lives; an old one is not, and the error says how it is"
    )
    func shortIDToken() throws {
        // By the clock of the program, 20 of its 60 seconds are left when it arrives.
        let world = try SessionWorld.signedIn {
            $0.idTokenLifetime = 60
            $0.clockOffset = -40
        }
        defer { world.remove() }
        let first = try world.program.run("token", "--type", "id")
        #expect(first.status == 0 && world.refreshes == 1, "\(first.errorOutput)")
        let second = try world.program.run("credential", "kubectl")
        #expect(second.status == 0 && world.refreshes == 2, "\(second.errorOutput)")
        #expect(!second.output.contains(first.token))
        world.provider.with {
            $0.configuration.clockOffset = 0
            $0.configuration.idTokenLifetime = 300_000
        }
        #expect(try world.program.run("token", "--type", "id").status == 0)
        world.provider.with { $0.configuration.refreshReturnsIDToken = false }
        let kept = try world.program.run("token", "--type", "id", "--refresh")
        #expect(kept.status == 3 && kept.output == "")
        #expect(kept.error == "the ID token expires in 3 days, and a refresh brings no new one")
    }
}
