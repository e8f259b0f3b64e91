/// Where a listener is to be bound: loopback alone (RFC 8252 §7.3, §8.3).
package struct LoopbackAddress: Hashable, Sendable {
    package enum Host: Hashable, Sendable {
        case ipv4, ipv6
        /// Both, on one port: the name may lead a browser to either.
        case localhost

        /// Of a redirect address; nil for any other host.
        package init?(_ name: String) {
            switch name {
            case "127.0.0.1": self = .ipv4
            case "::1": self = .ipv6
            case "localhost": self = .localhost
            default: return nil
            }
        }

        /// As an address is written with it.
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
        /// One that the system chooses.
        case any
        case fixed(UInt16)
        /// In this order.
        case firstFree(of: [UInt16])

        var candidates: [UInt16] {
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
