import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("a signal while a command waits, by the built program", .serialized, .waiting)
struct InterruptedCommandTests {
    private static let signals = [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)]

    /// `ORIGIN` stands for a provider that does not answer.
    private func outcome(_ line: String, _ number: Int32) throws -> Program.Outcome {
        let arrived = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            arrived.signal()
            peer.waitForEnd()
        }
        let program = try Program(["OIDC_CLIENT_ID": line.hasPrefix("register") ? "" : "demo"])
        defer { withExtendedLifetime(server) { program.remove() } }
        let words = line.replacingOccurrences(of: "ORIGIN", with: server.origin)
        let run = try program.start(words.split(separator: " ").map(String.init))
        try #require(arrived.wait(timeout: .now() + 60) == .success)
        run.signal(number)
        return run.finish()
    }

    @Test("doctor ends with the signal's code, and does not take it for a problem", arguments: signals)
    func doctor(number: Int32, status: Int32) throws {
        let text = try outcome("doctor --issuer ORIGIN", number)
        #expect(text.status == status && text.output == "", "\(text)")
        #expect(text.error?.hasPrefix("interrupted by SIG") == true, "\(text.errorOutput)")
        let json = try outcome("doctor --issuer ORIGIN -o json", number)
        #expect(json.status == status && json.output == "", "\(json)")
        let error = try JSONValue(parsing: json.errorOutput)["error"]
        #expect(error?["kind"] == "interrupted" && error?["exit"] == JSONValue(Int64(status)), "\(json)")
    }

    @Test(
        "every command that asks a provider ends with the signal's code, and writes nothing",
        arguments: [
            "discover --issuer ORIGIN", "config init --issuer ORIGIN --client-id x",
            "register --issuer ORIGIN", "login --issuer ORIGIN --no-browser",
            "login --issuer ORIGIN --flow device", "token --issuer ORIGIN --grant client_credentials",
            "login ORIGIN/mcp", "token --login ORIGIN/mcp", "request --login ORIGIN/mcp",
            "proxy --login ORIGIN/mcp", "authorize-url --issuer ORIGIN",
        ])
    func commands(line: String) throws {
        let outcome = try outcome(line, SIGINT)
        #expect(outcome.status == 130 && outcome.output == "", "\(outcome)")
        #expect(outcome.error?.contains("interrupted") == true, "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("Next:"), "\(outcome.errorOutput)")
    }

    @Test(
        "status and logout that wait for a credential helper end with the signal's code, and nothing is lost",
        arguments: ["status", "status --all", "config list", "logout", "logout --all", "token"])
    func helper(line: String) throws {
        var world = try SessionWorld(["OIDC_STORE": "helper:fake"])
        defer { world.remove() }
        let bin = world.program.home.appendingPathComponent("bin").path
        world.program.environment["PATH"] = "\(bin):/usr/local/bin:/usr/bin:/bin"
        try world.install(
            "docker-credential-fake",
            """
            #!/bin/sh
            case "$1" in
            store) cat > "$HOME/entry" ;;
            get) if [ -e "$HOME/stopped" ]; then echo x > "$HOME/asked"; exec sleep 300; fi
                cat >/dev/null; exec cat "$HOME/entry" ;;
            esac
            """)
        #expect(try world.program.signIn(at: world.provider).status == 0)
        let home = world.program.home
        if line == "config list" {
            let folder = home.appendingPathComponent(".config/oidc")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let profile = #"{"issuer":"\#(world.provider.origin)","client_id":"demo","store":"helper:fake"}"#
            try Data(profile.utf8).write(to: folder.appendingPathComponent("config.json"))
        }
        let before = world.program.files(in: ".local/state/oidc").map(\.path)
        try Data().write(to: home.appendingPathComponent("stopped"))
        let run = try world.program.start(line.split(separator: " ").map(String.init))
        let asked = home.appendingPathComponent("asked").path
        let end = Date(timeIntervalSinceNow: 60)
        while !FileManager.default.fileExists(atPath: asked), Date() < end { usleep(20_000) }
        run.signal(SIGINT)
        let outcome = run.finish()
        #expect(outcome.status == 130, "\(outcome)")
        #expect(Set(before).isSubset(of: world.program.files(in: ".local/state/oidc").map(\.path)))
        #expect(world.provider.requestCount(.revocation) == 0)
    }
}
