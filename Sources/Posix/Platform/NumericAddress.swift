import CPlatform

/// A numeric IPv4 or IPv6 address in its canonical form.
package struct NumericAddress: Hashable, Sendable {
    package let text: String

    package static let ipv4Loopback = NumericAddress(canonical: "127.0.0.1")
    package static let ipv6Loopback = NumericAddress(canonical: "::1")

    /// Parses an address; returns nil for a name.
    package init?(_ text: String) {
        var canonical = [CChar](repeating: 0, count: 64)
        guard oidc_write_address(text, &canonical, canonical.count) != 0 else { return nil }
        self.text = String(terminated: canonical)
    }

    private init(canonical text: String) { self.text = text }

    package var isIPv6: Bool { text.utf8.contains(0x3A) }
    /// Whether only this machine reaches it.
    package var isLoopback: Bool { self == .ipv6Loopback || text.hasPrefix("127.") }
    /// Whether it stands for all addresses of the machine.
    package var isAny: Bool { text == "0.0.0.0" || text == "::" }
    /// Whether it is an IPv4 address in the form of IPv6.
    package var isMapped: Bool { text.hasPrefix("::ffff:") && text.utf8.contains(0x2E) }
    /// The address as it is written in a URL.
    package var urlText: String { isIPv6 ? "[\(text)]" : text }
}
