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
            hint: .advice(.choosePort), code: .portsInUse)
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
        for host in ["127.0.0.1:\(port)", "[::1]:\(port)"] { #expect(isOurs(host, server)) }
        let others = [
            nil, "", "127.0.0.1", "127.0.0.1:\(port &- 1)", "localhost:\(port)", "evil.example:\(port)",
            "127.0.0.1:\(port).evil.example", "x@127.0.0.1:\(port)", "127.0.0.1:0\(port)",
            " 127.0.0.1:\(port)",
        ]
        for host in others { #expect(!isOurs(host, server), "\(host ?? "none")") }
        let named = try LoopbackServer(LoopbackAddress(host: .localhost))
        #expect(isOurs("LocalHost:\(named.port)", named))
    }

    private func isOurs(_ host: String?, _ server: LoopbackServer, at address: String? = nil) -> Bool {
        var request = HTTPServerRequest(.get, "/")
        if let host { request.headers["Host"] = host }
        request.ownAddress = address.flatMap { NumericAddress($0) }
        return server.isOurHost(request)
    }

    @Test(
        "behind a URL, its Host counts too, and localhost; at all addresses, the one that the request came to"
    )
    func hostBehindURL() throws {
        let server = try LoopbackServer()
        server.names = ["code.example", "code.example:443"]
        for host in [
            "code.example", "Code.Example:443", "localhost:\(server.port)", "127.0.0.1:\(server.port)",
        ] {
            #expect(isOurs(host, server), "\(host)")
        }
        for host in [
            "code.example:\(server.port)", "x.code.example", "localhost", "192.0.2.1:\(server.port)",
        ] {
            #expect(!isOurs(host, server), "\(host)")
        }
        #expect(isOurs("192.0.2.1:\(server.port)", server, at: "192.0.2.1"))
        #expect(isOurs("[2001:db8::1]:\(server.port)", server, at: "2001:DB8::1"))
        #expect(!isOurs("192.0.2.2:\(server.port)", server, at: "192.0.2.1"))
    }

    @Test("another address of this machine is bound alone, and all of them take one socket for each family")
    func otherAddresses() throws {
        let address = try #require(NumericAddress("127.0.0.2"))
        let server = try LoopbackServer(LoopbackAddress(host: .address(address)))
        #expect(server.origin == "http://127.0.0.2:\(server.port)" && server.host.isLoopback)
        #expect(try !isReached(server, .ipv4), "127.0.0.1 is another address")
        #expect(LoopbackAddress.Host(address) == .address(address))
        #expect(try LoopbackAddress.Host(#require(NumericAddress("127.0.0.1"))) == .ipv4)
        let all = try LoopbackAddress.Host(#require(NumericAddress("0:0::0")))
        #expect(all.addresses.map(\.text) == ["0.0.0.0", "::"] && all.isAny && !all.isLoopback)
        for host in [LoopbackAddress.Host.ipv4, .ipv6, .localhost, .address(address), all] {
            #expect(LoopbackAddress.Host(urlText: host.text) == host)
        }
        for text in ["", "localhost", "127.0.0.1:80", "[::1]", "256.0.0.1", "fe80::1%eth0", "1.2.3"] {
            #expect(NumericAddress(text) == nil, "\(text)")
        }
    }
}

extension OIDCError {
    fileprivate func at(_ stage: Stage) -> OIDCError {
        var error = self
        error.stage = stage
        return error
    }
}
