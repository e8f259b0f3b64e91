import Foundation
import OIDCCore
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("config init, by the built program", .serialized, .waiting)
struct ConfigInitTests {
    private static func profile(_ program: Program, _ name: String = "default") throws -> JSONObject {
        try #require(try profiles(program)[name]?.object)
    }

    private static func profiles(_ program: Program) throws -> JSONObject {
        let data = try Data(contentsOf: program.home.appendingPathComponent(".config/oidc/config.json"))
        return try #require(try JSONValue(parsing: Array(data)).object?["profiles"]?.object)
    }

    @Test("a provider's name and a client ID make a profile, and stderr says what to register")
    func endpoints() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("config", "init", "bitbucket", "--client-id", "key")
        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        let file = "\(program.home.path)/.config/oidc/default.secret"
        #expect(
            outcome.errorOutput == """
                Wrote profile default to \(program.home.path)/.config/oidc/config.json.
                Register:     an OAuth consumer
                Where:        https://bitbucket.org > Workspace settings > OAuth consumers
                Redirect URL: http://localhost:8484/callback, to the letter: the port matters
                Secret:       paste it here, then press Enter and Ctrl-D:
                  (umask 077 && cat > \(file))
                Note:         the consumer's permissions are the scopes; tokens last two hours and are refreshed
                Next:         oidc login

                """)
        let profile = try Self.profile(program)
        #expect(profile["client_id"] == "key")
        #expect(profile["token_endpoint"] == "https://bitbucket.org/site/oauth2/access_token")
        #expect(profile["client_secret_file"]?.string == file)
        #expect(try program.run("config", "check").status == 0)
    }

    @Test("for a grant without a user, what to register is for machines, and no redirect URL is named")
    func machine() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run(
            "config", "init", "keycloak", "domain=https://sso.example.com", "realm=main", "--client-id", "ci",
            "--grant", "client_credentials")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errorOutput.contains("Client authentication and Service accounts roles on\n"))
        #expect(outcome.errorOutput.contains("https://sso.example.com/admin/master/console/#/main/clients\n"))
        #expect(!outcome.errorOutput.contains("Redirect URL"), "\(outcome)")
    }

    @Test("the hint for a wrong parameter keeps the options that were given, but none that may hold a secret")
    func hintKeepsOptions() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.start(
            [
                "config", "init", "okta", "domain=x_y", "--client-id", "c", "--scope", "a b", "--set",
                "account=bob", "--set",
                #"extra_token_params={"key":"hunter2"}"#, "--force",
            ], [:]
        ).finish()
        let hint =
            "okta domain=dev-123456.okta.com --client-id c --set 'scope=a b' --set account=bob --force\n"
        #expect(outcome.status == 2 && outcome.errorOutput.hasSuffix(hint), "\(outcome)")
    }

    @Test("a secret that exists already is kept for its own client, and not used for another")
    func secretOfAnother() throws {
        let program = try Program()
        defer { program.remove() }
        let file = "\(program.home.path)/.config/oidc/default.secret"
        func initialize(_ words: String...) throws -> Program.Outcome {
            try program.start(["config", "init"] + words, [:]).finish()
        }
        #expect(try initialize("bitbucket", "--client-id", "key").status == 0)
        try "theirs".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try initialize("bitbucket", "--client-id", "key", "--force").status == 0)
        #expect(try Self.profile(program)["client_secret_file"] == .string(file))
        for words in [["github", "--client-id", "key"], ["bitbucket", "--client-id", "other"]] {
            let outcome = try program.start(["config", "init"] + words + ["--force"], [:]).finish()
            #expect(outcome.status == 0 && outcome.errorOutput.contains("warning: \(file) already exists"))
            #expect(outcome.errorOutput.contains("\nSecret:       set client_secret_file, "), "\(outcome)")
            #expect(try Self.profile(program)["client_secret_file"] == nil)
        }
        let named = "client_secret_file=\(file)"
        #expect(try initialize("github", "--client-id", "key", "--force", "--set", named).status == 0)
        #expect(try Self.profile(program)["client_secret_file"] == .string(file))
    }

    @Test("a second profile keeps the first; the next command names it")
    func second() throws {
        let program = try Program()
        defer { program.remove() }
        #expect(try program.run("config", "init", "github", "--client-id", "a").status == 0)
        let outcome = try program.run("config", "init", "-p", "two", "spotify", "--client-id", "b")
        #expect(outcome.errorOutput.hasSuffix("\nNext:         oidc login -p two\n"))
        #expect(try Self.profile(program)["client_id"] == "a")
        #expect(try Self.profile(program, "two")["client_id"] == "b")
    }

    @Test("the next command names the file that --config named, also as JSON")
    func file() throws {
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("c.json").path
        let line = "oidc login --config \(file) -p w"
        let outcome = try program.run(
            "config", "init", "--config", file, "-p", "w", "spotify", "--client-id", "b", "-o", "json")
        #expect(outcome.errorOutput.hasSuffix("\nNext:         \(line)\n"), "\(outcome.errorOutput)")
        #expect(try JSONValue(parsing: outcome.output)["next"]?.string == line)
        let plain = try program.run(
            "config", "init", "--config", file, "--client-id", "b", "--issuer", "https://a.example",
            "--set", "token_endpoint=https://a.example/token",
            "--set", "authorization_endpoint=https://a.example/authorize")
        // The profile w stays the default.
        #expect(
            plain.errorOutput == """
                Wrote profile default to \(file).
                Redirect URL: http://127.0.0.1/callback on any port; for one that you choose: --set port=N
                Next:         oidc login --config \(file) -p default

                """)
    }

    @Test("a profile of any other provider names the redirect URLs that may be sent")
    func redirects() throws {
        for (values, line, uris) in [
            ([(.port, "8484")], "http://127.0.0.1:8484/callback", "http://127.0.0.1:8484/callback"),
            (
                [(.redirectPorts, "[9000,9001]")],
                "http://127.0.0.1:9000/callback, http://127.0.0.1:9001/callback",
                "http://127.0.0.1:9000/callback http://127.0.0.1:9001/callback"
            ),
            (
                [(.redirectURI, "com.example.app:/back")],
                "com.example.app:/back; paste the URL your browser was redirected to", "com.example.app:/back"
            ),
            ([(.grant, "client_credentials")], nil, nil),
        ] as [([(Setting, String)], String?, String?)] {
            let file = try ProfilesFile(
                SettingsLoader(environment: ["OIDC_CONFIG": "/nonexistent/c.json"], common: CommonOptions()))
            let settings = PresetTableTests.settings(
                try values.map { try SettingsLoader.entry($0.0, $0.1, .option("--set"), named: $0.0.name) })
            let profile = NewProfile(
                name: "a", file: file, entries: [],
                settings: settings,
                made: nil, console: Console(CommonOptions()), common: CommonOptions())
            #expect(profile.registration == (line.map { ["Redirect URL: \($0)"] } ?? []))
            #expect(profile.json["redirect_uri"]?.string == uris)
            let command = line == nil ? "oidc token" : "oidc login"
            #expect(profile.next == ["Next:         \(command) -p a"])
        }
    }

    @Test("-o json has the path, the profile, the redirect URL and the settings")
    func json() throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.run("config", "init", "spotify", "--client-id", "b", "-o", "json")
        let json = try JSONValue(parsing: outcome.output).object
        #expect(json?["profile"] == "default" && json?["provider"] == "spotify")
        #expect(json?["redirect_uri"] == "http://127.0.0.1/callback" && json?["secret"] == "none")
        #expect(json?["register_at"]?.string?.contains("developer.spotify.com") == true)
        #expect(json?["settings"]?.object?["client_id"] == "b")
        #expect(json?["path"]?.string?.hasSuffix("/config.json") == true)
        #expect(json?["next"] == "oidc login")
    }

    @Test("a preset with an issuer is checked; it is written with a warning if the provider is out of reach")
    func discovery() throws {
        let server = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let made = try program.run("config", "init", "dex", "domain=\(server.origin)", "--client-id", "demo")
        #expect(made.status == 0, "\(made.errorOutput)")
        #expect(made.errorOutput.contains("Register:     a client with public: true"))
        let failed = try program.run(
            "config", "init", "-p", "two", "dex", "domain=\(server.origin)/other", "--client-id", "demo")
        #expect(failed.status == 4 || failed.status == 7, "\(failed.errorOutput)")
        let unasked = try program.run(
            "config", "init", "-p", "three", "dex", "domain=http://127.0.0.1:9", "--client-id", "demo")
        #expect(unasked.status == 0)
        #expect(unasked.errorOutput.hasPrefix("warning: the provider was not contacted: "))
        #expect(try Self.profiles(program).names == ["default", "three"])
    }

    @Test(
        "what is missing or unknown is refused with 2, and the hint works when pasted",
        arguments: [
            (
                ["okta", "--client-id", "x"], "domain is missing",
                "okta domain=dev-123456.okta.com --client-id x"
            ),
            (
                ["-p", "w", "okta", "domain=a.okta.com/b", "--client-id", "x"], "expected a host name",
                "-p w okta domain=a.okta.com --client-id x"
            ),
            (["okta", "domian=a.okta.com", "--client-id", "x"], "no parameter \"domian\"", "okta domain="),
            (["github", "x", "--client-id", "x"], "NAME=VALUE", "oidc config init github --client-id x"),
            (
                ["githb", "--client-id", "x"], "unknown provider \"githb\", did you mean github?",
                "oidc help github"
            ),
            (
                ["Azure", "--client-id", "x"], "unknown provider \"Azure\", did you mean entra?",
                "oidc help entra"
            ),
            (["github"], "client_id is not given", "oidc config init github --client-id ID"),
            (
                ["zzzzzz"], "unknown provider \"zzzzzz\"; any other works by its URL",
                "oidc config init --issuer URL --client-id ID"
            ),
        ] as [([String], String, String)])
    func refused(arguments: [String], problem: String, hint: String) throws {
        let program = try Program()
        defer { program.remove() }
        let outcome = try program.start(["config", "init"] + arguments).finish()
        #expect(outcome.status == 2)
        #expect(outcome.error?.contains(problem) == true, "\(outcome.errorOutput)")
        #expect(outcome.errorOutput.contains(hint), "\(outcome.errorOutput)")
        #expect(program.files(in: ".config/oidc").isEmpty)
    }

    @Test("help providers lists every provider with its parameters, flows and date, also as JSON")
    func help() throws {
        let program = try Program()
        defer { program.remove() }
        let text = try program.run("help", "providers").output
        #expect(text.contains("  okta domain= [server=]\n") || text.contains("  okta domain= [server=] "))
        #expect(text.contains("Okta: browser, device, paste; secret: none (2026-11)"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let json = try JSONValue(parsing: try program.run("help", "providers", "-o", "json").output)
        let entries = try #require(json["entries"]?.array)
        let github = try #require(entries.first { $0["name"] == "github" })
        #expect(github["flows"] == ["browser", "device", "paste"] && github["secret"] == "required")
        #expect(entries.count >= 35 && entries.allSatisfy { $0["date"]?.string?.hasPrefix("20") == true })
    }

    @Test("the URL of a realm that was copied gives server and realm; a final slash is no difference")
    func copiedURL() throws {
        let program = try Program()
        defer { program.remove() }
        let server = "http://127.0.0.1:9"
        for words in [
            ["\(server)/realms/acme"], ["domain=\(server)/realms/acme/"],
            ["domain=\(server)/", "realm=acme"],
            ["domain=\(server)/realms/acme", "realm=acme"],
        ] {
            let made = try program.start(
                ["config", "init", "keycloak", "--client-id", "c", "--force"] + words
            ).finish()
            #expect(made.status == 0, "\(made)")
            let shown = try program.run("config", "show", "-o", "json")
            #expect(shown.output.contains("\"\(server)/realms/acme\""), "\(words) \(shown)")
        }
        let other = try program.run(
            "config", "init", "keycloak", "--client-id", "c", "--force", "domain=\(server)/realms/acme",
            "realm=other")
        #expect(other.status == 2 && other.error?.contains("realm is given twice") == true, "\(other)")
    }

    @Test("a secret file that does not exist is a warning")
    func missingSecretFile() throws {
        let program = try Program()
        defer { program.remove() }
        let made = try program.run(
            "config", "init", "keycloak", "domain=http://127.0.0.1:9", "realm=a", "--client-id", "c", "--set",
            "client_secret_file=/nosuch")
        #expect(made.status == 0 && made.errorOutput.contains("client_secret_file: there is no file /nosuch"))
    }
}
