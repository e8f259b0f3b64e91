package import LoopbackHTTP
package import OIDCCore

/// The redirect URI. If it is not on loopback, something at its host passes the redirect on to a listener, or
/// the user pastes the redirected URL (RFC 8252 §7).
package struct RedirectAddress: Hashable, Sendable {
    package static let standard = "http://127.0.0.1/callback"

    /// The configured URI; a port that is chosen later is not part of it.
    package let text: String
    /// The address to listen on, which is loopback unless `callback_listen` says otherwise; nil for a custom
    /// scheme or another host, for which the URL is pasted.
    package let loopback: LoopbackAddress?
    /// The route by which a reverse proxy or a published port passes the redirect on; nil if `oidc` listens
    /// at the redirect URI.
    package let route: CallbackRoute?
    /// The certificate of the listener; nil for plain http.
    package let files: TLSFiles?
    /// Whether the URI's host is this machine's loopback, and its scheme that of the listener.
    private let isOwn: Bool
    /// The port of the URI if the listener may have another one.
    private let writtenPort: UInt16?

    /// Parses a redirect URI. `port` and `ports` are separate settings; a port in the URI itself is kept.
    package init(
        _ text: String?, port: UInt16? = nil, ports: [UInt16] = [], route: CallbackRoute? = nil,
        files: TLSFiles? = nil, setting: String = "redirect_uri"
    ) throws(OIDCError) {
        self.text = text ?? RedirectAddress.standard
        self.route = route
        self.files = files
        try RedirectURI.check(self.text, setting: setting)
        let url = WebURL(self.text)
        let host = url.flatMap { $0.isSecure == (files != nil) ? LoopbackAddress.Host($0.host) : nil }
        isOwn = host != nil
        guard files == nil || (url?.isSecure == true && (host != nil || route != nil)) else {
            throw .usage(
                "callback_certificate: is for an https redirect to this machine, found "
                    + DisplayText.quoted(self.text, limit: 100),
                hint: "register and set a redirect URL such as https://localhost:8484/callback")
        }
        let written = url?.port.flatMap { UInt16(exactly: $0) }
        guard url != nil, host != nil || route != nil else {
            if let route {
                throw .usage(
                    "\(route.setting): only an https or loopback redirect can be passed on, found "
                        + DisplayText.quoted(self.text, limit: 100),
                    hint: .text("use an https redirect URL, or remove \(route.setting)"))
            }
            (loopback, writtenPort) = (nil, nil)
            return
        }
        if host != nil, let written, let port, written != port {
            throw .usage(
                "\(setting) has port \(written), and port is \(port)", hint: "leave one of them out")
        }
        // A port in the URL replaces a list of ports.
        let isWritten = host != nil && written != nil
        try route?.check(port: port, ports: isWritten ? [] : ports, isLoopback: host != nil)
        // The port of an https URL is that of the server in front.
        let own = host == nil ? port : written ?? port
        writtenPort = route?.port == nil ? nil : port
        let choice: LoopbackAddress.Ports =
            if let fixed = route?.port ?? own { .fixed(fixed) } else if ports.isEmpty || host == nil {
                .any
            } else {
                .firstFree(of: ports)
            }
        // Nothing can pass a redirect on to a port that the system chooses. A browser can reach it, but only
        // at the URL's own host.
        if let route, choice == .any, route.path != nil || route.host != host {
            throw .usage(
                route.isListening
                    ? "callback_listen: has no port, so nothing can pass the redirect on to it"
                    : "callback_path: there is no port that the redirect can be passed on to",
                hint: .text("name the address and port to listen on, as in \(route.host.text):8484"))
        }
        loopback = LoopbackAddress(host: route?.host ?? host ?? .ipv4, ports: choice)
    }

    /// Returns the URI with the bound port, or with the port that leads to it.
    package func text(port: UInt16) -> String {
        guard loopback != nil, isOwn, let url = WebURL(text), url.port == nil,
            let start = text.utf8.firstIndex(of: .colon)
        else { return text }
        let authority = text.index(start, offsetBy: 3)
        let end = text[authority...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        let host = text[..<end].hasSuffix(":") ? text[..<end].dropLast() : text[..<end]
        return "\(host):\(writtenPort ?? port)\(text[end...])"
    }

    /// The path with which the redirect arrives.
    package var path: String { route?.path ?? outerPath }

    /// The path that the browser requests.
    var outerPath: String {
        let path = WebURL(text)?.path ?? ""
        return path.isEmpty ? "/" : path
    }

    /// The location of the result page. It is random if the redirect is passed on, as others may use the same
    /// way.
    var resultLocation: ResultLocation {
        route == nil ? ResultLocation(below: path) : ResultLocation(below: path, seenAs: outerPath)
    }

    /// Whether another path may be added to the URI, as every redirect to its host and port arrives here.
    package var leadsHereWithAnyPath: Bool {
        loopback != nil && isOwn && route?.path == nil
    }

    /// Reads and checks the certificate of the listener; nil if it speaks plain http.
    package func identity(at now: Instant) throws(OIDCError) -> TLSIdentity? {
        guard let files, let host = WebURL(text)?.host else { return nil }
        return try files.identity(for: host, at: now)
    }

    /// Returns the values of Host with which requests for the URI are passed on; none if the listener is there.
    func names(port: UInt16) -> [String] {
        guard route != nil, let url = WebURL(text(port: port)) else { return [] }
        let host = url.host.utf8.contains(0x3A) ? "[\(url.host)]" : url.host
        let named = "\(host):\(url.effectivePort)"
        return url.effectivePort == (url.isSecure ? 443 : 80) ? [host, named] : [named]
    }
}
