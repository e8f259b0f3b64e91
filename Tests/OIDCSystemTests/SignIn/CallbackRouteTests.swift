@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCSignIn
import Testing

@Suite("where the redirect arrives")
struct CallbackRouteTests {
    @Test(
        "an address may have a port",
        arguments: [
            ("127.0.0.1", "127.0.0.1", nil), ("0.0.0.0", "0.0.0.0", nil), ("::", "[::]", nil),
            ("::1", "[::1]", nil),
            ("0.0.0.0:8484", "0.0.0.0", 8484), ("[::]:8484", "[::]", 8484), ("[::1]", "[::1]", nil),
            ("localhost:1", "localhost", 1), ("127.0.0.2:65535", "127.0.0.2", 65_535),
            ("2001:DB8:0::1", "[2001:db8::1]", nil),
        ] as [(String, String, UInt16?)])
    func addresses(text: String, host: String, port: UInt16?) throws {
        let route = try #require(try CallbackRoute(listen: text, path: nil))
        #expect(route.host.text == host && route.port == port && route.path == nil)
    }

    @Test(
        "what is not an address of a machine is refused",
        arguments: [
            "", ":8484", "0.0.0.0:", "0.0.0.0:0", "0.0.0.0:65536", "0.0.0.0:+1", "0.0.0.0:８", "example.com",
            "example.com:80", "[::", "::]", "[127.0.0.1]:80", "[]:80", "fe80::1%eth0", "http://127.0.0.1",
            "8484", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]:8484", "[::FFFF:7f00:1]:8484",
        ])
    func mistakes(text: String) {
        #expect(throws: OIDCError.self) { try CallbackRoute(listen: text, path: nil) }
    }

    @Test(
        "a path is a path",
        arguments: ["", "callback", "//", "/a?b", "/a#b", "/a b", "/ä", "/a\\b", "https://x/y"])
    func paths(text: String) throws {
        if text == "//" {
            #expect(try CallbackRoute(listen: nil, path: text)?.path == "//")
        } else {
            #expect(throws: OIDCError.self) { try CallbackRoute(listen: nil, path: text) }
        }
    }

    private func address(
        _ text: String?, listen: String? = nil, path: String? = nil, port: UInt16? = nil, ports: [UInt16] = []
    ) throws -> RedirectAddress {
        try RedirectAddress(text, port: port, ports: ports, route: CallbackRoute(listen: listen, path: path))
    }

    @Test("a URL elsewhere has its own port and Host, and the listener the one of the settings")
    func elsewhere() throws {
        let url = "https://code.example/proxy/8484/callback"
        for redirect in [
            try address(url, listen: "127.0.0.1:8484", path: "/callback"),
            try address(url, path: "/callback", port: 8484),
            try address(url, listen: "127.0.0.1", path: "/callback", port: 8484),
            try address(url, listen: "127.0.0.1:8484", path: "/callback", port: 8484),
        ] {
            #expect(redirect.loopback == LoopbackAddress(host: .ipv4, ports: .fixed(8484)))
            #expect(redirect.text(port: 8484) == url)
            #expect(redirect.path == "/callback" && redirect.outerPath == "/proxy/8484/callback")
            #expect(redirect.names(port: 8484) == ["code.example", "code.example:443"])
            #expect(!redirect.leadsHereWithAnyPath && redirect.exposure(port: 8484) == nil)
        }
        #expect(
            try address("https://x.example:8443/", path: "/cb", port: 1).names(port: 1) == ["x.example:8443"])
        #expect(try address(url).loopback == nil, "without the settings, the URL is pasted")
    }

    @Test("a published port: the URL on loopback has the listener's port, or one of its own")
    func published() throws {
        let same = try address(nil, listen: "0.0.0.0:8484")
        #expect(same.text(port: 8484) == "http://127.0.0.1:8484/callback")
        #expect(same.loopback?.ports == .fixed(8484) && same.leadsHereWithAnyPath)
        #expect(same.names(port: 8484) == ["127.0.0.1:8484"])
        let other = try address("http://localhost:9999/callback", listen: "0.0.0.0:8484")
        #expect(
            other.text(port: 8484) == "http://localhost:9999/callback"
                && other.loopback?.ports == .fixed(8484))
        let named = try address("http://localhost/callback", listen: "0.0.0.0:8484", port: 9999)
        #expect(
            named.text(port: 8484) == "http://localhost:9999/callback"
                && named.loopback?.ports == .fixed(8484))
        #expect(
            try address(nil, listen: "::", port: 8484).text(port: 8484) == "http://127.0.0.1:8484/callback")
        let several = try address(nil, listen: "0.0.0.0", ports: [1, 2])
        #expect(several.loopback?.ports == .firstFree(of: [1, 2]))
        #expect(several.text(port: 2) == "http://127.0.0.1:2/callback")
        let written = try address("http://127.0.0.1:8484/callback", listen: "0.0.0.0")
        #expect(written.loopback?.ports == .fixed(8484))
    }

    @Test("a listener beyond loopback names who reaches it")
    func exposure() throws {
        let all = try #require(try address(nil, listen: "0.0.0.0:8484").exposure(port: 8484))
        let start = "callback_listen: port 8484 of every address accepts connections from other machines"
        #expect(all.message.hasPrefix(start) && all.message.contains("every user of a container's host"))
        let one = try #require(try address(nil, listen: "192.0.2.1:8484").exposure(port: 8484))
        #expect(one.message.contains("192.0.2.1:8484 accepts connections from other machines"))
        for listen in ["127.0.0.2:1", "[::1]:1", "localhost:1"] {
            #expect(try address(nil, listen: listen).exposure(port: 1) == nil)
        }
    }

    @Test("a listener with a port of its own is one of a list, and only the URL's own host needs none")
    func ports() throws {
        let one = try address(nil, listen: "0.0.0.0:2", ports: [1, 2])
        #expect(one.loopback?.ports == .fixed(2) && one.text(port: 2) == "http://127.0.0.1:2/callback")
        let written = try address("http://127.0.0.1:9/cb", listen: "0.0.0.0:2", ports: [1])
        #expect(written.loopback?.ports == .fixed(2) && written.text(port: 2) == "http://127.0.0.1:9/cb")
        let elsewhere = try address("https://x.example/cb", listen: "0.0.0.0:2", ports: [1, 2])
        #expect(elsewhere.loopback?.ports == .fixed(2))
        for (url, listen) in [
            (nil, "127.0.0.1"), ("http://[::1]/cb", "::1"), ("http://localhost/cb", "localhost"),
        ] {
            #expect(try address(url, listen: listen).loopback?.ports == .any)
        }
    }

    @Test(
        "an error names the setting that is set",
        arguments: [
            (nil, "/cb", "callback_path: "), ("127.0.0.1:1", nil, "callback_listen: "),
            ("127.0.0.1:1", "/cb", "callback_listen: "),
        ] as [(String?, String?, String)])
    func named(listen: String?, path: String?, start: String) {
        #expect {
            try address("com.example.app:/cb", listen: listen, path: path)
        } throws: {
            ($0 as? OIDCError)?.message.hasPrefix(start) == true
        }
    }

    @Test("settings that contradict each other, or lead the redirect nowhere, are refused")
    func contradictions() {
        let refused: [() throws -> RedirectAddress] = [
            // Nothing can pass the redirect on to a port that nobody knows.
            { try address("https://x.example/cb", listen: "127.0.0.1") },
            { try address(nil, listen: "0.0.0.0") },
            { try address(nil, path: "/cb") },
            // The URL names 127.0.0.1, and nothing listens at a port of the system's choice there.
            { try address(nil, listen: "::1") },
            { try address(nil, listen: "127.0.0.2") },
            { try address("http://localhost/cb", listen: "127.0.0.1") },
            { try address("https://x.example/cb", listen: "0.0.0.0:1", port: 2) },
            { try address(nil, listen: "0.0.0.0:1", ports: [2]) },
            { try address("https://x.example/cb", listen: "0.0.0.0:1", ports: [2]) },
            // Plain http is for loopback (RFC 8252 §8.3).
            { try address("http://x.example/cb", listen: "0.0.0.0:1") },
            { try address("http://192.0.2.1:8484/cb", listen: "192.0.2.1:8484") },
            { try address("com.example.app:/cb", listen: "0.0.0.0:1") },
        ]
        for make in refused {
            #expect { try make() } throws: { ($0 as? OIDCError)?.kind == .usage }
        }
    }
}
