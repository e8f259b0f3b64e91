package import Posix

/// The address to bind a listener to: loopback (RFC 8252 §7.3, §8.3), unless a setting names another one.
package struct LoopbackAddress: Hashable, Sendable {
    package enum Host: Hashable, Sendable {
        case ipv4, ipv6
        /// Both addresses, on one port, as a browser may resolve the name to either.
        case localhost
        /// Another address of this machine, or all of them.
        case address(NumericAddress)

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
            case .address(let address): address.urlText
            }
        }

        /// Parses the text that a host has in a URL.
        package init?(urlText text: String) {
            if text == "localhost" {
                self = .localhost
                return
            }
            let bare = text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : text
            guard let address = NumericAddress(bare) else { return nil }
            self.init(address)
        }

        /// Creates the host of an address.
        package init(_ address: NumericAddress) {
            switch address {
            case .ipv4Loopback: self = .ipv4
            case .ipv6Loopback: self = .ipv6
            default: self = .address(address)
            }
        }

        /// Whether only this machine reaches it.
        package var isLoopback: Bool { addresses.allSatisfy(\.isLoopback) }

        /// Whether it stands for all addresses of the machine.
        package var isAny: Bool { addresses.contains(where: \.isAny) }

        /// The addresses to bind. All IPv6 addresses come with all IPv4 addresses, each with a socket of its own, so
        /// that no peer has an IPv4 address in the form of IPv6.
        var addresses: [NumericAddress] {
            switch self {
            case .ipv4: [.ipv4Loopback]
            case .ipv6: [.ipv6Loopback]
            case .localhost: [.ipv4Loopback, .ipv6Loopback]
            case .address(let address):
                address.isAny && address.isIPv6
                    ? [NumericAddress("0.0.0.0"), address].compactMap { $0 } : [address]
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
