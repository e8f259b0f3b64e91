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
/// remote address, state, three more columns, the user, a time, and the inode.
struct SocketTable {
    let bytes: [UInt8]

    /// None where the system has no such tables.
    static var current: [SocketTable] {
        ["/proc/net/tcp", "/proc/net/tcp6"].compactMap { path in
            guard let file = try? OpenFile(path, for: .reading) else { return nil }
            return (try? file.readAll(expected: 262_143, limit: 64 << 20)).flatMap { $0 }
                .map(SocketTable.init)
        }
    }

    /// Nil where the table does not have the socket.
    func owner(of route: String, for user: UInt32) -> PeerOwner? {
        let routes = [route, SocketTable.mapped(route)].map { Array(": \($0) ".utf8) }
        for row in bytes.split(separator: 0x0A) {
            guard let colon = row.firstIndex(of: 0x3A), routes.contains(where: row[colon...].starts) else {
                continue
            }
            let columns = row.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
            guard columns.count > 9, let owner = UInt32(columns[7]) else { continue }
            // A socket that its process has closed counts as root's, and has no inode.
            guard columns[9] != "0" else { return .anotherUser }
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
