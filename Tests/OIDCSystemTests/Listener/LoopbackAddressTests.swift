@testable import LoopbackHTTP
import OIDCCore
@testable import Posix
import Testing

@Suite("Where the listener is bound")
struct LoopbackAddressTests {
    private let ask = "GET / HTTP/1.0\r\n\r\n"

    private func isReached(_ server: LoopbackServer, _ family: LoopbackSocket.Family) throws -> Bool {
        guard let client = try? LoopbackClient(server, family: family) else { return false }
        defer { client.close() }
        guard (try? LoopbackSocket.send(Array(ask.utf8)[...], to: client.descriptor)) != nil else {
            return false
        }
        let deadline = MonotonicTime.now().adding(milliseconds: 50)
        _ = server.serve(until: deadline) { _ in HTTPResponse(status: 204) }
        return client.status() == 204
    }

    private var hasIPv6: Bool { (try? LoopbackServer(LoopbackAddress(host: .ipv6))) != nil }

    @Test("127.0.0.1 is only IPv4, ::1 only IPv6, and localhost both on one port")
    func families() throws {
        let ipv4 = try LoopbackServer(LoopbackAddress(host: .ipv4))
        #expect(try isReached(ipv4, .ipv4))
        #expect(try !isReached(ipv4, .ipv6))
        #expect(ipv4.origin == "http://127.0.0.1:\(ipv4.port)")
        let both = try LoopbackServer(LoopbackAddress(host: .localhost))
        #expect(try isReached(both, .ipv4))
        guard hasIPv6 else { return }
        #expect(try isReached(both, .ipv6))
        let ipv6 = try LoopbackServer(LoopbackAddress(host: .ipv6))
        #expect(try isReached(ipv6, .ipv6))
        #expect(try !isReached(ipv6, .ipv4))
        #expect(ipv6.origin == "http://[::1]:\(ipv6.port)")
    }

    @Test("a port that is in use is named with a hint")
    func busy() throws {
        let other = try LoopbackServer()
        let error = OIDCError(
            .failed, "port \(other.port) on 127.0.0.1 is in use by another program",
            hint: .advice(.choosePort))
        #expect(throws: error) {
            _ = try LoopbackServer(LoopbackAddress(ports: .fixed(other.port)))
        }
    }

    @Test("the first free port of a list is used")
    func list() throws {
        let (first, second) = (try LoopbackServer(), try LoopbackServer())
        let free = try LoopbackServer().port
        let server = try LoopbackServer(
            LoopbackAddress(ports: .firstFree(of: [first.port, second.port, free])))
        #expect(server.port == free)
        #expect(throws: OIDCError.self) {
            _ = try LoopbackServer(LoopbackAddress(ports: .firstFree(of: [first.port, second.port])))
        }
        #expect(throws: OIDCError.usage("there is no port to listen on").at(.settings)) {
            _ = try LoopbackServer(LoopbackAddress(ports: .firstFree(of: [])))
        }
    }

    @Test("localhost is refused a port that has one family busy")
    func halfBusy() throws {
        guard hasIPv6 else { return }
        let other = try LoopbackServer(LoopbackAddress(host: .ipv6))
        #expect(throws: OIDCError.self) {
            _ = try LoopbackServer(LoopbackAddress(host: .localhost, ports: .fixed(other.port)))
        }
    }

    @Test("a port whose last connections are still winding down can be used again")
    func timeWait() throws {
        // Another test may take a port in between; not five in a row.
        #expect(try (0..<5).contains { _ in try reopens() })
    }

    private func reopens() throws -> Bool {
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        try client.send(ask)
        let soon = MonotonicTime.now().adding(milliseconds: 20)
        _ = server.serve(until: soon) { _ in HTTPResponse(status: 204) }
        server.close()
        client.close()
        let again = try? LoopbackServer(LoopbackAddress(ports: .fixed(server.port)))
        return again?.port == server.port
    }

    @Test("Host is ours only with our port, as a loopback literal or the registered name")
    func ourHost() throws {
        let server = try LoopbackServer()
        let port = server.port
        for host in ["127.0.0.1:\(port)", "[::1]:\(port)"] { #expect(server.isOurHost(host)) }
        let others = [
            nil, "", "127.0.0.1", "127.0.0.1:\(port &- 1)", "localhost:\(port)", "evil.example:\(port)",
            "127.0.0.1:\(port).evil.example", "x@127.0.0.1:\(port)", "127.0.0.1:0\(port)",
            " 127.0.0.1:\(port)",
        ]
        for host in others { #expect(!server.isOurHost(host), "\(host ?? "none")") }
        let named = try LoopbackServer(LoopbackAddress(host: .localhost))
        #expect(named.isOurHost("LocalHost:\(named.port)"))
    }
}

extension OIDCError {
    fileprivate func at(_ stage: Stage) -> OIDCError {
        var error = self
        error.stage = stage
        return error
    }
}
