import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("the entrance: a name, nothing, or options lead to a token", .serialized, .waitingLong)
struct EntranceTests {
    private let provider: ProviderServer
    private let program: Program

    init() throws {
        provider = try ProviderServer()
        program = try Program()
    }

    /// The profiles of the configuration file.
    private var profiles: JSONObject {
        get throws {
            let path = program.home.appendingPathComponent(".config/oidc/config.json")
            guard let data = try? Data(contentsOf: path) else { return JSONObject() }
            return try JSONValue(parsing: Array(data))["profiles"]?.object ?? JSONObject()
        }
    }

    private func write(_ text: String) throws {
        let directory = program.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appendingPathComponent("config.json")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    private var options: [String] { ["--issuer", provider.origin, "--client-id", "demo"] }

    @Test("a sign-in by options is saved as the first profile, and the commands after it need no options")
    func byOptions() throws {
        defer { program.remove() }
        let login = try program.signIn(at: provider, options + ["--scope", "openid email offline_access"])
        #expect(login.status == 0 && login.errorOutput.hasSuffix("\nSaved as profile default\n"), "\(login)")
        #expect(login.errorOutput.contains("(profile default)"))
        #expect(
            try profiles["default"] == [
                "issuer": .string(provider.origin), "client_id": "demo",
                "scope": "openid email offline_access",
            ])
        #expect(try program.run("token").status == 0)
        #expect(try program.run("userinfo", "--claim", "email").output == "alice@example.com\n")
        #expect(try program.run("logout").status == 0)
        #expect(try program.run("token").status == 3)
        let again = try program.signIn(at: provider)
        #expect(again.status == 0 && !again.errorOutput.contains("Saved"), "\(again)")
    }

    @Test("audience, account and other settings are saved; those of one sign-in are not")
    func settings() throws {
        defer { program.remove() }
        let more = [
            "--audience", "api", "--account", "bob", "--set", "http_timeout=9", "--timeout", "60",
            "--login-hint", "alice", "--max-age", "9000", "--param", "color=blue",
        ]
        #expect(try program.signIn(at: provider, options + more).status == 0)
        let profile = try #require(try profiles["default"]?.object)
        #expect(profile["audience"] == "api" && profile["account"] == "bob" && profile["http_timeout"] == 9)
        #expect(profile.members.count == 5, "\(profile)")
        #expect(try program.run("token").status == 0)
        let listed = try program.run("config", "list")
        #expect(listed.output.contains("account bob"), "\(listed)")
        #expect(try program.run("logout", "--all").errorOutput.contains("(account bob)"))
    }

