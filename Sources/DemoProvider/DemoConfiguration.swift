import OIDCCore
public import OIDCCrypto

/// How the provider behaves where the specifications leave a choice; see `Fault` for what they forbid.
public struct DemoConfiguration: Sendable {
    /// Who answers the pages.
    public enum Person: Hashable, Sendable {
        /// Somebody at a browser, or a program that plays one.
        case atBrowser
        /// Signs in and agrees at once, without any page.
        case approves(String)
        case denies
    }

    public var clients: [DemoClient] = [.publicDemo, .confidentialDemo]
    public var person = Person.atBrowser
    public var asksForConsent = true
    public var scopes = [
        "openid", "profile", "email", "offline_access", "api:read", "api:write", "api:admin",
    ]
    /// One key is made for each; the first signs ID tokens.
    public var signingAlgorithms: [SignatureAlgorithm] = [.rs256, .es256]
    /// Used in place of new keys where the kind fits, so that tests need not make RSA keys.
    public var signingKeys: [PrivateKey] = []
    public var trustedIssuers: [TrustedIssuer] = []
    /// What `aud` of a client assertion must be, as one string; nil: the issuer or the endpoint.
    public var assertionAudience: String?

    public var codeLifetime: Int64 = 60
    public var accessTokenLifetime: Int64 = 300
    public var idTokenLifetime: Int64 = 600
    public var refreshTokenLifetime: Int64 = 30 * 86_400
    public var issuesJWTAccessTokens = false
    public var rotatesRefreshTokens = true
    /// For so long a used refresh token still works, as some providers allow against lost answers.
    public var refreshReuseGrace: Int64 = 0
    /// OIDC Core §11: `offline_access` counts only together with `prompt=consent`.
    public var offlineAccessNeedsConsentPrompt = false
    /// A refresh token even without `offline_access`.
    public var alwaysIssuesRefreshTokens = false
    public var refreshReturnsIDToken = true
    public var requiresPushedAuthorization = false
    public var requiresJSONTokenRequests = false
    public var signsUserInfo = false

    public var requiresDPoP = false
    public var requiresDPoPNonceAtToken = false
    public var requiresDPoPNonceAtResource = false

    public var deviceLifetime: Int64 = 600
    public var deviceInterval: Int64 = 5
    /// Pending answers before a `person` that is not at a browser has decided.
    public var devicePollsBeforeDecision = 0

    /// The header in which a TLS terminator passes the client's certificate on, percent-encoded PEM; with
    /// `-Subject` added its subject, with `-Verify` whether it was verified (`SUCCESS`).
    public var certificateHeader: String?
    /// Where clients with certificates are sent (RFC 8705 §5).
    public var mutualTLSBase: String?

    /// For how long metadata and keys may be cached; nil: no `Cache-Control` at all.
    public var cacheLifetime: Int64? = 3_600
    /// How far the provider's clock is ahead.
    public var clockOffset: Int64 = 0
    /// Where the redirects of faults lead.
    public var foreignOrigin = "https://other.example"
    public var stepUpMaxAge: Int64 = 300
    public var stepUpACR = "urn:demo:acr:strong"
    public var basicACR = "urn:demo:acr:basic"
    /// Demanded at registration (RFC 7591 §3), where set.
    public var initialAccessToken: String?

    public init() {}
}
