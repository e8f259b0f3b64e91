import Foundation
@testable import LoopbackHTTP
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("The listener", .serialized, .waiting)
struct LoopbackServerTests {
    static let callback = "GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    static let page = HTTPResponse(status: 200, body: Array("signed in".utf8))

    /// Holds the callback, and refuses everything else.
    private func judge(_ request: HTTPServerRequest) -> LoopbackServer.Disposition {
        request.method == .get && request.target == "/callback?code=a&state=b"
            ? .hold : .respond(HTTPResponse(status: 404))
    }

    private func soon(_ milliseconds: Int64 = 30_000) -> MonotonicTime {
        MonotonicTime.now().adding(milliseconds: milliseconds)
    }

    /// Waits for the callback and answers it; returns whether it arrived.
    private func succeeds(_ server: LoopbackServer, by client: LoopbackClient) -> Bool {
        guard case .held(_, let connection) = server.run(until: soon(), handle: judge) else { return false }
        server.answer(connection, LoopbackServerTests.page)
        server.finish(milliseconds: 300)
        return client.received()?.hasSuffix("\r\n\r\nsigned in") == true
    }

    /// Lets the server look at what was sent.
    private func settle(_ server: LoopbackServer, milliseconds: Int64 = 30) {
        #expect(server.run(until: soon(milliseconds), handle: judge) == .deadline)
    }

