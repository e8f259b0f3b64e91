import CPlatform

/// Whose process is at the other end of a connection on loopback, which any user of the machine can open.
package enum PeerOwner: Hashable, Sendable {
    case thisUser
    case anotherUser
    /// It has closed its socket, and nobody can say any more who it was.
    case gone
    /// The system does not say, or it is root, as which another machine's browser may be relayed to us.
    case unknown

    /// Whether it is, or may be, a user who must not take part.
    package var isStranger: Bool { self == .anotherUser || self == .gone }

    init(
        of descriptor: FileDescriptor, in tables: [SocketTable] = SocketTable.all,
        isWSL: @autoclosure () -> Bool = Platform.isWSL
    ) {
        // A connection that was reset has no other end any more, and its row is gone from the table.
        guard let route = LoopbackSocket.peerRoute(descriptor) else {
            self = .gone
            return
        }
        self = .unknown
        // A row may slip past a reading while others come and go.
        for _ in 0..<3 {
            for table in tables {
                switch table.owner(of: route, for: FileStatus.currentUser) {
                case .found(let owner):
                    self = owner
                    return
                // Windows' own programs reach WSL's loopback without a socket in Linux' table.
                case .absent: self = isWSL() ? .unknown : .gone
                case .unreadable: continue
                }
            }
        }
    }
}

/// Linux' table of TCP sockets: after the number of the row, local address, remote address, state, three more
/// columns, the user, a time, and the inode.
struct SocketTable {
    let path: String

    static let all = [SocketTable(path: "/proc/net/tcp"), SocketTable(path: "/proc/net/tcp6")]

    enum Lookup: Hashable {
        case found(PeerOwner)
        case absent
        case unreadable
    }

    func owner(of route: String, for user: UInt32) -> Lookup {
        var line = [CChar](repeating: 0, count: 512)
        for ends in [route, SocketTable.mapped(route)] {
            let result = oidc_find_line(path, ": \(ends) ", &line, line.count)
            guard result >= 0 else { return .unreadable }
            guard result == 1 else { continue }
            let row = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let columns = row.split(separator: " ")
            guard columns.count > 9, let owner = UInt32(columns[7]) else { continue }
            // A socket that its process has closed counts as root's, and has no inode.
            guard columns[9] != "0" else { return .found(.gone) }
            return .found(owner == user ? .thisUser : owner == 0 ? .unknown : .anotherUser)
        }
        return .absent
    }

    /// The same ends of an IPv6 socket that speaks IPv4.
    private static func mapped(_ route: String) -> String {
        let prefix = "0000000000000000\(Int(littleEndian: 1) == 1 ? "FFFF0000" : "0000FFFF")"
        return route.split(separator: " ").map { prefix + $0 }.joined(separator: " ")
    }
}
