import CommandLineKit
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import oidc

@Suite("typed mistakes, by the built program", .serialized, .waitingLong)
struct MistakeTests {
    /// A home with the files that a command line names.
    private func home(for line: String) throws -> TestSupport.Program {
        let program = try TestSupport.Program([
            "PATH":
                "\(URL(fileURLWithPath: TestSupport.Program.path).deletingLastPathComponent().path):/usr/bin:/bin"
        ])
        let directory = program.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let profiles =
            #"{"home":{"issuer":"https://127.0.0.1:9","client_id":"x"},"work":{"issuer":"https://127.0.0.1:9","client_id":"y"}}"#
        try Data(#"{"default_profile":"home","profiles":\#(profiles)}"#.utf8).write(
            to: directory.appendingPathComponent("config.json"))
        for file in Mistake.files where line.contains(file.name) {
            let url = program.home.appendingPathComponent(file.name)
            try Data(file.text.utf8).write(to: url)
            try FileManager.default.setAttributes([.posixPermissions: file.mode], ofItemAtPath: url.path)
        }
        return program
    }

    private func shell(_ line: String, _ program: TestSupport.Program) throws -> TestSupport.Program.Outcome {
        try program.start(["-c", line], executable: "/bin/sh").finish()
    }

    @Test(
        "each names its cause and its place, and what to do next",
        arguments: Mistake.all)
    func answered(mistake: Mistake) throws {
        let program = try home(for: mistake.line)
        defer { program.remove() }
        let outcome = try shell("oidc \(mistake.line)", program)
        #expect(outcome.status == mistake.status)
        #expect(outcome.output == "")
        let lines = outcome.errorOutput.split(separator: "\n").map(String.init)
        try #require(lines.count >= 2, "\(outcome)")
        #expect(lines[lines.count - 2].hasPrefix("error: "))
        #expect(lines[lines.count - 2].contains(mistake.error), "\(outcome.errorOutput)")
        #expect(lines[lines.count - 1].hasPrefix("  try: \(mistake.hint)"), "\(outcome.errorOutput)")
        try paste(String(lines[lines.count - 1].dropFirst(7)), program)
    }

    /// The hints that show help and have run: their outcome does not depend on the home.
    private static let shown = Mutex<Set<String>>([])

    /// Runs a hint that is a command. One that needs the network or a user, or holds a placeholder, must at least be
    /// read.
    private func paste(_ hint: String, _ program: TestSupport.Program) throws {
        let offline = [
            "oidc help", "oidc --", "oidc config list", "oidc config show", "oidc config use",
            "oidc config set", "oidc credential git --setup", "oidc switch work", "chmod ",
        ]
        #expect(!hint.hasPrefix("-"), "an option alone is no command: \(hint)")
        if offline.prefix(2).contains(where: { hint.hasPrefix($0) }),
            !Self.shown.withLock({ $0.insert(hint).inserted })
        {
            return
        }
        if !hint.contains("VALUE"), offline.contains(where: { hint.hasPrefix($0) }) {
            let outcome = try shell(hint, program)
            #expect(outcome.status == 0, "\(hint): \(outcome)")
        } else if hint.hasPrefix("oidc ") {
            let words = try shell(
                "set -- \(hint.replacingOccurrences(of: "< FILE", with: "")); printf '%s\\n' \"$@\"", program)
            let arguments = words.output.split(separator: "\n").dropFirst().map(String.init)
            #expect(throws: Never.self, "\(hint)") { try CommandLineKit.Program.oidc.parse(arguments) }
        }
    }

    @Test("there are more than two hundred of them, each once")
    func count() {
        let lines = Mistake.all.map(\.line)
        #expect(lines.count > 200)
        #expect(Set(lines).count == lines.count)
    }
}
