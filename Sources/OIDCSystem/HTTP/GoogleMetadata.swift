import OIDCCore

/// The metadata server of virtual machines at Google: plain http, at a link-local address that no router forwards (RFC
/// 3927 §2.7), and never through a proxy.
package enum GoogleMetadata {
    private static let host = "169.254.169.254"
    /// The URL of the identity of the machine's service account.
    package static let identity =
        "http://\(host)/computeMetadata/v1/instance/service-accounts/default/identity"
    /// The header that requests must have, against forged ones, and that answers have too.
    package static let flavor = ("Metadata-Flavor", "Google")

    /// Returns whether a URL is the one of the identity.
    static func isIdentity(_ url: WebURL) -> Bool { url.withoutQuery == identity }
}
