package import OIDCCore
package import OIDCCrypto

/// A client as it is registered (RFC 7591 §2).
package struct DemoClient: Sendable {
    package var id: String
    package var secret: Redacted<String>?
    /// `none`, `client_secret_basic`, `client_secret_post`, `client_secret_jwt`, `private_key_jwt`,
    /// `tls_client_auth` or `self_signed_tls_client_auth`.
    package var authenticationMethods: Set<String>
    /// Compared exactly, but for the port of a loopback address (RFC 8252 §7.3).
    package var redirectURIs: [String]
    /// Any path and port on 127.0.0.1, [::1] and localhost will do.
    package var allowsAnyLoopbackRedirect: Bool
    package var postLogoutRedirectURIs: [String]
    /// Nil: every grant.
    package var grantTypes: Set<String>?
    /// Public keys for `private_key_jwt`.
    package var keys: JWKSet
    /// The outside identity whose tokens serve as this client's assertions (RFC 7523 §3).
    package var federatedIdentity: FederatedIdentity?
    /// SHA-256 of the client's certificate, base64url (RFC 8705 §2.2); its tokens are bound to it, however
    /// it authenticates.
    package var certificateThumbprint: String?
    /// The subject of a certificate that the terminator has verified (RFC 8705 §2.1).
    package var certificateSubject: String?
    /// Nil: the provider's first algorithm.
    package var idTokenAlgorithm: SignatureAlgorithm?

    package init(
        id: String, secret: String? = nil, authenticationMethods: Set<String>? = nil,
        redirectURIs: [String] = [], allowsAnyLoopbackRedirect: Bool = true,
        postLogoutRedirectURIs: [String] = [], grantTypes: Set<String>? = nil,
        keys: JWKSet = JWKSet(),
        federatedIdentity: FederatedIdentity? = nil, certificateThumbprint: String? = nil,
        certificateSubject: String? = nil, idTokenAlgorithm: SignatureAlgorithm? = nil
    ) {
        self.id = id
        self.secret = secret.map { Redacted($0) }
        let whereSecret: Set = ["client_secret_basic", "client_secret_post", "client_secret_jwt"]
        self.authenticationMethods =
            authenticationMethods
            ?? (secret != nil ? whereSecret : keys.keys.isEmpty ? ["none"] : ["private_key_jwt"])
        self.redirectURIs = redirectURIs
        self.allowsAnyLoopbackRedirect = allowsAnyLoopbackRedirect
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.grantTypes = grantTypes
        self.keys = keys
        self.federatedIdentity = federatedIdentity
        self.certificateThumbprint = certificateThumbprint
        self.certificateSubject = certificateSubject
        self.idTokenAlgorithm = idTokenAlgorithm
    }

    /// A native application without a secret; a redirect to a scheme of its own serves pasted addresses.
    package static let publicDemo = DemoClient(id: "demo", redirectURIs: ["com.example.demo:/callback"])
    package static let confidentialDemo = DemoClient(id: "demo-confidential", secret: "demo-secret")

    /// For people: the name, and how it proves itself.
    package var summary: String {
        "\(id) (\(secret.map { "secret: \($0.revealed)" } ?? "public"))"
    }

    var isPublic: Bool { authenticationMethods == ["none"] }

    func allows(grant: String) -> Bool { grantTypes?.contains(grant) ?? true }

    func allows(redirect: String) -> Bool { allows(redirect, among: redirectURIs) }

    func allows(postLogoutRedirect: String) -> Bool {
        allows(postLogoutRedirect, among: postLogoutRedirectURIs)
    }

    private func allows(_ address: String, among registered: [String]) -> Bool {
        if registered.contains(address) { return true }
        guard let url = WebURL(address), url.isLoopback, !url.isSecure, url.fragment == nil else {
            return false
        }
        return allowsAnyLoopbackRedirect
            || registered.contains { WebURL($0).map { isSame($0, url) } ?? false }
    }

    /// Equal but for the port.
    private func isSame(_ left: WebURL, _ right: WebURL) -> Bool {
        left.scheme == right.scheme && left.host == right.host && left.path == right.path
            && left.query == right.query
    }
}

/// A subject of another issuer, such as a job of a CI system.
package struct FederatedIdentity: Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// An issuer whose tokens are taken as assertions and subject tokens, with its keys.
package struct TrustedIssuer: Sendable {
    package var issuer: String
    package var keys: JWKSet
    /// What the tokens' `aud` must contain; nil: this provider's issuer or token endpoint.
    package var audience: String?

    package init(issuer: String, keys: JWKSet, audience: String? = nil) {
        self.issuer = issuer
        self.keys = keys
        self.audience = audience
    }
}
