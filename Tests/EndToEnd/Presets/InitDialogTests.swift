import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("the prompts of config init")
struct InitDialogTests {
    /// Answers questions in order, and records everything that is shown.
    private final class Script {
        var answers: [String]
        var shown: [String] = []
        var hidden: [String] = []
        /// Whether the provider registers clients itself.
        var isOpen = false

        init(_ answers: [String]) { self.answers = answers }

        var dialog: InitDialog {
            InitDialog(
                say: { self.shown.append($0) },
                ask: { prompt, isHidden in
                    self.shown.append(prompt)
                    if isHidden { self.hidden.append(prompt) }
                    return self.answers.isEmpty ? nil : self.answers.removeFirst()
                },
                registration: { _ in ["Register: it"] },
                finding: { _ in InitDialog.Finding(registers: self.isOpen) }, home: "/etc")
        }

        func run(
            _ draft: Draft = Draft(), profiles: JSONValue = [:],
            path: String = "/config/config.json"
        ) throws -> (draft: Draft, secret: InitDialog.SecretInput?) {
            var draft = draft
            let secret = try dialog.complete(
                &draft, profiles: try #require(profiles.object), path: path)
            #expect(answers.isEmpty)
            return (draft, secret)
        }
    }

    @Test("a part of a name or title finds a provider; several are numbered")
    func search() throws {
        #expect(InitDialog.search("githu").map(\.name) == ["github", "github-app"])
        #expect(InitDialog.search("github").map(\.name) == ["github"])
        #expect(InitDialog.search("microsoft").map(\.name) == ["entra", "entra-external"])
        #expect(InitDialog.search("").count == Preset.all.count)
        let script = Script(["nothing like it", "spotif", "cid"])
        #expect(try script.run().draft.provider == "spotify")
        #expect(script.shown.contains { $0.contains("no known provider matches \"nothing like it\"") })
        let numbered = Script(["githu", "2", "cid", ""])
        #expect(try numbered.run().draft.provider == "github-app")
        #expect(numbered.shown.contains { $0.contains("  2  github-app: GitHub App") })
    }

    @Test("the prompt for a parameter is repeated until the value is valid; Enter takes the default")
    func parameters() throws {
        let script = Script(["Okta", "dev-1.okta.com/", "dev-1.okta.com", "", "cid"])
        let draft = try script.run().draft
        #expect(draft.words == ["domain=dev-1.okta.com"])
        #expect(draft.options.clientID == "cid")
        #expect(script.shown.contains { $0.contains("expected a host name, found \"dev-1.okta.com/\"") })
        #expect(script.shown.contains("Register: it"))
    }

    @Test("there is no prompt for what the command line already says")
    func given() throws {
        var draft = Draft()
        draft.provider = "keycloak"
        draft.words = ["domain=https://sso.example.com"]
        draft.options.clientID = "cid"
        let result = try Script(["main", ""]).run(draft)
        #expect(result.draft.words == ["domain=https://sso.example.com", "realm=main"])
        #expect(result.secret == nil)
        draft = Draft()
        draft.options.assignments = ["issuer=https://a.example", "client_id=cid", "client_secret_file=f"]
        #expect(try Script([]).run(draft).draft.provider == nil)
        draft.options.assignments = ["token_endpoint=https://a.example/token"]
        #expect(try Script(["cid", ""]).run(draft).draft.options.issuer == nil)
    }

    @Test("any other issuer is accepted as a URL, as it was typed")
    func issuer() throws {
        let result = try Script(["https://Login.example.com/Tenant", "cid", ""]).run()
        #expect(result.draft.provider == nil)
        #expect(result.draft.options.issuer == "https://Login.example.com/Tenant")
        for (typed, issuer) in [
            ("login.example.com", "https://login.example.com"), ("localhost:8080", "http://localhost:8080"),
            ("sso.example.com/realms/a", "https://sso.example.com/realms/a"),
        ] {
            #expect(try Script([typed, "cid", ""]).run().draft.options.issuer == issuer)
        }
    }

    @Test("the client ID may be left out only if the provider registers clients itself")
    func registered() throws {
        let script = Script(["login.example.com", ""])
        script.isOpen = true
        let result = try script.run()
        #expect(result.draft.options.issuer == "https://login.example.com")
        #expect(result.draft.options.clientID == nil && result.secret == nil)
        #expect(script.shown.last == "Client ID (Enter: register one now): ")
        let closed = Script(["login.example.com", "", "cid", ""])
        #expect(try closed.run().draft.options.clientID == "cid")
        #expect(closed.shown.contains("  a client ID is needed"))
    }

    @Test("a name that is nearly a provider's is answered with it")
    func nearName() throws {
        let script = Script(["keycloack", "spotify", "cid"])
        _ = try script.run()
        #expect(
            script.shown.contains { $0.contains("\"keycloack\", did you mean keycloak?") }, "\(script.shown)")
    }

