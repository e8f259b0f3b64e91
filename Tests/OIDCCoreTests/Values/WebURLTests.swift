import OIDCCore
import Testing

@Suite("WebURL")
struct WebURLTests {
    @Test("a URL is split into its parts, and kept as it was written")
    func parts() throws {
        let url = try #require(WebURL("HTTPS://Op.Example:8443/a/b%20c?x=1&y=?#frag"))
        #expect(url.text == "HTTPS://Op.Example:8443/a/b%20c?x=1&y=?#frag")
        #expect(url.scheme == "https")
        #expect(url.host == "op.example")
        #expect(url.port == 8443)
        #expect(url.path == "/a/b%20c")
        #expect(url.query == "x=1&y=?")
        #expect(url.fragment == "frag")
        #expect(url.origin == "https://op.example:8443")
        #expect(url.withoutQuery == "https://op.example:8443/a/b%20c")
        #expect(url.isSecure)
    }

    static let origins: [(String, String)] = [
        ("https://a", "https://a"), ("https://a:443/x", "https://a"), ("http://a:80", "http://a"),
        ("http://a:443", "http://a:443"), ("https://[::1]:9/x", "https://[::1]:9"), ("http://a:", "http://a"),
        ("https://A/?x", "https://a"),
    ]

    @Test("an origin leaves the default port out", arguments: origins)
    func origin(_ text: String, _ origin: String) throws {
        #expect(try #require(WebURL(text)).origin == origin)
    }

    @Test(
        "a string that is not an absolute http(s) URL with a host is refused",
        arguments: [
            "", "a", "/a", "//a/b", "https:", "https:/a", "https://", "https:///a", "https://?x",
            "https://:80",
            "ftp://a", "javascript:alert(1)", "file:///etc/passwd", "httpss://a", "https ://a", "://a",
            "https://user@a", "https://user:pw@a", "https://a@b@c", "https://a b", "https://a/b c",
            "https://a\n",
            "https://a/\r\nX: y", "https://a/\0", "https://a\\b", "https://a/\\", "https://é", "https://a/é",
            "https://a/\"", "https://a/<", "https://a/{x}", "https://a/`", "https://a/|", "https://a/^",
            "https://a:0", "https://a:65536", "https://a:99999999999999999999", "https://a:-1",
            "https://a:+1",
            "https://a:8o", "https://a:80:80", "https://[::1", "https://::1", "https://[]", "https://[g::]",
            "https://[::1]x", "https://[fe80::1%25eth0]", "https://a%2eb", "https://a,b", "-https://a",
        ])
    func refused(_ text: String) {
        #expect(WebURL(text) == nil)
    }

    @Test("a URL of more than 64 KiB is refused")
    func tooLong() {
        #expect(WebURL("https://a/" + String(repeating: "x", count: 65_526)) != nil)
        #expect(WebURL("https://a/" + String(repeating: "x", count: 65_527)) == nil)
    }

    @Test("loopback is one of three names, and nothing that looks like them")
    func loopback() throws {
        for text in ["http://127.0.0.1:1", "http://[::1]/", "http://LOCALHOST:80/x", "https://localhost"] {
            #expect(try #require(WebURL(text)).isLoopback)
        }
        for text in [
            "http://127.0.0.1.example", "http://localhost.example", "http://127.0.0.2", "http://0.0.0.0",
            "http://[::]", "http://localhost.", "http://127.1", "http://2130706433",
            "http://[::ffff:127.0.0.1]",
        ] {
            #expect(try #require(WebURL(text)).isLoopback == false)
        }
    }

    static let queries: [(String, [FormEncoding.Pair], String)] = [
        ("https://a", [.init("x", "1 2")], "https://a?x=1%202"),
        ("https://a/b?", [.init("x", "1")], "https://a/b?x=1"),
        ("https://a/b?k=v", [.init("x", "1"), .init("y", "&")], "https://a/b?k=v&x=1&y=%26"),
        ("https://a/b?k=v#f", [.init("x", "#")], "https://a/b?k=v&x=%23"),
        ("https://a/b?k=v", [], "https://a/b?k=v"),
    ]

    @Test("pairs are added to the query that is there", arguments: queries)
    func appending(_ base: String, _ pairs: [FormEncoding.Pair], _ expected: String) throws {
        let url = try #require(WebURL(base)).appendingQuery(pairs)
        #expect(url.text == expected)
        #expect(url == WebURL(expected))
    }

    @Test("a query that makes the URL very long is kept")
    func longQuery() throws {
        let value = String(repeating: "x", count: 70_000)
        let url = try #require(WebURL("https://a/b")).appendingQuery([.init("x", value)])
        #expect(url.text == "https://a/b?x=\(value)")
        #expect(url.query == "x=\(value)")
    }

    @Test("another path stays on the same origin")
    func replacingPath() throws {
        let url = try #require(WebURL("https://a:8443/b?k=v"))
        #expect(url.replacingPath("/.well-known/x")?.text == "https://a:8443/.well-known/x")
        for path in ["", ".evil.example", "@evil.example", "/a?b", "/a#b", "/a b"] {
            #expect(url.replacingPath(path) == nil)
        }
    }
}
