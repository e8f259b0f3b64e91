import OIDCCore
package import OIDCCrypto

/// How the provider behaves where the specifications leave a choice; what they forbid is left to the tests.
package struct DemoConfiguration: Sendable {
    /// Who answers the pages.
    package enum Person: Hashable, Sendable {
        /// Somebody at a browser, or a program that plays one.
        case atBrowser
        /// Signs in and agrees at once, without any page.
        case approves(String)
        case denies
    }

    package var clients: [DemoClient] = [.publicDemo, .confidentialDemo]
    package var person = Person.atBrowser
    package var asksForConsent = true
    package var scopes = [
        "openid", "profile", "email", "offline_access", "api:read", "api:write", "api:admin",
    ]
    /// One key is made for each; the first signs ID tokens.
    package var signingAlgorithms: [SignatureAlgorithm] = [.rs256, .es256]
    /// Used in place of new keys where the kind fits, so tests need not make RSA keys.
    package var signingKeys: [PrivateKey] = []
    package var trustedIssuers: [TrustedIssuer] = []
    /// What `aud` of a client assertion must be, as one string; nil: the issuer or the endpoint.
    package var assertionAudience: String?

    package var codeLifetime: Int64 = 60
    package var accessTokenLifetime: Int64 = 300
    package var idTokenLifetime: Int64 = 600
    package var refreshTokenLifetime: Int64 = 30 * 86_400
    package var issuesJWTAccessTokens = false
    package var rotatesRefreshTokens = true
    /// For so long a used refresh token still works, as some providers allow against lost answers.
    package var refreshReuseGrace: Int64 = 0
    /// OIDC Core §11: `offline_access` counts only together with `prompt=consent`.
    package var offlineAccessNeedsConsentPrompt = false
    /// A refresh token even without `offline_access`.
    package var alwaysIssuesRefreshTokens = false
    package var refreshReturnsIDToken = true
    package var requiresPushedAuthorization = false
    package var requiresJSONTokenRequests = false
    package var signsUserInfo = false

    package var requiresDPoP = false
    package var requiresDPoPNonceAtToken = false
    package var requiresDPoPNonceAtResource = false

    package var deviceLifetime: Int64 = 600
    package var deviceInterval: Int64 = 5
    /// Pending answers before a `person` that is not at a browser has decided.
    package var devicePollsBeforeDecision = 0

    /// The header in which a TLS terminator passes the client's certificate on, percent-encoded PEM; with
    /// `-Subject` added its subject, with `-Verify` whether it was verified (`SUCCESS`).
    package var certificateHeader: String?
    /// Where clients with certificates are sent (RFC 8705 §5).
    package var mutualTLSBase: String?

    /// For how long metadata and keys may be cached; nil: no `Cache-Control` at all.
    package var cacheLifetime: Int64? = 3_600
    /// How far the provider's clock is ahead.
    package var clockOffset: Int64 = 0
    package var stepUpMaxAge: Int64 = 300
    package var stepUpACR = "urn:demo:acr:strong"
    package var basicACR = "urn:demo:acr:basic"
    /// Demanded at registration (RFC 7591 §3), where set.
    package var initialAccessToken: String?

    package init() {}
}
