import OIDCCore

/// The proxy's own URLs in header fields of a caller. The server gets its own URLs in their place, and never the
/// secret.
struct ProxyOwnURLs {
    let address: ProxyAddress
    let route: ProxyRoute
    let prefix: String
    /// Returns whether a text has the secret of any route.
    let hasSecret: (String) -> Bool

    /// Returns a field for the server; nil if it has none. A `Destination` (RFC 4918 §10.3) must be on the route.
    func forServer(_ field: HTTPHeaders.Field) -> HTTPHeaders.Field? {
        switch ASCII.lowercased(field.name) {
        case "referer": return address(of: field, isOptional: true)
        case "destination": return address(of: field, isOptional: false)
        default: return hasSecret(field.value) ? nil : field
        }
    }

    private func address(of field: HTTPHeaders.Field, isOptional: Bool) -> HTTPHeaders.Field? {
        if let rest = rest(field.value), !hasSecret(String(rest)) {
            return route.target(rest).map { HTTPHeaders.Field(name: field.name, value: $0.text) }
        }
        guard !hasSecret(field.value) else { return nil }
        guard !isOptional else { return field }
        return WebURL(field.value).flatMap(route.rest) == nil ? nil : field
    }

    /// Returns what follows the prefix in a URL of the proxy's, or in a path.
    private func rest(_ text: String) -> Substring? {
        var target = text[...]
        if let url = WebURL(text) {
            guard url.scheme == "http", address.isOurs(url.hostAndPort) else { return nil }
            target = text.dropFirst("http://".count).drop { $0 != "/" && $0 != "?" }
        }
        guard target.hasPrefix("\(prefix)/") else { return nil }
        return target.dropFirst(prefix.count + 1)
    }
}
