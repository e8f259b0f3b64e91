import OIDCCrypto

/// The defense against mix-up (RFC 9700 §4.4): a server that sends the user to another provider's authorization
/// endpoint must not get the code that this provider issues.
package enum MixUpDefense {
    /// Returns a redirect URI with a path of its own for each issuer (RFC 9700 §4.4.2.2). The answer to a
    /// request for one issuer then never arrives at the redirect URI of another. The digest is cryptographic,
    /// so a server cannot choose an issuer with the path of another.
    ///
    /// The issuer's segment comes first, so the URI is not below that of the user's own client: some providers accept any URI
    /// that starts with a registered one.
    package static func redirectURI(_ base: String, for issuer: String) throws(OIDCError) -> String {
        let path = pathStart(base)
        return "\(base[..<path])/\(try segment(issuer))\(base[path...])"
    }

    /// Returns whether a redirect URI is the issuer's own.
    package static func isOwn(_ redirectURI: String, of issuer: String) throws(OIDCError) -> Bool {
        let path = redirectURI[pathStart(redirectURI)...].dropFirst()
        return path.prefix { !"/?#".contains($0) } == (try segment(issuer))
    }

    /// Returns the end of the authority (RFC 3986 §3.2).
    private static func pathStart(_ uri: String) -> String.Index {
        let rest = uri.drop { $0 != ":" }.dropFirst()
        let authority = rest.hasPrefix("//") ? rest.dropFirst(2) : rest
        return authority.firstIndex { "/?#".contains($0) } ?? uri.endIndex
    }

    private static func segment(_ issuer: String) throws(OIDCError) -> String {
        Base64URL.encode(Array(try Cryptography.hash(Array(issuer.utf8), .sha256).prefix(16)))
    }
}

extension ProviderMetadata {
    /// The origins of the issuer, which the metadata were read from, and of the token endpoint, which redeems codes. Other
    /// endpoints may be another provider's.
    package var ownOrigins: [String] {
        [issuer.flatMap { WebURL.ofIssuer($0) }, tokenEndpoint].compactMap { $0?.origin }
    }

    /// Checks, for a redirect URI that other issuers share, that the metadata do not send the user to another provider:
    /// `iss` is promised (RFC 9207 §2.4), or the authorization endpoint is on the issuer's own origin. That endpoint
    /// can still forward the browser (RFC 9700 §4.4.1); only `iss` or a redirect URI for each issuer reveals it.
    package func checkAnswersAreItsOwn() throws(OIDCError) {
        guard !authorizationResponseIssParameterSupported, let endpoint = authorizationEndpoint,
            let origin = issuer.flatMap({ WebURL.ofIssuer($0) })?.origin, endpoint.origin != origin
        else { return }
        throw .untrusted(
            .discovery, "authorization_endpoint",
            expected:
                "a URL of \(DisplayText.clean(origin)), as the server does not promise iss in its answers",
            found: DisplayText.clean(endpoint.withoutQuery))
    }
}
