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

    private func completion(_ words: [String]) -> HintCompletion {
        HintCompletion(CommonOptions.lenient(words), words: words, environment: [:])
    }

    private func completed(_ hint: String, _ words: [String]) -> String { completion(words).completed(hint) }

    /// Every command that takes the options of a provider, except those that write a profile.
    private static let sessionCommands = Program.oidc.descriptions.filter {
        $0.options.contains { $0.name == "--issuer" } && !["config", "register"].contains($0.path[1])
    }.map { $0.path.joined(separator: " ") }

    /// Expects each command of a text to name the session, unless the text names another one on purpose.
    private func expectNamed(_ text: String, in place: String) {
        let completed = completed(text, ["token", "-p", "w", "--config", "f.json"] + Self.given)
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
        #expect(completed("oidc login", words) == "oidc login --issuer https://i.example")
    }

    @Test("every hint of the library names the session in each of its commands")
    func library() {
        let hints: [Hint] =
            Hint.Advice.allCases.map { .advice($0) } + [
                .signIn, .signInForScope("a b"), .orSignIn(.advice(.checkClient)), .set(.store, to: "file"),
                .setEndpoint(.deviceAuthorization), .allowAlgorithm("HS256"), .checkPath(of: "configuration"),
            ]
        for hint in hints { expectNamed(hint.commandLine, in: "\(hint)") }
        #expect(hints.filter { $0.commandLine.contains("oidc log") }.count > 8)
    }

    @Test("every text of the program that holds a command names the session in it")
    func texts() throws {
        let folder = ReadmeBlock.root.appendingPathComponent("Sources/oidc")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var count = 0
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
            // Examples and manuals are read without a command line.
            for line in lines where line.contains("\"") && !line.contains("Example(") && !line.contains("//")
            {
                guard let start = line.firstIndex(of: "\"") else { continue }
                var text = String(line[line.index(after: start)...])
                while let inner = text.firstMatch(of: /\\\((?:[^()]|\([^()]*\))*\)/) {
                    text.replaceSubrange(inner.range, with: "X")
                }
                text = text.components(separatedBy: "\"").first ?? ""
                guard text.contains("oidc ") else { continue }
                count += 1
                expectNamed(text, in: file.lastPathComponent)
            }
        }
        #expect(count > 60)
    }

    @Test("a hint within a sentence acts for the provider, client, profile and file that were given")
    func sentences() {
        let given = Self.given
        for (hint, words, expected) in [
            (
                "forget this one: oidc logout --local", ["login"] + given,
                "forget this one: oidc logout \(Self.options) --local"
            ),
            (
                #"oidc config show -p 'it'\''s' --config 'my f'"#,
                ["config", "unset", "-p", "it's", "--config", "my f", "flow"],
                #"oidc config show -p 'it'\''s' --config 'my f'"#
            ),
            (
                "see what it is: oidc inspect --type access",
                ["request", "-p", "work", "https://a.example/"],
                "see what it is: oidc inspect -p work --type access"
            ),
            (
                "oidc login --flow paste", ["login", "--flow", "device"] + given,
                "oidc login \(Self.options) --flow paste"
            ),
            // What the hint says itself is not said again.
            (
                "oidc login --flow browser", ["login", "--set", "flow=device", "--set", "store=none"],
                "oidc login --set store=none --flow browser"
            ),
            (
                "oidc login --client-id ID --set ca_file=FILE", ["login"] + given,
                "oidc login --issuer https://i.example --account 'a b' --client-id ID --set ca_file=FILE"
            ),
            // Another profile, or another provider, is named on purpose.
            ("oidc login -p other", ["token", "--client-id", "c"], "oidc login -p other"),
            (
                "oidc token x | oidc introspect - --issuer https://o.example",
                ["introspect", "--account", "b"],
                "oidc token --account b x | oidc introspect - --issuer https://o.example"
            ),
            // A resource is part of the session.
            (
                "oidc logout --local", ["token", "https://r.example/mcp"],
                "oidc logout https://r.example/mcp --local"
            ),
            ("oidc logout --local", ["request", "https://r.example/"], "oidc logout --local"),
            ("oidc login", ["login", "work"], "oidc login"),
            (
                "get one of its own: oidc login https://r.example/", ["request", "-p", "w"] + given,
                "get one of its own: oidc login -p w https://r.example/"
            ),
            (
                "oidc request POST https://r.example/ -d DATA",
                ["request", "https://r.example/", "--client-id", "c"],
                "oidc request --client-id c POST https://r.example/ -d DATA"
            ),
            // A grant without a user has its scope in the session's key; a sign-in has one of its own.
            (
                "oidc logout --local", ["token", "--grant", "client_credentials", "--scope", "s"],
                "oidc logout --scope s --grant client_credentials --local"
            ),
            ("check it, or oidc login", ["token", "--scope", "s"], "check it, or oidc login"),
            (
                "or: oidc login --flow paste", ["login", "--scope", "s"],
                "or: oidc login --scope s --flow paste"
            ),
            ("oidc help login", ["login", "--client-id", "c"], "oidc help login"),
            (
                "oidc register --issuer URL", ["register", "-p", "w", "--account", "b"],
                "oidc register -p w --issuer URL"
            ),
        ] as [(String, [String], String)] {
            #expect(completed(hint, words) == expected)
        }
    }
}
