import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "the profile of a sign-in to a resource", .serialized, .waitingLong,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceProfileTests {
    private func profile(of world: ResourceWorld, _ name: String = "127.0.0.1") throws -> JSONObject? {
        let path = world.program.home.appendingPathComponent(".config/oidc/config.json")
        return try JSONValue(parsing: Array(Data(contentsOf: path)))["profiles"]?[name]?.object
    }

    @Test("when its profile is removed, the line to end its session is by the URL, and works")
    func removed() throws {
        let world = try ResourceWorld { $0.registers = false }
        expectSuccess(try world.run(["login", world.url, "--client-id", "c1"]))
        let removed = try world.run(["config", "rm", "127.0.0.1"])
        let line = try #require(removed.errorOutput.components(separatedBy: "to end it: oidc ").last)
        #expect(line == "logout \(world.url)\n", "\(removed)")
        expectSuccess(try world.run(line.split(whereSeparator: \.isWhitespace).map(String.init)))
        #expect(try world.run(["token", world.url]).status == 3)
    }

    @Test("a client that options name is saved, so the commands after it need no options")
    func publicClient() throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.issuesRefreshTokens = true
        } resource: {
            $0.challengeScope = "read"
        }
        let login = try world.run(["login", world.url, "--client-id", "c1"])
        #expect(
            login.status == 0 && login.errorOutput.hasSuffix("\nSaved as profile 127.0.0.1\n"), "\(login)")
        let saved = try #require(try profile(of: world))
        #expect(saved["client_id"] == "c1" && saved["issuer"] == .string(world.server.issuer), "\(saved)")
        #expect(saved["resource"] == [.string(world.url)], "\(saved)")
        let token = try world.run(["token"])
        expectSuccess(token)
        #expect(try world.run(["token", world.url]).output == token.output)
        expectSuccess(try world.run(["token", "--refresh"]))
        expectSuccess(try world.run(["token", "--refresh", "-p", "127.0.0.1", world.url]))
        expectSuccess(try world.run(["logout"]))
        let again = try world.run(["login"])
        #expect(again.status == 0 && !again.errorOutput.contains("Saved"), "\(again)")
        let asked = world.server.authorizations
        #expect(
            asked.map { $0["client_id"] } == ["c1", "c1"]
                && asked.map { $0["resource"] } == [world.url, world.url])
        #expect(asked.first?["scope"] == asked.last?["scope"])
        #expect(try !world.run(["login", world.url]).errorOutput.contains("Saved"))
        #expect(try !world.run(["login", world.url, "--client-id", "c1"]).errorOutput.contains("Saved"))
    }

    @Test("without a default profile, a URL has the session of any profile, unless its store is away")
    func profileOfURL() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let url = world.url
        let commands = [
            ["token", url], ["status", url], ["request", url], ["credential", "headers", url],
            ["exec", "--proxy", url, "--", "true"],
        ]
        let profiles = #"{"profiles":{"work":{"account":"w"},"home":{"account":"h"}}}"#
        try world.configure(profiles)
        expectSuccess(try world.run(["login", "-p", "work", world.url]))
        let token = try world.run(["token", "-p", "work", world.url])
        expectSuccess(token)
        for words in commands { expectSuccess(try world.run(words)) }
        #expect(try world.run(["token", world.url]).output == token.output)
        #expect(try world.run(["token"]).output == token.output)
        let key = world.program.home.appendingPathComponent("key").path
        expectSuccess(try world.run(["config", "new-key", key]))
        // Port 1 is closed.
        let away = #""store":"redis://127.0.0.1:1","store_key_file":"\#(key)""#
        // Another profile's store does not matter if the session is found.
        try world.configure(#"{"profiles":{"work":{"account":"w"},"home":{"account":"h",\#(away)}}}"#)
        #expect(try world.run(["token", world.url]).output == token.output)
        try world.configure(#"{"profiles":{"work":{"account":"w",\#(away)},"home":{"account":"h"}}}"#)
        for words in commands {
            let outcome = try world.run(words)
            #expect(outcome.status == 5 && outcome.output == "", "\(outcome)")
            let start = "the session of profile work cannot be read: "
            #expect(outcome.error?.hasPrefix(start) == true, "\(outcome)")
        }
        try world.configure(profiles)
        expectSuccess(try world.run(["login", "-p", "home", world.url]))
        for words in commands {
            let outcome = try world.run(words)
            #expect(outcome.status == 2 && outcome.output == "", "\(outcome)")
            #expect(outcome.error?.hasPrefix("several profiles are signed in to ") == true, "\(outcome)")
            let typed = words.joined(separator: " ")
            let isComplete = outcome.errorOutput.hasSuffix(
                words[0] == "exec"
                    ? "  try: give -p work, or: -p home\n"
                    : "  try: oidc \(typed) -p work, or: oidc \(typed) -p home\n")
            #expect(isComplete, "\(outcome)")
        }
        expectSuccess(try world.run(["logout", "-p", "home", world.url]))
        #expect(try world.run(["token", world.url]).output == token.output)
    }

    @Test(
        "beside a default profile, a URL has the session in the store of its own profile, and a sign-out ends that",
        arguments: ["file", "none", "helper:other"])
    func storeOfURL(other: String) throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let url = world.url
        let commands = [
            ["token", url], ["status", url], ["request", url], ["credential", "headers", url],
            ["exec", "--proxy", url, "--", "true"],
        ]
        let helper = world.program.home.appendingPathComponent("bin/docker-credential-fake")
        for name in ["fake", "other"] {
            let script = HelperTests.keeping.replacing("keychain\"", with: "keychain-\(name)\"")
                .replacing("keychain/", with: "keychain-\(name)/")
            try ExecutableScript.write(
                script, to: world.program.home.appendingPathComponent("bin/docker-credential-\(name)"))
        }
        try world.configure(
            """
            {"default_profile":"work","profiles":{
            "work":{"issuer":"\(world.other.issuer)","client_id":"w","account":"w","store":"\(other)"},
            "api":{"resource":["\(url)"],"store":"helper:fake"}}}
            """)
        var program = world.program
        let path = program.environment["PATH"] ?? "/usr/bin:/bin"
        program.environment["PATH"] = "\(helper.deletingLastPathComponent().path):\(path)"
        func run(_ words: [String]) throws -> Program.Outcome { try program.start(words).finish() }
        for login in [["login", "-p", "api"], ["login", url, "-p", "api"]] {
            expectSuccess(try run(login))
            for words in commands { expectSuccess(try run(words)) }
            #expect(program.sessionFiles.isEmpty, "\(program.sessionFiles)")
            let logout = try run(["logout", url])
            #expect(logout.status == 0 && logout.errorOutput.contains("Signed out of "), "\(logout)")
            let left = program.files(in: ".local/state/oidc").filter {
                ["sealed", "damaged"].contains($0.pathExtension)
            }
            #expect(left.isEmpty, "\(left)")
            for words in commands { #expect(try run(words).status == 3, "\(words)") }
        }
    }

    @Test("beside a default profile, the session of another account is used for no command by URL")
    func otherAccount() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let url = world.url
        try world.configure(
            """
            {"default_profile":"work","profiles":{"work":{"issuer":"\(world.other.issuer)","client_id":"w"},
            "api":{"resource":["\(url)"],"account":"admin"}}}
            """)
        expectSuccess(try world.run(["login", "-p", "api"]))
        for words in [["token", url], ["request", url], ["exec", "--proxy", url, "--", "true"]] {
            #expect(try world.run(words).status == 3, "\(words)")
            let named = [words[0], "-p", "work"] + words.dropFirst()
            #expect(try world.run(named).status == 3, "\(named)")
        }
        expectSuccess(try world.run(["token", url, "--account", "admin"]))
    }

    @Test("a sign-in to a URL uses the default profile's shared store with its key")
    func keyOfStore() throws {
        let world = try ResourceWorld()
        let key = world.program.home.appendingPathComponent("key").path
        expectSuccess(try world.run(["config", "new-key", key]))
        try world.configure(
            """
            {"default_profile":"work","profiles":{"work":{"issuer":"\(world.other.issuer)","client_id":"w",
            "store":"redis://127.0.0.1:1","store_key_file":"\(key)"}}}
            """)
        let login = try world.run(["login", world.url])
        #expect(login.status == 5 && login.errorOutput.contains("redis://127.0.0.1:1"), "\(login)")
    }

    @Test("a route whose URL is another profile's resource does not get the default profile's token")
    func routeOfProfile() throws {
        let world = try ResourceWorld(isOwnResource: false)
        try world.configure(
            """
            {"default_profile":"work","profiles":{"work":{"issuer":"\(world.other.issuer)","client_id":"w"},
            "api":{"resource":["\(world.url)"]}}}
            """)
        expectSuccess(try world.run(["login", "--scope", "api"]))
        let words = ["exec", "--proxy", world.url, "--", "true"]
        let refused = try world.run(words)
        #expect(refused.status == 3 && refused.errorOutput.contains("oidc login \(world.url)"), "\(refused)")
        expectSuccess(try world.run(["exec", "-p", "work"] + words.dropFirst()))
        let options = ["--issuer", world.other.issuer, "--client-id", "w"]
        expectSuccess(try world.run(["exec"] + options + words.dropFirst()))
    }

    @Test(
        "a route that only another profile lists needs the name of the one whose token it gets",
        arguments: [
            "resources", "proxy_routes",
        ])
    func routeInList(setting: String) throws {
        let world = try ResourceWorld(isOwnResource: false)
        let title = setting == "resources" ? #""title":"a","# : ""
        let list = #"[{\#(title)"url":"\#(world.url)"}]"#
        func configure(_ own: String = "") throws {
            try world.configure(
                """
                {"default_profile":"work","profiles":{"work":{"issuer":"\(world.other.issuer)","client_id":"w"\(own)},
                "api":{"issuer":"https://op.example","client_id":"x","\(setting)":\(list)}}}
                """)
        }
        try configure()
        expectSuccess(try world.run(["login", "--scope", "api"]))
        let words = ["exec", "--proxy", world.url, "--", "true"]
        let refused = try world.run(words)
        #expect(refused.status == 2 && refused.errorOutput.contains("-p api or -p work"), "\(refused)")
        expectSuccess(try world.run(["exec", "-p", "work"] + words.dropFirst()))
        try configure(#","\#(setting)":\#(list)"#)
        expectSuccess(try world.run(words))
    }

    @Test("commands about a token never use another session than that of the profile of a URL")
    func otherProvider() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let other = world.other.issuer
        world.server.change { $0.metadata["revocation_endpoint"] = .string("\(world.server.origin)/revoke") }
        try world.configure(
            """
            {"default_profile":"work","profiles":{
            "work":{"issuer":"\(other)","client_id":"w","scope":"a"},"api":{"resource":["\(world.url)"]}}}
            """)
        expectSuccess(try world.run(["login"]))
        let commands = [["revoke", "--refresh-token"], ["introspect"], ["inspect"]]
        for words in commands {
            let outcome = try world.run([words[0], "-p", "api"] + words.dropFirst())
            #expect(outcome.status == 3 && !outcome.errorOutput.contains(other), "\(outcome)")
            #expect(outcome.errorOutput.hasSuffix("\n  try: oidc login \(world.url) -p api\n"), "\(outcome)")
        }
        expectSuccess(try world.run(["login", "-p", "api", world.url]))
        // The server offers no introspection, and its tokens are opaque.
        for (words, status) in [(["introspect"], 4), (["inspect"], 7)] {
            let outcome = try world.run([words[0], "-p", "api"])
            #expect(outcome.status == status && !outcome.errorOutput.contains(other), "\(outcome)")
        }
        let page = try world.run(["authorize-url", "-p", "api"])
        #expect(page.status == 2 && !page.errorOutput.contains(other), "\(page)")
        // A token on stdin is that of no server which only the URL names.
        let opaque = try world.program.start(["inspect", "-p", "api", "-"], input: .text("opaque")).finish()
        #expect(opaque.status == 7 && !opaque.errorOutput.contains("introspect"), "\(opaque)")
        let elsewhere = try world.program.start(["revoke", "-p", "api", "-"], input: .text("opaque")).finish()
        #expect(elsewhere.status == 2 && world.server.revocations.isEmpty, "\(elsewhere)")
        #expect(!elsewhere.errorOutput.contains(other), "\(elsewhere)")
        expectSuccess(try world.run(["revoke", "-p", "api", "--refresh-token"]))
        #expect(world.server.revocations.map { $0["client_id"] } == ["registered-1"])
        #expect(world.other.revocations.isEmpty)
    }

    @Test(
        "with the user's own client, commands about a token use the session of the profile's URL, not the client's"
    )
    func ownClient() throws {
        let world = try ResourceWorld {
            $0.issuesRefreshTokens = true
            $0.registers = false
        }
        let issuer = world.server.issuer
        world.server.change { $0.metadata["revocation_endpoint"] = .string("\(world.server.origin)/revoke") }
        try world.configure(
            #"{"default_profile":"work","profiles":{"work":{"issuer":"\#(issuer)","client_id":"w","scope":"a"}}}"#
        )
        expectSuccess(try world.run(["login"]))
        expectSuccess(
            try world.run(["login", world.url, "-p", "api", "--issuer", issuer, "--client-id", "w"]))
        let token = try world.run(["token", "-p", "api"]).output
        let none = try world.run(["introspect", "-p", "work", "--scope", "b", "--resource", world.url])
        let line = "oidc token -p work --scope b --resource \(world.url)"
        #expect(none.status == 2 && none.errorOutput.hasSuffix("  try: get one: \(line)\n"), "\(none)")
        expectSuccess(try world.run(["revoke", "-p", "api"]))
        #expect(world.server.revocations.last?["token"] == token.trimmingCharacters(in: .newlines))
        // A token on stdin is dropped from the same session.
        let next = try world.run(["token", "-p", "api"]).output
        #expect(next != token)
        expectSuccess(try world.program.start(["revoke", "-p", "api", "-"], input: .text(next)).finish())
        #expect(try world.run(["token", "-p", "api"]).output != next)
        expectSuccess(try world.run(["revoke", "-p", "api", "--refresh-token"]))
        let own = try world.run(["status", "-p", "work", "-o", "json"])
        #expect(try JSONValue(parsing: own.output)["can_refresh"] == true, "\(own)")
    }

    @Test(
        "each session is listed with its own profile, and the line of a removed profile ends its session only"
    )
    func sessionsOfClient() throws {
        let world = try ResourceWorld {
            $0.issuesRefreshTokens = true
            $0.registers = false
        }
        let issuer = world.server.issuer
        try world.configure(
            #"{"default_profile":"work","profiles":{"work":{"issuer":"\#(issuer)","client_id":"w","scope":"a"}}}"#
        )
        expectSuccess(try world.run(["login"]))
        let own = ["login", world.url, "--issuer", issuer, "--client-id", "w"]
        expectSuccess(try world.run(own + ["-p", "api"]))
        expectSuccess(try world.run(own + ["--account", "bob", "-p", "bob"]))
        func profiles() throws -> [JSONValue?] {
            let list = try world.run(["status", "--all", "-o", "json"])
            return try (JSONValue(parsing: list.output).array ?? []).map { $0["profile"] }
        }
        #expect(try Set(profiles()) == ["work", "api", "bob"])
        let status = try world.run(["status", "-p", "work"]).output
        #expect(
            status.contains("\(world.url), until") && status.contains("\(world.url) (account bob), until"),
            "\(status)")
        let doctor = try world.run(["doctor", "-p", "api"])
        #expect(!doctor.output.contains("problem  metadata"), "\(doctor)")
        let line = "oidc logout \(world.url) --account bob"
        let removed = try world.run(["config", "rm", "bob"])
        #expect(removed.errorOutput.hasSuffix("to end it: \(line)\n"), "\(removed)")
        expectSuccess(try world.run(["logout", world.url, "--account", "bob"]))
        #expect(try Set(profiles()) == ["work", "api"])
        expectSuccess(try world.run(["config", "rm", "work"]))
        #expect(try Set(profiles()) == [.null, "api"])
    }

    @Test("when a profile with a shared store of its own is removed, the line names the store")
    func removedStore() throws {
        let world = try ResourceWorld()
        let key = world.program.home.appendingPathComponent("key").path
        expectSuccess(try world.run(["config", "new-key", key]))
        // Port 1 is closed.
        let store = #""store":"redis://127.0.0.1:1","store_key_file":"\#(key)""#
        let profile = #"{"issuer":"\#(world.other.issuer)","client_id":"w",\#(store)}"#
        let other = profile.replacing("\"w\"", with: "\"v\"")
        try world.configure(#"{"profiles":{"a":\#(profile),"b":\#(other)}}"#)
        let first = try world.run(["config", "rm", "a"])
        #expect(first.status == 0 && first.errorOutput.contains("to end it: oidc logout"), "\(first)")
        let second = try world.run(["config", "rm", "b"])
        let line = "put the profile back, for its store redis://127.0.0.1:1/0, and run oidc logout -p b\n"
        #expect(second.status == 0 && second.errorOutput.contains(line), "\(second)")
    }

    private static let file = ".config/oidc/config.json"

    private func write(_ text: String, in world: ResourceWorld) throws {
        _ = try world.keep(Self.file, text)
    }

    @Test(
        "a profile that was removed by hand is gone as by config rm: its session stays, and each hint works",
        arguments: [#"{"profiles":{}}"#, #"{"profiles":{"other":{"issuer":"https://login.example.com"}}}"#])
    func removedByHand(text: String) throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.issuesRefreshTokens = true
        }
        let options = ["--issuer", world.server.issuer, "--client-id", "c1"]
        expectSuccess(try world.run(["login", world.url] + options))
        let token = try world.run(["token", world.url]).output
        try write(text, in: world)
        for words in [["status"], ["token"], ["request"], ["credential", "headers"]] {
            expectSuccess(try world.run(words + [world.url]))
        }
        #expect(try world.run(["token", world.url]).output == token)
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        // The sign-in's client is still known, and its profile is written again.
        let again = try world.run(["login", world.url])
        #expect(again.status == 0 && again.errorOutput.contains("Saved as profile 127.0.0.1"), "\(again)")
        try write(text, in: world)
        expectSuccess(try world.run(["logout", world.url]))
        let after = try world.run(["token", world.url])
        #expect(after.status == 3 && after.errorOutput.contains("try: oidc login \(world.url)\n"), "\(after)")
    }

    @Test("a resource of a profile that is signed out and lost its metadata is not taken for a provider")
    func withoutMetadata() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        world.resource.change { $0.anyAnswer = { _ in HTTPResponse(status: 404) } }
        let signedIn = try world.run(["login", world.url])
        expectSuccess(try world.run(["logout", world.url]))
        let signedOut = try world.run(["login", world.url])
        for outcome in [signedIn, signedOut] {
            #expect(outcome.status == 4 && outcome.errorOutput.contains("who protects it"), "\(outcome)")
            #expect(outcome.errorOutput.contains("or name its authorization server: "), "\(outcome)")
        }
    }

    @Test("without a store, the hint names the URL once, and works")
    func withoutStore() throws {
        let world = try ResourceWorld()
        var program = world.program
        program.environment["OIDC_STORE"] = "none"
        // Before and after the first sign-in to the URL.
        for _ in 1...2 {
            for command in ["token", "request", "status"] {
                let outcome = try program.start([command, world.url]).finish()
                let hint =
                    command == "status"
                    ? "oidc token --login \(world.url)" : "oidc \(command) \(world.url) --login"
                #expect(outcome.status == 3, "\(outcome)")
                #expect(outcome.errorOutput.hasSuffix("\n  try: \(hint)\n"), "\(outcome)")
            }
            for command in ["token", "request"] {
                let data = command == "request" ? ["-d", "{}"] : []
                expectSuccess(try program.start([command, world.url, "--login"] + data).finish())
            }
        }
    }

    @Test("a default profile that was removed by hand is named by a hint that works")
    func removedDefault() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        try write(#"{"default_profile":"127.0.0.1","profiles":{}}"#, in: world)
        for words in [["status", world.url], ["token", world.url], ["status"], ["logout", world.url]] {
            let outcome = try world.run(words)
            #expect(
                outcome.status == 2 && outcome.errorOutput.hasSuffix("\n  try: oidc config rm 127.0.0.1\n"),
                "\(outcome)")
        }
        let repair = try world.run(["config", "rm", "127.0.0.1"])
        let removed = "Removed default_profile from "
        #expect(repair.status == 0 && repair.errorOutput.hasPrefix(removed), "\(repair)")
        for words in [["status", world.url], ["token", world.url], ["status"], ["logout", world.url]] {
            expectSuccess(try world.run(words))
        }
        // Any other fault of the file stays one.
        try write(#"{"default_profile":"gone","profile":{}}"#, in: world)
        #expect(try world.run(["config", "rm", "gone"]).status == 2)
    }

    @Test("the file of a secret is saved by name; the line says that a secret in a variable is needed again")
    func confidentialClient() throws {
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        let provider = try ProviderServer(configuration)
        let words = [
            "login", "\(provider.origin)/mcp", "--client-id", "demo-confidential", "--issuer",
            provider.origin,
        ]
        let world = try ResourceWorld()
        try Data("demo-secret\n".utf8).write(to: world.program.home.appendingPathComponent("secret"))
        let login = try world.run(words + ["--set", "client_secret_file=secret"])
        #expect(
            login.status == 0 && login.errorOutput.hasSuffix("\nSaved as profile 127.0.0.1\n"), "\(login)")
        let saved = try #require(try profile(of: world))
        #expect(saved["client_secret_file"]?.string?.hasSuffix("/secret") == true, "\(saved)")
        #expect(saved["grant"] == nil && saved["scope"] == nil, "\(saved)")
        expectSuccess(try world.run(["token", "--refresh"]))
        expectSuccess(try world.run(["token", "--refresh", "\(provider.origin)/mcp"]))
        expectSuccess(try world.run(["request", "\(provider.origin)/mcp"]))
        expectSuccess(try world.run(["login"]))
        expectSuccess(try world.run(["token", "--refresh"]))
        expectSuccess(try world.run(["logout"]))
        expectSuccess(try world.run(["login"]))
        let other = try ResourceWorld(["OIDC_CLIENT_SECRET": "demo-secret"])
        let byVariable = try other.run(words)
        #expect(
            byVariable.errorOutput.hasSuffix(
                "\nSaved as profile 127.0.0.1 (needs OIDC_CLIENT_SECRET again)\n"), "\(byVariable)")
        #expect(try profile(of: other)?.names.contains("client_secret") == false)
        expectSuccess(try other.run(["token", "--refresh"]))
    }

    @Test(
        "it stays the resource's, whichever profile of the same client signs in there",
        arguments: [[], ["-p", "main"]])
    func otherProfileOfClient(words: [String]) throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.issuesRefreshTokens = true
        }
        let options = ["--issuer", world.server.issuer, "--client-id", "c1"]
        expectSuccess(try world.run(["login", "-p", "main", "--scope", "read"] + options))
        expectSuccess(try world.run(["switch", "main"]))
        expectSuccess(try world.run(["login", world.url] + options))
        expectSuccess(try world.run(["login", world.url] + words))
        let main = try world.run(["token", "-p", "main"]).output
        let own = try world.run(["token", "-p", "127.0.0.1"])
        expectSuccess(own)
        #expect(own.output != main)
        #expect(try world.run(["token", world.url]).output == own.output)
        #expect(try world.run(["token", world.url, "-p", "main"]).output == own.output)
        let status = try world.run(["status", "-p", "127.0.0.1"])
        #expect(status.status == 0 && status.output.contains(world.url), "\(status)")
        let again = try world.run(["login", "-p", "127.0.0.1"])
        #expect(again.status == 0 && !again.errorOutput.contains("Saved"), "\(again)")
        #expect(world.server.authorizations.last?["resource"] == world.url)
        expectSuccess(try world.run(["logout", "-p", "127.0.0.1"]))
        #expect(try world.run(["token", "-p", "127.0.0.1"]).status == 3)
        #expect(try world.run(["logout", "-p", "127.0.0.1"]).errorOutput.contains("there was no session"))
        #expect(try world.run(["token", "-p", "main"]).output == main)
    }

    @Test(
        "its resource is not requested of a server that variables name, whose tokens its route does not get")
    func variablesBeside() throws {
        let world = try ResourceWorld(isOwnResource: false)
        expectSuccess(try world.run(["login", world.url]))
        let variables = [
            "OIDC_ISSUER": world.other.issuer, "OIDC_CLIENT_ID": "corp", "OIDC_SCOPE": "api",
        ]
        let login = try world.program.start(["login"], variables).finish()
        expectSuccess(login)
        #expect(world.other.authorizations.map { $0["resource"] } == [nil])
        expectSuccess(try world.run(["logout", world.url]))
        world.resource.forget()
        let exec = ["exec", "--proxy", world.url, "--", "sh", "-c", "curl -s $OIDC_PROXY_URL"]
        let refused = try world.program.start(exec, variables).finish()
        #expect(refused.status == 3, "\(refused)")
        #expect(world.resource.log.allSatisfy { $0.headers["Authorization"] == nil })
        // Written by hand, it is for that server.
        try world.configure(#"{"resource":["https://api.example"]}"#)
        expectSuccess(try world.program.start(["login"], variables).finish())
        #expect(world.other.authorizations.last?["resource"] == "https://api.example")
    }

    @Test("a sign-out of its provider names the resource that one is still signed in to")
    func providerOfResource() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let logout = try world.run(["logout", world.server.issuer])
        #expect(logout.status == 0 && logout.errorOutput.contains("(oidc logout \(world.url))"), "\(logout)")
        expectSuccess(try world.run(["token", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        let again = try world.run(["logout", world.server.issuer])
        #expect(again.status == 0 && !again.errorOutput.contains("still"), "\(again)")
    }

    @Test("once signed out of, every command leads back to the sign-in at the URL")
    func signedOut() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["logout"]))
        for words in [["token"], ["introspect"], ["revoke"], ["inspect"]] {
            let outcome = try world.run(words)
            #expect(outcome.errorOutput.hasSuffix("  try: oidc login \(world.url)\n"), "\(words): \(outcome)")
        }
        let doctor = try world.run(["doctor", "--offline"])
        #expect(doctor.status == 0 && doctor.output.contains("none is set"), "\(doctor)")
    }

    @Test(
        "doctor knows the session of a resource's profile, with the user's own client and with a registered one"
    )
    func doctor() throws {
        for options in [[], ["--client-id", "c1"]] {
            let world = try ResourceWorld {
                $0.registers = options.isEmpty
                $0.issuesRefreshTokens = true
            }
            func session(_ words: [String] = []) throws -> JSONValue? {
                let document = try world.run(["doctor", "--offline", "-o", "json"] + words).output
                return try JSONValue(parsing: document).array?.first { $0["check"] == "session" }
            }
            expectSuccess(try world.run(["login", world.url] + options))
            for words in [[], ["-p", "127.0.0.1"]] {
                let found = try session(words)
                #expect(found?["result"] == "ok", "\(options) \(words): \(String(describing: found))")
            }
            let key = try #require(world.program.sessionFiles.first)
            try FileManager.default.removeItem(at: key)
            let lost = try session()
            #expect(lost?["detail"] == "not signed in", "\(options): \(String(describing: lost))")
            let hint = try #require(lost?["hint"]?.string)
            expectSuccess(try world.run(hint.split(separator: " ").dropFirst().map(String.init)))
            #expect(try session()?["result"] == "ok")
        }
    }

    @Test(
        "request says to sign in to a URL that has or had a session, or a profile, and not to allow its origin"
    )
    func knownURL() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let work = #"{"issuer":"\#(world.other.issuer)","client_id":"mine"}"#
        try world.configure(#"{"default_profile":"work","profiles":{"work":\#(work)}}"#)
        expectSuccess(try world.run(["login", "--scope", "api"]))
        let unknown = try world.run(["request", world.url])
        #expect(unknown.status == 2 && unknown.errorOutput.contains("--allow-origin"), "\(unknown)")
        expectSuccess(try world.run(["login", world.url, "--start", "--no-wait"]))
        let waiting = try world.run(["request", world.url])
        #expect(waiting.status == 3 && waiting.errorOutput.contains("a sign-in is waiting"), "\(waiting)")
        expectSuccess(try world.run(["logout", world.url]))
        func expectSignIn(_ words: String..., url: String? = nil) throws {
            let url = url ?? world.url
            for command in ["request", "token", "status"] {
                let outcome = try world.run([command, url] + words)
                #expect(
                    outcome.status == 3
                        && outcome.errorOutput
                            == "error: not signed in to \(url)\n  try: oidc login \(([url] + words).joined(separator: " "))\n",
                    "\(command): \(outcome)")
            }
        }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["request", world.url]))
        try expectSignIn("--account", "bob")
        try expectSignIn("--account", "bob", url: world.url + "/below")
        expectSuccess(try world.run(["logout", world.url]))
        try expectSignIn()
        let profiles = try String(
            contentsOf: world.program.home.appendingPathComponent(Self.file), encoding: .utf8)
        try world.configure(#"{"default_profile":"work","profiles":{"work":\#(work)}}"#)
        try expectSignIn()
        try world.configure(profiles)
        // The same file on another machine: nothing else is known there.
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.local")
        expectSuccess(try world.run(["login", "--scope", "api"]))
        try expectSignIn()
        #expect(try world.run(["request", "\(world.resource.origin)/else"]).status == 2)
        let requests = world.resource.log.filter { $0.headers["Authorization"] != nil }
        #expect(requests.count == 1)
    }

    @Test(
        "the profile of a machine stays the machine's, also if a user signs in to its resource with the same client"
    )
    func machineProfile() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"]) {
            $0.registers = false
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        }
        let issuer = world.server.issuer
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"machine":{"issuer":"\#(issuer)","client_id":"c1","grant":"client_credentials","#
                + #""resource":["\#(world.url)"]}}}"#)
        expectSuccess(try world.run(["token", "-p", "machine"]))
        expectSuccess(try world.run(["login", world.url, "--issuer", issuer, "--client-id", "c1"]))
        let requests = world.resource.log.count
        expectSuccess(try world.run(["token", "-p", "machine", "--refresh"]))
        #expect(world.resource.log.count == requests)
        #expect(world.server.tokenRequests.last?.form["grant_type"] == "client_credentials")
        #expect(try profile(of: world)?["client_id"] == "c1", "the user has one of their own")
    }

    @Test("a second sign-in by the same options leaves it the resource's")
    func twice() throws {
        let world = try ResourceWorld {
            $0.registers = false
            $0.issuesRefreshTokens = true
        }
        let words = ["login", world.url, "--issuer", world.server.issuer, "--client-id", "c1"]
        expectSuccess(try world.run(words))
        expectSuccess(try world.run(words))
        expectSuccess(try world.run(["token", "--refresh"]))
        expectSuccess(try world.run(["logout"]))
        #expect(try world.run(["token", world.url]).status == 3)
    }

    @Test("a client that was registered for the resource is not saved")
    func registeredClient() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let saved = try #require(try profile(of: world))
        #expect(saved.names == ["resource"] && saved["resource"] == [.string(world.url)], "\(saved)")
    }

    @Test("at a terminal, login alone signs in to a resource as login URL does")
    func dialog() throws {
        for (registers, answer) in [(false, "c1"), (true, "c1"), (true, "")] {
            let world = try ResourceWorld { $0.registers = registers }
            let run = try TerminalRun(world.program, ["login"])
            let prompt = registers ? "Client ID (Enter: register one now): " : "Client ID: "
            for (prompt, answer) in [("any other issuer): ", world.url), (prompt, answer)] {
                try #require(run.wait { $0.contains(prompt) ? 0 : nil } != nil, "\(prompt) in \(run.text)")
                run.type("\(answer)\n")
            }
            let (status, text) = run.finish()
            #expect(status == 0 && text.contains("Saved as profile 127.0.0.1"), "\(text)")
            #expect(world.server.registrations.count == (answer.isEmpty ? 1 : 0))
            #expect(try profile(of: world)?["client_id"] == (answer.isEmpty ? nil : "c1"))
            expectSuccess(try world.run(["token"]))
        }
    }

    @Test("at a terminal, login alone asks for no client of a URL that is neither a provider nor a resource")
    func nothing() throws {
        let world = try ResourceWorld()
        let run = try TerminalRun(world.program, ["login"])
        try #require(run.wait { $0.contains("any other issuer): ") ? 0 : nil } != nil)
        run.type("\(world.server.origin)/nothing\n")
        let (status, text) = run.finish()
        #expect(status == 4 && !text.contains("Client ID"), "\(text)")
    }
}
