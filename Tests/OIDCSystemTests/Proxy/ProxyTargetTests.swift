@testable import CurlHTTP
@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCProxy
import Testing

@Suite("the proxy's targets")
struct ProxyTargetTests {
    private func route(_ url: String, path: String = "/") throws -> ProxyRoute {
        try ProxyRoute(try #require(WebURL(url)), path: path)
    }

    @Test(
        "a request goes to the path below the route's own, and back",
        arguments: [
            ("https://a.example", "", "https://a.example/"),
            ("https://a.example/", "", "https://a.example/"),
            ("https://a.example", "x/y?q=1", "https://a.example/x/y?q=1"),
            ("https://a.example/v1", "", "https://a.example/v1"),
            ("https://a.example/v1", "/", "https://a.example/v1/"),
            ("https://a.example/v1", "users", "https://a.example/v1/users"),
            ("https://a.example/v1/", "users", "https://a.example/v1/users"),
            ("https://a.example/v1", "?q=1", "https://a.example/v1?q=1"),
            ("https://a.example", "group%2Fproject", "https://a.example/group%2Fproject"),
            ("https://a.example", "a//b", "https://a.example/a//b"),
            ("https://a.example", "x/..y/...", "https://a.example/x/..y/..."),
        ])
    func target(url: String, rest: String, expected: String) throws {
        let route = try route(url)
        let target = try #require(route.target(rest[...]))
        #expect(target.text == expected)
        #expect(route.rest(of: target).flatMap { route.target($0[...]) } == target)
    }

    @Test("a second slash is refused, and characters that no URL has are sent as they came")
    func strangeCharacters() throws {
        let route = try route("https://a.example/v1")
        #expect(route.target("/users") == nil)
        #expect(route.target("a{b}|c?d={e}")?.text == "https://a.example/v1/a%7Bb%7D%7Cc?d=%7Be%7D")
        #expect(route.targets("a{b}|c?d={e}")?.raw == "/v1/a{b}|c?d={e}")
        #expect(route.targets("a%7Bb?c=d")?.raw == nil && route.targets("..|")?.raw == "/v1/..|")
        #expect(route.targets(#"a?b=c\d"#)?.raw == #"/v1/a?b=c\d"# && route.target(#"a\b"#) == nil)
    }

    @Test(
        "a route with two slashes in a row is refused: it would be requested with one",
        arguments: ["https://a.example//v1", "https://a.example/v1//x", "https://a.example/v1//"])
    func doubleSlash(url: String) throws {
        let address = try #require(WebURL(url))
        #expect(
            failure { () throws(OIDCError) in _ = try ProxyRoute(address) }?.message.includes(
                "two slashes in a row") == true)
    }

    @Test(
        "no path leads out of the route",
        arguments: [
            "..", "../x", "x/../../y", "%2e%2e/x", "%2E%2e", ".%2e/x", "%252e%252e/x", "%25252e%25252e/x",
            "./x", "x/.",
            "..%2fx", "..%5cx", "..\\x", "x\\y", "//evil.example/", "..;/x", "%2e%2e;a=b/x", "x%00",
            "x%0d%0aHost:y",
            "%2e%2e%2f", "%25%32%65%25%32%65/x", "%%32%65%%32%65/x", "..%25%32%66x", "..%%32%66x",
            "%252525252e/x",
            // What only old decoders read so: IIS's escapes, overlong UTF-8, full-width forms.
            "%u002e%u002e/x", "..%u002Fx", "%uff0e%UFF0E/x", "%c0%ae%c0%ae/x", "..%c0%afx", "%c1%9c../x",
            "%e0%80%ae%e0%80%ae/x", "%f0%80%80%ae./x", "%ef%bc%8e%ef%bc%8e/x", "..%25c0%25afx",
            "%e2%80%a4%e2%80%a4/x", "%e2%80%a5/x", "..%e2%88%95x", "..%20/x",
            "..%3f/x", "..%23/x", "..%253fx", "..%00/x", "..%ef%bc%9fx/y", "..%cd%bex",
            "%ef%b9%92%ef%b9%92/x", "..%ef%b9%a8x", "..%e2%81%84x", "..%e2%88%96x",
            "..%c0%2fx", "%c0%6e%c0%6e/x", "%f8%80%80%80%ae%f8%80%80%80%ae/x",
        ])
    func traversal(rest: String) throws {
        #expect(try route("https://a.example/v1").target(rest[...]) == nil)
    }

    @Test(
        "letters of every script, and bytes that are not UTF-8, are left as they are",
        arguments: [
            "caf%C3%A9", "%u0430.", "%ef%bc%a1/x", "%f0%9f%98%80", "%c0", "%e0%80", "%fe%ff.", "..%20x",
            ".%20x/y", "x%3fy", "x%23y", "..x%3f", "%e2%80%a6",
        ])
    func letters(rest: String) throws {
        #expect(try route("https://a.example/v1").target(rest[...])?.text == "https://a.example/v1/\(rest)")
    }

