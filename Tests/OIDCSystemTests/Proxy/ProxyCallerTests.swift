import Foundation
import OIDCCore
@testable import OIDCProxy
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the callers of the proxy", .serialized, .waiting)
struct ProxyCallerTests {
    @Test("a Unix socket needs no secret, is only for this user, and is removed at the end")
    func socket() throws {
        let path = FileManager.default.temporaryDirectory.path + "/oidc-\(UInt32.random(in: 0 ... .max)).sock"
        let servers = try (0..<2).map { try ScriptedServer.answering(answer("200 OK", body: "server \($0)")) }
        func curl(_ target: String, _ more: String...) throws -> String {
            var process = ChildProcess(
                ["curl", "-sS", "--unix-socket", path, "http://localhost\(target)"] + more,
                environment: ["PATH": "/usr/bin:/bin"])
            process.errorOutput = .captured
            return String(decoding: try process.run().output, as: UTF8.self)
        }
        do {
            let world = try ProxyWorld(
                servers.map { $0.url() }, endpoint: .socket(path: path), paths: ["/a", "/b"])
            let status = try FilePath.status(path)
            #expect(status.permissions == 0o600 && world.prefixes == ["/a/", "/b/"])
            #expect(try curl("/a/x") == "server 0")
            #expect(try curl("/b/x") == "server 1")
            #expect(try curl("/c/x").contains("no route"))
            #expect(try curl("/a/x", "-H", "Host: evil.example").contains("does not name this proxy"))
            #expect(throws: OIDCError.self) { try ProxyWorld(servers[0].url(), at: path) }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: OIDCError.self) { try ProxyWorld(servers[0].url(), at: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        try FileManager.default.removeItem(atPath: path)
    }

    @Test(
        "on a socket, a redirect below another route's path is not rewritten, as that route would send its token",
        arguments: [
            ("/b/x", "http://SERVER/b/x"), ("/b", "http://SERVER/b"), ("/b?x", "http://SERVER/b?x"),
            ("/bb/x", "http://localhost/bb/x"), ("/x", "http://localhost/x"),
            ("http://localhost/b/x", nil), ("http://LOCALHOST:80/b/x", nil),
        ])
    func socketRedirect(_ location: String, expected: String?) throws {
        let path = FileManager.default.temporaryDirectory.path + "/oidc-\(UInt32.random(in: 0 ... .max)).sock"
        let server = try ScriptedServer.answering(answer("302 Found", "Location: \(location)", "X-Last: 1"))
        let other = try ScriptedServer.answering(answer("200 OK"))
        let world = try ProxyWorld(
            [server.url(), other.url()], endpoint: .socket(path: path), paths: ["/", "/b"])
        let caller = try #require(RawConnection(socket: path))
        caller.send("GET /here HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let reply = caller.received(within: 60)
        let host = server.url().hostAndPort
        // nil: there is none.
        let line = expected.map { "Location: \($0.replacingOccurrences(of: "SERVER", with: host))\r\n" }
        #expect(
            reply.contains("\(line ?? "")X-Last: 1") && (line != nil || !reply.contains("Location")),
            "\(reply)")
        withExtendedLifetime(world) {}
    }

    @Test("a proxy that cannot listen leaves no descriptor open")
    func descriptors() throws {
        func count() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        }
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server)
        /// Returns why it cannot listen; without descriptors, there would be another reason.
        func problem() -> String? {
            do { _ = try ProxyWorld([server.url()], endpoint: .port(world.port)) } catch { return "\(error)" }
            return nil
        }
        let first = try #require(problem())
        // Other tests open some meanwhile, but not as many again and again.
        let rounds = 200
        var growth: [Int] = []
        repeat {
            let before = try count()
            for _ in 0..<rounds { try #require(problem() == first) }
            growth.append(try count() - before)
        } while growth.count < 10 && growth.last.map { $0 >= rounds } ?? true
        #expect(growth.contains { $0 < rounds }, "\(growth)")
        withExtendedLifetime(world) {}
    }

