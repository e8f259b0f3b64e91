import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sign-ins at the same time", .serialized, .waitingLong,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct SignInCrowdTests {
    /// A browser that records each call and then plays the user.
    private func withBrowser(
        _ play: String = "exec curl -sL -o /dev/null \"$1\"",
        _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws -> SessionWorld {
        var world = try SessionWorld {
            $0.user = .approves("alice")
            change(&$0)
        }
        let calls = world.program.home.path + "/calls"
        try world.install("browser", "#!/bin/sh\necho call >> \(calls)\nsleep 0.3\n\(play)\n")
        world.program.environment["BROWSER"] = world.program.home.appendingPathComponent("bin/browser").path
        return world
    }

    private func calls(_ world: SessionWorld) -> Int {
        let text = try? String(
            contentsOf: world.program.home.appendingPathComponent("calls"), encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }

    @Test("eight token --login on a cold start open one browser, and all have a token")
    func coldStart() throws {
        let world = try withBrowser()
        defer { world.remove() }
        let outcomes = try world.crowd(8, ["token", "--login", "--set", "timeout=30"])
        #expect(
            outcomes.allSatisfy { $0.status == 0 }, "\(outcomes.first { $0.status != 0 }?.errorOutput ?? "")")
        #expect(Set(outcomes.map(\.output)).count == 1)
        #expect(calls(world) == 1)
        #expect(world.provider.requestCount(grant: "authorization_code") == 1)
    }

    @Test("--login --refresh does not refresh the token of a new sign-in")
    func loginAndRefresh() throws {
        let world = try withBrowser()
        defer { world.remove() }
        let outcome = try world.program.run("token", "--login", "--refresh", "--scope", "openid")
        #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome)")
        #expect(calls(world) == 1 && world.refreshes == 0)
    }

    @Test("--login for more scope keeps what the session has")
    func loginForMore() throws {
        let world = try withBrowser()
        defer { world.remove() }
        let wide = ["--set", "scope=openid offline_access"]
        #expect(try world.program.start(["token", "--login"] + wide).finish().status == 0)
        #expect(try world.program.run("token", "--login", "--scope", "email").status == 0)
        #expect(calls(world) == 2)
        let status = try JSONValue(parsing: try world.program.run("status", "-o", "json").output)
        #expect(status["can_refresh"] == true, "\(status.compact)")
    }

    @Test("if the user denies the request, the processes that waited do not ask again")
    func denied() throws {
        let world = try withBrowser("exec curl -sL -o /dev/null \"$1\"") { $0.user = .denies }
        defer { world.remove() }
        let outcomes = try world.crowd(10, ["token", "--login", "--set", "timeout=30"])
        #expect(outcomes.allSatisfy { [3, 4].contains($0.status) && $0.output.isEmpty })
        #expect(outcomes.contains { $0.status == 4 })
        #expect(calls(world) <= 2)
    }

    @Test("if the process that signs in is killed, one that waits takes over")
    func killed() throws {
        let world = try withBrowser("exit 0")
        defer { world.remove() }
        let words = ["token", "--login", "--set", "timeout=60"]
        let first = try world.program.start(words)
        let limit = Date().addingTimeInterval(60)
        while calls(world) == 0, Date() < limit { usleep(20_000) }
        let second = try world.program.start(words)
        _ = second.errorOutput { $0.contains("waiting for the sign-in") ? $0 : nil }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -o /dev/null \"$1\"\n")
        first.signal(SIGKILL)
        _ = first.finish()
        let outcome = second.finish()
        #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome)")
    }

    @Test("without a callback, all end with 6 within the time-out of one sign-in")
    func nobodyComes() throws {
        let world = try withBrowser("exit 0")
        defer { world.remove() }
        let start = Date()
        let outcomes = try world.crowd(20, ["token", "--login", "--set", "timeout=2"])
        // One after another, twenty sign-ins would take forty seconds.
        #expect(Date().timeIntervalSince(start) < 30)
        #expect(outcomes.allSatisfy { [3, 6].contains($0.status) }, "\(outcomes.map(\.errorOutput))")
        #expect(outcomes.contains { $0.status == 6 })
    }

    @Test("two logins at once both finish, and the file is that of the later one")
    func twoLogins() throws {
        let world = try SessionWorld()
        defer { world.remove() }
        let first = try world.program.start(["login", "--flow", "browser", "--no-browser"])
        let second = try world.program.start(["login", "--flow", "browser", "--no-browser"])
        for run in [second, first] {
            let url = try #require(run.address.flatMap(WebURL.init))
            let request = try #require(world.provider.redirect(of: url))
            try world.shell("curl -s -o /dev/null \"$1\"", [request.url.text])
            let outcome = run.finish()
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        }
        #expect(world.program.sessionFiles.count == 1)
        #expect(try world.program.run("token", "--refresh").status == 0)
    }

    @Test("a login that ends during a refresh is not overwritten")
    func loginDuringRefresh() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let login = try world.program.start(["login", "--flow", "browser", "--no-browser"])
        let url = try #require(login.address.flatMap(WebURL.init))
        let request = try #require(world.provider.redirect(of: url))
        let refresh = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: { refresh in
            refresh.signal(SIGSTOP)
            world.provider.delayTokens(milliseconds: 0)
            try world.shell(
                "curl -s -m 20 -o /dev/null \"$1\" >/dev/null 2>&1 </dev/null &", [request.url.text])
            usleep(600_000)
            refresh.signal(SIGCONT)
        }
        let refreshed = refresh.finish()
        #expect(refreshed.status == 0)
        #expect(login.finish().status == 0)
        let kept = try world.program.run("token").token
        #expect(!kept.isEmpty && kept != refreshed.token)
    }

    @Test("the session's lock is free while login waits for the user")
    func lockIsFree() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let login = try world.program.start(["login", "--flow", "browser", "--no-browser"])
        _ = try #require(login.address)
        #expect(try world.program.start(["token", "--refresh"]).finish(within: 30).status == 0)
        login.signal(SIGTERM)
        #expect(login.finish().status == 143)
        #expect(try world.program.run("token").status == 0)
    }
}
