/// The rules for an ID token (OIDC Core §3.1.3.7; §12.2 on a refresh).
public struct IDTokenRules: Sendable {
    /// The values of the sign-in's ID token that a refreshed one must agree with (OIDC Core §12.2).
    public struct Previous: Hashable, Sendable {
        /// The issuer that `iss` must equal; a template if the tenant is not known yet.
        public var issuer: String
        /// `sub` of the sign-in.
        public var subject: String
        /// `aud` of the sign-in; nil if the earlier token is not available.
        public var audience: [String]?
        /// `nonce` of the sign-in.
        public var nonce: String?
        /// `auth_time` of the sign-in; nil if the earlier token has none.
        public var authenticationTime: OIDCInstant?

        /// Creates rules from the values of the sign-in.
        public init(issuer: String, subject: String, audience: [String]? = nil, nonce: String? = nil) {
            self.issuer = issuer
            self.subject = subject
            self.audience = audience
            self.nonce = nonce
        }

        /// Creates rules from an earlier token.
        public init(_ token: IDToken) {
            self.init(
                issuer: token.issuer, subject: token.subject, audience: token.audience,
                nonce: token.claims["nonce"]?.string)
            authenticationTime = token.authenticatedAt
        }
    }

    /// The issuer that `iss` must equal; a template is filled with the token's own `tid`.
    public var issuer: String
    /// The client that `aud` must name.
    public var clientID: String
    /// The `nonce` of the authorization request; nil if there was none (a refresh, the device grant).
    public var nonce: String?
    /// The access token of the same answer, for `at_hash`.
    public var accessToken: String?
    /// The request's `max_age`, which makes a recent `auth_time` required.
    public var maxAge: Duration?
    /// The accepted difference between clocks.
    public var leeway: Duration
    /// The allowed algorithms (`id_token_signing_alg_values_supported`); nil allows every known asymmetric
    /// one.
    public var allowedAlgorithms: [String]?
    /// The client secret; nil unless the client is registered for HMAC signatures (OIDC Core §10.1).
    public var clientSecret: Redacted<String>?
    /// The values of the sign-in's ID token, on a refresh.
    public var previous: Previous?
    /// The client's means to decrypt an encrypted token; nil refuses it.
    package var decryption: TokenDecryption?

    /// Creates rules; nil values are not checked.
    public init(
        issuer: String, clientID: String, nonce: String? = nil, accessToken: String? = nil,
        maxAge: Duration? = nil, leeway: Duration = .seconds(60), allowedAlgorithms: [String]? = nil,
        clientSecret: Redacted<String>? = nil, previous: Previous? = nil
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.nonce = nonce
        self.accessToken = accessToken
        self.maxAge = maxAge
        self.leeway = leeway
        self.allowedAlgorithms = allowedAlgorithms
        self.clientSecret = clientSecret
        self.previous = previous
    }
}
