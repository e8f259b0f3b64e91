package import LoopbackHTTP
package import OIDCCore
import Posix

/// The way to the listener if a published port, a reverse proxy or an ingress passes the redirect on. The
/// redirect URL is then the one that the browser sees.
package struct CallbackRoute: Hashable, Sendable {
    /// The address to listen on.
    package let host: LoopbackAddress.Host
    /// The port to listen on; nil for that of the redirect URL.
    package let port: UInt16?
    /// The path as it arrives; nil for that of the redirect URL.
    package let path: String?
    /// Whether `callback_listen` is set.
    let isListening: Bool

    /// The setting that the route is from.
    var setting: String { isListening ? "callback_listen" : "callback_path" }

    /// Parses the settings `callback_listen` and `callback_path`; nil if neither is set.
    package init?(listen: String?, path: String?) throws(OIDCError) {
        guard listen != nil || path != nil else { return nil }
        isListening = listen != nil
        (host, port) = try listen.map(CallbackRoute.address) ?? (.ipv4, nil)
        self.path = try path.map(CallbackRoute.checked)
    }

    /// Checks the settings that name ports against the route. If the redirect URL is on loopback
    /// (`isLoopback`), its port may differ from the listener's.
    ///
    /// A list of ports is only for a redirect on loopback: the listener takes the first free one, so its own
    /// port must not be set, or must be in the list.
    func check(port: UInt16?, ports: [UInt16], isLoopback: Bool) throws(OIDCError) {
        if let own = self.port, let port, own != port, !isLoopback {
            throw .usage(
                "callback_listen: has port \(own), and port is \(port)", hint: "leave one of them out")
        }
        guard !ports.isEmpty, port == nil, self.port != nil || !isLoopback else { return }
        if let own = self.port, ports.contains(own) { return }
        throw .usage(
            isLoopback
                ? "callback_listen: has another port than those of the redirect URL"
                : "\(setting): several ports are for a redirect on loopback",
            hint: "leave the list of ports out")
    }

    private static func address(
        _ text: String
    ) throws(OIDCError) -> (host: LoopbackAddress.Host, port: UInt16?) {
        let end = text.last == "]" ? nil : text.lastIndex(of: ":")
        // An IPv6 address with a port is in brackets.
        let isPort = end.map { text[..<$0].last == "]" || !text[..<$0].utf8.contains(0x3A) } ?? false
        var name = text
        var port: UInt16?
        if isPort, let end {
            name = String(text[..<end])
            let digits = text[text.index(after: end)...]
            port = digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(digits) : nil
            guard port ?? 0 > 0 else { throw mistake(text) }
        }
        if name == "localhost" { return (.localhost, port) }
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = String(name.dropFirst().dropLast())
            guard name.utf8.contains(0x3A) else { throw mistake(text) }
        }
        // An IPv4-mapped IPv6 address may be a loopback address that is not recognized as one.
        guard let address = NumericAddress(name), !address.isMapped else { throw mistake(text) }
        return (LoopbackAddress.Host(address), port)
    }

    private static func mistake(_ text: String) -> OIDCError {
        .usage(
            "callback_listen: expected an address of this machine, with or without a port, found "
                + DisplayText.quoted(text, limit: 80),
            hint: "give one such as 0.0.0.0:8484 or [::]:8484")
    }

    private static func checked(_ path: String) throws(OIDCError) -> String {
        let isPath =
            path.hasPrefix("/") && WebURL("http://localhost\(path)")?.path == path
        guard isPath else {
            throw .usage(
                "callback_path: expected a path, found \(DisplayText.quoted(path, limit: 80))",
                hint: "give one such as /callback")
        }
        return path
    }
}

extension RedirectAddress {
    /// Returns a warning if other machines can connect to the listener; nil if only this machine can.
    package func exposure(port: UInt16) -> Warning? {
        guard let host = loopback?.host, !host.isLoopback else { return nil }
        let place = host.isAny ? "port \(port) of every address" : "\(host.text):\(port)"
        return Warning(
            "callback_listen: \(place) accepts connections from other machines, and from every user of a container's "
                + "host; only its state protects this sign-in",
            hint: "listen on an address that only the reverse proxy can reach")
    }
}
