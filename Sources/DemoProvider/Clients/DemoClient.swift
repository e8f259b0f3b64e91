package import OIDCCore
package import OIDCCrypto

/// A registered client (RFC 7591 §2).
package struct DemoClient: Sendable {
    package var id: String
    package var secret: Redacted<String>?
    /// The allowed authentication methods: `none`, `client_secret_basic`, `client_secret_post`,
    /// `client_secret_jwt`, `private_key_jwt`, `tls_client_auth` or `self_signed_tls_client_auth`.
    package var authenticationMethods: Set<String>
    /// The registered redirect URIs, compared exactly except for the port of a loopback URL (RFC 8252 §7.3).
    package var redirectURIs: [String]
    /// Whether any path and port on 127.0.0.1, [::1] and localhost is accepted.
    package var allowsAnyLoopbackRedirect: Bool
    package var postLogoutRedirectURIs: [String]
    /// The allowed grant types; nil allows all.
    package var grantTypes: Set<String>?
    /// The public keys for `private_key_jwt`.
    package var keys: JWKSet
    /// The external identity whose tokens are accepted as this client's assertions (RFC 7523 §3).
    package var federatedIdentity: FederatedIdentity?
    /// The base64url SHA-256 hash of the client's certificate (RFC 8705 §2.2). The client's tokens are bound
    /// to it, whatever its authentication method is.
    package var certificateThumbprint: String?
    /// The subject of the client's certificate, verified by the terminator (RFC 8705 §2.1).
    package var certificateSubject: String?
    /// The algorithm of ID tokens; nil means the provider's first one.
    package var idTokenAlgorithm: SignatureAlgorithm?
    /// The algorithm of UserInfo answers; nil means that of ID tokens, if the provider signs them.
    package var userInfoAlgorithm: SignatureAlgorithm?
    /// The algorithm of signed introspection answers; nil means RS256, or that of ID tokens if there is no
    /// key for RS256.
    package var introspectionAlgorithm: SignatureAlgorithm?
    /// The algorithm of signed authorization responses; nil means that of ID tokens.
    package var authorizationAlgorithm: SignatureAlgorithm?
    /// Whether request objects without a signature are accepted (OIDC Core §6.1).
    package var allowsUnsignedRequests = false
    /// The encryption of ID tokens; nil for none.
    package var idTokenEncryption: TokenEncryption?
    /// The encryption of UserInfo answers; nil for none.
    package var userInfoEncryption: TokenEncryption?
    /// The encryption of signed introspection answers; nil for none.
    package var introspectionEncryption: TokenEncryption?
    /// The encryption of signed authorization responses; nil for none.
    package var authorizationEncryption: TokenEncryption?

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

    /// A public native application; the redirect URI with its own scheme is for pasted URLs.
    package static let publicDemo = DemoClient(id: "demo", redirectURIs: ["com.example.demo:/callback"])
    package static let confidentialDemo = DemoClient(id: "demo-confidential", secret: "demo-secret")

    /// The client's ID and secret, for display.
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

    /// Returns whether two URLs are equal except for the port.
    private func isSame(_ left: WebURL, _ right: WebURL) -> Bool {
        left.scheme == right.scheme && left.host == right.host && left.path == right.path
            && left.query == right.query
    }
}

/// A subject at another issuer, such as a CI job.
package struct FederatedIdentity: Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// An issuer whose tokens are accepted as assertions and subject tokens.
package struct TrustedIssuer: Sendable {
    package var issuer: String
    package var keys: JWKSet
    /// The audience that the tokens must contain; nil means this provider's issuer or token endpoint.
    package var audience: String?

    package init(issuer: String, keys: JWKSet, audience: String? = nil) {
        self.issuer = issuer
        self.keys = keys
        self.audience = audience
    }
}
