import Foundation
@testable import LoopbackHTTP
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("The listener under load", .serialized, .waiting)
struct LoopbackLoadTests {
    private func soon(_ milliseconds: Int64 = 30_000) -> MonotonicTime {
        MonotonicTime.now().adding(milliseconds: milliseconds)
    }

    @Test("a thousand idle connections do not block the callback, and stay within the limit of descriptors")
    func thousandIdle() throws {
        let server = try LoopbackServer()
        var idle: [LoopbackClient] = []
        defer { for client in idle { client.close() } }
        for round in 0..<10 {
            idle += try (0..<100).map { _ in try LoopbackClient(server) }
            if round % 2 == 0 { try idle[idle.count - 50].send("GET / HTTP") }
            _ = server.run(until: soon(5)) { _ in .hold }
        }
        let client = try LoopbackClient(server)
        defer { client.close() }
        try client.send(LoopbackServerTests.callback)
        guard case .held(_, let connection) = server.run(until: soon(), handle: { _ in .hold }) else {
            Issue.record("kept out")
            return
        }
        #expect(server.connectionCount <= 256)
        server.answer(connection, LoopbackServerTests.page)
        server.finish(milliseconds: 200)
        #expect(client.received()?.hasSuffix("signed in") == true)
    }

    @Test("more clients than allowed connections are all served")
    func manyClients() throws {
        var policy = HTTP1Server.Policy()
        policy.connections = 64
        let server = try LoopbackServer(LoopbackAddress(), policy)
        let clients = try (0..<400).map { _ in try LoopbackClient(server) }
        defer { for client in clients { client.close() } }
        for client in clients { try client.send("GET /\(client.descriptor.rawValue) HTTP/1.0\r\n\r\n") }
        var served = 0
        let limit = soon()
        while served < clients.count, MonotonicTime.now() < limit {
            _ = server.serve(until: soon(10)) { request in
                served += 1
                return HTTPResponse(status: 200, body: Array(request.target.utf8))
            }
        }
        #expect(served == clients.count)
        for client in clients {
            #expect(client.received()?.hasSuffix("/\(client.descriptor.rawValue)") == true)
        }
    }

    @Test("connections that are reset, or send endlessly, do not block the callback")
    func resetsAndFloods() throws {
        let server = try LoopbackServer()
        let flood = try LoopbackClient(server)
        let filler = [UInt8](repeating: 0x41, count: 65_536)
        for index in 0..<200 {
            let client = try LoopbackClient(server)
            try client.send("GET / HTTP/1.1\r\n")
            client.close()
            _ = try? LoopbackSocket.send(
                index == 0 ? Array("POST /".utf8)[...] : filler[...], to: flood.descriptor)
            _ = server.run(until: soon(1)) { _ in .hold }
        }
        let client = try LoopbackClient(server)
        try client.send(LoopbackServerTests.callback)
        guard case .held = server.run(until: soon(), handle: { _ in .hold }) else {
            Issue.record("kept out")
            return
        }
        #expect(server.connectionCount <= 3)
    }

    @Test("connections take turns: none is served twice before all others were once")
    func turns() throws {
        var policy = HTTP1Server.Policy()
        policy.roundMilliseconds = 0
        let server = try LoopbackServer(LoopbackAddress(), policy)
        let clients = try (0..<3).map { _ in try LoopbackClient(server) }
        defer { for client in clients { client.close() } }
        func ask(_ name: String, _ count: Int) -> String {
            (0..<count).map { "GET /\(name)\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
        }
        for client in clients { try client.send(ask("x", 1)) }
        var served: [String] = []
        func serve(_ count: Int) {
            let limit = soon()
            while served.count < count, MonotonicTime.now() < limit {
                _ = server.turn(until: soon(100), also: []) { request in
                    served.append(String(request.target.dropFirst()))
                    return .respond(HTTPResponse(status: 204))
                }
            }
        }
        serve(3)
        served = []
        for (name, client) in zip(["a", "b", "c"], clients) { try client.send(ask(name, 3)) }
        serve(9)
        #expect(served.map { $0.suffix(1) } == ["0", "0", "0", "1", "1", "1", "2", "2", "2"], "\(served)")
        // One that was silent goes before those that have just had their turns.
        served = []
        try clients[0].send(ask("a", 4))
        try clients[1].send(ask("b", 4))
        serve(4)
        try clients[2].send(ask("c", 1))
        serve(9)
        #expect(served.firstIndex(of: "c0") == 4, "\(served)")
    }

    /// A server whose peers connect again and again: each request that it handles brings the next one.
    private func finish(_ milliseconds: Int64, onRequest: (Int) -> Void = { _ in }) throws -> Int {
        let listener = try LoopbackListener(LoopbackAddress())
        let server = HTTP1Server(listener.descriptors, HTTP1Server.Policy())
        var clients: [FileDescriptor] = []
        func connect() throws {
            let client = try LoopbackSocket.connect(.ipv4, port: listener.port)
            _ = try LoopbackSocket.send(Array("GET / HTTP/1.0\r\n\r\n".utf8)[...], to: client)
            clients.append(client)
            if clients.count > 64 { clients.removeFirst().close() }
        }
        try connect()
        var count = 0
        server.finish(admitting: true, milliseconds: milliseconds) { _, _ in
            count += 1
            onRequest(count)
            if count < 5_000 { try? connect() }
            return .respond(HTTPResponse(status: 404))
        }
        for client in clients { client.close() }
        return count
    }

    @Test("peers that connect again and again do not keep the server from its end")
    func endlessBacklog() throws {
        #expect(try finish(600_000) <= Int(LoopbackListener.backlog) + 1)
        #expect(try finish(0) <= 1)
    }

    @Test("after a signal, the server does not wait for peers that connect")
    func interruptedEnd() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let count = try LoopbackLoadTests().finish(600_000) { count in
                guard count == 3 else { return }
                kill(getpid(), SIGINT)
                while Interruption.pending == nil { Poll.pause(until: .now().adding(milliseconds: 1)) }
            }
            exit(count == 3 ? 9 : 1)
        }
    }

    @Test("a connection that never finishes its request is closed")
    func slowloris() throws {
        var policy = HTTP1Server.Policy()
        policy.idleMilliseconds = 30
        policy.requestMilliseconds = 60
        let server = try LoopbackServer(LoopbackAddress(), policy)
        let silent = try LoopbackClient(server)
        let slow = try LoopbackClient(server)
        let start = MonotonicTime.now()
        while server.connectionCount > 0 || MonotonicTime.now() < start.adding(milliseconds: 20) {
            _ = try? slow.send("X")
            _ = server.run(until: soon(10)) { _ in .hold }
            if MonotonicTime.now() > start.adding(seconds: 5) { break }
        }
        #expect(silent.received() == nil)
        #expect(slow.received()?.hasPrefix("HTTP/1.1 408") == true)
    }

    @Test("a listener without free descriptors closes idle connections, and continues")
    func descriptorsExhausted() async {
        await #expect(processExitsWith: .exitCode(9)) {
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var policy = HTTP1Server.Policy()
            policy.graceMilliseconds = 5
            let server = try LoopbackServer(LoopbackAddress(), policy)
            var clients: [LoopbackClient] = []
            while let client = try? LoopbackClient(server) { clients.append(client) }
            try clients[clients.count - 1].send(LoopbackServerTests.callback)
            for client in clients.prefix(2) { client.close() }
            let event = server.run(until: MonotonicTime.now().adding(seconds: 20)) { _ in .hold }
            guard case .held = event else { exit(1) }
            exit(9)
        }
    }
}
