/// An absolute `http` or `https` URL (RFC 3986), kept exactly as it was written.
///
/// It has the size of a pointer, so a value with several URLs, such as a session's endpoints, is small.
public struct WebURL: Hashable, Sendable {
    private let parts: Parts

    /// The URL as it was given; this form is compared, stored and sent.
    public var text: String { parts.text }
    /// `https` or `http`.
    public var scheme: String { parts.scheme }
    /// The host in lower case; an IPv6 address without its brackets.
    public var host: String { parts.authority.host }
    /// The port, if the URL contains one; see `effectivePort`.
    public var port: Int? { parts.authority.port }
    /// The path; it starts with `/` or is empty.
    public var path: String { parts.path }
    /// The query, without `?` and not decoded.
    public var query: String? { parts.query }
    /// The fragment, without `#`.
    public var fragment: String? { parts.fragment }

    private final class Parts: Sendable {
        let text: String
        let scheme: String
        let authority: Authority
        let path: String
        let query: String?
        let fragment: String?

        init(
            text: String, scheme: String, authority: Authority, path: String, query: String?,
            fragment: String?
        ) {
            self.text = text
            self.scheme = scheme
            self.authority = authority
            self.path = path
            self.query = query
            self.fragment = fragment
        }
    }

    /// Parses a URL; returns nil unless it is absolute, http or https, with a host and without user
    /// information, control characters, spaces, backslashes or non-ASCII characters.
    public init?(_ text: String) {
        var contiguous = text
        guard let parts = contiguous.withUTF8({ WebURL.parts($0, of: text) }) else { return nil }
        self.parts = parts
    }

    private static func parts(_ bytes: UnsafeBufferPointer<UInt8>, of text: String) -> Parts? {
        guard bytes.count <= 65_536, bytes.allSatisfy(isPlain), let colon = bytes.firstIndex(of: .colon)
        else {
            return nil
        }
        let scheme = ASCII.lowercased(String(decoding: bytes[..<colon], as: UTF8.self))
        let start = colon + 3
        guard scheme == "https" || scheme == "http", start <= bytes.endIndex,
            bytes[colon + 1] == .slash, bytes[colon + 2] == .slash
        else { return nil }
        let authorityEnd = bytes[start...].firstIndex(where: endsAuthority) ?? bytes.endIndex
        guard let authority = Authority(bytes[start..<authorityEnd]) else { return nil }
        let hash = bytes[authorityEnd...].firstIndex(of: .hash)
        let tailEnd = hash ?? bytes.endIndex
        let mark = bytes[authorityEnd..<tailEnd].firstIndex(of: .questionMark)
        func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        return Parts(
            text: text, scheme: scheme, authority: authority, path: string(authorityEnd..<(mark ?? tailEnd)),
            query: mark.map { string(($0 + 1)..<tailEnd) },
            fragment: hash.map { string(($0 + 1)..<bytes.endIndex) })
    }

    private init(_ parts: Parts) {
        self.parts = parts
    }

