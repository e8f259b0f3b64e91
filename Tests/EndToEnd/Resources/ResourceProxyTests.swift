import Foundation
import OIDCCore
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
        let world = try ResourceWorld(resource: { $0.challengeScope = "mcp:read" })
        let (rules, server) = (world.resource.rules, world.server)
        world.resource.change {
            $0.answer = { request, token in
                guard let scope = server.scope(of: token), !scope.contains("mcp:write") else { return nil }
                return rules.challenge(
                    403, at: request.url.origin, [("error", "insufficient_scope"), ("scope", "mcp:write")])
            }
        }
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

    @Test("a resource that nobody signed in to: 3 before anything starts, with the command that signs in")
    func notSignedIn() throws {
        let world = try ResourceWorld()
        let refused = try world.run(["exec", "--proxy", world.url, "--", "echo", "started"])
        #expect(refused.status == 3 && refused.output.isEmpty)
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)"))
    }
}
