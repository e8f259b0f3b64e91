import DemoProvider
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

    @Test(
        "oidc alone fits on a screen of 24 rows of 80 columns, with the next prompt; oidc --help on 43 rows",
        arguments: [([], 24), (["--help"], 43)])
    func help(arguments: [String], rows: Int) throws {
        let program = try Program()
        defer { program.remove() }
        let lines = try program.start(arguments).finish().output.split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= rows)
        #expect(lines.allSatisfy { $0.count <= 80 })
        for name in ["login", "token", "exec", "doctor", "exchange", "config", "help"] {
            #expect(lines.contains { $0.contains(name) }, "\(name)")
        }
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
        let lines = outcome.output.split(separator: "\n").map(String.init)
        let steps = lines.filter { $0.first?.isNumber == true }.map { $0.prefix { $0 != " " } }
        #expect(steps == (1...9).map { "\($0)." })
        let rows = lines.reduce(0) { $0 + ($1.count + 79) / 80 }
        #expect(rows <= 45, "\(outcome.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.home.path).isEmpty)
    }

    @Test(
        "the lines that the tour ends with work as they stand, but for a port of the test's own",
        .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
    func next() throws {
        var program = try Program(["BROWSER": "curl -sL -o /dev/null %s", "DISPLAY": ":9"])
        defer { program.remove() }
        // The terminals' shell does not find the program by name, so the lines have its path.
        program.environment["PATH"] = "/usr/bin:/bin"
        let output = try program.run("demo", "--no-browser").output
        let lines = output.split(separator: "\n").drop { !$0.hasPrefix("9. ") }
            .filter { $0.hasPrefix("     ") }
        #expect(lines.map { $0.split(separator: " ")[1] } == ["demo", "login", "request"])
        #expect(lines.allSatisfy { $0.hasPrefix("     \(Program.path) ") })
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        for line in lines.dropFirst() {
            let words = line.replacingOccurrences(of: "http://127.0.0.1:9480", with: provider.origin)
            let run = try program.start(["-c", words], executable: "/bin/sh").finish()
            #expect(run.status == 0, "\(line)\n\(run.errorOutput)")
        }
        let help = try program.run("demo", "--help").output
        #expect(lines.first?.hasSuffix("demo --serve") == true && help.contains("--serve"))
    }
}
