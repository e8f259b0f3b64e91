import Posix

/// The address to bind a listener to, always loopback (RFC 8252 §7.3, §8.3).
package struct LoopbackAddress: Hashable, Sendable {
    package enum Host: Hashable, Sendable {
        case ipv4, ipv6
        /// Both addresses, on one port, as a browser may resolve the name to either.
        case localhost

        /// Parses the host of a redirect URI; nil if it is not a loopback host.
        package init?(_ name: String) {
            switch name {
            case "127.0.0.1": self = .ipv4
            case "::1": self = .ipv6
            case "localhost": self = .localhost
            default: return nil
            }
        }

        /// The host as it is written in a URL.
        package var text: String {
            switch self {
            case .ipv4: "127.0.0.1"
            case .ipv6: "[::1]"
            case .localhost: "localhost"
            }
        }

        var families: [LoopbackSocket.Family] {
            switch self {
            case .ipv4: [.ipv4]
            case .ipv6: [.ipv6]
            case .localhost: [.ipv4, .ipv6]
            }
        }
    }

    package enum Ports: Hashable, Sendable {
        /// A port that the system chooses.
        case any
        case fixed(UInt16)
        /// The first free port of these, in this order.
        case firstFree(of: [UInt16])

        package var candidates: [UInt16] {
            switch self {
            case .any: [0]
            case .fixed(let port): [port]
            case .firstFree(let ports): ports
            }
        }
    }

    package var host: Host
    package var ports: Ports

    package init(host: Host = .ipv4, ports: Ports = .any) {
        self.host = host
        self.ports = ports
    }
}

extension LoopbackAddress {
    /// Whether every one of the ports is in use.
    package var isInUse: Bool { LoopbackListener.areInUse(self) }

    /// Returns ports that are free now, or fewer if the system has no more.
    package static func freePorts(_ count: Int, host: Host) -> [UInt16] {
        var listeners = (0..<count).compactMap { _ in
            try? LoopbackListener(LoopbackAddress(host: host, ports: .any))
        }
        for index in listeners.indices { listeners[index].close() }
        return listeners.map(\.port)
    }
}
