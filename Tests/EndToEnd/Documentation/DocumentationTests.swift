import Foundation
import TestSupport
import Testing

@Suite("the documentation matches the program")
struct DocumentationTests {
    private static func part(_ name: String) throws -> String {
        let text = try ReadmeBlock.page(name.capitalized)
        let start = try #require(text.range(of: "<!-- \(name):begin -->\n"))
        let end = try #require(text.range(of: "<!-- \(name):end -->"))
        return String(text[start.upperBound..<end.lowerBound])
    }

    @Test(
        "the pages Commands and Settings are what the program prints; Tests/update-reference writes them",
        arguments: [("commands", "--reference"), ("settings", "--settings")])
    func tables(name: String, option: String) throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("man", option)
        #expect(outcome.status == 0)
        #expect(try Self.part(name) == outcome.output)
        #expect(!outcome.output.contains("; repeatable (repeatable"))
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

    @Test("oidc --help fits on a screen of 40 lines of 80 columns")
    func help() throws {
        let program = try Program()
        defer { program.remove() }
        let lines = try program.run("--help").output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 41)
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