    @Test(
        "what is in a path never changes the origin",
        arguments: [
            "@evil.example/", ":80@evil.example", "https://evil.example/", "x@y:z",
        ])
    func origin(rest: String) throws {
        for url in ["https://a.example", "https://a.example/v1", "http://127.0.0.1:8080/"] {
            let route = try route(url)
            let target = try #require(route.target(rest[...]))
            #expect(target.origin == route.url.origin && target.path.hasPrefix(route.url.path))
        }
    }

    @Test("a URL of another origin, or beside the route's path, is not on the route")
    func elsewhere() throws {
        let route = try route("https://a.example/v1")
        for text in [
            "https://b.example/v1/x", "http://a.example/v1/x", "https://a.example:444/v1",
            "https://a.example/v10",
            "https://a.example/", "https://a.example/v1/../x", "https://a.example/v1//x",
        ] {
            #expect(try route.rest(of: #require(WebURL(text))) == nil, "\(text)")
        }
    }

    @Test("a route with a query, a fragment or dots is refused, and so is a path that is none")
    func refused() throws {
        for url in ["https://a.example/?q", "https://a.example/#f", "https://a.example/a/../b"] {
            #expect(throws: OIDCError.self) { try route(url) }
        }
        for path in ["x", "", "/%2e", "/../x", "/a?b", "/a b"] {
            #expect(throws: OIDCError.self) { try route("https://a.example", path: path) }
        }
        #expect(try route("https://a.example", path: "/api").path == "/api/")
    }

    @Test("every route has a secret of 256 bits, new each time, that no description shows")
    func secrets() throws {
        let routes = try (0..<4).map { _ in try route("https://a.example") }
        #expect(Set(routes.map(\.secret)).count == 4)
        for route in routes {
            #expect(route.secret.revealed.utf8.count == 43 && !"\(route)".contains(route.secret.revealed))
        }
    }
}

@Suite("the proxy's headers")
struct ProxyHeaderTests {
    @Test("of a caller's fields, those for one connection, ours, and claims of another origin are dropped")
    func request() {
        let dropped = [
            "Connection": "keep-alive, X-Named", "Keep-Alive": "timeout=5", "TE": "trailers", "Trailer": "X",
            "Transfer-Encoding": "chunked", "Upgrade": "h2c", "HTTP2-Settings": "x", "Content-Length": "5",
            "Host": "evil.example", "Expect": "100-continue", "Authorization": "Basic eA==", "DPoP": "x",
            "Proxy-Authorization": "Basic eA==", "Proxy-Connection": "close",
            "Forwarded": "host=evil.example",
            "X-Forwarded-Host": "evil.example", "X-Forwarded-For": "1.2.3.4", "X-Original-URL": "/admin",
            "Proxy": "http://evil.example",
            "X-Rewrite-URL": "/admin", "X-Named": "x", "Via": "1.1 x", "X_Original_URL": "/admin",
            "X-Rewrite_Url": "/admin", "X_Forwarded_For": "1.2.3.4", "Content_Length": "5",
            "X_Real_IP": "1.2.3.4",
            "Transfer_Encoding": "chunked", "Proxy_Authorization": "Basic eA==", "X_Host": "evil.example",
            "X-Original-URI": "/admin", "X-Original_Path": "/admin", "X-Envoy-Original-Path": "/admin",
            "X-Rewrite-URI": "/admin", "X-Override-URL": "/admin",
        ]
        let kept = [
            ("Accept", "a"), ("User-Agent", "u"), ("Accept-Encoding", "gzip"), ("X-Own", "1"), ("Range", "r"),
            ("X_Own", "2"),
        ]
        let fields = ProxyHeaders.request(HTTPHeaders(kept + dropped.map { ($0, $1) })) { _ in true }
        #expect(fields.map(\.name) == kept.map(\.0))
    }

    @Test("cookies of other routes are dropped, all others kept")
    func cookies() {
        let fields = ProxyHeaders.request(HTTPHeaders([("Cookie", "a=1; b=2; c=3")])) { $0.name != "b" }
        #expect(fields.map(\.value) == ["a=1; c=3"])
        #expect(ProxyHeaders.request(HTTPHeaders([("Cookie", "b=2")])) { _ in false }.isEmpty)
    }

