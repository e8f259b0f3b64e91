public import OIDCCore
public import OIDCCrypto

/// A client as it is registered (RFC 7591 §2).
public struct DemoClient: Sendable {
    public var id: String
    public var secret: Redacted<String>?
    /// `none`, `client_secret_basic`, `client_secret_post`, `client_secret_jwt`, `private_key_jwt`,
    /// `tls_client_auth` or `self_signed_tls_client_auth`.
    public var authenticationMethods: Set<String>
    /// Compared exactly, but for the port of a loopback address (RFC 8252 §7.3).
    public var redirectURIs: [String]
    /// Any path and port on 127.0.0.1, [::1] and localhost will do.
    public var allowsAnyLoopbackRedirect: Bool
    public var postLogoutRedirectURIs: [String]
    /// Nil: every grant.
    public var grantTypes: Set<String>?
    /// Public keys for `private_key_jwt`.
    public var keys: JWKSet
    /// The outside identity whose tokens serve as this client's assertions (RFC 7523 §3).
    public var federatedIdentity: FederatedIdentity?
    /// SHA-256 of the client's certificate, base64url (RFC 8705 §2.2); its tokens are bound to it, however
    /// it authenticates.
    public var certificateThumbprint: String?
    /// The subject of a certificate that the terminator has verified (RFC 8705 §2.1).
    public var certificateSubject: String?
    /// Nil: the provider's first algorithm.
    public var idTokenAlgorithm: SignatureAlgorithm?

    public init(
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
    public static let publicDemo = DemoClient(id: "demo", redirectURIs: ["com.example.demo:/callback"])
    public static let confidentialDemo = DemoClient(id: "demo-confidential", secret: "demo-secret")

    /// For people: the name, and how it proves itself.
    public var summary: String {
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
public struct FederatedIdentity: Hashable, Sendable {
    public var issuer: String
    public var subject: String

    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// An issuer whose tokens are taken as assertions and subject tokens, with its keys.
public struct TrustedIssuer: Sendable {
    public var issuer: String
    public var keys: JWKSet
    /// What the tokens' `aud` must contain; nil: this provider's issuer or token endpoint.
    public var audience: String?

    public init(issuer: String, keys: JWKSet, audience: String? = nil) {
        self.issuer = issuer
        self.keys = keys
        self.audience = audience
    }
}
