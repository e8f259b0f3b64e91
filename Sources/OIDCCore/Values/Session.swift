/// The result of a sign-in: tokens, their origin, and the endpoints that may receive them.
public struct Session: Hashable, Sendable {
    /// The key that distinguishes the session from others.
    public var key: SessionKey
    /// The endpoints that issued the tokens and may receive them.
    public var endpoints: Endpoints
    /// The client authentication method of the sign-in, which a refresh uses as well (RFC 6749 §6).
    public var clientAuthentication: String?
    /// The time of the sign-in.
    public var createdAt: OIDCInstant
    /// The requested scope; the granted one is in `tokens`.
    public var requestedScope: OAuthScope?
    /// The resource indicators of the sign-in (RFC 8707).
    public var requestedResources: [String]
    /// Whether refreshes also send `resource` (RFC 8707 §2.2); nil for sessions of version 0.1.0, which sent
    /// it only with the authorization request.
    public var sendsResources: Bool?
    /// The tokens of the latest answer.
    public var tokens: TokenSet
    /// The `sub` of the validated ID token.
    public var subject: String?
    /// The user's name: `email`, `preferred_username` or `name` of the ID token.
    public var displayName: String?
    /// The PEM key that the tokens are bound to (RFC 9449).
    public var dpopKey: Redacted<String>?
    /// Whether the provider binds access tokens to the client certificate, which was presented at the sign-in
    /// (RFC 8705 §3.3). Only opaque tokens depend on it: a JWT names its certificate.
    public var bindsOpaqueTokens = false
    /// Other access tokens from the same refresh token, for a narrower scope or a resource (RFC 8707).
    public var derived: [DerivedToken]
    /// Credentials of other services that were issued for the session's tokens, such as AWS keys. They end with the
    /// session.
    package var kept: [KeptCredential] = []
    /// The `nonce` of the sign-in, which a later ID token must repeat if it has one (OpenID Connect Core
    /// §12.2); nil if none was sent, and for sessions of version 0.1.0.
    public var nonce: String?
    /// A random value that distinguishes the session from other sign-ins if there is no `nonce`.
    package var signInID: String?
    /// A hash of the refresh token for which this session's own was issued; nil before the first refresh. It is too short to
    /// reveal the token.
    package var replacedToken: String?
    /// The reason why the refresh token was refused, or cannot be used; nil while it works, or if there never
    /// was one.
    public var ended: End?
    /// Members of the stored form that this version does not know; they are written back unchanged.
    public var unknownMembers = JSONObject()

    /// Creates a session from its parts.
    public init(
        key: SessionKey, endpoints: Endpoints, clientAuthentication: String? = nil, createdAt: OIDCInstant,
        requestedScope: OAuthScope?, requestedResources: [String] = [], sendsResources: Bool? = nil,
        tokens: TokenSet, subject: String? = nil, displayName: String? = nil,
        dpopKey: Redacted<String>? = nil, derived: [DerivedToken] = []
    ) {
        self.key = key
        self.endpoints = endpoints
        self.clientAuthentication = clientAuthentication
        self.createdAt = createdAt
        self.requestedScope = requestedScope
        self.requestedResources = requestedResources
        self.sendsResources = sendsResources
        self.tokens = tokens
        self.subject = subject
        self.displayName = displayName
        self.dpopKey = dpopKey
        self.derived = derived
    }

    /// The endpoints that may receive the session's tokens. They are stored, so later configuration or
    /// metadata cannot redirect the tokens.
    public struct Endpoints: Hashable, Sendable {
        /// The issuer; nil for plain OAuth 2.0.
        public var issuer: String?
        /// `token_endpoint`.
        public var token: WebURL
        /// The URL that redeems refresh tokens, if it is not the token endpoint, as with TikTok, Notion and
        /// Figma (Nango's catalog, 2026-08).
        public var refresh: WebURL?
        /// `userinfo_endpoint`.
        public var userInfo: WebURL?
        /// `jwks_uri`.
        public var keys: WebURL?
        /// `revocation_endpoint`.
        public var revocation: WebURL?
        /// `introspection_endpoint`.
        public var introspection: WebURL?
        /// `end_session_endpoint`.
        public var endSession: WebURL?

