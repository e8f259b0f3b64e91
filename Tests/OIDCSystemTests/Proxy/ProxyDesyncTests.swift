import Foundation
import OIDCCore
@testable import OIDCProxy
import Synchronization
import TestSupport
import Testing

@Suite("the proxy and requests whose bodies do not arrive whole", .serialized, .waiting)
struct ProxyDesyncTests {
    /// What a caller does with a body of 1,000 bytes.
    private enum Body: CaseIterable {
        case none, half, broken, whole

        func bytes(isChunked: Bool) -> String {
            let half = String(repeating: "a", count: 500)
            let part = isChunked ? "1f4\r\n\(half)\r\n" : half
            switch self {
            case .none: return ""
            case .half: return part
            case .broken: return isChunked ? part + "zz\r\n" : part + "a"
            case .whole: return part + part + (isChunked ? "0\r\n\r\n" : "")
            }
        }
    }

    @Test(
        "a connection on which a body was announced and not sent whole is not used again (RFC 9112 §9.3)",
        arguments: [nil, 200, 204, 302, 401, 403, 413, 417, 500])
    func partialBody(early status: Int?) throws {
        let upstream = try StrictUpstream()
        let world = try ProxyWorld(upstream.server)
        var asked: Set<String> = []
        for body in Body.allCases {
            for isChunked in [false, true] {
                for isExpecting in [false, true] {
                    let name = "\(body)-\(isChunked)-\(isExpecting)"
                    let target = "\(name)?" + (status.map { "early=\($0)" } ?? "")
                    asked.formUnion(["PUT /\(target)", "GET /after-\(name)"])
                    let fields =
                        [isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 1000"]
                        + (isExpecting ? ["Expect: 100-continue"] : [])
                    let caller = try world.connect()
                    let head = world.head("PUT", target, fields.joined(separator: "\r\n"))
                    caller.send(isExpecting ? head : head + body.bytes(isChunked: isChunked))
                    if isExpecting {
                        #expect(caller.received(until: "\r\n\r\n").hasPrefix("HTTP/1.1 "))
                        caller.send(body.bytes(isChunked: isChunked))
                    }
                    if status != nil || body == .whole { _ = caller.receivedOnce(within: 0.1) }
                    for _ in 0..<2 {
                        let reply = try world.exchange("GET", "after-\(name)")
                        #expect(reply.hasSuffix("hello"), "\(name): \(reply)")
                    }
                }
            }
        }
        #expect(upstream.faults.isEmpty, "\(upstream.faults)")
        #expect(Set(upstream.requests).isSubset(of: asked), "\(Set(upstream.requests).subtracting(asked))")
    }

    @Test("a caller that falls silent within its body ends the server's connection too")
    func silence() throws {
        let upstream = try StrictUpstream()
        let world = try ProxyWorld(upstream.server) { $0.timeout = 200 }
        for target in ["x", "x?early=200", "x?early=500"] {
            let caller = try world.connect()
            caller.send(world.head("PUT", target, "Content-Length: 1000") + "aaa")
            _ = caller.received()
            for _ in 0..<2 { _ = try world.exchange("GET", "after") }
        }
        #expect(upstream.faults.isEmpty, "\(upstream.faults)")
        #expect(upstream.requests.contains("GET /after"))
    }

    @Test("an answer that breaks off ends at once, though its caller has not sent the whole body")
    func brokenAnswer() throws {
        let server = try ScriptedServer { peer in
            guard peer.readPart() else { return }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nans")
            shutdown(peer.descriptor, Int32(SHUT_WR))
            peer.waitForEnd()
        }
        let world = try ProxyWorld(server)
        let caller = try world.connect()
        caller.send(world.head("PUT", "x", "Content-Length: 1000") + "aaa")
        let reply = caller.received(until: "ans")
        #expect(reply.hasSuffix("\r\n\r\nans") && caller.receivedOnce(within: 20) == nil, "\(reply)")
    }

    @Test("a connection on which a whole body was sent is used again")
    func wholeBody() throws {
        let upstream = try StrictUpstream()
        let world = try ProxyWorld(upstream.server)
        let text = String(repeating: "a", count: 1_000)
        for _ in 0..<3 {
            let reply = try world.exchange(
                "PUT", "x", ["Content-Length: 1000", "Expect: 100-continue"], body: text)
            #expect(reply.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "), "\(reply)")
            #expect(
                try world.exchange(
                    "PUT", "x", ["Transfer-Encoding: chunked"], body: "3e8\r\n\(text)\r\n0\r\n\r\n"
                ).hasSuffix("hello"))
        }
        #expect(upstream.server.connectionCount == 1 && upstream.faults.isEmpty, "\(upstream.faults)")
    }

