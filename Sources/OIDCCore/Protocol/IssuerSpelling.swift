/// Spellings of an issuer that are not from its own metadata, but from a resource's document or a user.
package enum IssuerSpelling {
    /// Returns whether two spellings name the same server: they are equal, or differ by the final slash of an
    /// issuer without a path.
    ///
    /// Resources made with the Python MCP SDK 2.3.0 or FastMCP 4.2.3 publish `https://host/` for the issuer
    /// `https://host`, as `AnyHttpUrl` adds the slash (2026-11). RFC 3986 §6.2.3 makes the two equivalent, and
    /// nothing else is normalized (RFC 8414 §4).
    package static func isSameServer(_ one: String, _ other: String) -> Bool {
        if ExactText.isSame(one, other) { return true }
        let (short, long) = one.utf8.count < other.utf8.count ? (one, other) : (other, one)
        guard ExactText.isSame("\(short)/", long), let url = WebURL(short) else { return false }
        return url.path.isEmpty && url.query == nil && url.fragment == nil
    }

    /// Returns every spelling of the same server.
    package static func all(_ issuer: String) -> [String] {
        let other = issuer.hasSuffix("/") ? String(issuer.dropLast()) : "\(issuer)/"
        return isSameServer(issuer, other) ? [issuer, other] : [issuer]
    }
}