        /// Creates endpoints from their URLs.
        public init(
            issuer: String?, token: WebURL, refresh: WebURL? = nil, userInfo: WebURL? = nil,
            keys: WebURL? = nil, revocation: WebURL? = nil, introspection: WebURL? = nil,
            endSession: WebURL? = nil
        ) {
            self.issuer = issuer
            self.token = token
            self.refresh = refresh
            self.userInfo = userInfo
            self.keys = keys
            self.revocation = revocation
            self.introspection = introspection
            self.endSession = endSession
        }
    }

    /// An access token for a narrower scope or other resources than the session's own token.
    public struct DerivedToken: Hashable, Sendable {
        /// The scope that was requested; nil if none was.
        public var requestedScope: OAuthScope?
        /// The resources that were requested.
        public var resources: [String]
        /// The access token.
        public var access: AccessToken
        /// Members of the stored form that this version does not know.
        var unknownMembers = JSONObject()

        /// Creates an entry from its parts.
        public init(requestedScope: OAuthScope?, resources: [String], access: AccessToken) {
            self.requestedScope = requestedScope
            self.resources = resources
            self.access = access
        }
    }

    /// The scope of the session's own token, as far as it is known.
    public var grantedScope: OAuthScope? { tokens.access.scope ?? requestedScope }

    /// The seconds by which this machine's clock was ahead of the provider's when the ID token was issued; nil if
    /// that is unknown. The ID token came with the sign-in or with one of the access tokens.
    package var clockAhead: Int64? {
        guard let issuedAt = tokens.idToken.flatMap({ IDToken.stored($0.revealed) })?.issuedAt else {
            return nil
        }
        let times = [createdAt, tokens.access.obtainedAt] + derived.map(\.access.obtainedAt)
        return times.map { $0.seconds(since: issuedAt) }.min { abs($0) < abs($1) }
    }

    /// Whether another access token is available without a sign-in.
    package var canRefresh: Bool { tokens.refreshToken != nil || !key.grant.needsUser }

    /// Whether the ID token of a refresh is used: it can be checked, and the session has a user or requested
    /// `openid`.
    package var takesIDToken: Bool {
        endpoints.issuer != nil && endpoints.keys != nil
            && (subject != nil || requestedScope?.contains("openid") == true)
    }

    /// Returns the session without a revoked token, or nil if no token can be obtained any more. Revoking the
    /// refresh token ends every token that was obtained with it (RFC 7009 §2.1).
    public func revoking(_ token: Redacted<String>) -> Session? {
        if token == tokens.refreshToken { return nil }
        if token == tokens.access.token, tokens.refreshToken == nil { return nil }
        var rest = self
        rest.expire(token)
        if token == tokens.access.token { rest.tokens.access.token = Redacted("") }
        return rest
    }

    /// Whether the session has its own access token; one that was revoked is dropped until the next refresh.
    package var hasAccessToken: Bool { !tokens.access.token.revealed.isEmpty }

    /// Drops an access token that is no longer accepted: the session's own one is marked as expired, a
    /// derived one is removed.
    public mutating func expire(_ token: Redacted<String>) {
        derived.removeAll { $0.access.token == token }
        if tokens.access.token == token { tokens.access.expiresAt = tokens.access.obtainedAt }
    }
}

/// The client certificate of a session (RFC 8705).
extension Session {
    /// Returns whether requests with this token need the client certificate (RFC 8705 §3). A provider may bind the
    /// tokens of some clients only, as Keycloak does (26.7, 2026-11), so a JWT is bound by its own `cnf`.
    public func isBoundToCertificate(_ access: AccessToken) -> Bool {
        guard access.type != .dpop else { return false }
        guard let claims = (try? JWS(compact: access.token.revealed))?.claims else {
            return bindsOpaqueTokens
        }
        return claims["cnf"]?["x5t#S256"]?.string != nil
    }

    /// Records the binding of the tokens of a client with a certificate, and the endpoints for such clients
    /// (RFC 8705 §5). UserInfo authenticates no client, so only a bound token is sent to its alias.
    package mutating func useCertificate(of client: Client, at metadata: ProviderMetadata) {
        guard client.presentsCertificate else { return }
        bindsOpaqueTokens = metadata.tlsClientCertificateBoundAccessTokens
        endpoints.revocation = metadata.revocationURL(for: client)
        endpoints.introspection = metadata.url(.introspection, presentingCertificate: true)
        if isBoundToCertificate(tokens.access) {
            endpoints.userInfo = metadata.url(.userInfo, presentingCertificate: true)
        }
    }
}

