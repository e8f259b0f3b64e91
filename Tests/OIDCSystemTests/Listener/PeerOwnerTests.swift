import Foundation
@testable import LoopbackHTTP
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("whose connection it is")
struct PeerOwnerTests {
    private static let header =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    private static let route = "0100007F:A3B2 0100007F:1F90"

    private static func row(_ ends: String, _ state: String = "01", uid: String, inode: Int = 3_549_663)
        -> String
    {
        "   1: \(ends) \(state) 00000000:00000000 00:00000000 00000000 \(uid)        0 \(inode) 1 0 20 4 30 10\n"
    }

    @Test(
        "the row with both addresses has the owner, in either table",
        arguments: [
            ("ours", row(route, uid: "1000"), .thisUser),
            ("another's", row(route, uid: "1001"), .anotherUser),
            ("half closed, and ours", row(route, "05", uid: "1000"), .thisUser),
            ("root's", row(route, uid: "    0"), .unknown),
            ("closed by its process", row(route, "06", uid: "0", inode: 0), .gone),
            ("another address first", row("0200007F:A3B2 0100007F:1F90", uid: "1000"), nil),
            ("our own end", row("0100007F:1F90 0100007F:A3B2", uid: "1000"), nil),
            ("no such row", "", nil),
            ("a broken row", "   1: \(route) 01\n", nil),
        ] as [(String, String, PeerOwner?)])
    func table(name: String, rows: String, owner: PeerOwner?) {
        let scratch = ScratchDirectory()
        let table = SocketTable(path: scratch["tcp"])
        #expect(table.owner(of: Self.route, for: 1000) == .unreadable)
        scratch.put(Self.header + rows, "tcp")
        #expect(table.owner(of: Self.route, for: 1000) == (owner.map { .found($0) } ?? .absent), "\(name)")
    }

    @Test("an IPv6 socket may speak IPv4")
    func mapped() {
        let prefix = "0000000000000000FFFF0000"
        let ends = Self.route.split(separator: " ").map { prefix + $0 }.joined(separator: " ")
        let scratch = ScratchDirectory()
        scratch.put(Self.header + Self.row(ends, uid: "1000"), "tcp6")
        let table = SocketTable(path: scratch["tcp6"])
        #expect(table.owner(of: Self.route, for: 1000) == .found(.thisUser))
    }

