import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite(
    "the proxy and the sessions of resources", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, which is also the browser's stand-in, is not installed"))
struct ResourceProxyTests {
    private let post = #"curl -sf -X POST -d '{}' "$OIDC_PROXY_URL""#

    @Test("a route uses the session of the resource that it leads to, also without a profile")
    func session() throws {
        let world = try ResourceWorld()
        expectSuccess(try world.run(["login", world.url]))
        let answer = try world.run(["exec", "--proxy", world.url, "--", "sh", "-c", post])
        expectSuccess(answer)
        let direct = try world.run(["request", "POST", world.url, "-d", "{}"])
        #expect(answer.output == direct.output && !answer.output.isEmpty)
    }

    @Test("routes of two resources get the token of each")
    func twoResources() throws {
        let (world, second) = (try ResourceWorld(), try ResourceWorld())
        second.trust(world.server)
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", second.url]))
        let both = post + " && " + post.replacingOccurrences(of: "PROXY_URL", with: "PROXY_URL_2")
        expectSuccess(
            try world.run(["exec", "--proxy", world.url, "--proxy", second.url, "--", "sh", "-c", both]))
    }

    @Test(
        "with --login, a resource that wants more scope gets it by one sign-in, and the request goes through")
    func stepUp() throws {
        let world = try demandingWorld()
        expectSuccess(try world.run(["login", world.url, "--scope", "mcp:read"]))
        let run = try world.program.start(["proxy", "--login", world.url])
        defer {
            run.signal(SIGTERM)
            _ = run.finish()
        }
        let line = run.output { $0.contains("\n") ? $0 : nil } ?? ""
        let url = try #require(WebURL(String(line.prefix { $0 != " " })), "\(line)")
        let head = [
            "POST \(url.path) HTTP/1.1", "Host: \(url.hostAndPort)", "Connection: close", "Content-Length: 2",
        ].joined(separator: "\r\n")
        for _ in 0..<2 {
            let reply = RawConnection.exchange(
                port: UInt16(clamping: url.effectivePort), head + "\r\n\r\n{}")
            #expect(RawConnection.status(reply) == 200, "\(reply) \(run.errorOutput)")
        }
        #expect(world.tabs.count == 2)
        #expect(world.server.authorizations.last?["scope"] == "mcp:read mcp:write")
    }

    /// A resource that names one scope, and wants another one with each request.
    private func demandingWorld(_ variables: [String: String] = [:]) throws -> ResourceWorld {
        let world = try ResourceWorld(variables, resource: { $0.challengeScope = "mcp:read" })
        let (rules, server) = (world.resource.rules, world.server)
        world.resource.change {
            $0.answer = { request, token in
                guard let scope = server.scope(of: token), !scope.contains("mcp:write") else { return nil }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "mcp:write")])
            }
        }
        return world
    }

    @Test(
        "a URL outside the profile's origins gets a wider token of the profile's client only if the user agrees",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func widerScope() throws {
        let world = try ResourceWorld(isOwnResource: false)
        let profile = #""issuer":"\#(world.server.issuer)","client_id":"corp","scope":"api""#
        try world.configure("{\(profile)}")
        let (rules, server) = (world.resource.rules, world.server)
        let scopes = Mutex<[Scope]>([])
        world.resource.change {
            $0.answer = { request, token in
                guard let scope = server.scope(of: token) else { return nil }
                scopes.withLock { $0.append(scope) }
                guard !scope.contains("admin") else {
                    return HTTPResponse(status: 200, body: Array("done".utf8))
                }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "admin")])
            }
        }
        expectSuccess(try world.run(["login"]))
        let question =
            "\(world.url) asks for a token of \(server.issuer), as your client corp, with: api admin"
        let request = ["request", "--login", "--allow-origin", world.resource.origin, world.url]
        let refused = try world.run(request)
        #expect(refused.status == 3, "\(refused)")
        #expect(
            refused.errorOutput
                == "error: \(question): sign in to allow it\n  try: oidc login --scope 'api admin'\n"
        )
        let get = #"curl -s "$OIDC_PROXY_URL""#
        let exec = try world.run(["exec", "--login", "--proxy", world.url, "--", "sh", "-c", get])
        #expect(
            exec.output.contains("login_required") && exec.output.contains("--scope 'api admin'"), "\(exec)")
        func answered(_ answer: String) throws -> (status: Int32, text: String) {
            let run = try TerminalRun(world.program, request, columns: 400)
            try #require(
                run.wait(within: 60) { $0.contains("\(question). Continue? [y/N] ") ? true : nil } == true)
            run.type(answer + "\n")
            return run.finish()
        }
        #expect(try answered("").status == 4)
        #expect(
            world.server.authorizations.count == 1 && scopes.withLock { $0.allSatisfy { $0 == Scope("api") } }
        )
        // As the URL is the profile's own, nobody is asked.
        try world.configure(#"{\#(profile),"resources":[{"title":"x","url":"\#(world.url)"}]}"#)
        expectSuccess(try world.run(request))
        expectSuccess(try world.run(["login", "--scope", "api"]))
        try world.configure("{\(profile)}")
        let allowed = try answered("y")
        #expect(allowed.status == 0 && allowed.text.contains("done"), "\(allowed)")
        #expect(world.server.authorizations.last?["scope"] == "api admin")
    }

    @Test(
        "a route that has had a session of its own gets no other token after the sign-out",
        arguments: [false, true])
    func signedOutRoute(isDamaged: Bool) throws {
        let world = try ResourceWorld(isOwnResource: false)
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"corp","scope":"api"}"#)
        expectSuccess(try world.run(["login"]))
        expectSuccess(try world.run(["login", world.url, "--no-profile"]))
        let exec = ["exec", "--proxy", world.url, "--", "sh", "-c", post]
        expectSuccess(try world.run(exec))
        if isDamaged {
            for file in world.program.files(in: ".local/state/oidc/resources")
            where file.pathExtension == "json" {
                try "{".write(to: file, atomically: false, encoding: .utf8)
            }
        } else {
            expectSuccess(try world.run(["logout", world.url]))
        }
        world.resource.forget()
        let refused = try world.run(exec)
        #expect(refused.status == 3 && refused.errorOutput.contains("login \(world.url)"), "\(refused)")
        #expect(world.resource.log.allSatisfy { $0.headers["Authorization"] == nil })
        // The settings may list it; the resource may refuse that token.
        let listed = ["OIDC_PROXY_ROUTES": #"[{"url":"\#(world.url)"}]"#]
        world.resource.forget()
        let status = try world.program.start(exec, listed).finish().status
        #expect([0, 22].contains(status), "\(status)")
        #expect(world.resource.log.contains { $0.headers["Authorization"] != nil })
    }

    @Test(
        "a route with a session of its own gets no token of another grant or account",
        arguments: [["OIDC_GRANT": "client_credentials"], ["OIDC_ACCOUNT": "b"]])
    func otherGrantOrAccount(_ variables: [String: String]) throws {
        let secret = ["OIDC_CLIENT_SECRET": "s3cret"]
        let world = try ResourceWorld(isOwnResource: false)
        world.other.change { $0.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"] }
        try world.configure(#"{"issuer":"\#(world.other.issuer)","client_id":"corp","scope":"api"}"#)
        if variables["OIDC_ACCOUNT"] != nil { expectSuccess(try world.run(["login", "--account", "b"])) }
        expectSuccess(try world.program.start(["token"], variables.merging(secret) { $1 }).finish())
        expectSuccess(try world.run(["login", world.url, "--no-profile"]))
        world.resource.forget()
        let exec = ["exec", "--proxy", world.url, "--", "sh", "-c", post]
        let refused = try world.program.start(exec, variables.merging(secret) { $1 }).finish()
        #expect([2, 3].contains(refused.status), "\(refused)")
        #expect(world.resource.log.allSatisfy { $0.headers["Authorization"] == nil })
        expectSuccess(try world.run(exec))
    }

    @Test("a route uses the session of its URL also if the profile is for another resource")
    func routeOfOther() throws {
        let world = try ResourceWorld(isOwnResource: false)
        try world.configure(
            #"{"issuer":"\#(world.other.issuer)","client_id":"corp","scope":"api","resource":["https://api.example"]}"#
        )
        expectSuccess(try world.run(["login"]))
        expectSuccess(try world.run(["login", world.url, "--no-profile"]))
        let exec = ["exec", "--proxy", world.url, "--", "sh", "-c", post]
        world.trust(world.server)
        expectSuccess(try world.run(exec))
        expectSuccess(try world.run(["logout", world.url]))
        let refused = try world.run(exec)
        #expect(refused.status == 3 && refused.errorOutput.contains("login \(world.url)"), "\(refused)")
    }

    @Test("exec --login signs in before the command starts, and again for more scope while it runs")
    func execSignsIn() throws {
        let world = try demandingWorld()
        let script = "wc -l <tabs; \(post) >/dev/null && wc -l <tabs; cat"
        let outcome = try world.program.start(
            ["exec", "--login", "--proxy", world.url, "--", "sh", "-c", script], input: .text("piped in")
        ).finish()
        #expect(outcome.status == 0 && outcome.output == "1\n2\npiped in", "\(outcome)")
        #expect(world.server.authorizations.last?["scope"]?.contains("mcp:write") == true)
    }

    @Test("a sign-in that nobody finishes ends with the command, whose exit status is the result")
    func abandonedSignIn() throws {
        let world = try demandingWorld(["OIDC_TIMEOUT": "3000"])
        expectSuccess(try world.run(["login", world.url, "--scope", "mcp:read"]))
        try ExecutableScript.write(
            "#!/bin/sh\necho asked >asked\n", to: world.program.home.appendingPathComponent("bin/browser"))
        let script = "\(post) & while [ ! -f asked ]; do sleep 0.05; done; kill $!; exit 7"
        let outcome = try world.run(["exec", "--login", "--proxy", world.url, "--", "sh", "-c", script])
        #expect(outcome.status == 7, "\(outcome)")
    }

    @Test(
        "beside a command, a sign-in leaves it the terminal: what is typed is the command's",
        .enabled(if: Installed.programs("setsid"), "setsid is not installed"))
    func terminal() throws {
        let world = try demandingWorld()
        expectSuccess(try world.run(["login", world.url, "--scope", "mcp:read"]))
        try ExecutableScript.write(
            "#!/bin/sh\necho asked >asked\n", to: world.program.home.appendingPathComponent("bin/browser"))
        let script =
            "\(post) & while [ ! -f asked ]; do sleep 0.05; done; echo ready; read -r line; echo \"got:$line\"; kill $!"
        let run = try TerminalRun(
            world.program, ["exec", "--login", "--proxy", world.url, "--", "sh", "-c", script],
            ["DISPLAY": ":0", "OIDC_TIMEOUT": "3000"])
        _ = try #require(run.wait { $0.contains("ready") ? 0 : nil }, "\(run.text)")
        #expect(run.echoes)
        run.type("typed\r")
        let (status, text) = run.finish()
        #expect(status == 0 && text.contains("got:typed"), "\(text)")
        #expect(text.contains("Opening your browser") && !text.contains(" left, waiting"), "\(text)")
    }

    @Test("a resource that nobody signed in to: 3 before anything starts, with the command that signs in")
    func notSignedIn() throws {
        let world = try ResourceWorld()
        let refused = try world.run(["exec", "--proxy", world.url, "--", "echo", "started"])
        #expect(refused.status == 3 && refused.output.isEmpty)
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)"))
    }
}
