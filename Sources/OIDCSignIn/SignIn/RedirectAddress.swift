package import LoopbackHTTP
package import OIDCCore

/// The redirect URI: on loopback, or elsewhere, and then the user has to paste the redirected URL (RFC 8252
/// §7).
package struct RedirectAddress: Hashable, Sendable {
    package static let standard = "http://127.0.0.1/callback"

    /// The configured URI; a port that is chosen later is not part of it.
    package let text: String
    /// The loopback address to listen on; nil for a custom scheme or another host, for which the URL is
    /// pasted.
    package let loopback: LoopbackAddress?

    /// Parses a redirect URI. `port` and `ports` are separate settings; a port in the URI itself is kept.
    package init(
        _ text: String?, port: UInt16? = nil, ports: [UInt16] = [], setting: String = "redirect_uri"
    ) throws(OIDCError) {
        self.text = text ?? RedirectAddress.standard
        try RedirectURI.check(self.text, setting: setting)
        guard let url = WebURL(self.text), !url.isSecure, let host = LoopbackAddress.Host(url.host) else {
            loopback = nil
            return
        }
        let written = url.port.flatMap { UInt16(exactly: $0) }
        if let written, let port, written != port {
            throw .usage(
                "\(setting) has port \(written), and port is \(port)", hint: "leave one of them out")
        }
        let choice: LoopbackAddress.Ports =
            if let fixed = written ?? port { .fixed(fixed) } else if ports.isEmpty { .any } else {
                .firstFree(of: ports)
            }
        loopback = LoopbackAddress(host: host, ports: choice)
    }

    /// Returns the URI with the bound port.
    package func text(port: UInt16) -> String {
        guard loopback != nil, let url = WebURL(text), url.port == nil,
            let start = text.utf8.firstIndex(of: .colon)
        else { return text }
        let authority = text.index(start, offsetBy: 3)
        let end = text[authority...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        let host = text[..<end].hasSuffix(":") ? text[..<end].dropLast() : text[..<end]
        return "\(host):\(port)\(text[end...])"
    }

    /// The path that the browser will request.
    var path: String {
        let path = WebURL(text)?.path ?? ""
        return path.isEmpty ? "/" : path
    }
}