    /// Connects to a listener, and returns the accepted connection after `act` on the client's socket.
    private func accepted(after act: (_ client: Int32) -> Void) throws -> FileDescriptor {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let accepted = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> Int32 in
                guard bind(listener, generic, length) == 0, listen(listener, 1) == 0,
                    getsockname(listener, generic, &length) == 0
                else { return -1 }
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                guard connect(client, generic, length) == 0 else { return -1 }
                let accepted = accept(listener, nil, nil)
                act(client)
                return accepted
            }
        }
        try #require(accepted >= 0)
        return FileDescriptor(rawValue: accepted)
    }

    @Test("a connection that was reset has no owner")
    func reset() throws {
        let connection = try accepted { client in
            var abort = linger(l_onoff: 1, l_linger: 0)
            setsockopt(client, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
            close(client)
        }
        defer { connection.close() }
        #expect(PeerOwner(of: connection) == .gone)
        #expect(PeerOwner.gone.isStranger)
        #expect(PeerOwner.identified(connection, or: []) == .gone, "on loopback, nobody is elsewhere")
    }

    @Test("the kernel says whether a peer has closed its socket, or only half of it, so no table is searched")
    func closed() throws {
        var client: Int32 = -1
        let half = try accepted {
            client = $0
            shutdown($0, Int32(SHUT_WR))
        }
        defer {
            half.close()
            close(client)
        }
        // Some systems, such as gVisor, do not say.
        guard PeerOwner.identified(half, or: []) != .unknown else { return }
        #expect(PeerOwner.identified(half, or: []) == .thisUser)
        let whole = try accepted { close($0) }
        defer { whole.close() }
        #expect(PeerOwner.identified(whole, or: []) == .gone)
    }

    @Test("our own connection is ours", arguments: [LoopbackSocket.Family.ipv4, .ipv6])
    func own(family: LoopbackSocket.Family) throws {
        guard
            let server = try? LoopbackServer(
                LoopbackAddress(host: family == .ipv4 ? .ipv4 : .ipv6), identify: PeerOwner.identified)
        else { return }
        let client = try LoopbackClient(server, family: family)
        try client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        var peer: PeerOwner?
        _ = server.run(until: .now().adding(milliseconds: 5_000)) { request in
            peer = request.peer
            return .hold
        }
        #expect(peer == .thisUser)
    }

    @Test(
        "another user's connection is found, by either family of localhost",
        .enabled(if: OtherUser.isAvailable), arguments: ["127.0.0.1", "::1"])
    func anotherUser(host: String) throws {
        let server = try LoopbackServer(LoopbackAddress(host: .localhost), identify: PeerOwner.identified)
        guard host == "127.0.0.1" || (try? LoopbackSocket.connect(.ipv6, port: server.port)) != nil else {
            return
        }
        let stranger = try OtherUser.start(
            port: server.port, "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", host: host)
        var peer: PeerOwner?
        _ = server.run(until: .now().adding(seconds: 20)) { request in
            peer = request.peer
            return .hold
        }
        #expect(peer == .anotherUser)
        server.close()
        _ = stranger.text()
    }

    @Test("a peer that is in no table has closed; in WSL, or if no table can be read, it is unknown")
    func absent() throws {
        let scratch = ScratchDirectory()
        scratch.put(Self.header, "tcp")
        let server = try LoopbackServer()
        let client = try LoopbackClient(server)
        func owner(_ name: String, isWSL: Bool) -> PeerOwner {
            PeerOwner(of: client.descriptor, in: [SocketTable(path: scratch[name])], isWSL: isWSL)
        }
        #expect(owner("tcp", isWSL: false) == .gone)
        #expect(owner("tcp", isWSL: true) == .unknown)
        #expect(owner("none", isWSL: false) == .unknown)
    }

    @Test("a long table is read to its end")
    func longTable() {
        let scratch = ScratchDirectory()
        let other = Self.row("0200007F:A3B2 0100007F:1F90", uid: "1001")
        let rows = String(repeating: other, count: 50_000) + Self.row(Self.route, uid: "1000")
        scratch.put(Self.header + rows, "tcp")
        #expect(SocketTable(path: scratch["tcp"]).owner(of: Self.route, for: 1000) == .found(.thisUser))
    }

    @Test("only complete requests are looked up, not idle connections")
    func lazily() throws {
        var count = 0
        let server = try LoopbackServer(identify: { _ in
            count += 1
            return .unknown
        })
        let clients = try (0..<20).map { _ in try LoopbackClient(server) }
        try clients[7].send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = server.run(until: .now().adding(seconds: 20)) { _ in .hold }
        #expect(count == 1)
    }

    @Test("the answer is repeated only to the same user")
    func repeats() throws {
        var peers: [PeerOwner] = [.thisUser, .anotherUser, .thisUser]
        let server = try LoopbackServer(identify: { _ in peers.removeFirst() })
        let clients = try (0..<3).map { _ in try LoopbackClient(server) }
        for client in clients { try client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n") }
        let handle = { (request: HTTPServerRequest) -> LoopbackServer.Disposition in
            request.peer == .thisUser ? .hold : .respond(HTTPResponse(status: 404))
        }
        guard
            case .held(_, let connection) = server.run(
                until: .now().adding(milliseconds: 5_000), handle: handle)
        else {
            Issue.record("not held")
            return
        }
        server.answer(connection, HTTPResponse(status: 200))
        _ = server.run(until: .now().adding(milliseconds: 50), handle: handle)
        #expect(clients.map { $0.status() } == [200, 404, 200])
    }
}