    @Test(
        "a cookie comes back to its own route only",
        arguments: [
            ("a=1; Path=/; Domain=a.example; Secure; HttpOnly", "a=1; HttpOnly; Path=/S/"),
            ("a=1; path=/v1/x", "a=1; Path=/S/x"), ("a=1; Path=/else", "a=1; Path=/S/"),
            ("a=1", "a=1; Path=/S/"), ("a=1; path=/v1/x; Path=/v1/y", "a=1; Path=/S/y"),
            ("a=1; path=/v1/x; Path=/else", "a=1; Path=/S/"),
            ("a=1; Domain =a.example; path = /v1/x", "a=1; Path=/S/x"),
            ("a=1; Path=/v1/", "a=1; Path=/S/"), ("a=1; Path=/v1", "a=1; Path=/S/"),
            ("a=1; Path=/v1/x/", "a=1; Path=/S/x/"),
        ])
    func setCookie(value: String, expected: String) throws {
        let route = try ProxyRoute(try #require(WebURL("https://a.example/v1")))
        #expect(ProxyHeaders.cookie(value, prefix: "/S", route: route) == expected)
    }

    @Test(
        "a redirect on the route leads to the proxy, any other to where the server said",
        arguments: [
            ("https://a.example/v1/x?q=1#f", "http://h:1/S/x?q=1#f"), ("/v1/x", "http://h:1/S/x"),
            ("x", "http://h:1/S/x"), ("?p=2", "http://h:1/S/here?p=2"),
            ("https://a.example/v1", "http://h:1/S/"),
            ("/v1/", "http://h:1/S//"), ("https://evil.example/v1/x", "https://evil.example/v1/x"),
            ("//evil.example/x", "https://evil.example/x"), ("/login", "https://a.example/login"),
            ("http://a.example/v1/x", "http://a.example/v1/x"), ("../x", "https://a.example/x"),
            ("https://a.example/v1/../x", "https://a.example/v1/../x"), ("mailto:x@y", "mailto:x@y"),
            ("/b/?u=https://x.example/", "https://a.example/b/?u=https://x.example/"),
            ("?u=https://x.example/", "http://h:1/S/here?u=https://x.example/"),
            // What clients escape (RFC 3986 §2) is no way around.
            ("/2/all?q=a|b", "https://a.example/2/all?q=a%7Cb"), ("/2/a b", "https://a.example/2/a%20b"),
            ("/v1/a b#c d", "http://h:1/S/a%20b#c%20d"), ("\\2\\x", "http://h:1/S/%5C2%5Cx"),
            ("/2/\u{E9}", "https://a.example/2/%E9"), ("/2/\tx", "https://a.example/2/%09x"),
            ("https://evil.example/a b", "https://evil.example/a%20b"),
            ("http:/2/x", nil), ("http:2/x", nil), ("HTTPS:/2", nil), ("http://h:1\\2\\x", nil),
            // The proxy's own URL leads to a route only where no secret is needed.
            ("http://h:1/2/x", nil), ("http://h:1", nil), ("//h:1/2/x", "https://h:1/2/x"),
        ] as [(String, String?)])
    func location(value: String, expected: String?) throws {
        let route = try ProxyRoute(try #require(WebURL("https://a.example/v1")))
        let target = try #require(WebURL("https://a.example/v1/here"))
        #expect(
            ProxyHeaders.location(
                value, from: target, prefix: "/S", route: route, origin: "http://h:1",
                isOurs: { $0 == "h:1" })
                == expected)
    }

    @Test("of an answer's fields, those for one connection, other origins and web pages are dropped")
    func response() {
        let named: Set<String> = ["x-named"]
        for name in [
            "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Trailer", "Upgrade",
            "X-Named",
            "Proxy-Authenticate", "DPoP-Nonce", "Alt-Svc", "Strict-Transport-Security",
            "Access-Control-Allow-Origin", "Service-Worker-Allowed", "Clear-Site-Data", "NEL", "Report-To",
            "Reporting-Endpoints", "Referrer-Policy", "Content-Security-Policy-Report-Only",
        ] {
            #expect(!ProxyHeaders.passes(name, named: named), "\(name)")
        }
        for name in [
            "Content-Type", "Content-Encoding", "WWW-Authenticate", "ETag", "Set-Cookie", "Location",
        ] {
            #expect(ProxyHeaders.passes(name, named: named), "\(name)")
        }
    }

    @Test("an answer's length is read if there is one, and refused if it is malformed or given twice")
    func bodyLength() throws {
        func length(_ lines: [String]) throws -> Int? {
            try ProxyHeaders.bodyLength(of: head(["HTTP/1.1 200 x"] + lines + [""]).head)
        }
        #expect(try length([]) == nil)
        #expect(try length(["Content-Length: 12", "content-length: 12"]) == 12)
        #expect(try length(["Content-Length: 12", "Transfer-Encoding: chunked"]) == nil)
        for lines in [
            ["Content-Length: 1", "Content-Length: 2"], ["Content-Length: +1"], ["Content-Length: "],
            ["Content-Length: 1234567890123456789"],
        ] {
            #expect(throws: HTTP1.Rejection.self) { try length(lines) }
        }
    }
}
