import DemoProvider
import OIDCCore
import TestSupport
import Testing

@Suite("the demo provider: the authorization endpoint")
struct AuthorizeTests {
    @Test(
        "an error in a request is sent to the client's redirect URI",
        arguments: [
            ("response_type", "token", "unsupported_response_type"),
            ("response_type", nil, "unsupported_response_type"),
            ("code_challenge", nil, "invalid_request"), ("code_challenge", "abc", "invalid_request"),
            ("code_challenge_method", "plain", "invalid_request"),
            ("code_challenge_method", nil, "invalid_request"),
            ("scope", "openid unheard-of", "invalid_scope"), ("prompt", "none login", "invalid_request"),
            ("prompt", "sometimes", "invalid_request"), ("max_age", "-1", "invalid_request"),
            ("response_mode", "fragment", "invalid_request"),
            ("resource", "https://api.example/#x", "invalid_target"),
        ] as [(String, String?, String)])
    func refusedByRedirect(name: String, value: String?, error: String) throws {
        var world = try DemoWorld()
        let answer = try world.callback([name: value])
        #expect(answer["error"] == error)
        #expect(answer["state"] == "state-1")
        #expect(answer["code"] == nil)
    }

    @Test(
        "nothing is redirected if the client or its redirect URI is not known",
        arguments: [
            ("client_id", "nobody"), ("client_id", nil), ("redirect_uri", nil),
            ("redirect_uri", "https://evil.example/callback"),
            ("redirect_uri", "http://127.0.0.1.evil.example/callback"),
            ("redirect_uri", "http://127.0.0.1:1/#fragment"), ("redirect_uri", "javascript:alert(1)"),
        ] as [(String, String?)])
    func refusedByPage(name: String, value: String?) throws {
        var world = try DemoWorld()
        let (request, page) = world.browse(try world.authorizeURL([name: value]))
        #expect(request == nil)
        #expect(page.status == 400)
        #expect(page.headers["Location"] == nil)
    }

    @Test(
        "a redirect URI is compared exactly, except for the port of a loopback address",
        arguments: [
            ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb", true),
            ("http://[::1]/cb", "http://[::1]:50000/cb", true),
            ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb2", false),
            ("http://127.0.0.1/cb", "http://localhost:50000/cb", false),
            ("https://app.example/cb", "https://app.example:8443/cb", false),
            ("https://app.example/cb", "https://app.example/cb", true),
            ("com.example.app:/cb", "com.example.app:/cb", true),
        ])
    func registeredRedirect(registered: String, asked: String, isAllowed: Bool) throws {
        var world = try DemoWorld {
            $0.user = .approves("alice")
            $0.clients = [
                DemoClient(id: "demo", redirectURIs: [registered], allowsAnyLoopbackRedirect: false)
            ]
        }
        let response = world.send(HTTPRequest(.get, try world.authorizeURL(["redirect_uri": asked])))
        #expect((response.headers["Location"]?.hasPrefix(asked) ?? false) == isAllowed)
    }

    @Test("prompt=none succeeds with a session, and is login_required without one")
    func promptNone() throws {
        var world = try DemoWorld()
        #expect(try world.callback(["prompt": "none"])["error"] == "login_required")
        _ = try world.signIn(["scope": "openid"])
        #expect(try world.callback(["prompt": "none", "scope": "openid"])["code"] != nil)
        #expect(
            try world.callback(["prompt": "none", "scope": "openid email"])["error"] == "consent_required")
    }

    @Test("prompt=login, prompt=consent and an old session show the page again")
    func asksAgain() throws {
        var world = try DemoWorld()
        _ = try world.signIn()
        world.now = world.now.adding(100)
        func pages(_ changes: [String: String?]) throws -> [Int] {
            world.provider.resetCounts()
            _ = try world.callback(changes)
            return [world.provider.requestCount(.login), world.provider.requestCount(.consent)]
        }
        #expect(try pages([:]) == [0, 0])
        #expect(try pages(["prompt": "consent"]) == [0, 1])
        #expect(try pages(["max_age": "200"]) == [0, 0])
        #expect(try pages(["max_age": "99"]) == [1, 0])
        #expect(try pages(["prompt": "login"]) == [1, 0])
        #expect(try pages(["scope": "openid api:read"]) == [0, 1])
    }

    @Test("auth_time is the moment of the sign-in, not of the token")
    func authTime() throws {
        var world = try DemoWorld()
        _ = try world.signIn()
        world.now = world.now.adding(100)
        let token = try JWS(compact: try world.signIn().text("id_token"))
        #expect(token.claims?["auth_time"] == 1_800_000_000)
        #expect(token.claims?["iat"] == 1_800_000_100)
    }

    @Test("login_hint offers that name")
    func loginHint() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn(["login_hint": "carol@corp.example"])
        let claims = try #require(JWS(compact: tokens.text("id_token")).claims)
        #expect(claims["sub"] == "carol")
        #expect(claims["email"] == "carol@corp.example")
    }

    @Test("another browser cannot continue a sign-in that was started here")
    func foreignBrowser() throws {
        var world = try DemoWorld()
        let opened = world.browser.open(try world.authorizeURL())
        let page = world.send(opened)
        let next = world.browser.next(after: page, to: opened)
        let form = try #require(next)
        var stolen = form
        stolen.headers["Cookie"] = nil
        #expect(world.send(stolen).status == 400)
        #expect(world.send(form).status == 303)
    }

    @Test("text from the request is escaped on every page")
    func escaping() throws {
        var world = try DemoWorld()
        let hostile = "\"><script>alert(1)</script>"
        let login = world.send(HTTPRequest(.get, try world.authorizeURL(["login_hint": hostile])))
        #expect(login.text.contains("&quot;&gt;&lt;script&gt;alert(1)"))
        #expect(!login.text.contains("<script>"))
        let error = world.send(HTTPRequest(.get, try world.authorizeURL(["client_id": hostile])))
        #expect(!error.text.contains("<script>"))
        let post = world.browse(
            try world.authorizeURL(["state": hostile, "response_mode": "form_post", "prompt": "none"])
        ).page
        #expect(post.text.contains("&quot;&gt;&lt;script&gt;"))
        #expect(!post.text.contains("<script>alert"))
    }

    @Test("pages load nothing from elsewhere, are not framed, stored or referred to")
    func pageHeaders() throws {
        var world = try DemoWorld()
        let page = world.send(HTTPRequest(.get, try world.authorizeURL()))
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; style-src 'nonce-"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(page.headers["Cache-Control"] == "no-store")
        #expect(page.headers["Referrer-Policy"] == "no-referrer")
        #expect(page.headers["X-Content-Type-Options"] == "nosniff")
        #expect(!page.text.contains("http://") || !page.text.contains("src="))
        let cookie = try #require(page.headers["Set-Cookie"])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
    }

    @Test("a repeated parameter is refused")
    func repeatedParameter() throws {
        var world = try DemoWorld()
        let url = try world.authorizeURL().appendingQuery([FormEncoding.Pair("state", "other")])
        #expect(world.send(HTTPRequest(.get, url)).status == 400)
    }
}
