/// Whose process is at the other end of a connection on loopback, which any user of the machine can open.
public enum PeerOwner: Hashable, Sendable {
    case thisUser
    case anotherUser
    /// The system does not say, or it is root, as which another machine's browser may be relayed to us.
    case unknown

    init(of descriptor: FileDescriptor) {
        let user = FileStatus.currentUser
        guard let route = LoopbackSocket.peerRoute(descriptor) else {
            self = .unknown
            return
        }
        // A row may slip past a reading while others come and go.
        for _ in 0..<3 {
            let tables = SocketTable.current
            guard !tables.isEmpty else {
                self = .unknown
                return
            }
            if let owner = tables.lazy.compactMap({ $0.owner(of: route, for: user) }).first {
                self = owner
                return
            }
        }
        self = .anotherUser
    }
}

/// Linux' table of TCP sockets, `/proc/net/tcp` or `/proc/net/tcp6`: after the number of the row, local address,
/// remote address, state, three more columns, and the user.
struct SocketTable {
    let text: String

    /// None where the system has no such tables.
    static var current: [SocketTable] {
        ["/proc/net/tcp", "/proc/net/tcp6"].compactMap { path in
            guard let file = try? OpenFile(path, for: .reading),
                let bytes = try? file.readAll(expected: 65_535, limit: 64 << 20)
            else { return nil }
            return SocketTable(text: String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Nil where the table does not have the socket.
    func owner(of route: String, for user: UInt32) -> PeerOwner? {
        let routes = [route, SocketTable.mapped(route)]
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: " ", maxSplits: 8)
            guard columns.count == 9, routes.contains("\(columns[1]) \(columns[2])"),
                let owner = UInt32(columns[7])
            else { continue }
            // A socket that its process has closed counts as root's.
            if owner == 0, columns[3] != "01" { return .anotherUser }
            return owner == user ? .thisUser : owner == 0 ? .unknown : .anotherUser
        }
        return nil
    }

    /// The same ends of an IPv6 socket that speaks IPv4.
    private static func mapped(_ route: String) -> String {
        let prefix = "0000000000000000\(Int(littleEndian: 1) == 1 ? "FFFF0000" : "0000FFFF")"
        return route.split(separator: " ").map { prefix + $0 }.joined(separator: " ")
    }
}
