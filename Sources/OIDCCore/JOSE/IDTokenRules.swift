/// What an ID token is held against (OIDC Core §3.1.3.7, §12.2 on a refresh).
public struct IDTokenRules: Sendable {
    /// The ID token of the sign-in, which one that comes with a refresh must agree with (OIDC Core §12.2).
    public struct Previous: Hashable, Sendable {
        /// The issuer that `iss` must equal; a template if the tenant is not known yet.
        public var issuer: String
        /// `sub` of the sign-in.
        public var subject: String
        /// Nil where the earlier token is not at hand.
        public var audience: [String]?
        /// `nonce` of the sign-in.
        public var nonce: String?

        /// Makes rules of the values of the sign-in.
        public init(issuer: String, subject: String, audience: [String]? = nil, nonce: String? = nil) {
            self.issuer = issuer
            self.subject = subject
            self.audience = audience
            self.nonce = nonce
        }

        /// Takes the values of an earlier token.
        public init(_ token: IDToken) {
            self.init(
                issuer: token.issuer, subject: token.subject, audience: token.audience,
                nonce: token.claims["nonce"]?.string)
        }
    }

    /// The issuer that `iss` must equal; a template is filled with the token's own `tid`.
    public var issuer: String
    /// The client that `aud` must name.
    public var clientID: String
    /// What the authorization request carried; nil where there was none (a refresh, the device grant).
    public var nonce: String?
    /// The access token that came along, for `at_hash`.
    public var accessToken: String?
    /// `max_age` of the request, in seconds: `auth_time` is then required, and recent.
    public var maxAge: Int64?
    /// Seconds that clocks may differ by.
    public var leeway: Int64
    /// `id_token_signing_alg_values_supported`; nil allows every asymmetric algorithm that is known here.
    public var allowedAlgorithms: [String]?
    /// Given only where the client is registered for HMAC signatures (OIDC Core §10.1).
    public var clientSecret: Redacted<String>?
    /// The ID token of the sign-in, on a refresh.
    public var previous: Previous?

    /// Makes rules; what is nil is not checked.
    public init(
        issuer: String, clientID: String, nonce: String? = nil, accessToken: String? = nil,
        maxAge: Int64? = nil, leeway: Int64 = 60, allowedAlgorithms: [String]? = nil,
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
