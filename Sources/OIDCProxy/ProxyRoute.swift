package import OIDCCore
import OIDCCrypto

/// A route of the proxy: the URL that its requests go to, and the path and secret that callers use.
package struct ProxyRoute: Sendable {
    /// The URL whose origin and path no request can leave.
    package let url: WebURL
    /// The path of the route after the secret; it starts and ends with `/`.
    package let path: String
    /// The secret that callers must send, new at every start.
    package let secret: Redacted<String>

    package init(_ url: WebURL, path: String = "/") throws(OIDCError) {
        try self.init(url, path: path, secret: Redacted(Base64URL.encode(Random.bytes(32))))
    }

    init(_ url: WebURL, path: String = "/", secret: Redacted<String>) throws(OIDCError) {
        guard url.query == nil, url.fragment == nil else {
            throw OIDCError(
                .usage, "the route \(DisplayText.clean(url.withoutQuery)) has a query or a fragment",
                hint: "leave it out: requests bring their own", stage: .settings)
        }
        guard ProxyTarget.isWithin(url.path.dropFirst()) else {
            throw OIDCError(
                .usage, "the route \(DisplayText.clean(url.withoutQuery)) has a path with \"..\"",
                stage: .settings)
        }
        // Servers and libraries read one slash, and the URLs of profiles are compared with two.
        guard !url.path.includes("//") else {
            throw OIDCError(
                .usage, "the route \(DisplayText.clean(url.withoutQuery)) has two slashes in a row",
                hint: "write one slash", stage: .settings)
        }
        let trimmed = path.split(separator: "/").joined(separator: "/")
        guard path.hasPrefix("/"), WebURL("http://localhost\(path)")?.path == path,
            ProxyTarget.isWithin(trimmed[...]), !path.utf8.contains(.percent)
        else {
            throw OIDCError(
                .usage, "the path of a route is \(DisplayText.quoted(path)), not one such as /api",
                stage: .settings)
        }
        self.url = url
        self.path = trimmed.isEmpty ? "/" : "/\(trimmed)/"
        self.secret = secret
    }

    /// The route's path without a `/` at its end.
    private var base: Substring { url.path.utf8.last == .slash ? url.path.dropLast() : url.path[...] }

    private var root: String { "\(url.scheme)://\(url.hostAndPort)" }

    /// Returns the URL for the part of a request target after the route's own path; nil if it would not be on
    /// the route. A lone `/` stands for the route's path with a `/` at its end.
    func target(_ rest: Substring) -> WebURL? { targets(rest)?.url }

    /// Returns that URL, and the unchanged request target if it has characters that a URL cannot contain.
    func targets(_ rest: Substring) -> (url: WebURL, raw: String?)? {
        guard let text = pathAndQuery(rest) else { return nil }
        let escaped = ProxyTarget.escaped(text)
        return WebURL(root + escaped).map { ($0, escaped.utf8.count == text.utf8.count ? nil : text) }
    }

    private func pathAndQuery(_ rest: Substring) -> String? {
        let mark = rest.utf8.firstIndex(of: .questionMark) ?? rest.endIndex
        let (path, query) = (rest[..<mark], rest[mark...])
        if path.isEmpty { return (url.path.isEmpty ? "/" : url.path) + query }
        if path == "/" { return "\(base)/\(query)" }
        guard path.utf8.first != .slash, ProxyTarget.isWithin(path) else { return nil }
        return "\(base)/\(path)\(query)"
    }

    /// Returns a target without one slash in front of its path: scripts write `$OIDC_PROXY_URL/path`, although the
    /// URL ends with a slash.
    static func withoutExtraSlash(_ rest: Substring) -> Substring {
        guard rest.utf8.first == .slash, let next = rest.utf8.dropFirst().first,
            next != .slash, next != .questionMark
        else { return rest }
        return rest.dropFirst()
    }

    /// Returns the part of a request target that `target` maps to this URL; nil if the URL is not on this
    /// route.
    func rest(of other: WebURL) -> String? {
        guard other.origin == url.origin else { return nil }
        let path = other.path.isEmpty ? "/" : other.path
        let query = other.query.map { "?\($0)" } ?? ""
        if path == (url.path.isEmpty ? "/" : url.path) { return query }
        guard path.hasPrefix("\(base)/") else { return nil }
        let rest = path.dropFirst(base.count + 1)
        if rest.isEmpty { return "/\(query)" }
        guard rest.utf8.first != .slash, ProxyTarget.isWithin(rest) else { return nil }
        return rest + query
    }
}

/// The checks of request targets.
enum ProxyTarget {
    /// Returns whether a path cannot lead out of the route, however often a server decodes it, and has no backslash
    /// and no control character.
    static func isWithin(_ path: Substring) -> Bool {
        let readings = PathReadings(path)
        return !path.utf8.contains(.backslash) && !readings.haveDotSegments
            && readings.all.allSatisfy { !$0.contains(where: ASCII.isControl) }
    }

    /// Escapes the characters that RFC 3986 does not allow but some callers send.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: isStrange) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 * text.utf8.count)
        for byte in text.utf8 {
            guard isStrange(byte) else {
                bytes.append(byte)
                continue
            }
            ASCII.appendEscape(of: byte, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isStrange(_ byte: UInt8) -> Bool {
        switch byte {
        // A backslash is in the query: no path with one is on the route.
        case .quote, .lessThan, .greaterThan, .backslash, .caret, .backtick, .leftBrace, .verticalBar,
            .rightBrace:
            true
        default: false
        }
    }
}
