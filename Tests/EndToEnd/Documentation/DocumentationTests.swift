import Foundation
import TestSupport
import Testing

@Suite("the documentation matches the program")
struct DocumentationTests {
    @Test(
        "the pages Commands and Settings are what the program prints; Tests/update-reference writes them",
        .enabled(if: Installed.programs("python3"), "needs python3 to render the pages"))
    func tables() throws {
        let program = try Program()
        defer { program.remove() }
        let script = ReadmeBlock.root.appendingPathComponent("Tests/update-reference").path
        let outcome = try program.start(
            [script, "--check", Program.path], executable: "/usr/bin/env"
        ).finish()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    @Test("config.example.json is a valid configuration")
    func example() throws {
        let program = try Program()
        defer { program.remove() }
        let copy = program.home.appendingPathComponent("config.json")
        try FileManager.default.copyItem(
            at: ReadmeBlock.root.appendingPathComponent("config.example.json"), to: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy.path)
        let outcome = try program.run("config", "check", "--config", copy.path)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    @Test("oidc --help fits on a screen of 43 lines of 80 columns")
    func help() throws {
        let program = try Program()
        defer { program.remove() }
        let lines = try program.run("--help").output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 43)
        #expect(lines.allSatisfy { $0.count <= 80 })
    }
}

@Suite("demo, by the built program")
struct DemoTests {
    @Test("the tour ends well with nothing around it, and leaves nothing behind")
    func tour() throws {
        var program = try Program()
        defer { program.remove() }
        program.environment = ["HOME": program.home.path]
        let outcome = try program.run("demo")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(outcome.output.contains("the session is over"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.home.path).isEmpty)
    }
}
