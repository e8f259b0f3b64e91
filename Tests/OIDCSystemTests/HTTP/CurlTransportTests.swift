@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("a request and its answer")
struct CurlTransportTests {
    @Test("method, path, query, headers and body arrive as they were given")
    func asGiven() throws {
        let server = try ScriptedServer.answering(answer("201 Created", "X-A:  b ", "x-a: c", body: "{}"))
        var request = HTTPRequest.form(server.url("/a/../b%20c?x=%41&y=+"), [.init("code", "a b&c")])
        request.headers["Authorization"] = "Bearer xyz"
        request.headers["X-Empty"] = ""
        let response = try CurlTransport().send(request, stage: .token)
        #expect(response.status == 201)
        #expect(response.headers.values("X-A") == ["b", "c"])
        #expect(response.body == Array("{}".utf8))
        let sent = try #require(server.requests.first)
        let lines = sent.components(separatedBy: "\r\n")
        #expect(lines.first == "POST /a/../b%20c?x=%41&y=+ HTTP/1.1")
        #expect(lines.last == "code=a%20b%26c")
        #expect(lines.contains("Authorization: Bearer xyz"))
        #expect(lines.contains("Content-Type: application/x-www-form-urlencoded"))
        #expect(lines.contains("Accept: application/json"))
        #expect(lines.contains("User-Agent: oidc"))
        #expect(lines.contains("X-Empty:"))
        #expect(!sent.contains("Expect:"))
    }

    @Test("other methods go out by their name", arguments: ["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
    func methods(name: String) throws {
        let server = try ScriptedServer.answering("HTTP/1.1 204 No Content\r\n\r\n")
        let response = try CurlTransport().send(HTTPRequest(HTTPMethod(name), server.url()), stage: .resource)
        #expect(response.status == 204)
        #expect(server.requests.first?.hasPrefix("\(name) / HTTP/1.1\r\n") == true)
    }

    @Test("any status is an answer", arguments: [200, 400, 401, 429, 500])
    func status(status: Int) throws {
        let server = try ScriptedServer.answering(answer("\(status) X", body: "b"))
        let response = try CurlTransport().send(.json(server.url()), stage: .discovery)
        #expect(response.status == status)
        #expect(response.body == Array("b".utf8))
    }

    @Test("interim answers and trailers are not the answer")
    func interim() throws {
        let server = try ScriptedServer.answering(
            "HTTP/1.1 103 Early Hints\r\nX: early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                + "X: real\r\n\r\n2\r\nok\r\n0\r\nX: trailer\r\n\r\n")
        let response = try CurlTransport().send(.json(server.url()), stage: .discovery)
        #expect(response.status == 200)
        #expect(response.headers.values("X") == ["real"])
        #expect(response.body == Array("ok".utf8))
    }

    @Test("a GET uses the connection again, a POST opens its own")
    func reuse() throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        let events = Mutex<[Bool]>([])
        var configuration = CurlConfiguration()
        configuration.trace = { event in
            guard case .answer(_, _, _, _, let isReused, _) = event else { return }
            events.withLock { $0.append(isReused) }
        }
        let transport = CurlTransport(configuration)
        for _ in 1...2 { _ = try transport.send(.json(server.url()), stage: .discovery) }
        _ = try transport.send(.form(server.url(), []), stage: .token)
        _ = try transport.bounded(by: .now().adding(seconds: 9)).send(.json(server.url()), stage: .keys)
        #expect(events.withLock { $0 } == [false, true, false, true])
        #expect(server.connectionCount == 2)
    }

    @Test(
        "localhost works with IPv4 and IPv6 listeners",
        arguments: ScriptedServer.hasIPv6 ? [false, true] : [false])
    func localhost(ipv6: Bool) throws {
        let server = try ScriptedServer.answering(answer("200 OK"), ipv6: ipv6)
        let url = server.url(host: "localhost")
        #expect(try CurlTransport().send(.json(url), stage: .discovery).status == 200)
        #expect(server.requests.first?.contains("Host: localhost:\(server.port)\r\n") == true)
        if ipv6 {
            #expect(
                try CurlTransport().send(.json(server.url(host: "[::1]")), stage: .discovery).status == 200)
        }
    }

    @Test("no program that is started later inherits a connection")
    func closedOnExec() throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        let transport = CurlTransport()
        _ = try transport.send(.json(server.url()), stage: .discovery)
        let connections = (Int32(3)..<Int32(getdtablesize())).filter { descriptor in
            var peer = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &peer) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &size) == 0
                }
            }
            return isConnected && Int(UInt16(bigEndian: peer.sin_port)) == server.port
        }
        #expect(connections.count == 1)
        for connection in connections { #expect(fcntl(connection, F_GETFD) & FD_CLOEXEC != 0) }
    }

    @Test("one transport can be used by many threads")
    func threads() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "x"))
        let transport = CurlTransport()
        let good = Mutex(0)
        let url = server.url()
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            for _ in 1...5 {
                guard let response = try? transport.send(.json(url), stage: .keys), response.status == 200
                else {
                    continue
                }
                good.withLock { $0 += 1 }
            }
        }
        #expect(good.withLock { $0 } == 80)
        #expect(server.requests.count == 80)
    }

    @Test("a request and its answer are logged, without query or body")
    func trace() throws {
        let server = try ScriptedServer.answering(answer("200 OK", body: "four"))
        let events = Mutex<[HTTPTraceEvent]>([])
        var configuration = CurlConfiguration()
        configuration.trace = { event in events.withLock { $0.append(event) } }
        let request = HTTPRequest.form(server.url("/token?secret=1"), [.init("code", "2")])
        _ = try CurlTransport(configuration).send(request, stage: .token)
        let told = events.withLock { $0 }
        let url = server.url("/token").text
        #expect(told.first == .request(method: "POST", url: url, bytes: 6))
        guard case .answer("POST", url, 200, let elapsed, false, 4) = told.last else {
            Issue.record("\(told)")
            return
        }
        #expect(elapsed > .zero)
        #expect(told.count == 2)
    }

    @Test(
        "a header that would break the message is refused",
        arguments: [
            ("X-A", "b\r\nX-B: c"), ("X-A", "b\nc"), ("X-A", "b\0"), ("X A", "b"), ("X-A:", "b"), ("", "b"),
            ("X\r\nY", "b"), ("Host", "other"), ("content-length", "5"), ("Transfer-Encoding", "chunked"),
        ])
    func headers(name: String, value: String) throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        var request = HTTPRequest.json(server.url())
        request.headers.append(name, value)
        let error = #expect(throws: OIDCError.self) { try CurlTransport().send(request, stage: .resource) }
        #expect(error?.kind == .usage)
        #expect(server.connectionCount == 0)
    }
}
