import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "the user's own client for a resource elsewhere", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ClientConsentTests {
    private static let scopes: [String: JSONValue] = ["scopes_supported": ["repo", "admin"]]

    /// A resource that names the provider of the profile, and asks for scopes of its choice.
    private func world(_ more: String = "") throws -> ResourceWorld {
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = false
        } resource: {
            $0.metadata = Self.scopes
        }
        try world.configure(
            #"{"issuer":"\#(world.server.issuer)","client_id":"corp-client"\#(more)}"#)
        return world
    }

    /// A server that knows the client by its document, with one resource, and with a second one elsewhere.
    private func documentWorlds() throws -> (ResourceWorld, ResourceWorld) {
        let variables = ["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"]
        let world = try ResourceWorld(variables, isOwnResource: false) {
            $0.metadata = ["client_id_metadata_document_supported": true]
        }
        let second = try ResourceWorld(isOwnResource: false, resource: { $0.metadata = Self.scopes })
        second.resource.change { $0.servers = [world.server.origin] }
        return (world, second)
    }

    private func question(_ world: ResourceWorld, _ scope: String) -> String {
        "\(world.url) asks for a token of \(world.server.issuer), as your client corp-client, "
            + "with: \(scope). Continue? [y/N] "
    }

    /// Runs the program on a terminal, and answers its question.
    private func answered(
        _ world: ResourceWorld, _ arguments: [String], _ scope: String, _ answer: String
    ) throws -> (status: Int32, text: String) {
        let run = try TerminalRun(world.program, arguments, columns: 400)
        let question = question(world, scope)
        try #require(run.wait(within: 60) { $0.contains(question) ? true : nil } == true, "\(run.text)")
        #expect(world.tabs.isEmpty || !run.text.contains("Sign in at:"))
        run.type(answer + "\n")
        return run.finish()
    }

    @Test(
        "login and --login ask at a terminal before the browser opens; no is the default",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func asked() throws {
        let world = try world()
        for answer in ["", "n", "nonsense"] {
            let declined = try answered(world, ["login", world.url], "repo admin", answer)
            #expect(declined.status == 4 && declined.text.contains("declined"), "\(declined)")
        }
        #expect(world.tabs.isEmpty && world.server.authorizations.isEmpty)
        let token = try answered(world, ["token", "--login", world.url], "repo admin", "y")
        #expect(token.status == 0, "\(token)")
        #expect(world.tabs.count == 1)
        // It is remembered for this resource, issuer, client and scopes.
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"]))
        let more = try world.run(["token", "--login", "--refresh", world.url, "--scope", "repo other"])
        #expect(more.status == 3 && more.errorOutput.contains("with: repo other"), "\(more)")
        #expect(more.errorOutput.contains("try: oidc login \(world.url) --scope 'repo other'\n"), "\(more)")
        expectSuccess(try world.run(["logout", world.url]))
        #expect(try world.run(["login", world.url]).status == 2)
        #expect(world.tabs.count == 3)
    }

    @Test("without a terminal login is exit 2, and the line that it names is the answer")
    func unasked() throws {
        let world = try world()
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 2, "\(refused)")
        let options = ["--issuer", world.server.issuer, "--client-id", "corp-client"]
        let line = (["oidc login", world.url] + options).joined(separator: " ")
        // The scopes that are shown are the ones that are allowed.
        #expect(refused.errorOutput.contains("try: \(line) --scope 'repo admin'\n"), "\(refused.errorOutput)")
        // So is the way to sign in.
        let own = ["--start", "--no-profile", "--login-hint", "me"]
        let started = try world.run(["login", world.url] + own)
        let same = (["oidc login", world.url] + own + options).joined(separator: " ")
        #expect(started.errorOutput.contains("try: \(same) --scope 'repo admin'\n"), "\(started.errorOutput)")
        for half in [Array(options[..<2]), Array(options[2...])] {
            let outcome = try world.run(["login", world.url] + half)
            #expect(outcome.status == 2 && outcome.errorOutput.contains("--issuer"), "\(outcome)")
        }
        #expect(world.tabs.isEmpty && world.server.tokenRequests.isEmpty)
        expectSuccess(try world.run(["login", world.url] + options))
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.authorizations.map { $0["client_id"] } == ["corp-client", "corp-client"])
    }

    @Test("other commands of a user's session are exit 3 with the line of login")
    func otherCommands() throws {
        let world = try world()
        for words in [["token", "--login"], ["credential", "headers"]] {
            let refused = try world.run(words + [world.url])
            #expect(refused.status == 3, "\(refused)")
            #expect(refused.errorOutput.contains("try: oidc login \(world.url)"), "\(refused.errorOutput)")
        }
        let call = try world.call()
        #expect(call.status == 3 && call.errorOutput.contains("corp-client"), "\(call)")
        #expect(world.tabs.isEmpty && world.server.tokenRequests.isEmpty)
    }

    @Test("the profile's own origins are not asked about: its resources, its proxy routes, its issuer")
    func ownOrigins() throws {
        for (setting, title) in [("resources", #""title":"x","#), ("proxy_routes", "")] {
            let world = try world()
            try world.configure(
                #"{"issuer":"\#(world.server.issuer)","client_id":"corp-client","#
                    + #""\#(setting)":[{\#(title)"url":"\#(world.resource.origin)/other"}]}"#)
            expectSuccess(try world.run(["login", world.url]))
        }
    }

    /// Each says what tokens are for.
    static let audiences = [
        #""audience":"payroll""#, #""authorization_details":[{"type":"payroll"}]"#,
        #""extra_authorize_params":{"audience":"payroll","k":"v"}"#,
        #""extra_authorize_params":{"k":"v","authorization_details":"payroll"}"#,
        #""extra_token_params":{"audience":"payroll","k":"v"}"#,
    ]

    @Test("an audience on the origin of a resource elsewhere is requested, as it is that resource's")
    func audienceOfResource() throws {
        let world = try ResourceWorld(isOwnResource: false)
        let own = "\(world.resource.origin)/v1"
        try world.configure(
            #"{"issuer":"\#(world.server.issuer)","audience":"\#(own)","extra_token_params":{"audience":"\#(own)"}}"#
        )
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.authorizations.last?["audience"] == own)
        #expect(world.server.tokenRequests.last?.form["audience"] == own)
    }

    @Test(
        "what the profile says tokens are for is not requested for a resource elsewhere, only for its own",
        arguments: audiences, [true, false])
    func audience(_ setting: String, isOwnClient: Bool) throws {
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = !isOwnClient
            $0.issuesRefreshTokens = true
        }
        let client = isOwnClient ? #","client_id":"corp-client""# : ""
        let profile = #""issuer":"\#(world.server.issuer)"\#(client),\#(setting)"#
        try world.configure("{\(profile)}")
        let options = isOwnClient ? ["--issuer", world.server.issuer, "--client-id", "corp-client"] : []
        func run(_ lines: [String]...) throws -> String {
            world.forget()
            for line in lines { expectSuccess(try world.run(line)) }
            return world.sent
        }
        let sent = try run(
            ["login", world.url] + options, ["token", "--refresh", world.url],
            ["login", world.url, "--start", "--no-wait"])
        #expect(!sent.contains("payroll"), "\(sent)")
        let name = setting.split(separator: "\"")[0]
        let noted = try world.run(["login", world.url]).errorOutput
        #expect(noted.contains("what \(name) of profile default says about the token's audience"), "\(noted)")
        #expect(sent.contains("k=v") == setting.contains(#""k""#), "\(sent)")
        try world.configure(#"{\#(profile),"proxy_routes":[{"url":"\#(world.resource.origin)"}]}"#)
        let own = try run(["login", world.url], ["token", "--refresh", world.url])
        #expect(own.contains("payroll"), "\(own)")
    }

    @Test("nor is what variables say, at the second sign-in either; an option is")
    func audienceOfVariables() throws {
        let world = try ResourceWorld(
            ["OIDC_AUDIENCE": "payroll", "OIDC_AUTHORIZATION_DETAILS": #"[{"type":"payroll"}]"#],
            isOwnResource: false)
        for _ in 0..<2 { expectSuccess(try world.run(["login", world.url])) }
        expectSuccess(try world.run(["token", "--refresh", "--login", world.url]))
        #expect(world.sent.contains("authorization_code") && !world.sent.contains("payroll"), "\(world.sent)")
        expectSuccess(try world.run(["login", world.url, "--audience", "payroll"]))
        expectSuccess(try world.run(["token", world.url, "--audience", "payroll"]))
        #expect(world.server.authorizations.last?["audience"] == "payroll")
        #expect(world.server.authorizations.last?["authorization_details"] == nil)
        expectSuccess(try world.run(["login", world.url, "--param", "audience=payroll"]))
        #expect(world.server.authorizations.last?["audience"] == "payroll")
    }

    @Test("the profile that a sign-in to the resource wrote has the audience that an option gave for it")
    func audienceOfSavedProfile() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "corp-client", "--audience", "own"]
        expectSuccess(try world.run(["login", world.url] + options))
        expectSuccess(try world.run(["token", world.url]))
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.server.authorizations.map { $0["audience"] } == ["own", "own"])
    }

    @Test("a session for the profile's audience, of a sign-in by an earlier version, is found as before")
    func audienceOfEarlierVersion() throws {
        let world = try world(#","audience":"payroll""#)
        expectSuccess(
            try world.run(
                ["login", world.url, "--issuer", world.server.issuer, "--client-id", "corp-client"]
                    + ["--audience", "payroll", "--no-profile"]))
        #expect(try world.run(["token", world.url]).status == 3)
        let directory = world.program.home.path + "/.local/state/oidc/resources/"
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        for name in names where name.hasSuffix(".json") {
            let text = try String(contentsOfFile: directory + name, encoding: .utf8)
            #expect(text.contains(#""elsewhere":true"#), "\(text)")
            try text.replacingOccurrences(of: #","elsewhere":true"#, with: "").write(
                toFile: directory + name, atomically: false, encoding: .utf8)
        }
        expectSuccess(try world.run(["token", world.url]))
    }

    @Test(
        "what the settings name for another provider does not make its origin the user's own",
        arguments: [#""#, #","proxy_routes":[{"url":"ORIGIN/other"}]"#, #","userinfo_endpoint":"ORIGIN/me""#])
    func originsOfOthers(more: String) throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let origin = world.resource.origin
        try world.configure(
            #"{"issuer":"\#(origin)""# + more.replacingOccurrences(of: "ORIGIN", with: origin) + "}")
        let refused = try world.run(["login", world.url, "--client-id", "corp-client"])
        #expect(
            refused.status == 2 && refused.errorOutput.contains("as your client corp-client"), "\(refused)")
        #expect(world.tabs.isEmpty)
    }

    @Test(
        "nor do variables for another provider, and the answer to a machine's question changes no other's profile"
    )
    func variablesOfOthers() throws {
        let world = try world()
        let origin = world.resource.origin
        let resources = ["OIDC_RESOURCES": #"[{"title":"x","url":"\#(origin)/other"}]"#]
        let other = ["OIDC_ISSUER": origin, "OIDC_CLIENT_ID": "other"]
        let refused = try world.program.start(["login", world.url], resources.merging(other) { $1 }).finish()
        #expect(
            refused.status == 2 && refused.errorOutput.contains("as your client corp-client"), "\(refused)")
        expectSuccess(try world.program.start(["login", world.url], resources).finish())
        try world.configure(#"{"issuer":"https://login.example.com","client_id":"corp-client"}"#)
        let machine = try world.program.start(
            ["token", world.url],
            [
                "OIDC_ISSUER": world.server.issuer, "OIDC_CLIENT_ID": "m", "OIDC_CLIENT_SECRET": "s3cret",
                "OIDC_GRANT": "client_credentials", "OIDC_STATE_DIR": world.program.home.path + "/other",
            ]
        ).finish()
        #expect(
            machine.status == 2 && machine.errorOutput.contains("try: oidc token \(world.url) --issuer"),
            "\(machine)")
    }

    @Test("a client of variables, or of the last sign-in, is the user's own too")
    func otherOwnClients() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "corp-client"], isOwnResource: false) {
            $0.registers = false
        }
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: its default scopes"), "\(refused)")
        let other = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        expectSuccess(
            try other.run([
                "login", other.url, "--issuer", other.server.issuer, "--client-id", "mine", "--no-profile",
            ]))
        expectSuccess(try other.run(["login", other.url, "--no-profile"]))
        let wider = try other.run(["login", other.url, "--scope", "more", "--no-profile"])
        #expect(wider.status == 2 && wider.errorOutput.contains("with: more"), "\(wider)")
    }

    @Test("a session that no profile describes is not the user's word for its server and client")
    func onlySession() throws {
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = false
        } resource: {
            $0.metadata = Self.scopes
        }
        expectSuccess(
            try world.run([
                "login", "--issuer", world.server.issuer, "--client-id", "mine", "--scope", "repo",
                "--no-profile",
            ]))
        let tabs = world.tabs.count
        let refused = try world.call()
        #expect(refused.status == 3 && refused.errorOutput.contains("as your client mine"), "\(refused)")
        #expect(world.tabs.count == tabs)
    }

    @Test("more scopes are asked about, also once the sign-in's profile names the resource")
    func savedProfile() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        for words in [[], ["-p", WebURL(world.server.issuer)?.host ?? ""]] {
            expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + words))
            let wider = try world.run(
                ["token", "--login", "--refresh", world.url, "--scope", "admin"] + words)
            #expect(wider.status == 3 && wider.errorOutput.contains("with: admin"), "\(wider)")
        }
    }

    @Test("logout forgets the agreement, also where the sign-in's profile names the resource")
    func withdrawn() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        expectSuccess(try world.run(["logout", world.url]))
        let refused = try world.run(["token", "--login", world.url, "--scope", "repo"])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo"), "\(refused)")
        #expect(world.tabs.count == 1)
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"]))
    }

    @Test("default scopes are not what was agreed to by name")
    func defaultScopes() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        let refused = try world.run(["login", world.url, "--scope", ""])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: its default scopes"), "\(refused)")
    }

    @Test("logout forgets the agreement, also if the session cannot be read")
    func withdrawnDamaged() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        try Data("{".utf8).write(to: try #require(world.program.sessionFiles.first))
        #expect(try world.run(["logout", world.url]).status == 4)
        let refused = try world.run(["token", "--login", world.url, "--scope", "repo"])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo"), "\(refused)")
        #expect(world.tabs.count == 1)
    }

    @Test("all scopes that are asked for are shown before the browser opens, however many")
    func manyScopes() throws {
        let scopes = (0..<30).map { "read:a-rather-long-name-\($0)" } + ["admin:all"]
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = false
        } resource: {
            $0.metadata = ["scopes_supported": .array(scopes.map { .string($0) })]
        }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        let login = try world.run(["login", world.url] + options)
        let parts = login.errorOutput.components(separatedBy: "Sign in at:")
        #expect(parts[0].contains("Scopes: \(scopes.joined(separator: " "))\n"), "\(login)")
    }

    @Test(
        "the question's last lines name resource, server and client, and all scopes stand before them",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"),
        arguments: [200, 21, 1])
    func longQuestion(count: Int) throws {
        let name = String(repeating: "a", count: 4_000 / count - 6)
        let scopes = (0..<count).map { "s\($0):\(name)" }
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = false
        } resource: {
            $0.metadata = ["scopes_supported": .array(scopes.map { .string($0) })]
        }
        try world.configure(#"{"issuer":"\#(world.server.issuer)","client_id":"corp-client"}"#)
        let run = try TerminalRun(world.program, ["login", world.url], columns: 80)
        try #require(run.wait(within: 60) { $0.contains("[y/N]") ? true : nil } == true, "\(run.text)")
        let lines = run.text.replacingOccurrences(of: "\r", with: "").split(separator: "\n").map { line in
            line.hasPrefix("  | ") ? line.dropFirst(4) : line
        }
        let last = lines.suffix(20).joined(separator: " ")
        let subject =
            "\(world.url) asks for a token of \(world.server.issuer), as your client corp-client, "
            + "with the \(count == 1 ? "one scope" : "\(count) scopes") above"
        #expect(last.contains(subject) && lines.allSatisfy { $0.count <= 4_096 }, "\(run.text)")
        if count > 1 { #expect(last.contains("\(scopes[0]) ") && last.contains(" more. Continue? [y/N]")) }
        let list = lines.joined(separator: " ").components(separatedBy: subject)[0]
        #expect(scopes.allSatisfy { list.contains($0) }, "\(run.text)")
        run.type("n\n")
        #expect(run.finish().status == 4 && world.tabs.isEmpty)
    }

    @Test("more scopes than a user can read are refused, unless the user names some")
    func tooManyScopes() throws {
        let world = try ResourceWorld(isOwnResource: false) {
            $0.registers = false
        } resource: {
            $0.metadata = ["scopes_supported": .array((0...256).map { .string("s\($0)") })]
        }
        let line = ["login", world.url, "--issuer", world.server.issuer, "--client-id", "mine"]
        let refused = try world.run(line)
        #expect(refused.status == 4 && refused.errorOutput.contains("--scope"), "\(refused)")
        #expect(world.tabs.isEmpty)
        expectSuccess(try world.run(line + ["--scope", "s0"]))
    }

    @Test("a resource that spells its identifier otherwise is not another one")
    func otherSpelling() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        for resource in [world.resource.origin, "\(world.resource.origin)/"] {
            world.resource.change { $0.metadata = ["resource": .string(resource)] }
            let wider = try world.run(["login", world.url, "--scope", "repo admin"])
            #expect(wider.status == 2 && wider.errorOutput.contains("with: repo admin"), "\(wider)")
        }
    }

    @Test("nor does a resource that names another server for a while", arguments: [false, true])
    func otherServer(signsOut: Bool) throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        world.trust(world.other)
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"]))
        #expect(world.other.registrations.count == 1)
        if signsOut { expectSuccess(try world.run(["logout", world.url])) }
        world.trust(world.server)
        try FileManager.default.removeItem(atPath: world.program.home.path + "/.cache")
        let refused = try world.run(["login", world.url, "--scope", "repo admin"])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
    }

    @Test("nor does another account go round the question")
    func otherAccount() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine"]
        expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options))
        for isSignedOut in [false, true] {
            if isSignedOut { expectSuccess(try world.run(["logout", world.url])) }
            let other = ["login", world.url, "--scope", "repo admin", "--account", "bob"]
            let refused = try world.run(other)
            #expect(refused.status == 2 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
        }
    }

    @Test("a client known by its document is asked about once it serves another resource")
    func document() throws {
        let (world, second) = try documentWorlds()
        expectSuccess(try world.run(["login", world.url]))
        let refused = try world.run(["token", "--login", second.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
        #expect(world.tabs.count == 1)
        let options = ["--issuer", world.server.issuer, "--client-id", "https://client.example/oidc.json"]
        expectSuccess(try world.run(["login", second.url] + options))
        // Neither is asked about again, but for more scopes.
        expectSuccess(try world.run(["login", second.url]))
        expectSuccess(try world.run(["login", world.url]))
        let wider = try world.run(["login", world.url, "--scope", "more"])
        #expect(wider.status == 2 && wider.errorOutput.contains("with: more"), "\(wider)")
        expectSuccess(try world.run(["logout", world.url]))
        #expect(try world.run(["token", "--login", world.url]).status == 3)
    }

    @Test(
        "a client known by its document is asked about if the user signs in with it, too",
        arguments: ["settings", "login", "exchange"])
    func ownDocument(way: String) throws {
        let document = "https://client.example/oidc.json"
        let world = try ResourceWorld(
            ["OIDC_CLIENT_METADATA_URL": document], isOwnResource: false
        ) {
            $0.metadata = ["client_id_metadata_document_supported": true]
        } resource: {
            $0.metadata = Self.scopes
        }
        let own = ["--issuer", world.server.issuer, "--client-id", document, "--scope", "read"]
        switch way {
        case "settings":
            try world.configure(
                #"{"issuer":"\#(world.server.issuer)","client_id":"\#(document)","client_metadata_url":"\#(document)"}"#
            )
        case "login":
            expectSuccess(try world.run(["login", "--no-profile"] + own))
            // As on another machine of a shared store, or after an earlier version.
            try FileManager.default.removeItem(
                at: world.program.home.appendingPathComponent(".local/state/oidc/clients"))
        default:
            let begun = try world.run(["authorize-url", "--set", "port=8485"] + own)
            let url = try #require(JSONValue(parsing: begun.output)["url"]?.string.flatMap { WebURL($0) })
            let answer = RawConnection.exchange(
                port: UInt16(url.effectivePort),
                "GET \(url.path)?\(url.query ?? "") HTTP/1.1\r\nHost: \(url.hostAndPort)\r\n"
                    + "Connection: close\r\n\r\n")
            let location = try #require(
                answer.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("location: ") },
                "\(answer)")
            let file = world.program.home.appendingPathComponent("pending.json")
            try Data(begun.output.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            let ended = try world.program.run(
                "exchange", "--pending", file.path, input: String(location.dropFirst("location: ".count)))
            #expect(ended.status == 0, "\(ended)")
        }
        let tabs = world.tabs.count
        let refused = try world.run(["token", "--login", world.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
        guard way == "settings" else { return }
        let machine = try world.run(["token", "--grant", "client_credentials", world.url])
        #expect(
            machine.status == 2 && machine.errorOutput.contains("do not name this resource"), "\(machine)")
        #expect(world.tabs.count == tabs && world.server.tokenRequests.isEmpty)
    }

    @Test("a client known by its document has served a resource also after that has moved to another server")
    func documentMoved() throws {
        let (world, second) = try documentWorlds()
        expectSuccess(try world.run(["login", world.url]))
        world.other.change { $0.metadata = ["client_id_metadata_document_supported": true] }
        world.trust(world.other)
        expectSuccess(try world.run(["login", world.url]))
        let refused = try world.run(["token", "--login", second.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
    }

    @Test(
        "the first resource of a document's client is asked about for default scopes once the user signs in too"
    )
    func documentDefaultScopes() throws {
        let (world, _) = try documentWorlds()
        expectSuccess(try world.run(["login", world.url, "--scope", "read"]))
        let document = "https://client.example/oidc.json"
        expectSuccess(
            try world.run([
                "login", "--issuer", world.server.issuer, "--client-id", document, "--scope", "read write",
                "--no-profile",
            ]))
        let refused = try world.run(["login", world.url, "--scope", ""])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: its default scopes"), "\(refused)")
    }

    @Test("a provider that a profile names by its endpoints is the user's own, and its store is not read")
    func documentOfEndpoints() throws {
        let (world, _) = try documentWorlds()
        let origin = world.server.origin
        func configure(_ clientID: String) throws {
            try world.configure(
                #"{"default_profile":"here","profiles":{"here":{},"own":{"token_endpoint":"\#(origin)/token","client_id":"\#(clientID)","#
                    + #""authorization_endpoint":"\#(origin)/authorize","store":"redis://127.0.0.1:1","#
                    + #""store_key_file":"key"}}}"#)
        }
        try configure("https://client.example/oidc.json")
        let refused = try world.run(["login", world.url, "--scope", "read"])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: read"), "\(refused)")
        try configure("other")
        expectSuccess(try world.run(["login", world.url, "--scope", "read"]))
    }

    @Test("the hint names the scopes of the question, and not those of a profile")
    func hintedScopes() throws {
        let world = try world()
        try world.configure(
            #"{"default_profile":"here","profiles":{"here":{},"work":{"issuer":"\#(world.server.issuer)","#
                + #""client_id":"corp-client","scope":"mail files"}}}"#)
        let refused = try world.run(["login", world.url])
        #expect(refused.errorOutput.contains("with: repo admin"), "\(refused)")
        #expect(refused.errorOutput.hasSuffix(" --scope 'repo admin'\n"), "\(refused)")
        let options = ["-p", "work", "--issuer", world.server.issuer, "--client-id", "corp-client"]
        expectSuccess(try world.run(["login", world.url] + options + ["--scope", "repo admin"]))
        #expect(world.server.authorizations.last?["scope"] == "repo admin")
    }

    @Test("a client known by its document has served a resource also after the user has signed out of it")
    func documentSignedOut() throws {
        let (world, second) = try documentWorlds()
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["logout", world.url]))
        let refused = try world.run(["token", "--login", second.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
        // The first resource is not another one.
        expectSuccess(try world.run(["login", world.url]))
        #expect(world.tabs.count == 2)
    }

    @Test("the user has signed in with a document's client also if the sign-in then failed here")
    func documentFailed() throws {
        let (world, second) = try documentWorlds()
        world.server.change { $0.token = { _ in HTTPResponse(status: 503) } }
        let document = "https://client.example/oidc.json"
        let own = ["login", "--issuer", world.server.issuer, "--client-id", document, "--no-profile"]
        #expect(try world.run(own + ["--scope", "read"]).status == 5)
        #expect(world.server.authorizations.count == 1)
        world.server.change { $0.token = { _ in nil } }
        let refused = try world.run(["token", "--login", second.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("with: repo admin"), "\(refused)")
    }

    @Test(
        "who allowed a token while the client had no secret has not given the secret away",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func laterSecret() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_ID": "corp-client"], isOwnResource: false) {
            $0.registers = false
            $0.issuesRefreshTokens = true
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_basic", "none"]]
        }
        let allowed = try answered(world, ["login", world.url], "its default scopes", "y")
        #expect(allowed.status == 0, "\(allowed)")
        let secret = ["OIDC_CLIENT_SECRET": "s3cret"]
        let refused = try world.program.start(["login", world.url], secret).finish()
        #expect(refused.status == 2 && refused.errorOutput.contains("gets the client's secret"), "\(refused)")
        for command in [["token", "--refresh"], ["logout"]] {
            _ = try world.program.start(command + [world.url], secret).finish()
        }
        #expect(!world.server.log.contains { $0.headers["Authorization"]?.hasPrefix("Basic") == true })
    }

    @Test("what a resource's server wants is not hinted to be set for the profile of another one")
    func hintedSetting() throws {
        let world = try ResourceWorld()
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"mine"}"#)
        world.server.change { $0.token = { _ in .oauth("use_dpop_nonce") } }
        let refused = try world.run(["login", world.url])
        #expect(refused.errorOutput.hasSuffix("try: oidc login \(world.url) --set dpop=true\n"), "\(refused)")
    }

    @Test("a client known by its document has not served a neighbour on the same origin")
    func documentNeighbour() throws {
        let (world, _) = try documentWorlds()
        expectSuccess(try world.run(["login", world.url, "--scope", "read"]))
        let document = "https://client.example/oidc.json"
        let own = ["--issuer", world.server.issuer, "--client-id", document, "--no-profile"]
        expectSuccess(try world.run(["login", "--scope", "read"] + own))
        let (origin, server, place) = (
            world.resource.origin, world.server.issuer, "/.well-known/oauth-protected-resource/other"
        )
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path == place else { return nil }
                return .value(
                    ["resource": .string("\(origin)/other"), "authorization_servers": [.string(server)]])
            }
        }
        let refused = try world.run(["login", "\(origin)/other", "--scope", "read"])
        #expect(refused.status == 2 && refused.errorOutput.contains("with: read"), "\(refused)")
        // The first one keeps what it had.
        expectSuccess(try world.run(["login", world.url, "--scope", "read"]))
    }

    @Test("the scopes that options allow are not widened by the resource")
    func allowedScopes() throws {
        let world = try world()
        let rules = world.resource.rules
        let server = world.server
        world.resource.change {
            $0.answer = { request, token in
                guard let scope = server.scope(of: token), !scope.contains("everything") else { return nil }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "everything")])
            }
        }
        let options = ["--issuer", server.issuer, "--client-id", "corp-client"]
        let pinned = try world.call(options: ["--login"] + options + ["--scope", "repo"])
        #expect(pinned.status == 3 && pinned.errorOutput.contains("everything"), "\(pinned)")
        let hint = pinned.errorOutput.split(separator: "\n").last ?? ""
        #expect(hint.contains("everything"), "\(hint)")
        #expect(server.authorizations.map { $0["scope"] } == ["repo"])
        expectSuccess(try world.call(options: ["--login"] + options))
        #expect(server.authorizations.last?["scope"]?.contains("everything") == true)
    }

    @Test("scopes that read as the end of the question are quoted")
    func sentence() throws {
        let world = try world()
        world.resource.change {
            $0.metadata = ["scopes_supported": ["read.", "Continue?[y/N]", "https://a.test/b"]]
        }
        let refused = try world.run(["login", world.url])
        #expect(
            refused.errorOutput.contains("with: \"read.\" \"Continue?[y/N]\" https://a.test/b:"), "\(refused)"
        )
    }

    @Test("a resource that was signed out of is not named as one to sign out of")
    func signedOut() throws {
        let world = try ResourceWorld(isOwnResource: false) { $0.registers = false }
        let options = ["--issuer", world.server.issuer, "--client-id", "mine", "--no-profile"]
        for account in [[], ["--account", "bob"]] {
            expectSuccess(try world.run(["login", world.url, "--scope", "repo"] + options + account))
        }
        let named = try world.run(["logout"])
        #expect(named.status == 2 && named.errorOutput.contains(world.url), "\(named)")
        for account in [[], ["--account", "bob"]] {
            expectSuccess(try world.run(["logout", world.url] + account))
        }
        let none = try world.run(["logout"])
        #expect(none.status == 2 && !none.errorOutput.contains(world.url), "\(none)")
    }

    @Test(
        "that a server which only the URL names gets the client's secret is said before the answer",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func secret() throws {
        let client = ["OIDC_CLIENT_ID": "corp-client", "OIDC_CLIENT_SECRET": "s3cret"]
        let world = try ResourceWorld(client, isOwnResource: false) { $0.registers = false }
        let words = "; that server, which only this URL names, gets the client's secret"
        let refused = try world.run(["login", world.url])
        #expect(refused.status == 2 && refused.errorOutput.contains(words), "\(refused)")
        let run = try TerminalRun(world.program, ["login", world.url], columns: 400)
        let question = "with: its default scopes\(words). Continue? [y/N] "
        try #require(run.wait(within: 60) { $0.contains(question) ? true : nil } == true, "\(run.text)")
        run.type("n\n")
        #expect(run.finish().status == 4 && world.server.tokenRequests.isEmpty)
    }

    @Test("a registered client, and one known by its document, are not asked about")
    func registered() throws {
        let world = try ResourceWorld(isOwnResource: false, resource: { $0.metadata = Self.scopes })
        expectSuccess(try world.call())
        let document = try ResourceWorld(
            ["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"], isOwnResource: false
        ) {
            $0.metadata = ["client_id_metadata_document_supported": true]
        } resource: {
            $0.metadata = Self.scopes
        }
        expectSuccess(try document.call())
    }

    @Test("a grant without a user is exit 2 with the entry in resources, which works")
    func unattended() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"], isOwnResource: false) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        } resource: {
            $0.metadata = Self.scopes
        }
        try world.configure(
            #"{"profiles":{"work":{"issuer":"\#(world.server.issuer)","client_id":"corp-client","#
                + #""grant":"client_credentials","resources":[{"title":"known","url":"https://known.example"}]}}}"#
        )
        for words in [["token"], ["credential", "headers"], ["request", "POST"]] {
            let refused = try world.run(words + ["-p", "work", world.url])
            #expect(refused.status == 2, "\(refused)")
            #expect(world.server.tokenRequests.isEmpty)
        }
        let refused = try world.run(["token", "-p", "work", world.url])
        let resources =
            #"[{"title":"known","url":"https://known.example"},{"title":"127.0.0.1","url":"\#(world.url)"}]"#
        #expect(
            refused.errorOutput.contains("try: oidc config set -p work 'resources=\(resources)'\n"),
            "\(refused.errorOutput)")
        expectSuccess(try world.run(["config", "set", "-p", "work", "resources=\(resources)"]))
        expectSuccess(try world.run(["token", "-p", "work", world.url]))
        #expect(world.server.tokenRequests.count == 1)
    }

    @Test("the resource of a profile that was written by hand is not asked about", arguments: [true, false])
    func writtenByHand(hasUser: Bool) throws {
        let variables = hasUser ? [:] : ["OIDC_CLIENT_SECRET": "s3cret"]
        let world = try ResourceWorld(variables, isOwnResource: false) {
            if hasUser { $0.registers = false }
            if !hasUser { $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]] }
        }
        let grant = hasUser ? "" : #","grant":"client_credentials""#
        try world.configure(
            #"{"profiles":{"work":{"issuer":"\#(world.server.issuer)","client_id":"corp-client","#
                + #""resource":["\#(world.url)"]\#(grant)}}}"#)
        expectSuccess(try world.run(["token", "-p", "work", world.url] + (hasUser ? ["--login"] : [])))
        #expect(world.server.tokenRequests.count == 1)
    }

    @Test("a grant without a user and without a profile is answered by both options")
    func unattendedOptions() throws {
        let world = try ResourceWorld(["OIDC_CLIENT_SECRET": "s3cret"], isOwnResource: false) {
            $0.metadata = ["token_endpoint_auth_methods_supported": ["client_secret_post"]]
        }
        world.resource.change { $0.metadata["scopes_supported"] = ["read"] }
        let words = ["token", world.url, "--grant", "client_credentials", "--client-id", "one"]
        let refused = try world.run(words)
        #expect(refused.status == 2 && world.server.tokenRequests.isEmpty, "\(refused)")
        // The scopes are those that were named, whatever the resource lists by then.
        #expect(
            refused.errorOutput.hasSuffix("--issuer \(world.server.issuer) --scope read\n"), "\(refused)")
        expectSuccess(try world.run(words + ["--issuer", world.server.issuer]))
    }
}
