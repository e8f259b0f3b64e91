package import OIDCCore
package import OIDCCrypto

/// The provider's behavior in points that the specifications leave open. Behavior that they forbid is
/// implemented only in the tests.
package struct DemoConfiguration: Sendable {
    /// The user who answers the pages.
    package enum User: Hashable, Sendable {
        /// A user at a browser, or a program that simulates one.
        case atBrowser
        /// An account that signs in and consents immediately, without any page.
        case approves(String)
        case denies
    }

    package var clients: [DemoClient] = [.publicDemo, .confidentialDemo]
    /// The client ID metadata documents that the provider knows, by their URLs. The provider has no network
    /// to fetch others.
    package var clientDocuments: [String: JSONValue] = [DemoClient.documentURL: DemoClient.document]
    package var user = User.atBrowser
    package var scopes = [
        "openid", "profile", "email", "address", "phone", "offline_access", "api:read", "api:write",
        "api:admin",
    ]
    /// The signing algorithms, with a key for each; the first one signs ID tokens.
    package var signingAlgorithms: [SignatureAlgorithm] = [.rs256, .es256]
    /// Existing keys to use instead of new ones if their kind fits, so tests need not generate RSA keys.
    package var signingKeys: [PrivateKey] = []
    package var trustedIssuers: [TrustedIssuer] = []
    /// The exact `aud` of client assertions; nil accepts the issuer or the endpoint.
    package var assertionAudience: String?

    package var codeLifetime: Int64 = 60
    package var accessTokenLifetime: Int64 = 300
    package var idTokenLifetime: Int64 = 600
    package var issuesJWTAccessTokens = false
    package var rotatesRefreshTokens = true
    /// The seconds for which a used refresh token still works, as with Okta's and Auth0's grace periods for
    /// lost answers.
    package var refreshReuseGrace: Int64 = 0
    /// Whether `offline_access` requires `prompt=consent` (OIDC Core §11).
    package var offlineAccessNeedsConsentPrompt = false
    package var refreshReturnsIDToken = true
    package var requiresPushedAuthorization = false
    /// Whether authorization requests must be signed (RFC 9101 §10.5).
    package var requiresSignedRequests = false
    /// The key for encrypted requests (RFC 9101 §4); nil supports none.
    package var requestDecryptionKey: PrivateKey?
    /// A function that returns the request object at a URL (OIDC Core §6.2), as the provider has no network;
    /// nil supports none.
    package var requestObject: (@Sendable (String) -> String?)?
    package var requiresJSONTokenRequests = false
    package var signsUserInfo = false

    package var requiresDPoP = false
    package var requiresDPoPNonceAtToken = false
    package var requiresDPoPNonceAtResource = false

    package var deviceLifetime: Int64 = 600
    package var deviceInterval: Int64 = 5
    /// The number of polls answered `authorization_pending` before a `user` other than `atBrowser` decides.
    package var devicePollsBeforeDecision = 0

    /// The header in which a TLS terminator passes on the client's certificate, as percent-encoded PEM. The
    /// same name with `-Subject` contains the subject, with `-Verify` the result of the verification
    /// (`SUCCESS`).
    package var certificateHeader: String?
    /// The base URL for clients with certificates (RFC 8705 §5).
    package var mutualTLSBase: String?

    /// The seconds by which the provider's clock is ahead.
    package var clockOffset: Int64 = 0
    /// The token that registration requires (RFC 7591 §3); nil requires none.
    package var initialAccessToken: String?

    /// The security profile that is enforced; nil for none.
    package private(set) var profile: Profile?

    package init() {}
}

extension DemoConfiguration {
    /// A security profile that the provider enforces. Each one includes those before it.
    package enum Profile: String, Sendable, CaseIterable {
        /// OAuth 2.1 (draft 15), which this provider always enforces.
        case oauth21
        /// FAPI 2.0 Security Profile.
        case fapi2
        /// FAPI 2.0 Message Signing.
        case fapi2MessageSigning = "fapi2-message-signing"
    }

    /// Creates the configuration of a provider that enforces a profile. Clients register themselves, as
    /// neither public clients nor secrets are allowed.
    package init(enforcing profile: Profile) {
        self.init()
        guard profile != .oauth21 else { return }
        self.profile = profile
        (clients, clientDocuments) = ([], [:])
        signingAlgorithms = [.ps256, .es256]
        requiresPushedAuthorization = true
        requiresDPoP = true
        requiresSignedRequests = profile == .fapi2MessageSigning
    }

    /// Returns whether the profile allows a signature algorithm (FAPI 2.0 Security Profile §5.4.1).
    func allows(_ algorithm: SignatureAlgorithm?) -> Bool {
        guard profile != nil else { return true }
        return [.ps256, .es256, .edDSA].contains(algorithm)
    }
}
