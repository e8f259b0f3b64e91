import OIDCCore

/// The metadata server of Google's virtual machines: plain http, at a link-local address that no router
/// forwards (RFC 3927 §2.7), and never through a proxy.
package enum GoogleMetadata {
    private static let host = "169.254.169.254"
    /// The URL of the identity token of the machine's service account.
    package static let identity =
        "http://\(host)/computeMetadata/v1/instance/service-accounts/default/identity"
    /// The header that requests must have, as protection against forged ones, and that answers have too.
    package static let flavor = ("Metadata-Flavor", "Google")

    /// Returns whether a URL is that of the identity token, whatever its query.
    static func isIdentity(_ url: WebURL) -> Bool { url.withoutQuery == identity }
}
