@testable import CurlHTTP
import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("proxies")
struct CurlProxyTests {
    private func through(_ proxy: ScriptedServer, user: String = "") -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.proxy = .url("http://\(user)127.0.0.1:\(proxy.port)")
        configuration.allowInsecureHTTP = true
        configuration.pause = { _ in }
        return configuration
    }

    @Test("a request to another machine goes through the proxy, with its password")
    func plain() throws {
        let proxy = try ScriptedServer.answering(answer("200 OK", body: "from the proxy"))
        let url = try #require(WebURL("http://idp.invalid/keys"))
        let response = try CurlTransport(through(proxy, user: "me:secret@")).send(.json(url), stage: .keys)
        #expect(response.body == Array("from the proxy".utf8))
        let request = try #require(proxy.requests.first)
        #expect(request.hasPrefix("GET http://idp.invalid/keys HTTP/1.1\r\n"))
        #expect(
            request.contains("Proxy-Authorization: Basic \(Data("me:secret".utf8).base64EncodedString())\r\n")
        )
    }

    @Test("a request to this machine never uses a proxy", arguments: ["127.0.0.1", "localhost"])
    func loopback(host: String) throws {
        let proxy = try ScriptedServer.answering(answer("200 OK", body: "from the proxy"))
        let server = try ScriptedServer.answering(answer("200 OK", body: "direct"))
        let response = try CurlTransport(through(proxy)).send(.json(server.url(host: host)), stage: .keys)
        #expect(response.body == Array("direct".utf8))
        #expect(proxy.connectionCount == 0)
    }

    @Test("a request to Google's metadata server never uses a proxy, which could answer in its place")
    func googleMetadata() throws {
        let proxy = try ScriptedServer.answering(answer("200 OK", body: "from the proxy"))
        var configuration = through(proxy)
        configuration.httpTimeout = .milliseconds(200)
        configuration.connectTimeout = .milliseconds(200)
        let url = try #require(WebURL(GoogleMetadata.identity))
        let response = try? CurlTransport(configuration).send(.json(url), stage: .subjectToken)
        #expect(response?.body != Array("from the proxy".utf8))
        #expect(proxy.connectionCount == 0)
    }

    @Test(
        "https is tunnelled: the proxy learns the host and nothing else",
        .enabled(if: Installed.certificateAuthorities, "this machine has no certificate authorities"))
    func tunnel() throws {
        let proxy = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 Connection established\r\nX: not the provider's\r\n\r\n")
        }
        let url = try #require(WebURL("https://idp.invalid/token?secret"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(through(proxy)).send(.form(url, [.init("code", "secret")]), stage: .token)
        }
        #expect(error?.message.hasPrefix("token: the TLS handshake with idp.invalid failed: ") == true)
        #expect(proxy.requests.count == 1)
        #expect(proxy.requests.first?.hasPrefix("CONNECT idp.invalid:443 HTTP/1.1\r\n") == true)
        #expect(proxy.requests.first?.contains("secret") == false)
    }

    @Test(
        "a proxy that refuses is named, and nothing was sent",
        arguments: [
            (401, "set user and password in the proxy's URL"),
            (407, "set user and password in the proxy's URL"),
            (403, "check the proxy's URL and no_proxy"),
            (502, "check the proxy's URL and no_proxy"),
        ] as [(Int, Hint)])
    func refusing(status: Int, hint: Hint) throws {
        let proxy = try ScriptedServer.answering(answer("\(status) No", "Proxy-Authenticate: Basic realm=x"))
        let url = try #require(WebURL("https://idp.invalid/token?secret"))
        #expect(
            throws: OIDCError(
                .unreachable, "token: the proxy does not connect to idp.invalid: it answered \(status)",
                hint: hint,
                stage: .token)
        ) {
            try CurlTransport(through(proxy, user: "me:secret@")).send(.form(url, []), stage: .token)
        }
    }

    @Test("status 407 is the proxy's word over plain http too, and the provider's own on loopback")
    func refusingPlain() throws {
        let proxy = try ScriptedServer.answering(answer("407 No", "Proxy-Authenticate: Basic realm=x"))
        let url = try #require(WebURL("http://idp.invalid/keys"))
        #expect(
            throws: OIDCError(
                .unreachable, "jwks: the proxy does not connect to idp.invalid: it answered 407",
                hint: "set user and password in the proxy's URL", stage: .keys)
        ) { try CurlTransport(through(proxy)).send(.json(url), stage: .keys) }
        let server = try ScriptedServer.answering(answer("407 No"))
        #expect(try CurlTransport(through(proxy)).send(.json(server.url()), stage: .keys).status == 407)
    }

    @Test("a proxy that does not answer is reported, without its password")
    func missing() throws {
        var configuration = CurlConfiguration()
        configuration.pause = { _ in }
        let url = try #require(WebURL("https://idp.invalid/token"))
        configuration.proxy = .url("http://me:secret@proxy.invalid:3128")
        #expect(
            throws: OIDCError(
                .unreachable, "token: cannot resolve the proxy for idp.invalid",
                hint: "check the proxy's URL",
                stage: .token)
        ) { try CurlTransport(configuration).send(.form(url, []), stage: .token) }
        configuration.proxy = .url("http://me:secret@127.0.0.1:\(try closedPort())")
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(configuration).send(.form(url, []), stage: .token)
        }
        #expect(error?.message == "token: cannot connect to the proxy for idp.invalid: Connection refused")
        #expect(error?.hint == "check the proxy's URL")
    }

    @Test("the environment's proxies and exceptions are curl's, and never for this machine", .waiting)
    func environment() async {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer.answering(answer("200 OK", body: "from the proxy"))
            setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
            setenv("no_proxy", "direct.invalid", 1)
            var configuration = CurlConfiguration()
            configuration.allowInsecureHTTP = true
            configuration.pause = { _ in }
            let transport = CurlTransport(configuration)
            let body = try transport.send(.json(WebURL("http://idp.invalid/")!), stage: .keys).body
            #expect(body == Array("from the proxy".utf8))
            #expect(throws: OIDCError.self) {
                try transport.send(.json(WebURL("http://direct.invalid/")!), stage: .keys)
            }
            setenv("http_proxy", "http://127.0.0.1:1", 1)
            let error = #expect(throws: OIDCError.self) {
                try transport.send(.json(WebURL("http://idp.invalid/")!), stage: .keys)
            }
            #expect(error?.message == "jwks: cannot connect to the proxy for idp.invalid: Connection refused")
            #expect(error?.hint == "check http_proxy")
            unsetenv("http_proxy")
            setenv("ALL_PROXY", "http://127.0.0.1:1", 1)
            let other = #expect(throws: OIDCError.self) {
                try transport.send(.json(WebURL("http://idp.invalid/")!), stage: .keys)
            }
            #expect(other?.hint == "check ALL_PROXY")
            let server = try ScriptedServer.answering(answer("200 OK", body: "direct"))
            #expect(try transport.send(.json(server.url()), stage: .keys).body == Array("direct".utf8))
        }
    }

    /// Each variable is tested in its own process, as libcurl reads it.
    @Test(
        "no password of a proxy is shown, with any mistake in its URL", .waiting,
        arguments: ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"])
    func secrecy(variable: String) async {
        await #expect(processExitsWith: .exitCode(9)) { [variable] in
            for value in [
                "htp://user:s3cret@proxy.invalid:8", "ftp://user:s3cret@proxy.invalid",
                "http://user:s3cret@", "http://user:s3cret@proxy.invalid:port", "http://user:s3cret@[::1",
                "//user:s3cret@127.0.0.1:1", "http:// user:s3cret@x", "socks5://user:s3cret@127.0.0.1:1",
                "user:s3cret@127.0.0.1:1",
            ] {
                setenv(variable, value, 1)
                let traced = Mutex("")
                var configuration = CurlConfiguration()
                configuration.allowInsecureHTTP = true
                configuration.pause = { _ in }
                configuration.trace = { event in traced.withLock { $0 += "\(event)" } }
                let scheme = variable == "http_proxy" ? "http" : "https"
                let error = #expect(throws: OIDCError.self) {
                    try CurlTransport(configuration).send(
                        .json(WebURL("\(scheme)://idp.invalid/")!), stage: .discovery)
                }
                let said = "\(error as Any) \(traced.withLock { $0 })"
                guard error?.kind == .unreachable, !said.contains("s3cret"), !said.contains("user") else {
                    exit(1)
                }
            }
            exit(9)
        }
    }

    @Test("a proxy of an unknown kind is reported with the variable that sets it")
    func unknownScheme() throws {
        var configuration = CurlConfiguration()
        configuration.pause = { _ in }
        configuration.proxy = .url("htp://me:secret@proxy.invalid:3128")
        let url = try #require(WebURL("https://idp.invalid/token"))
        #expect(
            throws: OIDCError(
                .unreachable, "token: cannot use the proxy for idp.invalid: its URL is not supported",
                hint: "check the proxy's URL", stage: .token)
        ) { try CurlTransport(configuration).send(.form(url, []), stage: .token) }
    }

    @Test(
        "of a proxy's URL scheme, host and port are shown, and nothing that could be a password",
        arguments: [
            ("http://proxy.example:3128", "http://proxy.example:3128"), ("proxy:1", "proxy:1"),
            ("http://user:secret@proxy.example/", "http://proxy.example"),
            ("htp://user:sec@ret@[::1]:8?x", "htp://[::1]:8"), ("user:secret@proxy:1", "proxy:1"),
            ("http://user:secret@", nil), ("http://user:secret", nil), ("http://user:sec/r@et@proxy:1", nil),
            ("http://user:secret@proxy:port", nil), ("user:sec://ret@proxy:1", nil), ("", nil),
        ] as [(String, String?)])
    func shown(value: String, expected: String?) {
        #expect(ProxyURL.redacted(value) == expected)
    }

    @Test(
        "libcurl's own message is not shown if it might quote a URL",
        arguments: [.untrustedCertificate, .handshakeFailed, CurlCode(3), CurlCode(4)])
    func quotedURL(code: CurlCode) throws {
        let url = try #require(WebURL("https://idp.invalid/"))
        let failure = CurlFailure(
            result: CurlResult(ending: .code(code), text: "htp://user:s3cret@proxy"), request: .json(url),
            stage: .keys, configuration: CurlConfiguration())
        #expect(!failure.error.message.contains("s3cret"))
    }
}
