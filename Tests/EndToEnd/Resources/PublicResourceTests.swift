import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite(
    "a resource on a public host", .serialized, .waiting,
    .enabled(
        if: Terminator.isAvailable && Installed.programs("curl"), "nginx, openssl or curl is not installed"))
struct PublicResourceTests {
    private static let host = "mcp.example.com"

    @Test(
        "a resource that is not on loopback may not lead to a server that is",
        arguments: [
            "%o", "http://localhost:%p", "https://127.0.0.1:%p", "https://[::1]:%p", "https://a.localhost:%p",
            "https://127.9.9.9:%p",
        ])
    func loopbackServer(text: String) throws {
        let terminator = try Terminator([PublicResourceTests.host])
        let world = try ResourceWorld([
            "OIDC_CA_FILE": terminator.path("server.pem"), "CURL_CA_BUNDLE": terminator.path("server.pem"),
        ])
        try terminator.start(before: world.resource.origin)
        let proxy = try TunnelProxy(to: terminator.port)
        defer { proxy.end() }
        let port = try #require(world.server.origin.split(separator: ":").last)
        let server = text.replacing("%o", with: world.server.origin).replacing("%p", with: port)
        let url = "https://\(PublicResourceTests.host)/mcp"
        world.resource.change {
            $0.identifier = url
            $0.namedMetadata = .some(nil)
            $0.servers = [server]
        }
        let outcome = try world.program.start(
            ["login", url], ["https_proxy": "http://127.0.0.1:\(proxy.port)"]
        ).finish()
        #expect(outcome.status == 7 && outcome.errorOutput.contains(server), "\(outcome)")
        #expect(world.server.log.isEmpty && world.tabs.isEmpty)
        #expect(proxy.hosts == ["\(PublicResourceTests.host):443"])
    }
}