    @Test("the proxy ends after the idle time, which begins at the end of the last request")
    func idle() throws {
        let server = try ScriptedServer { peer in
            _ = peer.readRequest()
            Poll.sleep(until: .now().adding(milliseconds: 3_500))
            peer.write(answer("200 OK", body: "hello"))
        }
        let world = try ProxyWorld(server) { $0.idleTimeout = 2_000 }
        #expect(try world.exchange("GET", "x").contains("hello"))
        let answered = MonotonicTime.now()
        #expect(world.finish() == .idle)
        #expect(answered.adding(milliseconds: 1_000) < .now())
    }

    /// A transfer takes the connection that another has just ended. It must not count as idle then: bytes on an
    /// idle connection end it.
    @Test("twenty-four callers at once get every answer of a server that keeps its connections")
    func crowd() throws {
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil { peer.write(answer("200 OK", body: "hello")) }
        }
        let world = try ProxyWorld(server)
        let statuses = Mutex<[Int?: Int]>([:])
        let callers = try (0..<24).map { _ in try world.connect() }
        let threads = try callers.map { caller in
            try BackgroundThread {
                for _ in 0..<100 {
                    caller.send(world.head("POST", "x", "Content-Length: 2") + "aa")
                    let status = RawConnection.status(caller.received(until: "hello"))
                    statuses.withLock { $0[status, default: 0] += 1 }
                    guard status == 200 else { return }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(statuses.withLock { $0 } == [200: 2_400])
    }

    @Test("the time limit of a head that comes early starts with the answer to the request before it")
    func earlyHead() throws {
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                Poll.sleep(until: .now().adding(milliseconds: 2_200))
                peer.write(answer("200 OK", body: "hello"))
            }
        }
        let world = try ProxyWorld(server) { $0.headTimeout = 2_000 }
        let caller = try world.connect()
        let head = world.head("GET", "x")
        caller.send(head + head.dropLast())
        #expect(caller.received(until: "hello").contains("200 OK"))
        caller.send("\r\n")
        #expect(caller.received(until: "hello").contains("200 OK"))
    }