    @Test("a profile that names the provider and client is enough; another client gets a profile of its own")
    func described() throws {
        defer { program.remove() }
        try write(
            #"{"default_profile":"a","profiles":{"a":{"issuer":"https://a.example","client_id":"x"},"b":{"issuer":"\#(provider.origin)","client_id":"demo"}}}"#
        )
        #expect(try !program.signIn(at: provider, options).errorOutput.contains("Saved"))
        #expect(try profiles.names == ["a", "b"])
        try Data("demo-secret\n".utf8).write(to: program.home.appendingPathComponent("secret"))
        let other = try program.signIn(
            at: provider,
            [
                "--issuer", provider.origin, "--client-id", "demo-confidential", "--set",
                "client_secret_file=secret",
            ])
        #expect(
            other.errorOutput.contains("Saved as profile 127.0.0.1: use it with -p 127.0.0.1,"), "\(other)")
        #expect(try profiles.names == ["a", "b", "127.0.0.1"])
        // A sign-in never changes the default.
        #expect(try program.run("config", "list").output.contains("*  a "))
    }

    @Test("--no-profile, store=none, and settings that came from variables alone save nothing")
    func notSaved() throws {
        defer { program.remove() }
        for more in [["--no-profile"], ["--set", "store=none"]] {
            let outcome = try program.signIn(at: provider, options + more)
            #expect(outcome.status == 0 && !outcome.errorOutput.contains("Saved"), "\(outcome)")
        }
        let variables = try Program(provider)
        defer { variables.remove() }
        #expect(try !variables.signIn(at: provider).errorOutput.contains("Saved"))
        #expect(variables.files(in: ".config/oidc").isEmpty && program.files(in: ".config/oidc").isEmpty)
    }

    @Test("a sign-out of nobody says so, and does not ask for an issuer")
    func signOutOfNobody() throws {
        defer { program.remove() }
        let outcome = try program.run("logout")
        #expect(outcome.status == 2, "\(outcome)")
        #expect(
            outcome.errorOutput == "error: nobody is signed in, and no provider is set\n  try: oidc login\n")
    }

    @Test("a file that cannot be written is a warning")
    func unwritable() throws {
        defer { program.remove() }
        try write("{}")
        let directory = program.home.appendingPathComponent(".config/oidc").path
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: directory)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory) }
        guard !FileManager.default.isWritableFile(atPath: directory) else { return }
        let outcome = try program.signIn(at: provider, options)
        #expect(
            outcome.status == 0 && outcome.errorOutput.contains("warning: the sign-in is not saved"),
            "\(outcome)")
    }

    @Test(
        "a secret in a variable is not saved, and the line says that it is needed again; a file is saved by name"
    )
    func secret() throws {
        defer { program.remove() }
        let confidential = ["--issuer", provider.origin, "--client-id", "demo-confidential"]
        var withSecret = program
        withSecret.environment["OIDC_CLIENT_SECRET"] = "demo-secret"
        let outcome = try withSecret.signIn(at: provider, confidential)
        #expect(
            outcome.errorOutput.contains("Saved as profile default (needs OIDC_CLIENT_SECRET again)\n"),
            "\(outcome)")
        #expect(try profiles["default"]?.object?.names == ["issuer", "client_id"])
        let other = try Program()
        defer { other.remove() }
        try Data("demo-secret\n".utf8).write(to: other.home.appendingPathComponent("secret"))
        let byFile = try other.signIn(at: provider, confidential + ["--set", "client_secret_file=secret"])
        #expect(
            byFile.status == 0 && byFile.errorOutput.hasSuffix("\nSaved as profile default\n"), "\(byFile)")
        let text = try String(
            contentsOf: other.home.appendingPathComponent(".config/oidc/config.json"), encoding: .utf8)
        #expect(text.contains("/secret\"") && !text.contains("demo-secret"), "\(text)")
    }

    @Test("a flat file becomes a list of profiles, and its profile stays the default")
    func flat() throws {
        defer { program.remove() }
        try write(#"{"issuer":"https://a.example","client_id":"x"}"#)
        #expect(try program.signIn(at: provider, options).status == 0)
        #expect(try profiles.names == ["default", "127.0.0.1"])
        #expect(try program.run("config", "show").output.contains("https://a.example"))
    }

    @Test("token --login goes from nothing to a token in one command, and is saved")
    func tokenLogin() throws {
        defer { program.remove() }
        provider.with { $0.configuration.user = .approves("alice") }
        let outcome = try program.run(
            "token", "--login", "--issuer", provider.origin, "--client-id", "demo", "--set", "flow=device")
        #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("Saved as profile default\n"))
        #expect(try program.run("token").output == outcome.output)
    }

    @Test("the name of a provider signs in with its parameters, and two commands lead to a token")
    func preset() throws {
        defer { program.remove() }
        let words = ["dex", "domain=\(provider.origin)", "--client-id", "demo"]
        let login = try program.signIn(at: provider, words)
        #expect(login.status == 0 && login.errorOutput.contains("Saved as profile default\n"), "\(login)")
        #expect(try profiles["default"]?["prompt"] == "off")
        #expect(try profiles["default"]?["preset"] == "dex")
        #expect(try program.run("token").status == 0)
        // The second time, the profile is there.
        let again = try program.signIn(at: provider, words)
        #expect(again.status == 0 && !again.errorOutput.contains("Saved"), "\(again)")
        #expect(try profiles.names == ["default"])
    }

    @Test("GitHub, whose endpoints are a stand-in's here, in two commands")
    func github() throws {
        defer { program.remove() }
        try Data("demo-secret\n".utf8).write(to: program.home.appendingPathComponent("secret"))
        let endpoints = [
            ("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"),
            ("device_authorization_endpoint", "/device_authorization"), ("userinfo_endpoint", "/userinfo"),
        ].flatMap { ["--set", "\($0)=\(provider.origin)\($1)"] }
        provider.with { $0.configuration.scopes += ["read:user", "user:email"] }
        let login = try program.signIn(
            at: provider,
            ["github", "--client-id", "demo-confidential", "--set", "client_secret_file=secret"] + endpoints)
        #expect(login.status == 0 && login.errorOutput.contains("Saved as profile default\n"), "\(login)")
        #expect(try profiles["default"]?["scope"] == "read:user user:email")
        #expect(try program.run("token").status == 0)
    }

    @Test("without a terminal, a missing secret is asked for by a line that works when it is pasted")
    func missingSecret() throws {
        var program = program
        defer { program.remove() }
        let directory = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path
        program.environment["PATH"] = "\(directory):/usr/bin:/bin"
        // Another client's, which must stay as it is.
        let taken = program.home.appendingPathComponent(".config/oidc/default.secret")
        let endpoints = [("authorization_endpoint", "/authorize"), ("token_endpoint", "/token")]
            .flatMap { ["--set", "\($0)=\(provider.origin)\($1)"] }
        let words = ["login", "github", "--client-id", "demo-confidential", "--timeout", "1"] + endpoints
        for isTaken in [false, true] {
            if isTaken { try Data("other\n".utf8).write(to: taken) }
            let outcome = try program.start(words).finish()
            #expect(outcome.status == 2 && outcome.output == "", "\(outcome)")
            #expect(outcome.error?.contains("set OIDC_CLIENT_SECRET, or type or pipe the secret") == true)
            let lines = outcome.errorOutput.split(separator: "\n")
            let hint = try #require(lines.last?.dropFirst(7))
            // It prints the URL to sign in at, and waits.
            let pasted = try program.start(
                ["-c", String(hint)], input: .text("demo-secret\n"), ["OIDC_TIMEOUT": "1"],
                executable: "/bin/sh"
            ).finish()
            #expect(pasted.status == 6 && pasted.errorOutput.contains("/authorize?"), "\(hint): \(pasted)")
            let file =
                isTaken ? taken.deletingLastPathComponent().appendingPathComponent("default-2.secret") : taken
            #expect(try String(contentsOf: file, encoding: .utf8) == "demo-secret\n")
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(try String(contentsOf: taken, encoding: .utf8) == "other\n")
    }

    @Test("a profile whose secret file is missing says how to write it")
    func missingSecretFile() throws {
        defer { program.remove() }
        let file = program.home.appendingPathComponent("a b.secret").path
        try write(
            #"{"issuer":"\#(provider.origin)","client_id":"demo-confidential","client_secret_file":"\#(file)"}"#
        )
        let outcome = try program.run("login", "--timeout", "5")
        #expect(
            outcome.errorOutput.hasSuffix(
                "  try: if the path is right, type or pipe the secret to: (umask 077 && cat > '\(file)')\n"),
            "\(outcome)")
    }

    @Test("a configuration file that is named and does not exist is written by the sign-in")
    func newFile() throws {
        defer { program.remove() }
        let words = ["--config", "new.json", "--client-id", "demo"]
        let login = try program.signIn(at: provider, [provider.origin] + words)
        #expect(login.status == 0 && login.errorOutput.hasSuffix("\nSaved as profile default\n"), "\(login)")
        #expect(try program.run("token", "--config", "new.json").status == 0)
        // One that is needed must exist.
        #expect(try program.run("login", "work", "--config", "nosuch.json").status == 2)
        #expect(
            !FileManager.default.fileExists(atPath: program.home.appendingPathComponent("nosuch.json").path))
    }

    @Test("at a terminal, login alone registers a client where the provider allows it")
    func dialogWithRegistration() throws {
        defer { program.remove() }
        provider.with { $0.configuration.user = .approves("alice") }
        let run = try TerminalRun(program, ["login", "--flow", "device"], ["DISPLAY": ""])
        for (prompt, answer) in [
            ("any other issuer): ", provider.origin), ("Client ID (Enter: register one now): ", ""),
        ] {
            try #require(run.wait { $0.contains(prompt) ? 0 : nil } != nil, "\(prompt) in \(run.text)")
            run.type("\(answer)\n")
        }
        let (status, text) = run.finish()
        #expect(status == 0 && text.contains("Saved as profile default"), "\(text)")
        #expect(provider.requestCount(.registration) == 1)
        #expect(try program.run("token").status == 0)
    }

    @Test("the URL of a provider is all it takes: two commands to a token, and nothing for the next ones")
    func providerURL() throws {
        defer { program.remove() }
        for typed in [provider.origin, provider.origin.replacingOccurrences(of: "http://", with: "")] {
            let login = try program.signIn(at: provider, [typed])
            #expect(login.status == 0, "\(login)")
            #expect(login.errorOutput.contains("Saved as profile default\n") == (typed == provider.origin))
            #expect(try program.run("token").status == 0)
        }
        #expect(provider.requestCount(.registration) == 1)
        #expect(try profiles["default"]?["issuer"]?.string == provider.origin)
        #expect(try program.run("userinfo", "--claim", "email").output == "alice@example.com\n")
        #expect(try program.run("logout").status == 0)
    }

    @Test("the secret of a client that was registered automatically is kept in a file of the profile's own")
    func registeredSecret() throws {
        defer { program.remove() }
        provider.intercept { request in
            guard request.url.path == "/register", let asked = try? JSONValue(parsing: request.body) else {
                return nil
            }
            let client: JSONValue = [
                "client_id": "demo-confidential", "client_secret": "demo-secret",
                "token_endpoint_auth_method": "client_secret_basic",
                "redirect_uris": asked["redirect_uris"] ?? .null,
            ]
            return HTTPResponse(
                status: 201, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: client.bytes)
        }
        let login = try program.signIn(at: provider, [provider.origin])
        #expect(login.status == 0 && login.errorOutput.hasSuffix("Saved as profile default\n"), "\(login)")
        #expect(try profiles["default"]?["client_secret"] == nil)
        let file = program.home.appendingPathComponent(".config/oidc/default.secret")
        #expect(try String(contentsOf: file, encoding: .utf8) == "demo-secret\n")
        #expect(try program.run("token", "--refresh").status == 0)
    }

    @Test("-p names the profile that a sign-in by URL or options makes, beside those that describe it")
    func newName() throws {
        defer { program.remove() }
        for (name, words) in [
            ("work", [provider.origin, "--client-id", "demo"]), ("other", options),
            ("new", [provider.origin]),
        ] {
            let login = try program.signIn(at: provider, ["-p", name] + words)
            #expect(login.status == 0 && login.errorOutput.contains("Saved as profile \(name)"), "\(login)")
            #expect(try profiles[name]?["issuer"]?.string == provider.origin)
            #expect(try program.run("token", "-p", name).status == 0)
            let again = try program.signIn(at: provider, ["-p", name])
            #expect(again.status == 0 && !again.errorOutput.contains("Saved"), "\(again)")
        }
        #expect(try profiles.names == ["work", "other", "new"])
        #expect(try profiles["new"]?["client_id"] != "demo")
        #expect(try program.run("token").status == 0)
        // Nothing says whom it is for, or it is not to be saved.
        for words in [["-p", "nosuch"], ["-p", "nosuch", provider.origin, "--no-profile"]] {
            let outcome = try program.start(["login"] + words).finish()
            #expect(outcome.status == 2 && outcome.errorOutput.contains("no profile"), "\(outcome)")
        }
    }

    @Test("the name of a profile signs in with it, before a provider's name")
    func profile() throws {
        defer { program.remove() }
        try write(
            #"{"default_profile":"a","profiles":{"a":{"issuer":"https://a.example","client_id":"x"},"github":{"issuer":"\#(provider.origin)","client_id":"demo"}}}"#
        )
        let outcome = try program.signIn(at: provider, ["github"])
        #expect(outcome.status == 0 && outcome.errorOutput.contains("(profile github)"), "\(outcome)")
        #expect(try program.run("token", "-p", "github").status == 0)
    }

    @Test("login alone with nothing configured, without a terminal, says two lines that work")
    func nothing() throws {
        defer { program.remove() }
        let outcome = try program.run("login")
        #expect(outcome.status == 2 && outcome.output == "")
        #expect(
            outcome.errorOutput
                == "error: there is no profile, and no provider is named\n"
                + "  try: oidc login gitlab --client-id ID, or: oidc login https://login.example.com --client-id ID\n"
        )
    }

    @Test("at a terminal, login alone asks for everything, with the secret once and hidden, and signs in")
    func dialog() throws {
        defer { program.remove() }
        provider.with { $0.configuration.user = .approves("alice") }
        let run = try TerminalRun(program, ["login", "--flow", "device"], ["DISPLAY": ""])
        let host = provider.origin.replacingOccurrences(of: "http://", with: "")
        for (prompt, answer) in [
            ("any other issuer): ", host), ("Client ID (Enter: register one now): ", "demo-confidential"),
            ("@FILE (hidden; Enter: none): ", "demo-secret"),
        ] {
            try #require(run.wait { $0.contains(prompt) ? 0 : nil } != nil, "\(prompt) in \(run.text)")
            if prompt.contains("hidden") { #expect(run.wait { _ in run.echoes ? nil : 0 } != nil) }
            run.type("\(answer)\n")
        }
        let (status, text) = run.finish()
        #expect(status == 0 && text.contains("Signed in as"), "\(text)")
        #expect(!text.contains("demo-secret") && text.contains("Saved as profile default"), "\(text)")
        #expect(try program.run("token").status == 0)
    }

    @Test("a name whose client is missing: asked for at a terminal, or the complete line with 2")
    func missingClient() throws {
        defer { program.remove() }
        let outcome = try program.run("login", "keycloak", "domain=\(provider.origin)", "realm=main")
        #expect(outcome.status == 2)
        #expect(
            outcome.errorOutput.hasSuffix(
                "  try: oidc login keycloak domain=\(provider.origin) realm=main --client-id ID\n"),
            "\(outcome)")
        let run = try TerminalRun(program, ["login", "spotify"], ["DISPLAY": ""])
        #expect(run.wait { $0.contains("Client ID: ") ? 0 : nil } != nil)
        run.type("\u{3}")
        let (status, text) = run.finish()
        #expect(status == 130 && text.contains("developer.spotify.com"), "\(text)")
        #expect(try profiles.isEmpty)
    }

    @Test("without a default profile, the one that is signed in is used; several are named with their lines")
    func undecided() throws {
        defer { program.remove() }
        try write(
            #"{"profiles":{"a":{"issuer":"\#(provider.origin)","client_id":"demo","account":"a"},"b":{"issuer":"\#(provider.origin)","client_id":"demo","account":"b"}}}"#
        )
        #expect(try program.run("token").status == 2)
        #expect(try program.signIn(at: provider, ["b"]).status == 0)
        #expect(try program.run("token").status == 0)
        #expect(try program.run("userinfo", "--claim", "sub").status == 0)
        #expect(try program.signIn(at: provider, ["a"]).status == 0)
        let outcome = try program.run("token")
        #expect(
            outcome.status == 2
                && outcome.errorOutput.hasSuffix("  try: oidc token -p a, or: oidc token -p b\n"),
            "\(outcome)")
        #expect(try program.run("config", "list").output.contains("*") == false)
    }

    @Test("the only session is used if no profile describes it")
    func onlySession() throws {
        defer { program.remove() }
        #expect(try program.signIn(at: provider, options + ["--no-profile", "--account", "x"]).status == 0)
        let token = try program.run("token")
        #expect(token.status == 0, "\(token)")
        #expect(try program.run("token", "--refresh").status == 0)
        #expect(try program.run("logout").status == 0)
        #expect(try program.run("token").status == 2)
    }
}

