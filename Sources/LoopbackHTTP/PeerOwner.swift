import CPlatform
package import Posix

/// The owner of the process at the other end of a connection to a listener, which any user of the machine can
/// open.
package enum PeerOwner: Hashable, Sendable {
    case thisUser
    case anotherUser
    /// Unknown, as the process has already closed its socket.
    case gone
    /// Not a process of this machine or network namespace, by its address: only a listener beyond loopback has such
    /// peers.
    case elsewhere
    /// The system does not say, or it is root: a program of root's may relay the browser of another machine.
    case unknown

    /// Whether requests of this owner are refused, as it is another user or cannot be identified any more.
    package var isStranger: Bool { self == .anotherUser || self == .gone }

    /// Asks the kernel for the owner, or else searches its tables of all sockets, which is slow on a busy machine. A
    /// peer whose address is not one of ours is in none of them.
    package static func identified(_ descriptor: FileDescriptor) -> PeerOwner {
        identified(descriptor, or: SocketTable.all)
    }

    /// The address decides who is elsewhere, and not that no socket is found here: any user can close one at once.
    static func identified(_ descriptor: FileDescriptor, or tables: [SocketTable]) -> PeerOwner {
        guard !LoopbackSocket.isPeerElsewhere(descriptor) else { return .elsewhere }
        var user: UInt32 = 0
        switch oidc_peer_user(descriptor.rawValue, &user) {
        case oidc_peer_found:
            return user == FileStatus.currentUser ? .thisUser : user == 0 ? .unknown : .anotherUser
        case oidc_peer_gone: return .gone
        default: return PeerOwner(of: descriptor, in: tables)
        }
    }

    init(
        of descriptor: FileDescriptor, in tables: [SocketTable] = SocketTable.all,
        isWSL: @autoclosure () -> Bool = Platform.isWSL()
    ) {
        // The peer of a reset connection is no longer in the table.
        guard let route = LoopbackSocket.peerRoute(descriptor) else {
            self = .gone
            return
        }
        self = .unknown
        // A row may be missed while the table changes.
        for _ in 0..<3 {
            for table in tables {
                switch table.owner(of: route, for: FileStatus.currentUser) {
                case .found(let owner):
                    self = owner
                    return
                // Windows programs connect to WSL's loopback without a socket in Linux's table.
                case .absent: self = isWSL() ? .unknown : .gone
                case .unreadable: continue
                }
            }
        }
    }
}

/// Linux's table of TCP sockets. Its columns are row number, local address, remote address, state, three more
/// columns, user, a timeout, and inode.
package struct SocketTable {
    let path: String

    static let all = [SocketTable(path: "/proc/net/tcp"), SocketTable(path: "/proc/net/tcp6")]

    enum Lookup: Hashable {
        case found(PeerOwner)
        case absent
        case unreadable
    }

    func owner(of route: String, for user: UInt32) -> Lookup {
        var line = [CChar](repeating: 0, count: 512)
        for ends in [route, SocketTable.ipv4Mapped(route)] {
            let result = oidc_find_line(path, ": \(ends) ", &line, line.count)
            guard result >= 0 else { return .unreadable }
            guard result == 1 else { continue }
            let row = String(terminated: line)
            let columns = row.split(separator: " ")
            guard columns.count > 9, let owner = UInt32(columns[7]) else { continue }
            // A socket that its process has closed is listed as root's, without an inode.
            guard columns[9] != "0" else { return .found(.gone) }
            return .found(owner == user ? .thisUser : owner == 0 ? .unknown : .anotherUser)
        }
        return .absent
    }

    /// Returns the same route for an IPv6 socket that carries IPv4.
    private static func ipv4Mapped(_ route: String) -> String {
        let prefix = "0000000000000000\(Int(littleEndian: 1) == 1 ? "FFFF0000" : "0000FFFF")"
        return route.split(separator: " ").map { prefix + $0 }.joined(separator: " ")
    }
}