extension Session {
    /// The refusal that ended a session, so every later command can say why.
    public struct End: Hashable, Sendable {
        /// The provider's error code; nil if it did not refuse anything, but its new refresh token cannot be used.
        public var error: String?
        /// The provider's description, or else ours.
        public var description: String?
        /// The time of the refusal.
        public var at: OIDCInstant

        /// Creates the end from its parts.
        public init(error: String? = nil, description: String? = nil, at: OIDCInstant) {
            self.error = error
            self.description = description
            self.at = at
        }

        /// The reason in a few words: the provider's, or else its code.
        package var reason: String { description ?? error ?? "" }

        var json: JSONValue {
            [
                "error": JSONValue(error), "description": JSONValue(description),
                "at": JSONValue(at.secondsSinceEpoch),
            ]
        }

        init?(json: JSONValue) {
            guard let at = json["at"]?.integer else { return nil }
            self.init(
                error: json["error"]?.string, description: json["description"]?.string,
                at: Instant(secondsSinceEpoch: at))
        }
    }

    /// The error of a session that has ended, in the words of the refusal that ended it.
    package var endedError: OIDCError? {
        guard let ended else { return nil }
        let message =
            ended.error.map {
                OIDCError.ended(OAuthErrorResponse(code: $0, description: ended.description).text)
            } ?? "token: the session cannot be refreshed: \(DisplayText.clean(ended.reason))"
        var error = OIDCError(
            .loginRequired, message, hint: .signIn, stage: .token, oauthError: ended.error,
            code: .sessionEnded)
        error.oauthDescription = ended.description
        return error
    }

    /// Returns the session as it is once it cannot be refreshed any more.
    package func ended(_ end: End) -> Session {
        var session = self
        session.tokens.refreshToken = nil
        session.kept = []
        session.ended = end
        return session
    }

    /// Returns the session as it is after its refresh token was refused. A refresh token that may work again
    /// is kept.
    package func refused(by error: OIDCError, at now: Instant) -> Session {
        let end = End(error: error.oauthError, description: error.oauthDescription, at: now)
        guard !error.endsSession else { return ended(end) }
        var session = self
        session.ended = end
        return session
    }

    /// Returns the session without an access token that a server has refused.
    package func without(_ refused: AccessToken) -> Session {
        var session = self
        session.expire(refused.token)
        if tokens.access.token == refused.token { session.tokens.access.token = Redacted("") }
        return session
    }

    /// Returns whether this session is of the same sign-in as the other one, even if its tokens were
    /// refreshed.
    package func isSameSignIn(as other: Session) -> Bool {
        key == other.key && createdAt == other.createdAt && nonce == other.nonce && signInID == other.signInID
    }

    /// Returns the session to store in place of this one, which another process wrote during the refresh of `presented`
    /// to `next`; nil if this one stays.
    ///
    /// This one is outdated if it still has the presented refresh token, or if that was refused, and `next` has another
    /// one, which exists nowhere else.
    package func successor(_ next: Session, of presented: Session) -> Session? {
        let (token, spent) = (tokens.refreshToken, presented.tokens.refreshToken)
        let isSpent = token != nil && token == spent
        let isRefused = ended != nil && (token ?? spent) == spent && replacedToken == presented.replacedToken
        guard isSameSignIn(as: presented), spent != next.tokens.refreshToken, isSpent || isRefused else {
            return nil
        }
        return next.keeping(changesIn: self, since: presented)
    }

    /// Returns the session with the other one's tokens and keys wherever this one still has those of `base`.
    package func keeping(changesIn other: Session, since base: Session) -> Session {
        var session = self
        if tokens.access == base.tokens.access { session.tokens.access = other.tokens.access }
        if derived == base.derived {
            session.derived = other.derived
        } else {
            // One that was revoked meanwhile must not come back.
            session.derived.removeAll { base.derived.contains($0) && !other.derived.contains($0) }
        }
        if kept == base.kept { session.kept = other.kept }
        return session
    }
}