    @Test("the callback waits until it is answered, then the port is closed")
    func callback() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        guard case .held(let request, let connection) = server.run(until: soon(), handle: judge) else {
            Issue.record("not held")
            return
        }
        #expect(request.target == "/callback?code=a&state=b")
        #expect(client.received() == "")
        server.answer(connection, LoopbackServerTests.page)
        server.finish(milliseconds: 100)
        #expect(
            client.received()
                == "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nsigned in")
        _ = try LoopbackServer(LoopbackAddress(ports: .fixed(server.port)))
    }

    @Test(
        "a stranger gets a 4xx, and the callback after it is still accepted",
        arguments: [
            ("favicon", "GET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("HEAD", "HEAD /callback?code=a&state=b HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("TLS hello", "\u{16}\u{03}\u{01}\u{02}\0\u{01}\0"),
            ("absolute form", "GET http://127.0.0.1/callback HTTP/1.1\r\nHost: a\r\n\r\n"),
            ("bare LF", "GET / HTTP/1.1\nHost: a\n\n"),
            ("garbage", "\u{1}\u{2}\u{3}"),
            ("chunked", "POST /callback HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"),
            ("long", "GET /\(String(repeating: "a", count: 20_000))"),
        ])
    func strangers(name: String, text: String) throws {
        let server = try LoopbackServer()
        let stranger = try LoopbackClient(server)
        try stranger.send(text)
        settle(server)
        let status = try #require(stranger.status(), "\(name)")
        #expect((400..<500).contains(status), "\(name)")
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        #expect(succeeds(server, by: client))
    }

    @Test("a connection that is kept alive may request the icon first")
    func keepAlive() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send("GET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n")
        settle(server)
        #expect(client.status() == 404)
        try client.send(LoopbackServerTests.callback)
        #expect(succeeds(server, by: client))
    }

    @Test("requests sent all at once are answered in order")
    func pipelining() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        let other = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
        try client.send(other + other + LoopbackServerTests.callback + other)
        guard case .held(_, let connection) = server.run(until: soon(), handle: judge) else {
            Issue.record("not held")
            return
        }
        server.answer(connection, LoopbackServerTests.page)
        server.finish(milliseconds: 100)
        let statuses = client.received()?.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
        #expect(statuses == ["404", "404", "200"])
    }

    @Test("the callback may arrive in single bytes among other requests")
    func singleBytes() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        let idle = try (0..<20).map { _ in try LoopbackClient(server) }
        for (index, byte) in LoopbackServerTests.callback.utf8.dropLast().enumerated() {
            try client.send([byte])
            if index < idle.count { try idle[index].send("GET / HTTP/1.1\r\nX: ") }
            settle(server, milliseconds: 1)
        }
        try client.send("\n")
        #expect(succeeds(server, by: client))
    }

    @Test("a peer that has closed its side after the request gets the answer")
    func halfClosed() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        LoopbackSocket.shutdownSending(client.descriptor)
        #expect(succeeds(server, by: client))
    }

    @Test("a callback that is repeated meanwhile gets the same page, another request a 404")
    func repeated() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        guard case .held(_, let connection) = server.run(until: soon(), handle: judge) else {
            Issue.record("not held")
            return
        }
        let second = try LoopbackClient(server)
        try second.send(LoopbackServerTests.callback)
        settle(server, milliseconds: 20)
        let third = try LoopbackClient(server)
        try third.send(LoopbackServerTests.callback)
        let stranger = try LoopbackClient(server)
        try stranger.send("GET /callback?code=other&state=b HTTP/1.1\r\nHost: a\r\n\r\n")
        client.close()
        server.answer(connection, LoopbackServerTests.page)
        server.finish(milliseconds: 300)
        #expect(second.received()?.hasSuffix("signed in") == true)
        #expect(third.received()?.hasSuffix("signed in") == true)
        #expect(stranger.status() == 404)
    }

    @Test("a peer that keeps the connection open after its answer does not delay us")
    func lingeringPeer() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        guard case .held(_, let connection) = server.run(until: soon(), handle: judge) else {
            Issue.record("not held")
            return
        }
        server.answer(connection, LoopbackServerTests.page)
        let start = MonotonicTime.now()
        server.finish(milliseconds: 60_000)
        #expect(MonotonicTime.now() < start.adding(seconds: 30))
        #expect(client.received()?.hasSuffix("signed in") == true)
    }

    @Test("a peer that disconnects before its answer is ready does no harm")
    func gonePeer() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback + "x")
        guard case .held(_, let connection) = server.run(until: soon(), handle: judge) else {
            Issue.record("not held")
            return
        }
        client.close()
        let large = HTTPResponse(status: 200, body: [UInt8](repeating: 0x41, count: 1 << 22))
        server.answer(connection, large)
        server.finish(milliseconds: 300)
    }

    @Test("an answer that is larger than the peer reads at once is delivered while others are served")
    func slowReader() throws {
        let server = try LoopbackServer()
        let slow = try LoopbackClient(server)
        try slow.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        let body = [UInt8](repeating: 0x41, count: 8 << 20)
        let handle: (HTTPServerRequest) -> HTTPResponse = {
            HTTPResponse(status: 200, body: $0.path == "/large" ? body : [])
        }
        #expect(server.serve(until: soon(20), handle: handle) == .deadline)
        let quick = try LoopbackClient(server)
        try quick.send("GET /small HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(server.serve(until: soon(20), handle: handle) == .deadline)
        #expect(quick.status() == 200)
        var count = 0
        let limit = soon(10_000)
        while count < body.count, MonotonicTime.now() < limit {
            count += slow.received()?.utf8.count ?? 0
            _ = server.serve(until: soon(2), handle: handle)
        }
        #expect(count > body.count)
    }

    @Test("a body is requested with 100 Continue if the peer expects that")
    func expectation() throws {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        settle(server)
        #expect(client.received() == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send("ab")
        settle(server)
        #expect(client.status() == 404)
    }

    @Test("other descriptors and the deadline end the wait")
    func otherEvents() throws {
        let server = try LoopbackServer()
        let pipe = try FileDescriptor.pipe()
        defer {
            pipe.reading.close()
            pipe.writing.close()
        }
        let others = [pipe.reading.rawValue]
        #expect(server.run(until: soon(5), also: others, handle: judge) == .deadline)
        try pipe.writing.writeAll([1])
        #expect(
            server.run(until: soon(), also: others, handle: judge) == .readable(pipe.reading.rawValue))
    }

    @Test("a signal ends the wait")
    func interruption() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let server = try LoopbackServer()
            _ = try? ChildProcess(["sh", "-c", "kill -INT $PPID"], environment: ["PATH": "/usr/bin:/bin"])
                .run()
            let event = server.run(until: nil) { _ in .hold }
            exit(event == .interrupted(signal: 2) ? 9 : 1)
        }
    }
}
