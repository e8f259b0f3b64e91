import CommandLineKit
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("the table of commands")
struct ProgramTableTests {
    private let program = CommandLineKit.Program.oidc

    @Test("the table has no mistakes")
    func table() {
        #expect(CommandLineKit.Program.oidc.tableFaults == [])
    }

    @Test("every option that a message or hint names is an option of a command")
    func namedOptions() throws {
        var known = Set(program.descriptions.flatMap(\.options).map(\.name))
        known.formUnion(
            program.otherNames().keys.compactMap { $0.split(separator: " ").last.map(String.init) })
        known.formUnion(["--complete"])
        // Options of other programs: docker, git, kubectl, pip.
        known.formUnion([
            "--global", "--replace-all", "--add", "--user", "--from-file", "--keyring-provider",
        ])
        // Options of bubblewrap, env and wslinfo.
        known.formUnion([
            "--tmpfs", "--ro-bind", "--dev-bind", "--proc", "--unshare-pid", "--die-with-parent",
            "--cap-drop", "--bind", "--dev", "--remount-ro", "--ro-bind-try",
            "--default-signal", "--networking-mode", "--new-session", "--unshare-user", "--disable-userns",
        ])
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/oidc")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /(?:^|[^-\w])(--[a-z][a-z-]+)/) {
                count += 1
                #expect(
                    known.contains(String(match.output.1)), "\(match.output.1) in \(file.lastPathComponent)")
            }
        }
        #expect(count > 100)
    }

    @Test("the help of a command names each of its options, or says where those of every command are")
    func optionsInHelp() throws {
        let topic = program.optionsHelp()
        for command in program.descriptions where !command.options.isEmpty {
            let text = try #require(program.help(Array(command.path.dropFirst())))
            #expect(text.contains("options of every command: oidc help options\n"), "\(command.path)")
            for option in command.options {
                let isCommon = program.commonOptions.contains { $0.name == option.name }
                #expect(isCommon || text.contains(option.name), "\(command.path): \(option.name)")
                let isExplained = text.contains(option.help.prefix(20)) || topic.contains(" \(option.name)")
                #expect(isExplained, "\(command.path): \(option.name)")
            }
        }
        let token = try #require(program.help(["token"]))
        #expect(token.contains("\nProvider options:\n  --issuer URL, --client-id ID, "))
        #expect(try #require(program.help(["request"])).contains("-d, --data DATA "))
        #expect(HelpDocument.json(program, ["options"])["entries"]?.array?.count ?? 0 > 12)
    }

    @Test("the help does not list what only the completion script passes")
    func completionWords() throws {
        let help = try #require(program.help(["completions"]))
        #expect(help.contains("bash|zsh|fish") && !help.contains("WORD"))
    }

    @Test("help, the tour and doctor are ASCII too, and no character of theirs is unknown")
    func output() throws {
        for words in [["help", "settings"], ["help", "demo"], ["demo", "--no-browser"], ["doctor"]] {
            let run = try TestSupport.Program(["LC_ALL": "C"])
            defer { run.remove() }
            let output = try run.start(words).finish().output
            #expect(!output.isEmpty && output.utf8.allSatisfy { $0 < 0x80 }, "\(words): \(output)")
        }
        let texts = program.descriptions.compactMap { program.help(Array($0.path.dropFirst())) }
        let topics = Manual.sections.compactMap(\.topic).compactMap { program.topic($0) }
        for text in texts + topics.flatMap({ [$0.text] + $0.entries.flatMap { [$0.term, $0.meaning] } }) {
            let marks = text.filter { $0 == "?" }.count
            #expect(Terminal.text(text, environment: [:]).filter { $0 == "?" }.count == marks, "\(text)")
        }
    }

    @Test("the manual page has a date, examples and other pages, and mandoc finds nothing to say")
    func manual() throws {
        let page = ManPage.text(
            program, version: Version.number, date: Version.date, description: Manual.description,
            sections: Manual.sections)
        let version = Version.number.replacing("-", with: "\\-")
        #expect(page.hasPrefix(".TH \"OIDC\" \"1\" \"\(Version.date)\" \"oidc \(version)\""))
        // In a locale that is not UTF-8, groff drops characters that are written as numbers.
        #expect(!page.contains("\\[u"))
        for title in ["EXAMPLES", "SEE ALSO", "EXIT STATUS"] { #expect(page.contains(".SH \"\(title)\"\n")) }
        guard Installed.programs("mandoc") else { return }
        let process = try TestSupport.Program().start(
            ["-T", "lint"], input: .text(page), executable: "/usr/bin/mandoc")
        let outcome = process.finish()
        #expect(outcome.output + outcome.errorOutput == "")
    }

    @Test("help environment names every variable that the program reads")
    func variables() throws {
        let text = Manual.environment.map { "\($0.term) \($0.meaning)" }.joined(separator: "\n")
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        // Variables of programs that call this one, what every program reads, and what `exec` sets.
        let others = [
            "KUBERNETES_EXEC_INFO", "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", "PATH", "HOSTNAME",
            "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "OIDC_PROXY_URL",
        ]
        var names: Set<String> = [
            "OIDC_<NAME>", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "http_proxy", "https_proxy",
            "all_proxy", "no_proxy", "BROWSER", "LC_ALL", "LC_CTYPE", "LANG", "DISPLAY", "WAYLAND_DISPLAY",
        ]
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            for match in source.matches(of: /(?:environment|variables)\["([A-Z][A-Z_]+)"/) {
                names.insert(String(match.1))
            }
        }
        #expect(names.count > 18)
        for name in names.subtracting(others + ["HOME", "HTTP_PROXY", "NO_PROXY"]) {
            #expect(text.contains(name), "\(name)")
        }
    }

    @Test("the whole reference is JSON: every command with its own options, shared options once, topics")
    func document() {
        let document = HelpDocument.json(program, [])
        let commands = document["commands"]?.array ?? []
        #expect(commands.contains { $0["name"] == "config set" })
        #expect(commands.count == program.descriptions.count)
        let login = commands.first { $0["name"] == "login" }
        #expect(login?["option_groups"] == ["Provider options", "Common options"])
        #expect(login?["options"]?.array?.contains { $0["name"] == "--flow" } == true)
        #expect(login?["options"]?.array?.contains { $0["name"] == "--issuer" } == false)
        #expect(
            document["option_groups"]?["Provider options"]?.array?.contains { $0["name"] == "--account" }
                == true)
        #expect(document["topics"]?.array?.contains { $0["name"] == "exit-codes" } == true)
    }

    @Test("the hint for each word of another program is a command line that can be parsed")
    func otherNames() {
        for (name, hint) in program.otherNames() {
            guard case .command(let words, _, _) = hint else { continue }
            #expect(throws: Never.self, "\(name)") { try program.parse(words) }
            #expect(program.help([name]) == nil, "\(name)")
        }
    }
}