    @Test("callers that send a part of a request without the secret do not keep others out")
    func partialHeads() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server) { $0.connections = 8 }
        let known = try world.connect()
        known.send(world.head("GET", "x"))
        #expect(known.received(until: "hello").contains("200 OK"))
        let partial = try (0..<40).map { _ in
            let connection = try world.connect()
            connection.send("G")
            return connection
        }
        #expect(try world.exchange("GET", "x").contains("hello"))
        known.send(world.head("GET", "x"))
        #expect(known.received(until: "hello").contains("200 OK"))
        withExtendedLifetime(partial) {}
    }

    /// Returns a server that never answers, and what is signaled when a request has arrived there.
    private func silent() throws -> (ScriptedServer, DispatchSemaphore) {
        let arrived = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            _ = peer.readRequest()
            arrived.signal()
            _ = peer.readRequest()
        }
        return (server, arrived)
    }

    @Test("callers of one route whose server does not answer do not keep those of another route out")
    func fullRoute() throws {
        let (silent, arrived) = try silent()
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld([silent.url("/"), server.url("/")], paths: ["/silent", "/"]) {
            $0.connections = 8
        }
        var callers = try (0..<8).map { number in
            let caller = try world.connect()
            caller.send(world.head("GET", "x"))
            if number < 6 { try #require(arrived.wait(timeout: .now() + 60) == .success) }
            return caller
        }
        let refused = callers.suffix(2).map { $0.received() }
        #expect(refused.allSatisfy { $0.hasPrefix("HTTP/1.1 503 ") }, "\(refused)")
        #expect(try world.exchange("GET", "x", route: 1).contains("hello"))
        // A place is free again when a caller has gone.
        callers.removeFirst()
        let again = try world.connect()
        again.send(world.head("GET", "x"))
        #expect(arrived.wait(timeout: .now() + 60) == .success)
        withExtendedLifetime((callers, again)) {}
    }

    @Test("nor do the callers of two routes keep out those of a third")
    func fullRoutes() throws {
        let (silent, arrived) = try silent()
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let urls = [silent.url("/"), silent.url("/"), server.url("/")]
        let world = try ProxyWorld(urls, paths: ["/one", "/two", "/"]) { $0.connections = 8 }
        func caller(_ route: Int) throws -> RawConnection {
            let caller = try world.connect()
            caller.send(world.head("GET", "x", route: route))
            return caller
        }
        let callers = try [0, 0, 0, 0, 1, 1].map { route in
            let caller = try caller(route)
            try #require(arrived.wait(timeout: .now() + 60) == .success)
            return caller
        }
        for route in [0, 1] {
            let refused = try caller(route).received()
            #expect(refused.hasPrefix("HTTP/1.1 503 "), "\(refused.prefix(99))")
        }
        #expect(try world.exchange("GET", "x", route: 2).contains("hello"))
        withExtendedLifetime(callers) {}
    }

    @Test("callers that do not take their answers give their places up")
    func unreadAnswers() throws {
        let arrived = DispatchSemaphore(value: 0)
        // Small enough to have arrived when the caller's socket is full, so no request is in progress.
        let small = answer("200 OK", body: String(repeating: "x", count: 12_000))
        let chatty = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                arrived.signal()
                peer.write(small)
            }
        }
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld([chatty.url("/"), server.url("/")], paths: ["/chatty", "/"]) {
            $0.connections = 4
            $0.timeout = 600_000
        }
        // Far more than the sockets' buffers hold.
        let requests = String(repeating: world.head("GET", "x"), count: 1_000)
        let callers = try (0..<4).map { _ in
            let caller = try world.connect()
            caller.send(requests)
            // Until the proxy has no room for another answer.
            while arrived.wait(timeout: .now() + 0.5) == .success {}
            return caller
        }
        for _ in 0..<2 {
            let answer = try world.exchange("GET", "x", route: 1)
            #expect(answer.contains("hello"), "\(answer.prefix(99))")
        }
        withExtendedLifetime(callers) {}
    }

    @Test("a caller who sends its request a moment after connecting keeps its place, though all are taken")
    func lateRequest() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server) { $0.connections = 4 }
        let idle = try (0..<4).map { _ in
            let caller = try world.connect()
            caller.send(world.head("GET", "x"))
            #expect(caller.received(until: "hello").contains("hello"))
            return caller
        }
        let late = try world.connect()
        Thread.sleep(forTimeInterval: 0.3)
        late.send(world.head("GET", "x"))
        #expect(late.received(until: "hello").contains("hello"))
        withExtendedLifetime(idle) {}
    }

    @Test("a caller that has not sent its request keeps its place beside idle ones while others come")
    func lateRequestAmongOthers() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server) {
            $0.connections = 4
            $0.newcomer = 600_000
        }
        func idle() throws -> RawConnection {
            let caller = try world.connect()
            caller.send(world.head("GET", "x"))
            #expect(caller.received(until: "hello").contains("hello"))
            return caller
        }
        var callers = try (0..<4).map { _ in try idle() }
        let late = try world.connect()
        callers += try (0..<6).map { _ in try idle() }
        late.send(world.head("GET", "x"))
        #expect(late.received(until: "hello").contains("hello"))
        withExtendedLifetime(callers) {}
    }

    /// A proxy with four places, in front of a server that answers requests for `late` only.
    private struct FourPlaces {
        let server: ScriptedServer
        let world: ProxyWorld
        /// Signaled for each request that has arrived at the server.
        let arrived: DispatchSemaphore

        init() throws {
            let arrived = DispatchSemaphore(value: 0)
            self.arrived = arrived
            server = try ScriptedServer { peer in
                let isLate = peer.readRequest()?.contains("/late") == true
                arrived.signal()
                if isLate {
                    peer.write(answer("200 OK", body: "hello"))
                } else {
                    _ = peer.readRequest()
                }
            }
            world = try ProxyWorld(server) {
                $0.connections = 4
                $0.newcomer = 600_000
            }
        }

        func caller(_ rest: String = "x") throws -> RawConnection {
            let caller = try world.connect()
            caller.send(world.head("GET", rest))
            return caller
        }
    }

    @Test("a caller that was refused makes room for a new one at once")
    func refusedCaller() throws {
        let four = try FourPlaces()
        var callers: [RawConnection] = []
        for _ in 0..<3 {
            callers.append(try four.caller())
            try #require(four.arrived.wait(timeout: .now() + 60) == .success)
        }
        let refused = try four.world.connect()
        refused.send("GET /without HTTP/1.1\r\nHost: \(four.world.host)\r\n\r\n")
        #expect(refused.received(until: "\r\n\r\n").contains(" 403 "))
        let late = try four.caller("late")
        #expect(late.received(until: "hello").contains("hello"))
        withExtendedLifetime((four, callers, refused)) {}
    }

    @Test("a caller that has not sent its request keeps its place if all others are in use; new ones wait")
    func lateRequestAmongRequests() throws {
        let four = try FourPlaces()
        var callers = try (0..<3).map { _ in try four.caller() }
        for _ in callers { try #require(four.arrived.wait(timeout: .now() + 60) == .success) }
        let late = try four.world.connect()
        callers.append(try four.caller())
        #expect(four.arrived.wait(timeout: .now() + 0.2) == .timedOut)
        late.send(four.world.head("GET", "late"))
        #expect(late.received(until: "hello").contains("hello"))
        // Now the place of the late one is free.
        for _ in 0..<2 { #expect(four.arrived.wait(timeout: .now() + 60) == .success) }
        withExtendedLifetime((four, callers)) {}
    }

    @Test("the headers of a caller are short until it has sent the secret, and a few cookies suffice")
    func longHeads() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server)
        let long = "X-A: \(String(repeating: "a", count: 40_000))"
        func status(_ target: String, _ fields: String...) throws -> Int? {
            let caller = try world.connect()
            let lines = ["GET \(target) HTTP/1.1", "Host: \(world.host)", "Connection: close"] + fields
            caller.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
            return RawConnection.status(caller.received(within: 60))
        }
        let secret = world.prefixes[0].split(separator: "/").joined()
        #expect(try status("\(world.prefixes[0])x", long) == 200)
        #expect(try status("/x", "Authorization: Bearer \(secret)", long) == 200)
        #expect(try status("/x", long, "Authorization: Bearer \(secret)") == 431)
        #expect(try status("/wrong/x", long) == 431)
        #expect(try status("/wrong/x", "X-A: a") == 403)
        for (count, expected) in [(900, 200), (2_000, 431)] {
            let cookies = "Cookie: \(String(repeating: "a=b;", count: count))"
            #expect(try status("\(world.prefixes[0])x", cookies) == expected)
        }
    }

    @Test("hundreds of idle callers do not keep others out, and slow heads end")
    func flood() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "hello"))
        let world = try ProxyWorld(server) {
            $0.connections = 8
            $0.headTimeout = 300
        }
        let idle = try (0..<40).map { _ in try world.connect() }
        #expect(try world.exchange("GET", "x").contains("hello"))
        let slow = try world.connect()
        slow.send("GET / HTTP/1.1\r\nHost")
        #expect(slow.received().hasPrefix("HTTP/1.1 408 "))
        withExtendedLifetime(idle) {}
    }
}

extension ProxyWorld {
    fileprivate convenience init(_ url: WebURL, at path: String) throws {
        try self.init([url], endpoint: .socket(path: path))
    }
}
