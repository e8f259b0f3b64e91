import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// `OIDC_KILL_ROUNDS` makes it longer; each round kills one process at a random moment.
@Suite("kill -9 at random moments", .serialized, .waitingLong)
struct CrashTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["OIDC_KILL_ROUNDS"].flatMap { Int($0) } ?? 18

    /// Checks that the session is complete, with both of its tokens, or absent.
    private func checkWhole(_ world: SessionWorld, mayBeMissing: Bool = false) throws {
        let files = world.program.sessionFiles
        #expect(files.count <= 1)
        guard let file = files.first else {
            #expect(mayBeMissing)
            return
        }
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        #expect(object["refresh_token"] as? String != nil)
        #expect((object["access"] as? [String: Any])?["token"] as? String != nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// Beside sessions and locks, a killed writer leaves one temporary and one reservation at most, which the next
    /// writer takes.
    private func leftovers(_ world: SessionWorld) -> [String] {
        world.program.files(in: ".local/state/oidc").map(\.lastPathComponent)
            .filter { !$0.hasSuffix(".json") && !$0.hasSuffix(".lock") }
    }

    /// Returns how long a run takes on this machine, in microseconds.
    private func measure(_ body: () throws -> Void) rethrows -> UInt32 {
        let start = Date()
        try body()
        return UInt32(Date().timeIntervalSince(start) * 1_000_000)
    }

    @Test("during a refresh: the old session or the new one, and the next run succeeds")
    func refresh() throws {
        let world = try SessionWorld.signedIn { $0.refreshReuseGrace = 3_600 }
        defer { world.remove() }
        let duration = try measure {
            let outcome = try world.program.run("token", "--refresh")
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        }
        for round in 0..<(CrashTests.rounds * 2 / 3) {
            let run = try world.program.start(["token", "--refresh"])
            usleep(.random(in: 0...duration))
            run.signal(SIGKILL)
            _ = run.finish()
            try checkWhole(world)
            #expect(leftovers(world).count <= 2)
            guard round % 10 == 0 else { continue }
            let next = try world.program.run("token", "--refresh")
            #expect(next.status == 0, "\(next.errorOutput)")
            #expect(leftovers(world).isEmpty)
        }
        let last = try world.program.run("token", "--refresh")
        #expect(last.status == 0, "\(last.errorOutput)")
        #expect(leftovers(world).isEmpty)
    }

    @Test(
        "during a login: the session before it, a new one or none, and the next login succeeds",
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
    func login() throws {
        let world = try SessionWorld { $0.user = .approves("alice") }
        defer { world.remove() }
        try world.install("browser", "#!/bin/sh\nexec curl -sL -m 5 -o /dev/null \"$1\"\n")
        let browser = ["BROWSER": world.program.home.appendingPathComponent("bin/browser").path]
        let duration = try measure {
            let outcome = try world.program.run("login", "--timeout", "20", variables: browser)
            #expect(outcome.status == 0, "\(outcome.errorOutput)")
        }
        for round in 0..<(CrashTests.rounds / 3) {
            if round % 3 == 0 { #expect(try world.program.run("logout", "--local").status == 0) }
            let run = try world.program.start(["login", "--timeout", "20"], browser)
            usleep(.random(in: 0...duration))
            run.signal(SIGKILL)
            _ = run.finish()
            try checkWhole(world, mayBeMissing: true)
            #expect(leftovers(world).count <= 2)
        }
        let last = try world.program.run("login", "--timeout", "20", variables: browser)
        #expect(last.status == 0, "\(last.errorOutput)")
        #expect(leftovers(world).isEmpty)
        #expect(try world.program.run("token", "--refresh").status == 0)
    }
}
