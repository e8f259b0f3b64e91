@testable import CurlHTTP
import Foundation
import OIDCCore
import OIDCCrypto
@testable import OIDCProxy
import Synchronization
import TestSupport
import Testing

@Suite("how the proxy uses tokens", .serialized, .waiting)
struct ProxyTokenUseTests {
    /// A server that accepts one token only.
    private func server(accepting token: String, status: String = "401 Unauthorized") throws -> ScriptedServer
    {
        try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let isAccepted = request.contains("Authorization: Bearer \(token)\r\n")
                peer.write(
                    isAccepted
                        ? answer("200 OK", body: "hello")
                        : answer(status, "WWW-Authenticate: Bearer", body: "no"))
            }
        }
    }

    @Test("a token that is refused is refreshed once, and the request with its body sent again")
    func refused() throws {
        let server = try server(accepting: "token-2")
        let world = try ProxyWorld(server)
        let reply = try world.exchange("POST", "x", ["Content-Length: 5"], body: "abcde")
        #expect(reply.hasPrefix("HTTP/1.1 200 OK"), "\(reply)")
        #expect(server.requests.map { $0.hasSuffix("\r\n\r\nabcde") } == [true, true])
        #expect(world.tokens.requests == 2 && world.entries().map(\.refreshes) == [1])
        #expect(
            try world.exchange("POST", "x", ["Transfer-Encoding: chunked"], body: "1\r\na\r\n0\r\n\r\n")
                .contains(" 200 OK"))
        #expect(server.requests.count == 3)
    }

    @Test(
        "the client certificate goes with a token that is bound to it, over a connection of its own",
        .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"),
        arguments: [(0, "nobody"), (1, "nobody"), (2, "client")])
    func certificate(bound: Int, name: String) throws {
        let servers = try #require(TLSServers.shared)
        let tokens = ProxyWorld.Tokens()
        tokens.bound.withLock { $0 = bound }
        tokens.certificate.withLock {
            $0 = .init(certificatePath: servers.path("client.pem"), keyPath: servers.path("client.key"))
        }
        let url = try #require(WebURL("https://127.0.0.1:\(servers.port("asking"))/"))
        let world = try ProxyWorld([url], tokens: tokens) {
            $0.curl.caFile = .init(path: servers.path("ca.pem"))
        }
        // The server refuses the first token.
        let replies = try [world.exchange("GET", "x"), world.exchange("GET", "x")]
        #expect(replies.allSatisfy { $0.hasSuffix("TLSv1.3 \(name)") }, "\(replies)")
        #expect(tokens.requests == 2)
    }

    private static let demands = [
        ("403 Forbidden", "Bearer error=\"insufficient_scope\", scope=\"w\""),
        ("401 Unauthorized", "Bearer error=\"insufficient_user_authentication\", max_age=\"0\""),
    ]

    /// A server that accepts one token, and asks others for more.
    private func demandingServer(_ demand: (String, String), accepting token: String) throws -> ScriptedServer
    {
        try ScriptedServer { peer in
            while let request = peer.readRequest() {
                peer.write(
                    request.contains("Authorization: Bearer \(token)\r\n")
                        ? answer("200 OK", body: "hello")
                        : answer(demand.0, "WWW-Authenticate: \(demand.1)", body: "no"))
            }
        }
    }

    @Test(
        "an answer that asks for more leads to one sign-in, and the request is sent again", arguments: demands
    )
    func stepUp(status: String, challenge: String) throws {
        let server = try demandingServer((status, challenge), accepting: "token-2")
        let tokens = ProxyWorld.Tokens()
        tokens.stepUps.withLock { $0 = [] }
        let world = try ProxyWorld(server, tokens: tokens)
        for _ in 0..<2 {
            let reply = try world.exchange("POST", "x", ["Content-Length: 5"], body: "abcde")
            #expect(reply.hasPrefix("HTTP/1.1 200 OK"), "\(reply)")
        }
        #expect(server.requests.allSatisfy { $0.hasSuffix("\r\n\r\nabcde") } && server.requests.count == 3)
        #expect(tokens.stepUps.withLock { $0 } == [Int(status.prefix(3)) ?? 0])
    }

    @Test(
        "a sign-in for more that does not help, fails or is not allowed: the user is not asked again",
        arguments: demands)
    func uselessStepUp(status: String, challenge: String) throws {
        let server = try demandingServer((status, challenge), accepting: "none")
        let code = Int(status.prefix(3)) ?? 0
        for (mayAsk, failure) in [
            (true, nil), (true, OIDCError(.refused, "declined", stage: .authorization)), (false, nil),
        ] {
            let tokens = ProxyWorld.Tokens()
            if mayAsk { tokens.stepUps.withLock { $0 = [] } }
            let world = try ProxyWorld(server, tokens: tokens)
            tokens.stepUpFailure.withLock { $0 = failure }
            let replies = try (0..<2).map { _ in RawConnection.status(try world.exchange("GET", "x")) }
            #expect(replies.last == code, "\(replies)")
            #expect((tokens.stepUps.withLock { $0?.count } ?? 0) <= 1 && tokens.ended.withLock { $0 } == [])
        }
    }

    @Test(
        "a path that asks for more and then refuses the new token, in turn, leads to three sign-ins at most")
    func alternating() throws {
        let count = Mutex(0)
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                peer.write(
                    number % 2 == 1
                        ? answer(
                            "403 Forbidden",
                            #"WWW-Authenticate: Bearer error="insufficient_scope", scope="more""#)
                        : answer("401 Unauthorized", #"WWW-Authenticate: Bearer error="invalid_token""#))
            }
        }
        let tokens = ProxyWorld.Tokens()
        tokens.stepUps.withLock { $0 = [] }
        let world = try ProxyWorld(server, tokens: tokens)
        for _ in 0..<10 {
            #expect([401, 403].contains(RawConnection.status(try world.exchange("GET", "x"))))
        }
        #expect(tokens.requests == 4)
    }

    @Test(
        "a body over 64 KiB is not sent again: the caller gets the server's 401, and the next one a new token"
    )
    func largeBody() throws {
        let server = try server(accepting: "token-2")
        let world = try ProxyWorld(server)
        for (size, status) in [(65_537, 401), (65_537, 200), (65_536, 200)] {
            let reply = try world.exchange(
                "PUT", "x", ["Content-Length: \(size)"], body: String(repeating: "a", count: size))
            #expect(RawConnection.status(reply) == status, "\(reply)")
        }
        #expect(world.tokens.requests == 2)
    }

    @Test("large bodies cost one refresh if the server refuses the new token as well")
    func largeBodyUseless() throws {
        let server = try server(accepting: "none")
        let world = try ProxyWorld(server)
        for _ in 0..<4 {
            let reply = try world.exchange(
                "PUT", "x", ["Content-Length: 65537"], body: String(repeating: "a", count: 65_537))
            #expect(RawConnection.status(reply) == 401, "\(reply)")
        }
        #expect(world.tokens.requests == 2)
    }

    @Test(
        "an answer that refuses a new token as well is the server's own, and does not cost a refresh each time"
    )
    func useless() throws {
        let server = try server(accepting: "none")
        let world = try ProxyWorld(server)
        for _ in 0..<3 {
            let reply = try world.exchange("GET", "x")
            #expect(reply.hasPrefix("HTTP/1.1 401") && reply.hasSuffix("no"), "\(reply)")
        }
        #expect(world.tokens.requests == 2)
    }

    @Test("403, and 401 that asks for another sign-in, are the server's own")
    func stepUp() throws {
        for status in [
            "403 Forbidden",
            "401 X\r\nWWW-Authenticate: Bearer error=\"insufficient_user_authentication\", max_age=\"5\"",
        ] {
            let server = try server(accepting: "none", status: status)
            let world = try ProxyWorld(server)
            _ = try world.exchange("GET", "x")
            #expect(server.requests.count == 1 && world.tokens.requests == 1, "\(status)")
        }
    }

    @Test("many callers whose token is refused at once share one refresh")
    func crowd() throws {
        let server = try server(accepting: "token-2")
        let world = try ProxyWorld(server)
        let connections = try (0..<20).map { _ in try world.connect() }
        for connection in connections { connection.send(world.head("GET", "x")) }
        for connection in connections { #expect(connection.received(until: "hello").contains("200 OK")) }
        #expect(world.tokens.requests == 2)
    }

    @Test("a bound token is sent with a proof for each request, and nonces are followed")
    func proofs() throws {
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let proof =
                    request.components(separatedBy: "\r\n").first { $0.hasPrefix("DPoP: ") }?.dropFirst(6)
                    ?? ""
                let parts = proof.split(separator: ".")
                let claims =
                    parts.count == 3
                    ? String(decoding: Base64URL.decode(String(parts[1])) ?? [], as: UTF8.self) : ""
                let isFine =
                    request.contains("Authorization: DPoP token-1\r\n")
                    && claims.contains("\"nonce\":\"n-2\"")
                peer.write(
                    isFine
                        ? answer("200 OK", "DPoP-Nonce: n-2", body: claims)
                        : answer(
                            "401 Unauthorized", "DPoP-Nonce: n-2",
                            "WWW-Authenticate: DPoP error=\"use_dpop_nonce\""))
            }
        }
        let world = try ProxyWorld(server, tokens: ProxyWorld.Tokens(key: try DPoPKey.generate().pem))
        let reply = try world.exchange("POST", "x?q=1", ["Content-Length: 1", "DPoP: caller"], body: "a")
        #expect(reply.hasPrefix("HTTP/1.1 200 OK") && reply.contains("\"htm\":\"POST\""), "\(reply)")
        #expect(
            reply.contains("\"htu\":\"http://127.0.0.1:\(server.port)/x\"") && !reply.contains("DPoP-Nonce"))
        #expect(server.requests.count == 2)
        #expect(try world.exchange("GET", "y").hasPrefix("HTTP/1.1 200 OK") && server.requests.count == 3)
        #expect(world.tokens.requests == 1)
    }

    @Test(
        "errors of the session are problems, with the hint and without a token",
        arguments: [
            (OIDCError(.loginRequired, "not signed in", hint: .signIn), 401),
            (OIDCError(.unreachable, "no network"), 502),
            (OIDCError(.timedOut, "too late"), 504), (OIDCError(.refused, "no"), 502),
            (OIDCError(.failed, "full"), 500),
        ])
    func problems(error: OIDCError, status: Int) throws {
        let world = try ProxyWorld(try server(accepting: "token-1"))
        world.tokens.failure.withLock { $0 = error }
        let reply = try world.exchange("POST", "x", ["Content-Length: 1"], body: "a")
        #expect(
            RawConnection.status(reply) == status && reply.contains("Content-Type: application/problem+json"))
        #expect(
            reply.contains(error.message) && reply.contains("\"kind\":\"\(error.kind.rawValue)\""), "\(reply)"
        )
        #expect(!reply.contains(world.prefixes[0]) && !reply.contains("token-1"))
        if status == 401 {
            #expect(
                world.tokens.ended.withLock { $0 } == ["not signed in"]
                    && reply.contains("WWW-Authenticate: Bearer"))
        }
    }

    @Test("a server that is out of reach is 502, one that does not answer 504")
    func outages() throws {
        let world = try ProxyWorld([try #require(WebURL("http://127.0.0.1:\(try closedPort())"))])
        let reply = try world.exchange("GET", "x?secret=1")
        #expect(reply.hasPrefix("HTTP/1.1 502 Bad Gateway") && reply.contains("\"unreachable\""), "\(reply)")
        #expect(!reply.contains("secret=1"))
        let silent = try ScriptedServer { peer in
            _ = peer.readRequest()
            peer.waitForEnd()
        }
        let slow = try ProxyWorld(silent) { $0.timeout = 300 }
        let late = try slow.exchange("GET", "x")
        #expect(late.hasPrefix("HTTP/1.1 504 Gateway Timeout"), "\(late)")
        #expect(late.contains("give the server more time"), "\(late)")
        #expect(slow.entries().map(\.status) == [504])
    }

    @Test("a redirect is handed back and never followed")
    func redirect() throws {
        let server = try ScriptedServer.answering(answer("307 Temporary Redirect", "Location: /v1/there?x"))
        let world = try ProxyWorld(server, path: "/v1")
        let reply = try world.exchange("POST", "x", ["Content-Length: 1"], body: "a")
        #expect(reply.contains("Location: http://\(world.host)\(world.prefixes[0])there?x\r\n"), "\(reply)")
        #expect(server.requests.count == 1)
    }

    @Test("cookies of a route go back to its own server only")
    func cookies() throws {
        let servers = try (0..<2).map {
            try ScriptedServer.answering(answer("200 OK", "Set-Cookie: c\($0)=1; Path=/"))
        }
        let world = try ProxyWorld(servers.map { $0.url() })
        for route in 0..<2 {
            let reply = try world.exchange("GET", "", [], route: route)
            #expect(reply.contains("Set-Cookie: c\(route)=1; Path=\(world.prefixes[route])\r\n"), "\(reply)")
        }
        for route in 0..<2 { _ = try world.exchange("GET", "", ["Cookie: c0=1; c1=1; mine=1"], route: route) }
        #expect(servers[0].requests.last?.contains("Cookie: c0=1; mine=1\r\n") == true)
        #expect(servers[1].requests.last?.contains("Cookie: c1=1; mine=1\r\n") == true)
    }

    @Test(
        "neither does a cookie whose name has white space around it, or that has none (RFC 6265 §5.2)",
        arguments: [
            ("c =1; Path=/", "c=1"), (" c\t=1", "c=1"), ("c\u{A0}=1", "c=1"), ("c", "c"), ("=c", "c"),
            ("=c=1", "c=1"), ("c=\"a b\"", "c=a b"), ("c=\"a\\\"b\"", "c=ab"), ("c=a", "c=\"a\""),
        ])
    func oddCookies(_ set: String, sent: String) throws {
        let fields = [UInt8]("Set-Cookie: ".utf8) + Latin1.encode(set) + [UInt8]("\r\n".utf8)
        let setting = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(
                Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".utf8) + fields + [
                    .carriageReturn, .lineFeed,
                ])
        }
        let other = try ScriptedServer.answering(answer("200 OK"))
        let world = try ProxyWorld([setting.url(), other.url()])
        #expect(try world.exchange("GET", "", [], route: 0).contains("Set-Cookie: "))
        _ = try world.exchange("GET", "", ["Cookie: \(sent); mine=1"], route: 1)
        #expect(other.requests.last?.contains("Cookie: mine=1\r\n") == true)
        _ = try world.exchange("GET", "", ["Cookie: \(sent); mine=1"], route: 0)
        #expect(setting.requests.last?.contains("Cookie: \(sent); mine=1\r\n") == true)
    }

    @Test("a server that sets a cookie of the same name does not get that of another route")
    func sameName() throws {
        let servers = try ["one", "two"].map {
            try ScriptedServer.answering(answer("200 OK", "Set-Cookie: session=\($0)"))
        }
        let world = try ProxyWorld(servers.map { $0.url() })
        for route in 0..<2 { _ = try world.exchange("GET", "", [], route: route) }
        for route in 0..<2 {
            _ = try world.exchange("GET", "", ["Cookie: session=one; session=two; session=x"], route: route)
        }
        #expect(servers[0].requests.last?.contains("Cookie: session=one; session=x\r\n") == true)
        #expect(servers[1].requests.last?.contains("Cookie: session=two; session=x\r\n") == true)
    }

    @Test("a server that sets any number of cookies keeps none of those from other routes that callers bring")
    func manyCookies() throws {
        let fields = (0..<180).map { "Set-Cookie: c\($0)=1" }
        let count = Mutex(0)
        let setting = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            let number = count.withLock { count in
                count += 1
                return count
            }
            let set = fields.map { $0.replacingOccurrences(of: "=1", with: "-\(number)=1") }
            let all = set + ["Set-Cookie: tenant=\(number)"]
            peer.write(answer("200 OK", all.joined(separator: "\r\n")))
        }
        let other = try ScriptedServer.answering(answer("200 OK"))
        let world = try ProxyWorld([setting.url(), other.url()])
        for _ in 0..<10 { _ = try world.exchange("GET", "", [], route: 0) }
        let cookies = "c0-1=1; mine=1; tenant=3; tenant=50; c179-10=1"
        _ = try world.exchange("GET", "", ["Cookie: \(cookies)"], route: 1)
        #expect(other.requests.last?.contains("Cookie: mine=1; tenant=50\r\n") == true)
    }

    @Test("a server that sets too many cookies loses those that would not be recognized later")
    func tooManyCookies() {
        let state = ProxyServer.RouteState()
        func cookie(_ number: Int) -> ProxyHeaders.Cookie { ProxyHeaders.Cookie("c=\(number)") }
        let limit = ProxyServer.RouteState.cookieLimit
        var warnings = 0
        func admits(_ number: Int) -> Bool { state.admits(cookie(number)) { warnings += 1 } }
        #expect((0..<limit).allSatisfy(admits) && warnings == 0)
        #expect(!admits(limit) && !admits(limit + 1) && warnings == 1)
        #expect(admits(0) && state.hasSet(cookie(0)) && state.hasSet(cookie(limit - 1)))
        #expect(!state.hasSet(cookie(limit)))
    }
}