@Suite("the default profile", .serialized, .waiting)
struct SwitchTests {
    private let program: Program
    private let file: URL

    init() throws {
        var program = try Program()
        file = program.home.appendingPathComponent("config.json")
        program.environment["OIDC_CONFIG"] = file.path
        self.program = program
        try Data(
            #"""
            {"default_profile": "a", "profiles": {
              "a": {"issuer": "https://a.example", "client_id": "x"},
              "b": {"issuer": "https://b.example", "client_id": "x", "account": "bob"},
              "gh": {"token_endpoint": "https://github.com/login/oauth/access_token", "client_id": "x"},
              "own": {"token_endpoint": "https://login.example/token", "client_id": "x", "user_profile": "b"}
            }}
            """#.utf8
        ).write(to: file)
    }

    private var text: String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

    @Test("switch sets the default, says what was the default, and what does not change")
    func named() throws {
        defer { program.remove() }
        let outcome = try program.run("switch", "b", "-o", "json")
        #expect(outcome.output == #"{"profile":"b","previous":"a"}"# + "\n")
        #expect(outcome.errorOutput.contains("Programs that were set up with --setup keep the profile"))
        let variable = try program.run("switch", "a", variables: ["OIDC_PROFILE": "b"])
        #expect(
            variable.status == 0 && variable.errorOutput.contains("warning: OIDC_PROFILE is set to \"b\""))
        #expect(text.contains(#""default_profile": "a""#))
        let used = try program.run("config", "use", "b", "-o", "json")
        #expect(try JSONValue(parsing: used.output)["previous"] == "a")
        let unknown = try program.run("switch", "bb")
        #expect(unknown.status == 2 && unknown.errorOutput.contains("did you mean b?"))
    }

    @Test("without a name: a list and 2 without a terminal, a choice by number at one")
    func listed() throws {
        defer { program.remove() }
        let outcome = try program.run("switch")
        #expect(outcome.status == 2 && outcome.output == "")
        #expect(
            outcome.errorOutput.contains("https://b.example")
                && outcome.errorOutput.hasSuffix("  try: oidc switch b\n"))
        let run = try TerminalRun(program, ["switch"], columns: 100)
        #expect(run.wait { $0.contains("number or name): ") ? 0 : nil } != nil)
        run.type("9\n2\n")
        let (status, shown) = run.finish()
        #expect(status == 0 && shown.contains("there is no such profile"), "\(shown)")
        #expect(shown.contains("The default profile is b.") && text.contains(#""default_profile": "b""#))
    }

    @Test("a narrow terminal shows the numbers too")
    func listedNarrowly() throws {
        defer { program.remove() }
        let run = try TerminalRun(program, ["switch"], columns: 40)
        #expect(run.wait { $0.contains("number or name): ") ? 0 : nil } != nil)
        run.type("2\n")
        let (status, shown) = run.finish()
        let blocks = shown.replacingOccurrences(of: "\r", with: "").components(separatedBy: "\n\n")
        let block = blocks.first { $0.contains("https://b.example") }
        #expect(status == 0 && block?.hasPrefix("#  ") == true, "\(shown)")
        #expect(block?.prefix { $0 != "\n" }.hasSuffix(" 2") == true, "\(shown)")
    }

    @Test("config list shows the issuer, the provider's name or its host, never a token endpoint")
    func providerName() throws {
        defer { program.remove() }
        let output = try program.run("config", "list").output
        #expect(output.contains("GitHub") && output.contains("login.example"), "\(output)")
        #expect(!output.contains("/access_token") && !output.contains("/token"))
        #expect(output.contains("no, account bob"))
    }

    @Test("rename keeps the default, and what other profiles name; rm removes a profile and says what stays")
    func change() throws {
        defer { program.remove() }
        #expect(try program.run("config", "rename", "a", "main").status == 0)
        #expect(text.contains(#""default_profile": "main""#) && !text.contains(#""a": {"#))
        #expect(try program.run("config", "rename", "b", "new").status == 0)
        #expect(text.contains(#""user_profile": "new""#), "\(text)")
        let taken = try program.run("config", "rename", "gh", "new")
        #expect(
            taken.status == 2
                && taken.errorOutput.contains("try: choose another name, or: oidc config rm new"))
        let removed = try program.run("config", "rm", "main")
        #expect(
            removed.status == 0 && removed.errorOutput.contains("No profile is the default one now"),
            "\(removed)")
        #expect(try program.run("config", "check").status == 0)
        #expect(try program.run("config", "rm", "main").status == 2)
        #expect(
            try JSONValue(parsing: program.run("config", "rm", "gh", "-o", "json").output)["removed"] == "gh")
    }

    @Test("an empty file is an empty configuration", arguments: ["", "\n", "{}"])
    func empty(content: String) throws {
        defer { program.remove() }
        try Data(content.utf8).write(to: file)
        #expect(try program.run("config", "check").status == 0)
        #expect(try program.run("config", "list").status == 0)
        #expect(try program.run("config", "rm", "x").status == 2)
        #expect(try program.run("config", "set", "issuer=https://a.example", "client_id=x").status == 0)
        #expect(try program.run("config", "rename", "default", "y").status == 0)
        #expect(text.contains(#""y""#) && !text.contains(#""default":"#))
    }
}
