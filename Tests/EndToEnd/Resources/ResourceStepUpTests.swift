import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite(
    "sign-ins that a resource asks for", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct ResourceStepUpTests {
    /// A resource whose path `/write` takes the scope `mcp:write`, and `/admin` likewise.
    private func world(
        _ variables: [String: String] = [:], _ server: (inout ServerStandIn.Rules) -> Void = { _ in }
    ) throws -> ResourceWorld {
        let world = try ResourceWorld(variables, server: server) {
            $0.challengeScope = "mcp:read"
            $0.answerToGet = nil
        }
        let rules = world.resource.rules
        let issuing = world.server
        world.resource.change {
            $0.answer = { request, token in
                guard let name = ["write", "admin"].first(where: { request.url.path.hasSuffix("/\($0)") }),
                    let scope = issuing.scope(of: token), !scope.contains("mcp:\(name)")
                else { return nil }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "mcp:\(name)")])
            }
        }
        return world
    }

    @Test("the command in the hint gives the session what was missing")
    func hint() throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url]))
        let refused = try world.call(path: "/write", options: ["-o", "json"])
        #expect(refused.status == 3, "\(refused)")
        let line = try #require(refused.errorOutput.split(separator: "\n").last)
        let hint = try #require(try JSONValue(parsing: String(line))["error"]?["hint"]?.string)
        #expect(hint == "oidc login \(world.url)/write --scope 'mcp:read mcp:write'")
        let words = ["-c", "shift; exec \"$0\" \(hint.dropFirst(5))", Program.path, "x"]
        expectSuccess(try world.program.start(words, executable: "/bin/sh").finish())
        expectSuccess(try world.call(path: "/write", options: []))
        expectSuccess(try world.call(options: []))
        #expect(world.tabs.count == 2 && world.program.sessionFiles.count == 1)
    }

    @Test("an API beside the profile's provider gets no more than the scopes of an option")
    func pinned() throws {
        let world = try world()
        try world.configure(#"{"issuer":"\#(world.server.issuer)","client_id":"mine"}"#)
        let options = ["--login", "--allow-origin", world.resource.origin, "--scope", "mcp:read"]
        let refused = try world.call(path: "/write", options: options)
        #expect(refused.status == 4 && refused.errorOutput.contains("--scope names"), "\(refused)")
        #expect(world.server.authorizations.map { $0["scope"] } == ["mcp:read"])
    }

    @Test(
        "a resource whose client nobody is asked about gets no more than the scopes of an option",
        arguments: [false, true])
    func pinnedResource(isOfDocument: Bool) throws {
        let document = ["OIDC_CLIENT_METADATA_URL": "https://client.example/oidc.json"]
        let world = try world(isOfDocument ? document : [:]) {
            $0.registers = !isOfDocument
            $0.metadata["client_id_metadata_document_supported"] = .bool(isOfDocument)
        }
        expectSuccess(try world.run(["login", world.url]))
        let refused = try world.call(path: "/write", options: ["--login", "--scope", "mcp:read"])
        #expect(refused.status == 4 && refused.errorOutput.contains("--scope names"), "\(refused)")
        #expect(world.server.authorizations.count == 1)
    }

    @Test("the hint has no age that the setting does not take")
    func age() throws {
        let world = try world()
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, _ in
                rules.challenge(
                    401, at: request.url.origin,
                    [("error", "insufficient_user_authentication"), ("max_age", "9223372036854775807")])
            }
        }
        expectSuccess(try world.run(["login", world.url]))
        let refused = try world.call(options: [])
        #expect(refused.errorOutput.hasSuffix("login \(world.url) --prompt login\n"), "\(refused)")
    }

    @Test("a resource that answers 403 without a token asks for a sign-in with the scope that it names")
    func anonymous() throws {
        let world = try world()
        let rules = world.resource.rules
        world.resource.change {
            $0.anyAnswer = { request in
                guard request.url.path == rules.path, request.headers["Authorization"] == nil else {
                    return nil
                }
                let parameters = [("error", "insufficient_scope"), ("scope", "mcp:write")]
                return rules.challenge(403, at: request.url.origin, parameters)
            }
        }
        expectSuccess(try world.call())
        let token = try #require(world.resource.credentials.last?.dropFirst("Bearer ".count))
        #expect(world.tabs.count == 1)
        #expect(world.server.scope(of: String(token))?.contains("mcp:write") == true)
    }

    @Test(
        "403 for scope, of which the resource names none or only what the session has, is exit 4 without a hint",
        arguments: [(nil, "the API does not say which scope"), ("mcp:read", "the session has the scope")]
            as [(String?, String)])
    func unnamedScope(scope: String?, words: String) throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url]))
        let rules = world.resource.rules
        world.resource.change {
            $0.answer = { request, _ in
                rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", scope)])
            }
        }
        for options in [[], ["--login"]] {
            let refused = try world.call(options: options)
            #expect(refused.status == 4 && refused.errorOutput.contains(words), "\(refused)")
            #expect(!refused.errorOutput.contains("try:"), "\(refused.errorOutput)")
        }
        #expect(world.tabs.count == 1)
    }

    @Test("an answer that asks for a stronger sign-in need not say again where the metadata is")
    func metadataNotNamedAgain() throws {
        let world = try world()
        let issuing = world.server
        world.resource.change {
            $0.metadataPath = "/prm"
            let rules = $0
            $0.answer = { request, _ in
                guard issuing.tokenRequests.count == 1 else { return nil }
                var bare = rules
                bare.namedMetadata = .some(nil)
                return bare.challenge(
                    401, at: request.url.origin,
                    [("error", "insufficient_user_authentication"), ("acr_values", "strong")])
            }
        }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.call())
        #expect(world.tabs.count == 2)
    }

    @Test("the command in the hint has the client and the account that were given")
    func hintWithOptions() throws {
        let world = try world()
        let options = ["--client-id", "pre", "--account", "bob"]
        expectSuccess(try world.run(["login", world.url] + options))
        let line = "--client-id pre --account bob --scope 'mcp:read mcp:write'"
        let refused = try world.call(path: "/write", options: options)
        #expect(refused.status == 3, "\(refused)")
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)/write \(line)"), "\(refused)")
        let token = try world.run(["token", world.url, "--scope", "mcp:write"] + options)
        #expect(token.status == 3 && token.errorOutput.contains("\(world.url) \(line)"), "\(token)")
    }

    @Test("what options set for a sign-in holds for the hint, the step-up and the next sign-in of its client")
    func asBefore() throws {
        let port = try LoopbackServer().port
        for options in [
            ["--client-id", "pre", "--port", "\(port)", "--set", "resource_parameter=off"],
            ["--client-id", "pre", "--set", "redirect_uri=http://localhost:\(port)/cb"],
            [
                "--client-id", "pre", "--set", "redirect_uri=http://127.0.0.1:\(port)/cb", "--set",
                "callback_listen=127.0.0.1:\(port)", "--set", "callback_path=/cb",
            ],
            ["--set", "resource_parameter=off"],
        ] {
            let world = try world()
            if !options.contains("--port") {
                let unknown = try world.run(["token", world.url] + options)
                #expect(unknown.errorOutput.hasSuffix("\(options.joined(separator: " "))\n"), "\(unknown)")
            }
            expectSuccess(try world.run(["login", world.url] + options))
            let refused = try world.call(path: "/write", options: [])
            let hint = "oidc login \(world.url)/write --scope 'mcp:read mcp:write'"
            #expect(refused.status == 3 && refused.errorOutput.hasSuffix("try: \(hint)\n"), "\(refused)")
            expectSuccess(try world.run(["login", "\(world.url)/write", "--scope", "mcp:read mcp:write"]))
            expectSuccess(try world.call(path: "/admin"))
            expectSuccess(try world.run(["login", world.url]))
            let asked = world.server.authorizations
            #expect(asked.count == 4 && Set(asked.map { $0["resource"] }).count == 1, "\(asked)")
            #expect(Set(asked.map { $0["client_id"] }).count == 1, "\(asked)")
            guard options.contains("pre") else { continue }
            #expect(Set(asked.map { $0["redirect_uri"] }).count == 1, "\(asked)")
            expectSuccess(try world.run(["login", world.url, "--client-id", "other"]))
            #expect(world.server.authorizations.last?["redirect_uri"] != asked[0]["redirect_uri"])
        }
    }

    @Test("parallel step-ups for different scopes keep each other's, also if clients are registered again")
    func differentScopes() throws {
        for checksRegisteredScope in [false, true] {
            let world = try world { $0.checksRegisteredScope = checksRegisteredScope }
            world.resource.change { $0.metadata = ["scopes_supported": ["mcp:read"]] }
            expectSuccess(try world.run(["login", world.url]))
            let runs = try ["write", "admin"].map { path in
                try world.program.start(["request", "--login", "POST", "\(world.url)/\(path)", "-d", "{}"])
            }
            for run in runs { expectSuccess(run.finish()) }
            for path in ["/write", "/admin", ""] { expectSuccess(try world.call(path: path, options: [])) }
            #expect(world.program.sessionFiles.count == 1)
            if !checksRegisteredScope { #expect(world.tabs.count == 3) }
        }
    }

    @Test("a scope that the server has dropped is forgotten by the next sign-in, unless --scope names it")
    func droppedScope() throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.call(path: "/write"))
        world.server.change { $0.refusedScopes = ["mcp:write"] }
        // Without a challenge that names the scope, that of the last sign-in is requested.
        world.resource.change {
            $0.answerToGet = HTTPResponse(status: 404)
            $0.metadata = ["scopes_supported": ["mcp:read"]]
        }
        world.forget()
        for _ in 0..<2 { expectSuccess(try world.run(["login", world.url])) }
        #expect(
            world.server.authorizations.map { $0["scope"] } == ["mcp:read mcp:write", "mcp:read", "mcp:read"])
        let asked = try world.run(["login", world.url, "--scope", "mcp:write"])
        #expect(asked.status == 4 && asked.errorOutput.contains("invalid_scope"), "\(asked)")
    }

    @Test("eight parallel step-ups open one tab, and all succeed")
    func crowd() throws {
        let world = try world()
        expectSuccess(try world.run(["login", world.url]))
        let arguments = ["request", "--login", "POST", "\(world.url)/write", "-d", "{}"]
        let runs = try (0..<8).map { _ in try world.program.start(arguments) }
        for run in runs { expectSuccess(run.finish()) }
        #expect(world.tabs.count == 2, "\(world.tabs)")
        #expect(world.server.authorizations.last?["scope"] == "mcp:read mcp:write")
    }

    @Test("if the server does not grant what the resource wants, there is one more sign-in and exit 4")
    func notGranted() throws {
        let world = try world { rules in
            rules.token = { _ in
                .value([
                    "access_token": "narrow", "token_type": "Bearer", "scope": "mcp:read", "expires_in": 600,
                ])
            }
        }
        expectSuccess(try world.run(["login", world.url]))
        let outcome = try world.call(path: "/write")
        #expect(outcome.status == 4 && outcome.errorOutput.contains("after a sign-in"), "\(outcome)")
        #expect(world.tabs.count == 2)
    }

    @Test("at a new server nothing of the old one is sent, and without --login exit 3 says who is new")
    func moved() throws {
        let world = try world { $0.issuesRefreshTokens = true }
        expectSuccess(try world.call())
        let old = try world.run(["token", world.url]).output.trimmingCharacters(in: .newlines)
        let issuer = world.other.issuer
        world.resource.change { $0.servers = [issuer] }
        world.server.revokeTokens()
        world.forget()
        let refused = try world.call(options: [])
        #expect(refused.status == 3 && refused.errorOutput.contains(issuer), "\(refused)")
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)"))
        #expect(world.server.log.isEmpty && world.other.log.isEmpty)
        expectSuccess(try world.call())
        #expect(world.server.tokenRequests.isEmpty && world.other.registrations.count == 1)
        let said = world.other.log.map { request in
            "\(request.url) \(request.headers["Authorization"] ?? "") "
                + String(decoding: request.body, as: UTF8.self)
        }.joined(separator: "\n")
        #expect(!said.contains(old) && !said.contains("refresh-") && !said.contains("registered-"))
        expectSuccess(try world.call(options: []))
    }

    @Test("the same server: a refused token is refreshed once, without a tab")
    func refreshed() throws {
        let world = try world { $0.issuesRefreshTokens = true }
        expectSuccess(try world.call())
        world.server.revokeTokens()
        world.forget()
        expectSuccess(try world.call(options: []))
        #expect(world.server.tokenRequests.map { $0.form["grant_type"] } == ["refresh_token"])
        #expect(world.tabs.count == 1)
    }

    @Test("a profile's session steps up too, and its narrower scope does not undo it")
    func ofProfile() throws {
        let world = try world()
        try world.configure(
            """
            {"profiles":{"default":{"issuer":"\(world.server.issuer)","client_id":"known","scope":"mcp:read",
              "resources":[{"title":"MCP","url":"\(world.url)/write"}]}}}
            """)
        expectSuccess(try world.run(["login"]))
        let url = "\(world.url)/write"
        let refused = try world.run(["request", "POST", url, "-d", "{}"])
        #expect(refused.status == 3, "\(refused)")
        #expect(refused.errorOutput.contains("try: oidc login --scope 'mcp:read mcp:write'"), "\(refused)")
        let stepped = try world.run(["request", "--login", "POST", url, "-d", "{}"])
        expectSuccess(stepped)
        let parts = stepped.errorOutput.components(separatedBy: "Sign in at:")
        #expect(parts.count == 2 && parts[0].contains("Scopes: mcp:read mcp:write\n"), "\(stepped)")
        expectSuccess(try world.run(["request", "POST", url, "-d", "{}"]))
        #expect(world.tabs.count == 2)
    }

    @Test("an answer without a challenge needs no sign-in")
    func open() throws {
        let world = try world()
        world.resource.change { $0.answerToGet = HTTPResponse(status: 200, body: Array("open".utf8)) }
        let outcome = try world.run(["request", "--login", world.url])
        #expect(outcome.status == 0 && outcome.output == "open" && world.tabs.isEmpty, "\(outcome)")
    }

    @Test("a refusal by the user is reported with the URL to sign in to again")
    func declined() throws {
        let world = try world()
        world.server.change { $0.responseError = ["error": "access_denied"] }
        for command in [["login"], ["request", "--login"]] {
            let outcome = try world.run(command + [world.url])
            #expect(outcome.status == 4, "\(outcome)")
            #expect(outcome.errorOutput.contains("try: oidc login \(world.url)\n"), "\(outcome)")
        }
    }
}
