import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sessions of resources", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceSessionTests {
    private func json(_ outcome: Program.Outcome) throws -> JSONValue {
        try JSONValue(parsing: outcome.output)
    }

    @Test("a token is found for every URL below the resource, and for no other")
    func coverage() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let token = try world.run(["token", world.url]).output
        world.forget()
        for tail in ["/", "/deeper", "?x=1"] {
            #expect(try world.run(["token", world.url + tail]).output == token, "\(tail)")
        }
        let host = world.url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
        for url in [world.resource.origin, world.url + "x", world.url + "/../other", host] {
            let outcome = try world.run(["token", url])
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(url) \(outcome)")
            #expect(outcome.errorOutput.contains("try: oidc login "), "\(outcome)")
        }
        #expect(world.requests.isEmpty)
    }

    @Test("without a session, exit 3 says what to type, with the options that were given")
    func hints() throws {
        let world = try ResourceWorld()
        let url = world.url + "?a=1&b=2"
        for command in [["token"], ["request"], ["status"], ["credential", "headers"]] {
            let outcome = try world.run(command + [url, "--account", "second"])
            #expect(outcome.status == 3 && outcome.output.isEmpty, "\(outcome)")
            #expect(
                outcome.errorOutput.contains("try: oidc login '\(url)' --account second"),
                "\(outcome.errorOutput)")
        }
        #expect(world.requests.isEmpty)
    }

    @Test("status says what a session is for; logout ends it, and only it")
    func statusAndLogout() throws {
        let world = try ResourceWorld()
        let login = try world.run(["login", world.url, "-o", "json"])
        expectSuccess(login)
        #expect(try json(login)["resource"] == [.string(world.url)])
        #expect(login.errorOutput.contains("resource  \(world.url)"))
        world.forget()
        #expect(
            try json(try world.run(["status", world.url, "-o", "json"]))["resource"] == [.string(world.url)])
        let all = try json(try world.run(["status", "--all", "-o", "json"])).array ?? []
        #expect(all.map { $0["resource"] } == [[.string(world.url)]])
        let list = try world.run(["status"])
        #expect(list.status == 0 && list.output.contains("resource      \(world.url)"), "\(list)")
        #expect(world.requests.isEmpty)
        let logout = try world.run(["logout", world.url, "-o", "json"])
        #expect(try json(logout)["session"] == "forgotten", "\(logout)")
        #expect(try world.run(["token", world.url]).status == 3)
        #expect(try json(try world.run(["logout", world.url, "-o", "json"]))["session"] == "none")
    }

    @Test("without an ID token, the hint names the scope that brings one")
    func idToken() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url, "--scope", "a b"]))
        let outcome = try world.run(["token", "--type", "id", world.url])
        #expect(outcome.status == 3 && outcome.output.isEmpty)
        #expect(
            outcome.errorOutput.contains("try: oidc login \(world.url) --scope 'openid a b'"), "\(outcome)")
    }

    @Test("with -o json, a request whose sign-in fails prints only the error")
    func noBody() throws {
        let world = try ResourceWorld { $0.responseError = ["error": "access_denied"] }
        let outcome = try world.run(["request", "-o", "json", "--login", "POST", world.url])
        #expect(outcome.status != 0 && outcome.output.isEmpty, "\(outcome)")
    }

    @Test("a profile's session and a resource's at the same server and client are two")
    func apartFromProfile() throws {
        let world = try ResourceWorld()
        let issuer = world.server.issuer
        try world.configure(
            #"{"profiles":{"work":{"issuer":"\#(issuer)","client_id":"known","scope":"a"}},"default_profile":"work"}"#
        )
        expectSuccess(try world.run(["login"]))
        expectSuccess(try world.run(["login", world.url]))
        let tokens = try [["token"], ["token", world.url]].map { try world.run($0).output }
        #expect(Set(tokens).count == 2 && !tokens.contains(""))
        #expect(world.server.authorizations.map { $0["resource"] } == [nil, world.url])
        let status = try world.run(["status"])
        #expect(status.output.contains("signed in to  \(world.url), until"), "\(status.output)")
        expectSuccess(try world.run(["logout", world.url]))
        #expect(try world.run(["token"]).output == tokens[0])
    }

    @Test("accounts of one resource are kept apart")
    func accounts() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", world.url, "--account", "second"]))
        let tokens = try [[], ["--account", "second"]].map {
            try world.run(["token", world.url] + $0).output
        }
        #expect(Set(tokens).count == 2 && !tokens.contains(""))
        #expect(try world.run(["token", world.url, "--account", "third"]).status == 3)
    }

    @Test("a damaged record is not a session, and the next sign-in repairs it")
    func damaged() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let directory = world.program.home.path + "/.local/state/oidc/resources"
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
        try "{".write(toFile: "\(directory)/\(file)", atomically: false, encoding: .utf8)
        for command in ["token", "status", "request"] {
            let refused = try world.run([command, world.url])
            #expect(refused.status == 3, "\(refused)")
            #expect(refused.errorOutput.contains("is damaged"), "\(refused.errorOutput)")
            #expect(refused.errorOutput.contains(file) && refused.errorOutput.contains("try: oidc login"))
        }
        // The session names its resource.
        expectSuccess(try world.run(["logout", world.url]))
        #expect(world.program.sessionFiles.isEmpty)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", world.url]))
    }

    @Test("status without settings and sessions: nobody is signed in")
    func nobody() throws {
        let world = try ResourceWorld()
        for more in [[], ["-o", "json"]] {
            let nobody = try world.run(["status"] + more)
            #expect(nobody.status == 3 && nobody.output.isEmpty, "\(nobody)")
            #expect(nobody.errorOutput.contains("nobody is signed in"), "\(nobody.errorOutput)")
            let hint = more.isEmpty ? "try: oidc login\n" : #""hint":"oidc login""#
            #expect(["oidc login URL", hint].allSatisfy(nobody.errorOutput.contains), "\(nobody)")
        }
    }

    @Test(
        "token --refresh asks the resource first: a refresh token is not sent after it moved to another server"
    )
    func moved() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        world.trust(world.other)
        world.server.forget()
        let refused = try world.run(["token", "--refresh", world.url])
        #expect(refused.status == 3 && refused.errorOutput.contains("now takes tokens from"), "\(refused)")
        #expect(world.server.log.isEmpty && world.other.tokenRequests.isEmpty)
        world.trust(world.server)
        world.resource.change { $0.metadataPath = "/gone" }
        expectSuccess(try world.run(["token", "--refresh", world.url]))
    }

    @Test("logout --all names the resource of each session")
    func logoutAll() throws {
        let (world, second) = (try ResourceWorld(), try ResourceWorld())
        second.trust(world.server)
        for url in [world.url, second.url] { expectSuccess(try world.run(["login", url])) }
        let outcome = try world.run(["logout", "--all"])
        for url in [world.url, second.url] {
            #expect(outcome.errorOutput.contains("for \(url)"), "\(outcome.errorOutput)")
        }
    }

    @Test("resource_parameter=off leaves the resource out of every request, and the session is still its own")
    func withoutParameter() throws {
        let world = try ResourceWorld { $0.issuesRefreshTokens = true }
        let off = ["--set", "resource_parameter=off"]
        expectSuccess(try world.run(["login", world.url] + off))
        expectSuccess(try world.run(["token", "--refresh", world.url]))
        #expect(world.server.authorizations.allSatisfy { $0["resource"] == nil })
        #expect(world.server.tokenRequests.allSatisfy { $0.form["resource"] == nil })
        #expect(world.server.tokenRequests.count == 2)
    }

    @Test("a server that issues the same token each time, and no refresh token, locks nobody out")
    func sameToken() throws {
        let world = try ResourceWorld {
            $0.token = { _ in
                .value(["access_token": "always", "token_type": "Bearer", "expires_in": 3_600])
            }
        }
        for _ in 0..<3 { expectSuccess(try world.run(["login", world.url])) }
        expectSuccess(try world.call(options: []))
        #expect(try world.run(["token", world.url]).output == "always\n")
        #expect(world.tabs.count == 3)
    }

    @Test("a URL excludes --resource and --all")
    func usage() throws {
        let world = try ResourceWorld()
        for words in [
            ["login", world.url, "--resource", "https://api.example"], ["token", "mcp.example.com"],
            ["logout", world.url, "--all"], ["status", world.url, "--all"],
        ] {
            let outcome = try world.run(words)
            #expect(outcome.status == 2 && world.requests.isEmpty, "\(words) \(outcome)")
        }
        let hint = try world.run(["token", "mcp.example.com/mcp"]).errorOutput
        #expect(hint.contains("try: oidc token https://mcp.example.com/mcp"), "\(hint)")
        try world.configure(#"{"profiles":{"work":{"issuer":"https://op.example"}}}"#)
        let name = try world.run(["token", "work"]).errorOutput
        #expect(name.contains("\"work\" is not a URL") && name.contains("try: oidc token -p work"), "\(name)")
    }

    @Test("agents get the header of a session, and what to paste")
    func headers() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let token = try world.run(["token", world.url]).output.trimmingCharacters(in: .newlines)
        let headers = try world.run(["credential", "headers", world.url])
        #expect(try json(headers) == ["Authorization": .string("Bearer \(token)")])
        for (agent, words) in [
            ("claude-code", ["\"headersHelper\": \"", "oidc credential headers \(world.url)"]),
            ("claude-code-gateway", ["\"apiKeyHelper\": \"", "oidc token \(world.url)"]),
            (
                "codex",
                [
                    "codex() {", "oidc token \(world.url)", "oidc exec --proxy \(world.url)",
                    "mcp_servers.", "$OIDC_PROXY_URL",
                ]
            ),
        ] {
            let setup = try world.run(["credential", "headers", world.url, "--setup", agent])
            #expect(setup.status == 0 && words.allSatisfy(setup.output.contains), "\(setup)")
            #expect(!setup.output.contains(token))
        }
    }

    @Test("token --login signs in once more for the scope of the last sign-in if the session is missing")
    func tokenLogin() throws {
        let world = try ResourceWorld(resource: { $0.metadata = ["scopes_supported": ["a", "b"]] })
        expectSuccess(try world.run(["token", "--login", world.url]))
        expectSuccess(try world.run(["token", "--login", world.url]))
        #expect(world.tabs.count == 1)
        for file in world.program.sessionFiles { try FileManager.default.removeItem(at: file) }
        #expect(try world.run(["token", world.url]).status == 3)
        let again = try world.run(["token", "--login", world.url])
        #expect(again.status == 0 && again.output.hasPrefix("token-"), "\(again)")
        #expect(world.server.authorizations.map { $0["scope"] } == ["a b", "a b"])
        #expect(world.server.registrations.count == 1)
    }

    @Test(
        "token --login prints a resource's token, with a warning, if nothing can be stored; login refuses before"
    )
    func unstorable() throws {
        let world = try ResourceWorld()
        // No directory can be made there.
        let variables = ["OIDC_STATE_DIR": "/proc/sessions"]
        let refused = try world.program.start(["login", world.url], variables).finish()
        #expect(refused.status == 1 && world.server.registrations.isEmpty, "\(refused)")
        let outcome = try world.program.start(["token", "--login", world.url], variables).finish()
        #expect(outcome.status == 0 && outcome.output.hasPrefix("token-"), "\(outcome)")
        #expect(outcome.errorOutput.contains("warning: the session could not be stored: "), "\(outcome)")
    }

    @Test("a hint within a sentence is for the resource's session")
    func hintInSentence() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let file = try #require(world.program.sessionFiles.first { $0.path.contains("oidc/127") })
        let text = try String(contentsOf: file, encoding: .utf8)
        let newer = text.replacingOccurrences(of: #""version":1"#, with: #""version":99"#)
        try Data(newer.utf8).write(to: file)
        for words in [["token", world.url], ["request", world.url]] {
            let outcome = try world.run(words)
            let hint = "or forget the session with oidc logout \(world.url) --local"
            #expect(outcome.status == 1 && outcome.errorOutput.contains(hint), "\(outcome)")
        }
    }

    @Test("codex is started behind the proxy: it gets a URL with a secret, and no token")
    func codex() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let token = try world.run(["token", world.url]).output.trimmingCharacters(in: .newlines)
        let setup = try world.run(["credential", "headers", world.url, "--setup", "codex"])
        let stub = world.program.home.appendingPathComponent("codex")
        try Data("#!/bin/sh\nprintf '%s\\n' \"$@\"\nenv\n".utf8).write(to: stub)
        chmod(stub.path, 0o755)
        let path = "\(world.program.home.path):/usr/bin:/bin"
        let outcome = try world.program.start(
            ["-c", setup.output + "\ncodex exec 'say hello'"], ["PATH": path], executable: "/bin/sh"
        ).finish()
        #expect(outcome.status == 0, "\(outcome)")
        let lines = outcome.output.split(separator: "\n")
        #expect(
            lines.first == "-c" && lines.count > 4 && lines[2...3] == ["exec", "say hello"], "\(outcome)")
        let setting = #/mcp_servers\.[a-z0-9_]+\.url="http://127\.0\.0\.1:\d+/[^"]+/"/#
        #expect(lines.count > 1 && lines[1].wholeMatch(of: setting) != nil, "\(outcome)")
        #expect(!token.isEmpty && !outcome.output.contains(token))
    }

    @Test("the function for codex uses no other session than the resource's, here and on other machines")
    func codexWithoutSession() throws {
        let world = try ResourceWorld(isOwnResource: false)
        try world.configure(
            #"{"default_profile":"a","profiles":{"a":{"issuer":"\#(world.other.issuer)","client_id":"corp","scope":"a"}}}"#
        )
        expectSuccess(try world.run(["login"]))
        let words = ["credential", "headers", world.url, "--setup", "codex"]
        let none = try world.run(words)
        #expect(none.status == 3 && none.output.isEmpty, "\(none)")
        #expect(none.errorOutput.contains("not signed in to \(world.url)\n  try: oidc login \(world.url)"))
        expectSuccess(try world.run(["login", world.url, "--no-profile"]))
        let setup = try world.run(words)
        expectSuccess(setup)
        let elsewhere = ["OIDC_STATE_DIR": world.program.home.appendingPathComponent("other").path]
        expectSuccess(try world.program.start(["login"], elsewhere).finish())
        let stub = "#!/bin/sh\nexec curl -sf -X POST -d '{}' \"$OIDC_PROXY_URL\"\n"
        try ExecutableScript.write(stub, to: world.program.home.appendingPathComponent("codex"))
        let path = ["PATH": "\(world.program.home.path):/usr/bin:/bin"]
        for (machine, status) in [(elsewhere, 3), ([:], 0)] as [([String: String], Int32)] {
            world.resource.forget()
            let outcome = try world.program.start(
                ["-c", setup.output + "\ncodex"], machine.merging(path) { $1 }, executable: "/bin/sh"
            ).finish()
            #expect(outcome.status == status, "\(outcome)")
            let hasToken = world.resource.log.contains { $0.headers["Authorization"] != nil }
            #expect(hasToken == (status == 0))
        }
    }
}
