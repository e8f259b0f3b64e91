@testable import CurlHTTP
import OIDCCore
import Testing

@Suite("when a request is sent again, and to which URL")
struct CurlPolicyTests {
    @Test(
        "a redirect's reference is resolved as RFC 3986 §5.4 says",
        arguments: [
            ("/g", "http://a/g"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
            ("../g", "http://a/b/g"), ("../../../g", "http://a/g"), ("g/", "http://a/b/c/g/"),
            (".", "http://a/b/c/"), ("..", "http://a/b/"), ("?y", "http://a/b/c/d;p?y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"), ("//g/x", "http://g/x"), ("https://g:8/x", "https://g:8/x"),
            ("", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("./g:h", "http://a/b/c/g:h"),
        ])
    func resolution(reference: String, expected: String) throws {
        let base = try #require(WebURL("http://a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.text == expected)
    }

    @Test(
        "a redirect to something other than an http(s) URL is not followed",
        arguments: ["ftp://g/x", "javascript:alert(1)", "file:///etc/passwd", "//", "/a b", "http://u:p@g/"])
    func noWebAddress(reference: String) throws {
        let base = try #require(WebURL("http://a/b/c/d"))
        #expect(base.resolving(reference) == nil)
    }

    @Test("plain http beyond loopback is only for the identity from Google's metadata server, at its address")
    func googleMetadata() throws {
        let path = "/computeMetadata/v1/instance/service-accounts/default/identity"
        func admits(_ url: String, _ stage: Stage = .subjectToken) throws -> Bool {
            let request = HTTPRequest(.get, try #require(WebURL(url)))
            return (try? CurlTransport().admit(request, stage: stage)) != nil
        }
        #expect(try admits("http://169.254.169.254\(path)?audience=a"))
        #expect(try !admits("http://169.254.169.254\(path)", .discovery))
        for url in [
            "http://metadata.google.internal\(path)", "http://169.254.169.254:8080\(path)",
            "http://169.254.169.253\(path)", "http://169.254.169.254/latest/meta-data/",
            "http://169.254.169.254\(path)/../token", "http://0xA9FEA9FE\(path)",
        ] {
            #expect(try !admits(url), "\(url)")
        }
    }

    @Test("a POST is repeated only if no connection was made, and only once")
    func postRepeats() {
        let policy = RepeatPolicy(method: .post)
        #expect(policy.pause(after: CurlResult(ending: .code(.noConnection)), tries: 1) != nil)
        #expect(policy.pause(after: CurlResult(ending: .code(.unresolvedHost)), tries: 1) != nil)
        #expect(policy.pause(after: CurlResult(ending: .code(.noConnection)), tries: 2) == nil)
        for code: CurlCode in [
            .partialAnswer, .timedOut, .handshakeFailed, .noAnswer, .sendFailed, .receiveFailed, .http2Stream,
        ] {
            #expect(policy.pause(after: CurlResult(ending: .code(code)), tries: 1) == nil)
            #expect(policy.pause(after: CurlResult(ending: .code(code), isSent: true), tries: 1) == nil)
        }
        #expect(policy.pause(after: CurlResult(ending: .code(.noConnection), isSent: true), tries: 1) == nil)
        #expect(policy.pause(after: CurlResult(ending: .timeOut), tries: 1) == nil)
        #expect(policy.pause(after: HTTPResponse(status: 503), tries: 1) == nil)
    }

    @Test("a GET is repeated twice")
    func getRepeats() {
        let policy = RepeatPolicy(method: .get)
        #expect(policy.pause(after: CurlResult(ending: .code(.noConnection)), tries: 2) != nil)
        #expect(policy.pause(after: CurlResult(ending: .code(.noConnection)), tries: 3) == nil)
        for code: CurlCode in [.noAnswer, .sendFailed, .receiveFailed] {
            #expect(policy.pause(after: CurlResult(ending: .code(code), isSent: true), tries: 1) != nil)
            #expect(policy.pause(after: CurlResult(ending: .code(code), isSent: true), tries: 2) == nil)
            #expect(policy.pause(after: CurlResult(ending: .code(code)), tries: 1) == nil)
            let begun = CurlResult(ending: .code(code), isSent: true, hasAnswerBytes: true)
            #expect(policy.pause(after: begun, tries: 1) == nil)
        }
        #expect(policy.pause(after: HTTPResponse(status: 502), tries: 2) != nil)
        #expect(policy.pause(after: HTTPResponse(status: 504), tries: 3) == nil)
        #expect(policy.pause(after: HTTPResponse(status: 500), tries: 1) == nil)
        #expect(policy.pause(after: HTTPResponse(status: 429), tries: 1) == nil)
    }

    @Test(
        "Retry-After is honored up to five seconds; with more, the request is not repeated",
        arguments: [
            ("0", .milliseconds(200)), ("3", .seconds(3)), ("5", .seconds(5)), ("6", nil), ("-1", nil),
            ("99999999999999999999", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil), ("", nil),
            ("Sun, 06 Nov 1994 08:49:40 GMT", .seconds(3)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .milliseconds(200)),
        ] as [(String, Duration?)])
    func retryAfter(value: String, expected: Duration?) {
        let response = HTTPResponse(
            status: 503, headers: HTTPHeaders([("Retry-After", value)]),
            receivedAt: HTTPDate.instant("Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(RepeatPolicy(method: .get).pause(after: response, tries: 1) == expected)
    }

    @Test(
        "plain http to another machine is refused before anything is sent",
        arguments: ["http://idp.example/x?secret", "http://127.0.0.2/", "http://localhost.example/"])
    func plainHTTP(address: String) throws {
        let url = try #require(WebURL(address))
        let expected = OIDCError(
            .usage, "token: \(url.origin) is plain http, which is only for this machine",
            hint: .advice(.useHTTPS), stage: .token)
        #expect(throws: expected) { try CurlTransport().send(.form(url, []), stage: .token) }
    }
}
