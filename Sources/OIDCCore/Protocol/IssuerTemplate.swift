/// An issuer with `{tenantid}` in place of one path segment. Entra ID's metadata for accounts of any tenant
/// (`common`, `organizations`) names such an issuer, and the `iss` of each ID token has the token's own `tid`
/// there (learn.microsoft.com, "Secure applications and APIs by validating claims", read in November 2026).
///
/// A template is used in two cases. Either it is configured, together with the URL of its metadata. Or the
/// metadata of a configured issuer names it, and that issuer has Entra ID's `common`, `organizations` or
/// `consumers` in place of `{tenantid}`. Any other segment names one tenant, and a template would accept
/// others too.
package struct IssuerTemplate: Hashable, Sendable {
    /// The template as it is spelled.
    package let text: String
    private let before: String
    private let after: String

    private static let placeholder = "{tenantid}"

    /// Parses a template; returns nil unless exactly one path segment is `{tenantid}`, and the rest is an
    /// issuer.
    package init?(_ text: String) {
        guard let (before, after) = text.parts(around: IssuerTemplate.placeholder),
            before.hasSuffix("/"), after.isEmpty || after.hasPrefix("/"),
            let start = WebURL(String(before)), start.query == nil, start.fragment == nil,
            let url = WebURL("\(before)tenant\(after)"), url.query == nil, url.fragment == nil
        else { return nil }
        self.text = text
        self.before = String(before)
        self.after = String(after)
    }

    /// Returns the issuer of a tenant; nil if the name is not a single path segment.
    package func issuer(of tenant: String) -> String? {
        guard IssuerTemplate.isTenant(tenant) else { return nil }
        return "\(before)\(tenant)\(after)"
    }

    /// Returns the tenant of an issuer; nil if the issuer is not this template filled with one.
    package func tenant(of issuer: String) -> String? {
        let bytes = Array(issuer.utf8)
        let (start, end) = (before.utf8.count, bytes.count - after.utf8.count)
        guard start < end else { return nil }
        let tenant = String(decoding: bytes[start..<end], as: UTF8.self)
        guard let filled = self.issuer(of: tenant), ExactText.isSame(filled, issuer) else { return nil }
        return tenant
    }

    /// Returns whether the metadata of the configured issuer may name this template.
    package func mayStand(for configured: String) -> Bool {
        tenant(of: configured).map(["common", "organizations", "consumers"].contains) ?? false
    }

    /// Returns whether an issuer is on the origin of the configured one, and differs from it in one path
    /// segment.
    package static func mayFill(_ issuer: String, for configured: String) -> Bool {
        tenant(of: issuer, unlike: configured) != nil
    }

    /// Returns the one path segment in which an issuer differs from another on its origin.
    static func tenant(of issuer: String, unlike configured: String) -> String? {
        guard let url = WebURL(issuer), let other = WebURL(configured), url.origin == other.origin else {
            return nil
        }
        let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
        let others = other.path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count == others.count else { return nil }
        let differing = zip(segments, others).filter { !ExactText.isSame(String($0), String($1)) }
        return differing.count == 1 ? differing.first.map { String($0.0) } : nil
    }

    /// Returns whether a string has the form of a tenant: letters, digits and hyphens, at most 64.
    private static func isTenant(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
    }

    /// Returns whether a segment is a UUID, which names one tenant and not a group of them.
    static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.utf8.allSatisfy(ASCII.isHexDigit) }
    }
}

extension WebURL {
    /// Returns the URL of an issuer. For a template, it contains a placeholder for the tenant: use its
    /// origin, and send no request to it.
    package static func ofIssuer(_ text: String) -> WebURL? {
        WebURL(IssuerTemplate(text)?.issuer(of: "tenant") ?? text)
    }
}
