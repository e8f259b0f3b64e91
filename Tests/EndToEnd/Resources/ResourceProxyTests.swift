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
        second.resource.change { $0.servers = [world.server.origin] }
        expectSuccess(try world.run(["login", world.url]))
        expectSuccess(try world.run(["login", second.url]))
        let both = post + " && " + post.replacingOccurrences(of: "PROXY_URL", with: "PROXY_URL_2")
        expectSuccess(
            try world.run(["exec", "--proxy", world.url, "--proxy", second.url, "--", "sh", "-c", both]))
    }

    @Test("a resource that nobody signed in to: 3 before anything starts, with the command that signs in")
    func notSignedIn() throws {
        let world = try ResourceWorld()
        let refused = try world.run(["exec", "--proxy", world.url, "--", "echo", "started"])
        #expect(refused.status == 3 && refused.output.isEmpty)
        #expect(refused.errorOutput.contains("try: oidc login \(world.url)"))
    }
}