    /// Returns whether the texts of both URLs are the same.
    public static func == (one: WebURL, other: WebURL) -> Bool { one.text == other.text }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Returns whether a character is visible ASCII and not one of `"<>\\^`{|}`, which RFC 3986 does not
    /// allow.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case .quote, .lessThan, .greaterThan, .backslash, .caret, .backtick, .leftBrace, .verticalBar,
            .rightBrace:
            false
        default: ASCII.isVisible(byte)
        }
    }

    /// Returns whether a character ends the authority: `/`, `?` or `#`.
    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == .slash || byte == .questionMark || byte == .hash
    }

    /// Whether the scheme is https.
    public var isSecure: Bool { scheme == "https" }
    /// The port, or the scheme's default.
    public var effectivePort: Int { port ?? (isSecure ? 443 : 80) }

    /// Whether the host is `127.0.0.1`, `[::1]` or `localhost`, to which plain http is allowed (RFC 8252
    /// §7.3).
    public var isLoopback: Bool {
        host == "127.0.0.1" || host == "::1" || host == "localhost"
    }

    /// Returns whether a code, token or secret may be sent to the URL: https, and plain http on loopback or if
    /// `allowsInsecureHTTP`.
    package func isSafe(allowsInsecureHTTP: Bool) -> Bool { isSecure || isLoopback || allowsInsecureHTTP }

    /// Returns the URL that text without a scheme may mean: https, or http on loopback.
    package static func completing(_ text: String) -> WebURL? {
        guard let secure = WebURL("https://\(text)") else { return nil }
        return secure.isLoopback ? WebURL("http://\(text)") : secure
    }

    /// The host, with the port if the URL contains one.
    public var hostAndPort: String {
        let bracketed = host.utf8.contains(.colon) ? "[\(host)]" : host
        return port.map { "\(bracketed):\($0)" } ?? bracketed
    }

    /// Scheme, host and port, with the default port left out (RFC 6454 §4).
    public var origin: String {
        let bracketed = host.utf8.contains(.colon) ? "[\(host)]" : host
        let isDefault = effectivePort == (isSecure ? 443 : 80)
        return "\(scheme)://\(bracketed)\(isDefault ? "" : ":\(effectivePort)")"
    }

    /// The URL without query and fragment, which may contain secrets.
    public var withoutQuery: String { "\(scheme)://\(hostAndPort)\(path)" }

    /// Returns the URL with pairs added to its query (RFC 6749 §3.1), without the fragment.
    public func appendingQuery(_ pairs: [FormEncoding.Pair]) -> WebURL {
        let base = text.prefix { $0 != "#" }
        let added = FormEncoding.encode(pairs)
        let separator = query == nil ? "?" : (query?.isEmpty == true || added.isEmpty ? "" : "&")
        return WebURL(
            Parts(
                text: "\(base)\(separator)\(added)", scheme: scheme,
                authority: parts.authority, path: path,
                query: "\(query ?? "")\(query == nil ? "" : separator)\(added)", fragment: nil))
    }

    /// The path without a slash at its end.
    package var pathWithoutLastSlash: String { path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// Returns the URL of another path on the same origin, without query; nil unless the path starts with
    /// `/`.
    public func replacingPath(_ path: String) -> WebURL? {
        guard path.hasPrefix("/"), !path.utf8.contains(.questionMark), !path.utf8.contains(.hash) else {
            return nil
        }
        return WebURL("\(scheme)://\(hostAndPort)\(path)")
    }
}

extension WebURL: CustomStringConvertible {
    /// The whole URL.
    public var description: String { text }
}

/// The host and port of a URL (RFC 3986 §3.2).
private struct Authority: Sendable {
    var host: String
    var port: Int?

    init?(_ text: Slice<UnsafeBufferPointer<UInt8>>) {
        guard !text.isEmpty, !text.contains(.at) else { return nil }
        let port: Slice<UnsafeBufferPointer<UInt8>>
        if text.first == .leftBracket {
            guard let end = text.firstIndex(of: .rightBracket) else { return nil }
            let address = text[(text.startIndex + 1)..<end]
            guard !address.isEmpty,
                address.allSatisfy({ $0 == .colon || $0 == .period || ASCII.isHexDigit($0) })
            else { return nil }
            host = ASCII.lowercased(String(decoding: address, as: UTF8.self))
            let after = text[(end + 1)...]
            guard after.isEmpty || after.first == .colon else { return nil }
            port = after.dropFirst()
        } else {
            let end = text.firstIndex(of: .colon) ?? text.endIndex
            let name = text[..<end]
            guard !name.isEmpty, name.allSatisfy(Authority.isOfName) else { return nil }
            host = ASCII.lowercased(String(decoding: name, as: UTF8.self))
            port = text[end...].dropFirst()
        }
        guard !port.isEmpty else { return }
        guard port.allSatisfy(ASCII.isDigit), let number = Int(String(decoding: port, as: UTF8.self)),
            (1...65_535).contains(number)
        else { return nil }
        self.port = number
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case .hyphen, .period, .underscore, .tilde: true
        default: ASCII.isAlphanumeric(byte)
        }
    }
}