    /// A server that sends `head` to all requests but GET, and the body that follows only once it has the next one.
    private func strayBodyServer(_ head: String) throws -> ScriptedServer {
        try ScriptedServer { peer in
            var stray = ""
            while let request = peer.readRequest() {
                let isPlain = request.hasPrefix("GET ") && !request.contains("/cached")
                peer.write(isPlain ? stray + answer("200 OK", body: "hello") : head + "\r\n\r\n")
                stray = isPlain ? "" : answer("200 OK", body: "stray")
            }
        }
    }

    @Test(
        "a body that a server sends where there is none is not the answer to the next caller (RFC 9112 §6.3)",
        arguments: [
            ("HEAD", "200 OK\r\nContent-Length: 43"), ("HEAD", "200 OK\r\nTransfer-Encoding: chunked"),
            ("HEAD", "404 Not Found\r\nContent-Length: 43"), ("HEAD", "200 OK"),
            ("GET", "304 Not Modified\r\nContent-Length: 43"),
            ("DELETE", "204 No Content\r\nContent-Length: 43"),
            ("DELETE", "204 No Content\r\nTransfer-Encoding: chunked"),
        ])
    func strayBody(method: String, head: String) throws {
        let server = try strayBodyServer("HTTP/1.1 \(head)")
        let world = try ProxyWorld(server)
        for count in 1...3 {
            #expect(try world.exchange("GET", "warm").hasSuffix("hello"))
            let status = head.prefix { !$0.isNewline }
            #expect(try world.exchange(method, "cached").hasPrefix("HTTP/1.1 \(status)\r\n"))
            #expect(try world.exchange("GET", "next").hasSuffix("hello"))
            #expect(server.connectionCount == count + 1)
        }
    }

    @Test(
        "after an answer that announces no body and has none, the connection is used again",
        arguments: ["304 Not Modified", "204 No Content", "204 No Content\r\nContent-Length: 0"])
    func noBody(head: String) throws {
        let server = try ScriptedServer.answering("HTTP/1.1 \(head)\r\n\r\n")
        let world = try ProxyWorld(server)
        for _ in 0..<3 { #expect(try world.exchange().hasPrefix("HTTP/1.1 \(head.prefix(3)) ")) }
        #expect(server.connectionCount == 1)
    }

    @Test("100 Continue comes from the proxy, once it has a token and a connection (RFC 9110 §10.1.1)")
    func continued() throws {
        let expecting = ["Expect: 100-continue", "Content-Length: 5"]
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                mayAnswer.wait()
                peer.write(answer("200 OK", body: "hello"))
            }
        }
        let tokens = ProxyWorld.Tokens()
        tokens.failure.withLock { $0 = OIDCError(.loginRequired, "signed out") }
        let signedOut = try ProxyWorld(server, tokens: tokens)
        #expect(try signedOut.exchange("PUT", "x", expecting).hasPrefix("HTTP/1.1 401 "))
        let world = try ProxyWorld(server)
        let caller = try world.connect()
        caller.send(world.head("PUT", "x", "Expect: 100-continue", "Content-Length: 5"))
        #expect(caller.received(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(server.requests.isEmpty)
        caller.send("abcde")
        mayAnswer.signal()
        #expect(caller.received(until: "hello").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(server.connectionCount == 1)
        #expect(server.requests.allSatisfy { !$0.contains("Expect") && $0.hasSuffix("\r\n\r\nabcde") })
        let closed = try ProxyWorld([WebURL("http://127.0.0.1:\(try closedPort())")!])
        #expect(try closed.exchange("PUT", "x", expecting).hasPrefix("HTTP/1.1 502 "))
    }

    @Test("a body that is sent again with a new token arrives whole, also after an early answer")
    func repeated() throws {
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                peer.write(
                    request.contains("token-1")
                        ? answer("401 Unauthorized", "WWW-Authenticate: Bearer", body: "no")
                        : answer("200 OK", body: String(request.suffix(60_000).filter { $0 == "a" }.count)))
            }
        }
        let world = try ProxyWorld(server)
        let text = String(repeating: "a", count: 60_000)
        let reply = try world.exchange("POST", "x", ["Content-Length: 60000"], body: text)
        #expect(reply.hasSuffix("60000"), "\(reply)")
    }

    @Test(
        "a request that may change something is not repeated on another connection (RFC 9110 §9.2)",
        arguments: ["POST", "PUT", "PATCH", "DELETE", "REPORT"])
    func repetition(method: String) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write(answer("200 OK", body: "hello"))
            // The next request is read, and the connection ends without an answer.
            _ = peer.readRequest()
        }
        let world = try ProxyWorld(server)
        let caller = try world.connect()
        for length in [0, 2] {
            caller.send(world.head("GET", "first"))
            #expect(caller.received(until: "hello").contains("200 OK"))
            caller.send(world.head(method, "second", "Content-Length: \(length)") + "ab".prefix(length))
            #expect(caller.received(until: "}").contains("502 Bad Gateway"))
        }
        #expect(server.requests.filter { $0.hasPrefix("\(method) /second") }.count == 2)
    }
}
