import CommandLineKit
import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("the commands of hints are about the session of the command line")
struct HintSessionTests {
    private static let given = [
        "--issuer", "https://i.example", "--client-id", "c", "--account", "a b", "--set", "ca_file=f",
    ]
    private static let options =
        "--issuer https://i.example --client-id c --account 'a b' --set ca_file=f"

    private func completed(_ hint: Hint, _ words: [String]) -> String { InvokedLine(words).text(hint) }

    @Test("a value that starts with a dash is in one word with its option")
    func dashes() {
        #expect(
            completed(.run("login", "--no-browser", "--scope", "-p", "--client-id", "a"), ["login"])
                == "oidc login --no-browser --scope=-p --client-id a")
        #expect(Hint.run("logout", "--client-id", "--all").commandLine == "oidc logout --client-id=--all")
        #expect(
            completed(.run("login", "https://r.example"), ["login", "https://r.example", "--scope=--set"])
                == "oidc login --scope=--set https://r.example")
    }

    @Test("what the user was redirected to is not repeated, and a server's URL not beside its --issuer")
    func operands() {
        let pasted = "http://127.0.0.1:1/callback?code=c&state=s"
        #expect(
            completed(.run("login", "--start"), ["login", "--finish", pasted]) == "oidc login --start")
        let named = ["--issuer", "https://i.example", "--client-id", "c"]
        #expect(
            completed(.run("login", named), ["login", "https://i.example"] + named)
                == "oidc login --issuer https://i.example --client-id c")
    }

    /// Every command that takes the options of a provider, except those that write a profile.
    private static let sessionCommands = Program.oidc.descriptions.filter {
        $0.options.contains { $0.name == "--issuer" } && !["config", "register"].contains($0.path[1])
    }.map { $0.path.joined(separator: " ") }

    /// Expects each command of a hint to name the session, unless it names another one on purpose.
    private func expectNamed(_ hint: Hint, in place: String) {
        let completed = completed(hint, ["token", "-p", "w", "--config", "f.json"] + Self.given)
        for command in Self.sessionCommands {
            for rest in completed.components(separatedBy: "\(command) ").dropFirst() {
                let own = rest.components(separatedBy: ", or").first ?? rest
                guard !own.contains("-p X"), !own.contains("--config config.example") else { continue }
                #expect(rest.hasPrefix("-p w --config f.json "), "\(place): \(completed)")
                for words in [
                    "--issuer https://i.example", "--client-id c", "--account 'a b'", "--set ca_file=f",
                ]
                where !own.contains("--issuer X") && !own.contains("--client-id ID") {
                    #expect(own.contains(words), "\(place): \(completed)")
                }
            }
        }
    }

    @Test("a secret that was given as an option is in no hint")
    func secret() {
        let words = ["logn", "--issuer", "https://i.example", "--set", "client_secret=hunter2"]
        #expect(completed(.run("login"), words) == "oidc login --issuer https://i.example")
    }

    @Test("the operand of a suggested line is found after any options")
    func operand() {
        for line in ["URL --login", "--login URL", "--type id URL", "--type=id URL"] {
            let words = line.components(separatedBy: " ")
            #expect(SuggestedCommand(["token"] + words).operand == "URL", "\(line)")
        }
    }

    @Test("every hint of the library names the session in each of its commands")
    func library() {
        let hints: [Hint] =
            Hint.Advice.allCases.map { .advice($0) } + [
                .signIn, .signInForScope("a b"), .orSignIn(.advice(.checkClient)), .set(.store, to: "file"),
                .setEndpoint(.deviceAuthorization), .allowAlgorithm("HS256"), .checkPath(of: "configuration"),
            ]
        for hint in hints { expectNamed(hint, in: "\(hint)") }
        #expect(hints.filter { $0.commandLine.contains("oidc log") }.count > 8)
    }

    /// The lines of the program's sources, without comments.
    private static func sources() throws -> [(file: String, line: String)] {
        let folder = ReadmeBlock.root.appendingPathComponent("Sources/oidc")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var lines: [(file: String, line: String)] = []
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
            where !line.contains("//") { lines.append((file.lastPathComponent, line)) }
        }
        return lines
    }

    @Test("every command that the program suggests exists, and names the session")
    func commands() throws {
        var count = 0
        for (file, line) in try Self.sources() {
            for match in line.matches(of: /\.run\("([a-z][^"\\]*)"/) {
                count += 1
                let words = match.1.split(separator: " ").map(String.init)
                #expect(!SuggestedCommand(words).path.isEmpty, "\(file): \(line)")
                expectNamed(.command(words), in: file)
            }
        }
        #expect(count > 100)
    }

    @Test("no hint has a command in its text, where it would not name the session")
    func texts() throws {
        let names = Set(Program.oidc.descriptions.compactMap { $0.path.dropFirst().first })
        let command = try Regex(
            #"(hint|words|text)(: |\().*"[^"]*\boidc (\#(names.joined(separator: "|")))\b"#)
        for (file, line) in try Self.sources() where !line.contains("Example(") {
            #expect(!line.contains(command), "\(file): \(line)")
        }
    }

    @Test("a hint within a sentence acts for the provider, client, profile and file that were given")
    func sentences() {
        let given = Self.given
        for (hint, words, expected) in [
            (
                .words("forget this one: ", .run("logout --local")), ["login"] + given,
                "forget this one: oidc logout \(Self.options) --local"
            ),
            (
                .command(["config", "show", "-p", "it's", "--config", "my f"]),
                ["config", "unset", "-p", "it's", "--config", "my f", "flow"],
                #"oidc config show -p 'it'\''s' --config 'my f'"#
            ),
            (
                .words("see what it is: ", .run("inspect --type access")),
                ["request", "-p", "work", "https://a.example/"],
                "see what it is: oidc inspect -p work --type access"
            ),
            (
                .run("login --flow paste"), ["login", "--flow", "device"] + given,
                "oidc login \(Self.options) --flow paste"
            ),
            // What the hint says itself is not said again.
            (
                .run("login --flow browser"), ["login", "--set", "flow=device", "--set", "store=none"],
                "oidc login --set store=none --flow browser"
            ),
            (
                .run("login --client-id ID --set ca_file=FILE"), ["login"] + given,
                "oidc login --issuer https://i.example --account 'a b' --client-id ID --set ca_file=FILE"
            ),
            // Another profile, or another provider, is named on purpose.
            (.run("login -p other"), ["token", "--client-id", "c"], "oidc login -p other"),
            (
                .words(.run("token x"), " | ", .run("introspect - --issuer https://o.example")),
                ["introspect", "--account", "b"],
                "oidc token --account b x | oidc introspect - --issuer https://o.example"
            ),
            // A resource is part of the session.
            (
                .run("logout --local"), ["token", "https://r.example/mcp"],
                "oidc logout https://r.example/mcp --local"
            ),
            (.run("logout --local"), ["request", "https://r.example/"], "oidc logout --local"),
            (.run("login"), ["login", "work"], "oidc login"),
            (
                .words("get one of its own: ", .run("login https://r.example/")),
                ["request", "-p", "w"] + given,
                "get one of its own: oidc login -p w https://r.example/"
            ),
            (
                .run("request POST https://r.example/ -d DATA"),
                ["request", "https://r.example/", "--client-id", "c"],
                "oidc request --client-id c POST https://r.example/ -d DATA"
            ),
            // A grant without a user has its scope in the session's key; a sign-in has one of its own.
            (
                .run("logout --local"), ["token", "--grant", "client_credentials", "--scope", "s"],
                "oidc logout --scope s --grant client_credentials --local"
            ),
            (.words("check it, or ", .run("login")), ["token", "--scope", "s"], "check it, or oidc login"),
            (
                .words("or: ", .run("login --flow paste")), ["login", "--scope", "s"],
                "or: oidc login --scope s --flow paste"
            ),
            (.run("help login"), ["login", "--client-id", "c"], "oidc help login"),
            (
                .run("register --issuer URL"), ["register", "-p", "w", "--account", "b"],
                "oidc register -p w --issuer URL"
            ),
        ] as [(Hint, [String], String)] {
            #expect(completed(hint, words) == expected)
        }
    }
}

extension InvokedLine {
    /// Creates the line of words, as the program does.
    init(_ words: [String], _ environment: Variables = [:]) {
        if case .run(let command as any RunnableCommand, let path)? = try? Program.oidc.parse(words) {
            self.init(command, path: path, words: words, environment: environment)
        } else {
            self.init(CommonOptions.lenient(words), words: words, environment: environment)
        }
    }
}
