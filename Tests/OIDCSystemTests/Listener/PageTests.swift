@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCSignIn
import Testing

@Suite("The page at the end of a sign-in")
struct PageTests {
    private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    static let pages = [
        ResultPage.success(who: "alice", provider: "op.example"),
        ResultPage.failure(title: "Sign-in failed", message: "m", advice: "a"), ResultPage.signedOut(),
        HTTPResponse.stranger(),
    ]

    @Test("it names the user and the provider, and says that the tab can be closed")
    func success() {
        let page = ResultPage.success(who: "alice@example.com", provider: "op.example")
        #expect(page.status == 200)
        #expect(text(page).contains("<title>Signed in</title>"))
        #expect(text(page).contains("<h1>Signed in</h1>"))
        #expect(text(page).contains("<dd>alice@example.com</dd>"))
        #expect(text(page).contains("<dd>op.example</dd>"))
        #expect(text(page).contains(">You can close this tab.<"))
        #expect(text(page).contains("You can return to the program that opened this page."))
        let named = ResultPage.success(who: "alice", provider: "op.example", program: "oidc")
        #expect(text(named).contains("oidc is signed in. You can return to your terminal."))
        #expect(!text(ResultPage.success(who: nil, provider: "op.example")).contains("Account"))
    }

    @Test(
        "it names a provider by host, and by its port if it has one",
        arguments: [
            ("https://op.example/realms/a", "op.example"), ("http://127.0.0.1:9480", "127.0.0.1:9480"),
            ("not a URL", "not a URL"),
        ])
    func provider(issuer: String, name: String) {
        let session = Session.example(key: SessionKey(provider: issuer, clientID: "app"))
        #expect(text(ResultPage.success(session, program: "oidc")).contains("<dd>\(name)</dd>"))
    }

    @Test("a failure says what happened and what to do, and never \"signed in\"")
    func failure() {
        let page = ResultPage.failure(
            OIDCError(.refused, "authorize: access_denied", hint: .advice(.checkScope))
        ) { _ in "try again" }
        #expect(page.status == 400)
        #expect(text(page).contains("<h1>Sign-in refused</h1>"))
        #expect(text(page).contains("authorize: access_denied"))
        #expect(text(page).contains("try again"))
        #expect(!text(page).contains("Signed in"))
    }

    @Test("every page names the program, and what is known of the provider; a failure says what to do")
    func program() {
        let untrusted = OIDCError(.untrusted, "iss: expected a, found b")
        let failures = [
            ResultPage.failure(untrusted, issuer: "https://op.example/a", program: "app") { "\($0)" },
            ResultPage.failure(OIDCError(.failed, "x"), program: "app") { "\($0)" },
            ResultPage.stray(status: 400, message: "m", advice: "a", program: "app"),
            ResultPage.answered(program: "app"), ResultPage.otherURL(status: 404, program: "app"),
            ResultPage.otherSignOut(program: "app"),
        ]
        for page in failures {
            #expect(text(page).contains(" – app</title>") && text(page).contains("<dd>app</dd>"))
            #expect(text(page).contains("<h2>What to do next</h2>\n<p class=\"advice\">"))
        }
        #expect(text(failures[0]).contains("<dd>op.example</dd>"))
        #expect(text(failures[0]).contains("before the provider&#39;s operator has looked"))
        #expect(text(ResultPage.signedOut(program: "app")).contains("<title>Signed out – app</title>"))
        var key = SessionKey(provider: "https://op.example", clientID: "app")
        key.resources = ["https://mcp.example/mcp"]
        let page = text(ResultPage.success(.example(key: key), program: "app"))
        #expect(page.contains("Signed in – app</title>") && page.contains("<dd>https://mcp.example/mcp</dd>"))
    }

    @Test("text from outside is escaped, and has no characters that hide or reverse text")
    func escaping() {
        let hostile = "<script>alert(1)</script>\"'&\u{202E}\u{1B}[2J"
        let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;[2J"
        for page in [
            ResultPage.success(who: hostile, provider: hostile),
            ResultPage.failure(title: hostile, message: hostile, advice: hostile),
        ] {
            #expect(!text(page).contains("<script"))
            #expect(text(page).contains(escaped))
            #expect(!text(page).unicodeScalars.contains { $0.value == 0x202E || $0.value == 0x1B })
        }
    }

    @Test("no page may load, frame, cache or refer to anything", arguments: pages)
    func headers(page: HTTPResponse) throws {
        let policy = try #require(page.headers["Content-Security-Policy"])
        for directive in [
            "default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
        ] {
            #expect(policy.contains(directive))
        }
        #expect(!policy.contains("script-src") && !policy.contains("unsafe"))
        #expect(page.headers["Cache-Control"] == "no-store")
        #expect(page.headers["X-Content-Type-Options"] == "nosniff")
        #expect(page.headers["Referrer-Policy"] == "no-referrer")
    }

    @Test("the result closes the connection; a stranger's may stay open")
    func connection() {
        #expect(PageTests.pages.map { $0.headers["Connection"] } == ["close", "close", "close", nil])
    }

    @Test("its style has a nonce of its own, and nothing in it leads elsewhere, the icon included")
    func selfContained() throws {
        let (one, other) = (PageTests.pages[0], ResultPage.success(who: "alice", provider: "op.example"))
        let policies = [one, other].compactMap { $0.headers["Content-Security-Policy"] }
        #expect(Set(policies).count == 2)
        let nonce = try #require(
            policies.first?.split(separator: "'nonce-").last?.split(separator: "'").first)
        #expect(text(one).contains("<style nonce=\"\(nonce)\">"))
        #expect(text(one).contains("<link rel=\"icon\" href=\"data:image/svg+xml,"))
        let namespaceless = text(one).split(separator: "http://www.w3.org/2000/svg").joined()
        for word in ["http:", "https:", "url(", "@import", "<script", "<img", " style=", "onload"] {
            #expect(!namespaceless.contains(word), "\(word)")
        }
        #expect(text(one).contains("name=\"viewport\""))
        #expect(text(one).contains("prefers-color-scheme:dark"))
    }

    @Test("a stranger's page says nothing about the sign-in", arguments: [400, 404, 405, 501])
    func stranger(status: Int) {
        let page = HTTPResponse.stranger(status: status)
        #expect(page.status == status)
        #expect(text(page) == "This URL does not exist.\n")
        #expect(page.mediaType == "text/plain")
    }
}
