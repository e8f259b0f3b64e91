import Foundation
import OIDCCore
@testable import OIDCProxy
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the answers that the proxy passes on", .serialized, .waiting)
struct ProxyAnswerTests {
    /// A caller of a proxy with one server, on a port or on a Unix socket.
    private func caller(
        of server: ScriptedServer, onSocket isOnSocket: Bool
    ) throws -> (world: ProxyWorld, connection: RawConnection, request: String) {
        guard isOnSocket else {
            let world = try ProxyWorld(server)
            return (world, try world.connect(), world.head("GET", "x"))
        }
        let path = FileManager.default.temporaryDirectory.path + "/oidc-\(UInt32.random(in: 0 ... .max)).sock"
        let world = try ProxyWorld([server.url()], endpoint: .socket(path: path))
        return (
            world, try #require(RawConnection(socket: path)), "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
    }

    @Test("a caller that closed its sending side gets its answer", arguments: [false, true])
    func halfClosed(isOnSocket: Bool) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            Poll.sleep(until: .now().adding(milliseconds: 100))
            peer.write(answer("200 OK", body: "hello"))
        }
        let (world, connection, request) = try caller(of: server, onSocket: isOnSocket)
        connection.send(request)
        connection.finishSending()
        #expect(connection.received(within: 60).hasSuffix("hello"))
        withExtendedLifetime(world) {}
    }

    @Test(
        "a caller that sent more than its request is missed as soon as it leaves",
        arguments: [2, 100_000], [false, true])
    func extraBytes(count: Int, isOnSocket: Bool) throws {
        let (arrived, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            arrived.signal()
            _ = peer.readRequest()
            ended.signal()
        }
        var world: ProxyWorld?
        do {
            let (proxy, connection, request) = try caller(of: server, onSocket: isOnSocket)
            world = proxy
            connection.send(request)
            #expect(arrived.wait(timeout: .now() + 60) == .success)
            connection.send(String(repeating: "\r\n", count: count / 2))
            #expect(connection.received(until: "event-stream").contains("200 OK"))
        }
        #expect(ended.wait(timeout: .now() + 60) == .success)
        withExtendedLifetime(world) {}
    }

    @Test("what a caller sends beyond its request is not read without end", arguments: [false, true])
    func endlessExtraBytes(isOnSocket: Bool) throws {
        let (arrived, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            arrived.signal()
            done.wait()
        }
        defer { done.signal() }
        let (world, connection, request) = try caller(of: server, onSocket: isOnSocket)
        connection.send(request)
        #expect(arrived.wait(timeout: .now() + 60) == .success)
        let part = [UInt8](repeating: 0x0A, count: 65_536)
        // The buffers of the system may take some megabytes.
        let taken = (0..<640).prefix { _ in connection.send(part) }.count
        #expect(taken < 640)
        withExtendedLifetime(world) {}
    }

    @Test(
        "the server's faults are reported as its own",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Le", "header"),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nab", "switched protocols"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "Content-Length"),
            ("HTTP/1.1 200 OK\r\na b: c\r\n\r\n", "malformed"),
            ("HTTP/2 200\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/2 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/2.0 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/3 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/0.9 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/1.2 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("ICY 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP 200 OK\r\n\r\n", "does not answer with HTTP"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer coding"),
            (String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 33), "32 interim answers"),
            (oversized(["X: "], count: 1_000), "1000 lines"),
            (oversized(["X: \(String(repeating: "a", count: 22_000))"], count: 3), "64 KiB"),
            (oversized(["Location: /\(String(repeating: "a", count: 16_384))"]), "long Location"),
            (oversized(["Location: /a"], count: 5), "long Location"),
            (oversized(["Set-Cookie: a=b"], count: 201), "long Set-Cookie"),
            (
                oversized(["content-location: /\(String(repeating: "a", count: 16_384))"]),
                "long content-location"
            ),
            (
                oversized(["Connection: \(String(repeating: "a,", count: 1_024))"], count: 3),
                "long Connection"
            ),
        ])
    func faults(text: String, word: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(text)
        }
        let reply = try ProxyWorld(server).exchange("POST", "x", ["Content-Length: 0"])
        // Interim answers may come before it.
        #expect(reply.contains("HTTP/1.1 502 ") && reply.contains(word), "\(reply)")
        #expect(reply.contains("\"refused\"") && reply.contains("127.0.0.1:\(server.port)"), "\(reply)")
    }

    /// An answer with these lines so many times.
    private static func oversized(_ lines: [String], count: Int = 1) -> String {
        let lines = Array(repeating: lines, count: count).flatMap { $0 }
        return "HTTP/1.1 302 Found\r\n\(lines.joined(separator: "\r\n"))\r\nContent-Length: 0\r\n\r\n"
    }

    @Test("of a large head, all is passed on but a cookie that clients ignore (RFC 6265bis §5.6)")
    func largeHead() throws {
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        let passed = [
            "Location: http://127.0.0.1:1/\(text(16_000))", "X-Large: \(text(20_000))",
            "Set-Cookie: a=\(text(4_096)); Path=",
        ]
        let fields =
            passed + ["Set-Cookie: b=\(text(8_192))"] + Array(repeating: "X: y", count: 900)
            + Array(repeating: "Set-Cookie: c=d", count: 50)
        let server = try ScriptedServer.answering(answer("302 Found", fields.joined(separator: "\r\n")))
        let reply = try ProxyWorld(server).exchange("GET", "x")
        #expect(passed.allSatisfy(reply.contains), "\(reply.prefix(200))")
        #expect(reply.components(separatedBy: "\r\nX: y").count == 901 && !reply.contains("b=a"))
    }

    @Test("trailers without end are not read without end, and the answer is not passed on as whole")
    func endlessTrailers() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
            while peer.write("X: \(String(repeating: "a", count: 6_000))\r\n") {}
        }
        let reply = try ProxyWorld(server).exchange("GET", "x")
        #expect(reply.contains("5\r\nhello\r\n") && !reply.hasSuffix("0\r\n\r\n"), "\(reply)")
    }

    @Test("parts of an answer come as they are sent, with the rest still open")
    func stream() throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for part in ["d", "ata: 1\n\n", "data: 2\n\n"] {
                peer.write("\(String(part.utf8.count, radix: 16))\r\n\(part)\r\n")
                gate.wait()
            }
            peer.write("0\r\n\r\n")
        }
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        connection.send(world.head("GET", "events"))
        let first = connection.received(until: "1\r\nd\r\n")
        #expect(first.contains("Transfer-Encoding: chunked\r\n") && first.hasSuffix("1\r\nd\r\n"), "\(first)")
        gate.signal()
        #expect(connection.received(until: "\n\n\r\n") == "8\r\nata: 1\n\n\r\n")
        gate.signal()
        #expect(connection.received(until: "\n\n\r\n") == "9\r\ndata: 2\n\n\r\n")
        gate.signal()
        #expect(connection.received(until: "0\r\n\r\n") == "0\r\n\r\n")
    }

    @Test("a caller that leaves ends the request to the server", arguments: [false, true])
    func left(isOnSocket: Bool) throws {
        let ended = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
            peer.waitForEnd()
            ended.signal()
        }
        func leave() throws -> ProxyWorld {
            let (world, connection, request) = try caller(of: server, onSocket: isOnSocket)
            connection.send(request)
            _ = connection.received(until: "1\r\nx\r\n")
            return world
        }
        let world = try leave()
        #expect(ended.wait(timeout: .now() + 20) == .success)
        withExtendedLifetime(world) {}
    }

    @Test(
        "answers without a body have none, and the connection goes on",
        arguments: [
            ("GET", "204 No Content", "X: 1", ""), ("GET", "304 Not Modified", "ETag: \"x\"", ""),
            ("HEAD", "200 OK", "Content-Length: 5", "Content-Length: 5"),
            ("HEAD", "200 OK", "Transfer-Encoding: chunked", ""),
            ("GET", "200 OK", "Content-Length: 0", "Content-Length: 0"),
        ])
    func noBody(method: String, status: String, field: String, expected: String) throws {
        let server = try ScriptedServer.answering("HTTP/1.1 \(status)\r\n\(field)\r\n\r\n")
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        for _ in 0..<2 {
            connection.send(world.head(method, "x"))
            let reply = connection.received(until: "\r\n\r\n")
            #expect(reply.hasPrefix("HTTP/1.1 \(status)\r\n") && reply.hasSuffix("\r\n\r\n"), "\(reply)")
            #expect(reply.contains("Content-Length: ") == !expected.isEmpty)
            #expect(expected.isEmpty || reply.contains(expected))
            #expect(!reply.contains("Transfer-Encoding"))
        }
        // After HEAD, a body may come all the same.
        #expect(server.connectionCount == (method == "HEAD" ? 2 : 1))
    }

    @Test(
        "neither the lines of a header nor interim answers extend the time for an answer",
        arguments: ["X: y\r\n", "HTTP/1.1 102 Processing\r\n\r\n"])
    func slowHeader(part: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            if part.hasPrefix("X") { peer.write("HTTP/1.1 200 OK\r\n") }
            for _ in 0..<30 {
                peer.write(part)
                usleep(300_000)
            }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let reply = try ProxyWorld([server.url("/")]) { $0.timeout = 1_000 }.exchange()
        #expect(reply.hasPrefix("HTTP/1.1 504 "), "\(reply)")
    }

    @Test("interim answers are not passed on: many clients take them for the final answer (RFC 8297 §3)")
    func interim() throws {
        let server = try ScriptedServer.answering(
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server)
        let reply = try world.exchange()
        #expect(reply.hasPrefix("HTTP/1.1 200 OK\r\n") && !reply.contains("/x"), "\(reply)")
    }

    @Test(
        "links that tell another server the page's URL, in which the secret is, are not passed on",
        arguments: ["referrerpolicy=unsafe-url", "as=image;\tReferrerPolicy = \"unsafe-url\""])
    func linksWithReferrer(parameter: String) throws {
        let links =
            "Link: <//a.example/x>; rel=preload; \(parameter)\r\nLink: </y?q=referrerpolicy>; rel=next\r\n"
        let server = try ScriptedServer.answering(
            "HTTP/1.1 200 OK\r\n\(links)Content-Length: 0\r\n\r\n")
        let reply = try ProxyWorld(server).exchange()
        #expect(reply.components(separatedBy: "\r\nLink: </y?q=referrerpolicy>; rel=next\r\n").count == 2)
        #expect(!reply.contains("a.example"), "\(reply)")
    }

    @Test(
        "a content policy has no reports, which tell another server the page's URL, in which the secret is",
        arguments: [
            ("default-src 'self'; report-uri https://a.example/r", "default-src 'self'"),
            ("Report-To g;img-src *;\tREPORT-URI //a.example", "img-src *"),
            ("img-src *;report-uri /r, report-uri https://a.example, font-src *", "img-src *, font-src *"),
            ("img-src https://h.example/report-uri", "img-src https://h.example/report-uri"),
            ("report-uri https://a.example", nil),
        ])
    func reports(policy: String, kept: String?) throws {
        let server = try ScriptedServer.answering(
            "HTTP/1.1 200 OK\r\nContent-Security-Policy: \(policy)\r\nContent-Length: 0\r\n\r\n")
        let reply = try ProxyWorld(server).exchange()
        let line = reply.components(separatedBy: "\r\n").first { $0.hasPrefix("Content-Security-Policy") }
        #expect(line == kept.map { "Content-Security-Policy: \($0)" }, "\(reply)")
    }

    @Test("compressed bodies and bytes of any value pass untouched, and header values byte for byte")
    func bytes() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(
                Array("HTTP/1.1 200 \u{e9}\r\nContent-Encoding: gzip\r\nX-Latin: ".utf8) + [0xE9]
                    + Array("\r\nContent-Length: 256\r\n\r\n".utf8) + Array(0...255))
        }
        let world = try ProxyWorld(server)
        let reply = try world.exchange("GET", "x")
        #expect(reply.contains("Content-Encoding: gzip\r\n") && reply.contains("X-Latin: \u{FFFD}\r\n"))
        #expect(reply.contains("Content-Length: 256\r\n"))
    }

    @Test("an answer that the server breaks off is seen to be broken off, at any byte", arguments: 0..<6)
    func broken(cut: Int) throws {
        let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        let cuts = [0, 9, 46, 50, 55, 59]
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(Array(whole.utf8.prefix(cuts[cut])))
        }
        let world = try ProxyWorld(server)
        let reply = try world.exchange("POST", "x", ["Content-Length: 0"])
        if cuts[cut] < 47 {
            #expect(
                reply.hasPrefix("HTTP/1.1 502 ") && reply.contains("application/problem+json"), "\(reply)")
        } else {
            #expect(reply.hasPrefix("HTTP/1.1 200 OK") && !reply.hasSuffix("0\r\n\r\n"), "\(reply)")
        }
        #expect(server.requests.count == 1)
    }

    @Test("a caller of HTTP/1.0 gets a reset, not an orderly end, if the answer is broken off")
    func brokenWithoutLength() throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        connection.send(world.head("GET", "x").replacing("HTTP/1.1", with: "HTTP/1.0"))
        #expect(connection.waitForEnd(within: 60) == .reset)
        let orderly = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        }
        let otherWorld = try ProxyWorld(orderly)
        let other = try otherWorld.connect()
        other.send(otherWorld.head("GET", "x").replacing("HTTP/1.1", with: "HTTP/1.0"))
        #expect(other.waitForEnd(within: 60) == .closed)
    }

    @Test("large bodies pass in bounded memory: a side that takes nothing stops the other")
    func backPressure() throws {
        let sent = Mutex(0)
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            let part = [UInt8](repeating: 0x61, count: 65_536)
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(65_536 * 1_024)\r\n\r\n")
            for _ in 0..<1_024 {
                guard peer.write(part) else { return }
                sent.withLock { $0 += part.count }
            }
        }
        let world = try ProxyWorld(server)
        let connection = try world.connect()
        connection.send(world.head("GET", "large", "Connection: close"))
        _ = connection.received(until: "\r\n\r\n")
        var before = -1
        // Until the buffers of the system are full and nothing moves.
        while sent.withLock({ $0 }) != before {
            before = sent.withLock { $0 }
            Poll.sleep(until: .now().adding(milliseconds: 150))
        }
        #expect(before < 40 << 20, "\(before)")
        var count = 0
        while let more = connection.receivedOnce(within: 60), !more.isEmpty { count += more.utf8.count }
        #expect(count > 60 << 20)
    }
}
