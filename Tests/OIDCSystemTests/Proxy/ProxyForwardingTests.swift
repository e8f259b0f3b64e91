import Foundation
import OIDCCore
@testable import OIDCProxy
import Synchronization
import TestSupport
import Testing

@Suite("what the proxy passes on", .serialized, .waiting)
struct ProxyForwardingTests {
    private func echo() throws -> ScriptedServer {
        try ScriptedServer.answering(answer("200 OK", body: "hello"))
    }

    @Test("method, path, query and fields go on as they came, with the token in place of the caller's own")
    func request() throws {
        let server = try echo()
        let world = try ProxyWorld(server, path: "/v1")
        let reply = try world.exchange(
            "REPORT", "a%2Fb/c?q=%20&r", ["X-Own: 1", "Authorization: Basic eA==", "Accept-Encoding: gzip"])
        #expect(reply.hasPrefix("HTTP/1.1 200 OK\r\n") && reply.hasSuffix("\r\n\r\nhello"), "\(reply)")
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("REPORT /v1/a%2Fb/c?q=%20&r HTTP/1.1\r\n"))
        #expect(request.contains("Authorization: Bearer token-1\r\n") && !request.contains("eA=="))
        #expect(request.contains("X-Own: 1\r\n") && request.contains("Accept-Encoding: gzip\r\n"))
        for name in ["Accept:", "User-Agent:", "Content-Type:", "Expect:", "Content-Length:"] {
            #expect(!request.contains(name), "\(request)")
        }
        #expect(!reply.contains("token-1") && world.entries().first?.path == "/a%2Fb/c")
    }

    @Test(
        "bodies go on with their framing, whatever the method",
        arguments: ["POST", "PUT", "PATCH", "DELETE", "GET"])
    func bodies(method: String) throws {
        let server = try echo()
        let world = try ProxyWorld(server)
        _ = try world.exchange(method, "x", ["Content-Length: 5", "Content-Type: text/plain"], body: "abcde")
        _ = try world.exchange(
            method, "y", ["Transfer-Encoding: chunked"], body: "3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n")
        let requests = server.requests
        #expect(requests.count == 2)
        #expect(requests.first?.contains("Content-Length: 5\r\n") == true, "\(requests)")
        #expect(requests.first?.hasSuffix("\r\n\r\nabcde") == true)
        #expect(
            requests.last?.contains("Transfer-Encoding: chunked\r\n") == true
                && requests.last?.contains("X-T") == false)
        #expect(requests.last?.hasPrefix("\(method) /y ") == true)
    }

    @Test("a target goes on byte for byte, also with characters that no URL has")
    func strangeTarget() throws {
        let server = try echo()
        let world = try ProxyWorld(server, path: "/v1")
        for rest in ["a|b?q=\"<>^`{|}", "x?titles=A|B&c=%7c%7C", "x?a//b"] {
            #expect(try world.exchange("GET", rest).hasSuffix("hello"))
            #expect(server.requests.last?.hasPrefix("GET /v1/\(rest) HTTP/1.1\r\n") == true)
        }
    }

    @Test("the server gets its own URLs in place of the proxy's, and never the secret")
    func ownURLs() throws {
        let server = try echo()
        let world = try ProxyWorld(server, path: "/v1")
        let (prefix, upstream) = (world.prefixes[0], "http://127.0.0.1:\(server.port)")
        func seen(_ field: String) throws -> String? {
            #expect(try world.exchange("GET", "x", [field]).hasSuffix("hello"))
            let request = try #require(server.requests.last)
            #expect(!request.contains(prefix.dropFirst().dropLast()), "\(request)")
            let name = field.prefix { $0 != ":" }
            return request.components(separatedBy: "\r\n").first { $0.hasPrefix("\(name):") }
        }
        #expect(try seen("Referer: http://\(world.host)\(prefix)a?b=c") == "Referer: \(upstream)/v1/a?b=c")
        #expect(try seen("Referer: https://b.example/x") == "Referer: https://b.example/x")
        #expect(try seen("Referer: http://x\(prefix)a") == nil)
        #expect(try seen("Referer: http://\(world.host)\(prefix)a?next=\(prefix)b") == nil)
        #expect(try seen("Destination: http://\(world.host)\(prefix)a") == "Destination: \(upstream)/v1/a")
        #expect(try seen("Destination: \(prefix)a") == "Destination: \(upstream)/v1/a")
        #expect(try seen("Destination: \(upstream)/v1/a") == "Destination: \(upstream)/v1/a")
        for elsewhere in ["http://\(world.host)\(prefix)../a", "\(upstream)/v2/a", "https://b.example/v1/a"] {
            #expect(try seen("Destination: \(elsewhere)") == nil)
        }
        #expect(try seen("X-Own: see \(prefix)") == nil)
    }

    @Test("no server gets the secret of any route, in a field or in the target, and neither does the log")
    func secretsOfOthers() throws {
        let servers = try (0..<2).map { _ in try echo() }
        let world = try ProxyWorld(servers.map { $0.url() })
        for secret in world.prefixes.map({ String($0.dropFirst().dropLast()) }) {
            let fields = ["Referer", "Destination", "X-Own"].map { "\($0): http://\(world.host)/\(secret)/a" }
            #expect(try world.exchange("GET", "x", fields, route: 1).hasSuffix("hello"))
            for target in ["\(secret)/a", "/\(secret)/a", "a?next=http%3A%2F%2F\(secret)", "?\(secret)"] {
                #expect(try world.exchange("GET", target, route: 1).contains("a secret of this proxy"))
            }
            #expect(!world.entries().contains { $0.path?.contains(secret) == true })
            #expect(!servers[1].requests.contains { $0.contains(secret) })
        }
        #expect(servers[1].requests.count == 2 && servers[0].requests.isEmpty)
    }

    @Test("bytes of fields that are not UTF-8 are passed on as they are, in both directions (RFC 9110 §5.5)")
    func latin1() throws {
        let value: [UInt8] = [0x61, 0xE9, 0xFF, 0x20, 0xC3, 0xA9, 0x62]
        let received = Mutex<[UInt8]>([])
        let server = try ScriptedServer { peer in
            var head: [UInt8] = []
            while !String(decoding: head, as: UTF8.self).hasSuffix("\r\n\r\n") {
                var buffer = [UInt8](repeating: 0, count: 4_096)
                let count = recv(peer.descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                head += buffer[..<count]
            }
            received.withLock { $0 = head }
            for name in ["X-Own: ", "Set-Cookie: c=", "Location: /"] {
                peer.write(Array((name == "X-Own: " ? "HTTP/1.1 201 Fine\r\n" : "").utf8) + name.utf8 + value)
                peer.write("\r\n")
            }
            peer.write("Content-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let world = try ProxyWorld(server)
        let caller = try world.connect()
        let head = world.head("GET", "x", "Connection: close", "X-Own: VALUE", "Referer: VALUE")
        caller.send(
            Array(head.components(separatedBy: "VALUE").map { Array($0.utf8) }.joined(separator: value)))
        let reply = caller.receivedBytes(within: 60)
        for field in ["X-Own: ", "Set-Cookie: c="] {
            #expect(reply.contains(Array(field.utf8) + value), "\(field) in \(Latin1.decode(reply))")
        }
        // A URL has no such bytes, and clients differ in how they read them.
        #expect(reply.contains("/a%E9%FF%20%C3%A9b\r\n".utf8), "\(Latin1.decode(reply))")
        for field in ["X-Own: ", "Referer: "] {
            let request = received.withLock { $0 }
            #expect(request.contains(Array(field.utf8) + value + [13, 10]), "\(Latin1.decode(request))")
        }
    }

    @Test("one slash more after the secret is dropped: scripts write $OIDC_PROXY_URL/path")
    func extraSlash() throws {
        let server = try echo()
        let world = try ProxyWorld([server.url("/v1"), server.url("/v2")], paths: ["/", "/two"])
        let referer = "Referer: http://\(world.host)\(world.prefixes[0])/a"
        #expect(try world.exchange("GET", "/me?a=//b", [referer]).hasSuffix("hello"))
        #expect(server.requests.last?.hasPrefix("GET /v1/me?a=//b HTTP/1.1\r\n") == true)
        #expect(server.requests.last?.contains("Referer: http://127.0.0.1:\(server.port)/v1/a\r\n") == true)
        #expect(try world.exchange("GET", "/me", route: 1).hasSuffix("hello"))
        #expect(server.requests.last?.hasPrefix("GET /v2/me HTTP/1.1\r\n") == true)
        for rest in ["//me", "///me", "//"] {
            #expect(try world.exchange("GET", rest).hasPrefix("HTTP/1.1 400 "))
        }
        let secret = world.prefixes[0].dropFirst().dropLast()
        let caller = try world.connect()
        caller.send(
            "GET //me HTTP/1.1\r\nHost: \(world.host)\r\nAuthorization: Bearer \(secret)\r\n\r\n")
        #expect(caller.received(within: 60).hasPrefix("HTTP/1.1 400 "))
    }

    @Test("TRACE and TRACK are 405 in any case, with the methods that are allowed (RFC 9110 §15.5.6)")
    func traces() throws {
        let server = try echo()
        let world = try ProxyWorld(server)
        for method in ["TRACE", "trace", "Track", "TRACK"] {
            let reply = try world.exchange(method, "x")
            #expect(reply.hasPrefix("HTTP/1.1 405 ") && reply.contains("\r\nAllow: GET, HEAD, "), "\(reply)")
        }
        #expect(server.connectionCount == 0)
    }

    @Test("a path without the secret has a reason phrase that says where it is")
    func outside() throws {
        let world = try ProxyWorld(try echo())
        let caller = try world.connect()
        caller.send("GET /files/a HTTP/1.1\r\nHost: \(world.host)\r\n\r\n")
        #expect(caller.received(within: 60).hasPrefix("HTTP/1.1 403 Outside the proxied URL\r\n"))
    }

    @Test("an upgrade that is optional is not passed on")
    func upgrade() throws {
        let server = try echo()
        let world = try ProxyWorld(server)
        let reply = try world.exchange("GET", "x", ["Upgrade: h2c", "HTTP2-Settings: AAMAAABk"])
        #expect(reply.hasSuffix("hello"))
        let request = try #require(server.requests.last)
        #expect(!request.contains("Upgrade") && !request.contains("HTTP2-Settings"))
        #expect(try world.exchange("GET", "x", ["Upgrade: h2c, WebSocket/13"]).contains(" 501 "))
    }

    @Test("an empty POST has a length, an empty DELETE has none")
    func empty() throws {
        let server = try echo()
        let world = try ProxyWorld(server)
        _ = try world.exchange("POST", "x", ["Content-Length: 0"])
        _ = try world.exchange("DELETE", "x")
        #expect(server.requests.map { $0.contains("Content-Length: 0\r\n") } == [true, false])
    }

    @Test("connections are reused on both sides, also for requests that come together")
    func reuse() throws {
        let server = try echo()
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        for _ in 0..<3 {
            connection.send(world.head("GET", "x"))
            #expect(connection.received(until: "hello").contains("200 OK"))
        }
        connection.send(
            world.head("GET", "1") + world.head("POST", "2", "Content-Length: 2") + "ab"
                + world.head("GET", "3"))
        var replies = ""
        while replies.components(separatedBy: "hello").count < 4,
            let more = connection.receivedOnce(within: 60), !more.isEmpty
        {
            replies += more
        }
        #expect(replies.components(separatedBy: "HTTP/1.1 200 OK").count == 4, "\(replies)")
        #expect(
            server.requests.suffix(3).map { $0.prefix { $0 != "H" } } == ["GET /1 ", "POST /2 ", "GET /3 "])
        #expect(server.connectionCount == 1 && world.tokens.requests == 1)
    }

    @Test("a request that is not idempotent is sent once, also on a connection that the server just closed")
    func once() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(answer("200 OK", body: "hello"))
            _ = peer.readRequest()
        }
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        connection.send(world.head("POST", "1", "Content-Length: 2") + "ab")
        #expect(connection.received(until: "hello").contains("200 OK"))
        connection.send(world.head("POST", "2", "Content-Length: 2") + "ab")
        #expect(connection.received(until: "}").contains("502 Bad Gateway"))
        #expect(server.requests.filter { $0.hasPrefix("POST /2") }.count == 1)
        connection.send(world.head("GET", "3"))
        #expect(connection.received(until: "hello").contains("200 OK"))
    }

    @Test("an upload is read only as fast as the server takes it")
    func upload() throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            gate.wait()
            guard peer.readRequest() != nil else { return }
            peer.write(answer("200 OK", body: "hello"))
        }
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        let part = [UInt8](repeating: 0x61, count: 1 << 20)
        connection.send(world.head("PUT", "large", "Content-Length: \(64 << 20)"))
        var sent = 0
        while sent < 64, connection.send(part) { sent += 1 }
        #expect(sent < 40, "\(sent) MiB")
        gate.signal()
    }
}
