import OIDCCore

/// The replacement of the proxy's URLs in a caller's header fields with the server's, as the server must not
/// get the secret.
struct ProxyOwnURLs {
    let address: ProxyAddress
    let route: ProxyRoute
    let prefix: String
    /// Whether a string contains the secret of any route.
    let hasSecret: (String) -> Bool

    /// Returns the field for the server; nil if it must not be sent. A `Destination` (RFC 4918 §10.3) must be
    /// on the route.
    func forServer(_ field: HTTPHeaders.Field) -> HTTPHeaders.Field? {
        if ASCII.isSameIgnoringCase(field.name, "Referer") { return address(of: field, isOptional: true) }
        guard !ASCII.isSameIgnoringCase(field.name, "Destination") else {
            return address(of: field, isOptional: false)
        }
        return hasSecret(field.value) ? nil : field
    }

    private func address(of field: HTTPHeaders.Field, isOptional: Bool) -> HTTPHeaders.Field? {
        if let rest = rest(field.value), !hasSecret(String(rest)) {
            return route.target(rest).map { HTTPHeaders.Field(name: field.name, value: $0.text) }
        }
        guard !hasSecret(field.value) else { return nil }
        guard !isOptional else { return field }
        return WebURL(field.value).flatMap(route.rest) == nil ? nil : field
    }

    /// Returns the part after the prefix in a path or a URL of the proxy; nil for any other string.
    private func rest(_ text: String) -> Substring? {
        var target = text[...]
        if let url = WebURL(text) {
            guard url.scheme == "http", address.isOurs(url.hostAndPort) else { return nil }
            target = text.dropFirst("http://".count).drop { $0 != "/" && $0 != "?" }
        }
        guard target.hasPrefix("\(prefix)/") else { return nil }
        let rest = target.dropFirst(prefix.count + 1)
        return address.needsSecret ? ProxyRoute.withoutExtraSlash(rest) : rest
    }
}