    @Test("a typed secret is hidden and kept in a file of its own, not in the profile or the arguments")
    func secret() throws {
        let script = Script(["bitbucket", "key", "hunter2"])
        let result = try script.run()
        #expect(
            result.secret?.text.revealed == "hunter2"
                && result.secret?.destination.file == "/config/default.secret"
        )
        #expect(result.draft.options.assignments == ["client_secret_file=/config/default.secret"])
        #expect(script.hidden.count == 1)
        #expect(!script.shown.joined().contains("hunter2"))
    }

    @Test("the secret file must exist; a public client is not prompted for a secret")
    func secretFile() throws {
        let script = Script(["bitbucket", "key", "@/no/such/file", "@/etc/hostname"])
        #expect(try script.run().draft.options.assignments == ["client_secret_file=/etc/hostname"])
        let home = Script(["bitbucket", "key", "@~/no-such-file", "@~/hostname"])
        #expect(try home.run().draft.options.assignments == ["client_secret_file=~/hostname"])
        #expect(try Script(["spotify", "cid"]).run().secret == nil)
    }

    @Test("an existing profile is not replaced: the prompt asks for another name")
    func profile() throws {
        let script = Script(["bitbucket", "default", "a\u{1}b", "work", "key", "x"])
        let result = try script.run(profiles: ["default": [:]])
        #expect(script.shown.contains { $0.contains("no invisible ones") })
        #expect(result.draft.name == "work")
        #expect(result.secret?.destination.file == "/config/work.secret")
    }

    @Test("a secret that must not be replaced is named before anything is typed, and none can be typed then")
    func taken() throws {
        let program = try Program()
        defer { program.remove() }
        let path = program.home.appendingPathComponent("config.json").path
        let file = program.home.appendingPathComponent("default.secret").path
        try Data("theirs".utf8).write(to: URL(fileURLWithPath: file))
        let answers = ["bitbucket", "key"]
        let script = Script(answers + ["hunter2", ""])
        #expect(try script.run(path: path).secret == nil)
        #expect(Set(script.hidden) == ["@FILE with the client secret (hidden; Enter: none): "])
        #expect(script.shown.contains("  only a file can be used here, as in @FILE"))
        #expect(script.shown.contains { $0.contains("a secret already exists at \(file) (move it away") })
        var draft = Draft()
        draft.isForced = true
        #expect(try Script(answers + ["hunter2"]).run(draft, path: path).secret != nil)
        let others: JSONValue = ["other": ["client_secret_file": "default.secret"]]
        let forced = Script(answers + [""])
        #expect(try forced.run(draft, profiles: others, path: path).secret == nil)
        #expect(forced.shown.contains { $0.contains(" (choose another name with -p)") })
    }

    @Test("a profile that cannot be written leaves no secret behind")
    func stray() throws {
        let program = try Program()
        defer { program.remove() }
        let path = program.home.appendingPathComponent("config.json").path
        let common = CommonOptions()
        let settings = try SettingsLoader(environment: [:], common: common).load(from: nil, in: path)
        let profile = NewProfile(
            name: "work",
            file: try ProfilesFile(SettingsLoader(environment: ["OIDC_CONFIG": path], common: common)),
            entries: [], settings: settings, made: nil,
            console: Console(common), common: common)
        let secret = InitDialog.SecretInput(
            text: Redacted("hunter2"), destination: ProfileSecret(of: "work", beside: path))
        try Data(#"{"profiles":{"work":{}}}"#.utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: OIDCError.self) { try profile.write(replacing: false, secret: secret) }
        #expect(!UserFile.isThere(secret.destination.file))
        try profile.write(replacing: true, secret: secret)
        #expect(try String(contentsOfFile: secret.destination.file, encoding: .utf8) == "hunter2\n")
        try Data(#"{"profiles":{"work":{},"a":{"client_secret_file":"work.secret"}}}"#.utf8)
            .write(to: URL(fileURLWithPath: path))
        #expect(throws: OIDCError.self) { try profile.write(replacing: true, secret: secret) }
    }

    @Test("the end of the input ends the dialog with 2")
    func end() {
        #expect(throws: OIDCError.usage("the questions were not answered, so nothing was written")) {
            try Script(["okta"]).run()
        }
    }

    @Test(
        "at a terminal, the whole dialog writes the profile and the secret",
        .enabled(if: Installed.programs("script"), "script, the terminal's stand-in, is not installed"),
        arguments: ["dumb", "xterm"])
    func terminal(kind: String) throws {
        let program = try Program(["TERM": kind])
        defer { program.remove() }
        let run = try program.start(
            ["-c", #"exec script -qec "$PROGRAM config init" /dev/null >&2"#], input: .open,
            ["PROGRAM": Program.path], executable: "/bin/sh")
        for (prompt, answer) in [
            ("issuer): ", "bitbuck"), ("Client ID: ", "key"), ("@FILE (hidden; Enter: none): ", "hunter2"),
            ("[Y/n] ", "n"),
        ] {
            let isAsked = run.errorOutput { $0.contains(prompt) ? true : nil } ?? false
            #expect(isAsked, "\(prompt) in \(run.errorOutput)")
            run.type(answer + "\n")
        }
        let outcome = run.finish(within: 30)
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("hunter2"))
        #expect(kind != "dumb" || !outcome.errorOutput.contains("\u{1B}"))
        let file = program.home.appendingPathComponent(".config/oidc/default.secret")
        #expect(try String(contentsOf: file, encoding: .utf8) == "hunter2\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
