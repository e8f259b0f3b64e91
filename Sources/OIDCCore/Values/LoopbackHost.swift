extension WebURL {
    /// The names of this machine in the hosts files of Debian and Fedora.
    private static let localNames: Set<String> = [
        "localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6",
        "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
    ]

    /// Whether the host is this machine: `localhost` and its subdomains, the other names of this machine, 127/8,
    /// `::1` and the unspecified address, which connects to this machine too, however the address is written.
    /// `isLoopback` is narrower, as it decides for which hosts plain http is allowed.
    package var leadsToThisMachine: Bool {
        let name = host.utf8.last == .period ? String(host.dropLast()) : host
        if WebURL.localNames.contains(name) || name.hasSuffix(".localhost") { return true }
        if name.utf8.contains(.colon) { return IPv6Host(name)?.isThisMachine ?? false }
        guard let address = IPv4Host.address(name) else { return false }
        return IPv4Host.isThisMachine(address)
    }

    /// Whether the host is an IP address of a private network (RFC 1918, RFC 4193, RFC 8215), a shared
    /// (RFC 6598), a link-local (RFC 3927, RFC 4291 §2.5.6) or another one that the internet does not route
    /// (RFC 2544, RFC 3879, RFC 6890), however the address is written.
    package var isPrivateAddress: Bool {
        let name = host.utf8.last == .period ? String(host.dropLast()) : host
        if name.utf8.contains(.colon) { return IPv6Host(name)?.isPrivate ?? false }
        return IPv4Host.address(name).map(IPv4Host.isPrivate) ?? false
    }

    /// Whether the host is neither on this machine nor a private address.
    package var isElsewhere: Bool { !leadsToThisMachine && !isPrivateAddress }

    /// Returns whether this server may lead a client on this machine to another one. Only a server on this
    /// machine may lead to this machine, and only one on this machine or with a private address to a private
    /// address. Names are not resolved: behind a VPN, they lead to private addresses.
    package func mayLead(to url: WebURL) -> Bool {
        url.isElsewhere || leadsToThisMachine || isPrivateAddress && !url.leadsToThisMachine
    }

    /// Refuses a URL that this server names and may not lead to.
    func checkReach(of url: WebURL, named member: String, _ stage: Stage) throws(OIDCError) {
        guard !mayLead(to: url) else { return }
        throw .untrusted(
            stage, member,
            expected: url.leadsToThisMachine
                ? "a server that is not on this machine" : "a server with a name or a public address",
            found: DisplayText.clean(url.withoutQuery))
    }

    /// Whether the host is a name that only a private network has: one without a dot, or in `.local` (RFC 6762),
    /// `.home.arpa` (RFC 8375) or `.internal`, which ICANN reserves for that.
    package var hasPrivateName: Bool {
        let name = host.utf8.last == .period ? String(host.dropLast()) : host
        guard !name.utf8.contains(.colon) else { return false }
        return !name.utf8.contains(.period)
            || [".local", ".home.arpa", ".internal"].contains { name.hasSuffix($0) }
    }
}

/// IPv4 addresses in every form that URLs and `inet_aton` accept.
package enum IPv4Host {
    /// Returns whether a host name only looks like an address of this machine, such as `127.evil.example`.
    package static func looksLikeThisMachine(_ name: String) -> Bool {
        name.hasPrefix("127.") && address(name) == nil
    }

    /// Parses one to four numbers, each decimal, octal (`0177`) or hexadecimal (`0x7f`). The last one fills
    /// the rest of the address.
    static func address(_ text: String) -> UInt32? {
        let parts = text.utf8.split(separator: .period, omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var address: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part) else { return nil }
            if index < parts.count - 1 {
                guard number <= 255 else { return nil }
                address |= number << UInt64(24 - 8 * index)
            } else {
                guard number < 1 << UInt64(8 * (4 - index)) else { return nil }
                address |= number
            }
        }
        return UInt32(exactly: address)
    }

    private static func number(_ text: Substring.UTF8View) -> UInt64? {
        let text = String(Substring(text))
        let isHexadecimal = text.hasPrefix("0x")
        let digits = isHexadecimal ? text.dropFirst(2) : text[...]
        let isDigit: (UInt8) -> Bool = { isHexadecimal ? ASCII.isHexDigit($0) : ASCII.isDigit($0) }
        guard isHexadecimal || !digits.isEmpty, digits.utf8.allSatisfy(isDigit) else { return nil }
        // Any number of zeros may come first.
        let significant = digits.drop { $0 == "0" }
        guard !significant.isEmpty else { return 0 }
        let isOctal = !isHexadecimal && significant.utf8.count < digits.utf8.count
        return UInt64(significant, radix: isHexadecimal ? 16 : isOctal ? 8 : 10)
    }

    static func isThisMachine(_ address: UInt32) -> Bool { address >> 24 == 127 || address == 0 }

    static func isPrivate(_ address: UInt32) -> Bool {
        switch (address >> 24, address >> 16 & 255) {
        case (10, _), (172, 16...31), (192, 168), (169, 254), (100, 64...127), (198, 18...19): true
        default: address >> 8 == 0xC0_0000
        }
    }
}

/// An IPv6 address (RFC 4291 §2.2).
private struct IPv6Host {
    private var groups: [UInt16] = []

    init?(_ text: String) {
        let halves = text.pieces(between: "::")
        guard halves.count <= 2, let head = IPv6Host.groups(halves[0]) else { return nil }
        groups = head
        if halves.count == 2 {
            guard let tail = IPv6Host.groups(halves[1]), head.count + tail.count < 8 else { return nil }
            groups += Array(repeating: 0, count: 8 - head.count - tail.count) + tail
        }
        guard groups.count == 8 else { return nil }
    }

    private static func groups(_ text: Substring) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        for part in text.utf8.split(separator: .colon, omittingEmptySubsequences: false) {
            let part = String(Substring(part))
            if part.utf8.contains(.period), let address = IPv4Host.address(part) {
                groups += [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
            } else {
                guard (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16) else {
                    return nil
                }
                groups.append(group)
            }
        }
        return groups
    }

    /// Whether the address is unique local (`fc00::/7`), link-local (`fe80::/10`), site-local (`fec0::/10`) or for
    /// local translation (`64:ff9b:1::/48`), or contains an IPv4 address of a private network.
    var isPrivate: Bool {
        if groups[0] >> 9 == 0x7E || groups[0] >> 7 == 0x1FD || groups[..<3] == [0x64, 0xFF9B, 1] {
            return true
        }
        return contained.map(IPv4Host.isPrivate) ?? false
    }

    /// Whether the address is `::1` or `::`, or contains an IPv4 address of this machine.
    var isThisMachine: Bool {
        if groups[..<7].allSatisfy({ $0 == 0 }), groups[7] <= 1 { return true }
        return contained.map(IPv4Host.isThisMachine) ?? false
    }

    /// The IPv4 address in one that is compatible (`::/96`), mapped (`::ffff:0:0/96`), translated
    /// (`::ffff:0:0:0/96`, `64:ff9b::/96`) or tunneled (`2002::/16`, and Teredo's `2001::/32`, where it is inverted).
    private var contained: UInt32? {
        let last = UInt32(groups[6]) << 16 | UInt32(groups[7])
        switch groups[..<6] {
        case [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0xFFFF], [0, 0, 0, 0, 0xFFFF, 0],
            [0x64, 0xFF9B, 0, 0, 0, 0]:
            return last
        default: break
        }
        if groups[0] == 0x2002 { return UInt32(groups[1]) << 16 | UInt32(groups[2]) }
        return groups[..<2] == [0x2001, 0] ? ~last : nil
    }
}
