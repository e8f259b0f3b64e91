import OIDCCrypto

/// A sign-in by a user, in a browser or on another device: its requests, and the checks of its tokens before
/// they become a session.
public struct SignInFlow: Sendable {
    /// The HTTP client, the clock and the random numbers.
    public let context: OIDCContext
    /// The provider.
    public let metadata: ProviderMetadata
    /// The endpoint that issues the tokens, with the client and the key to bind them to.
    public var tokenEndpoint: TokenEndpoint
    /// The request; its redirect URI is known once the listener is bound.
    public var request: AuthorizationRequest
    /// The key of the session.
    public let key: SessionKey
    /// Whether the request is pushed to the provider first.
    public var pushing: Pushing
    /// The accepted difference between clocks.
    public var leeway: Duration
    /// The issuer of the tenant that the session belongs to; see `pin(to:)`.
    package var pinnedIssuer: String?
    /// Whether an ID token is required if `openid` was requested.
    public var requiresIDToken = true
    /// Whether UserInfo is requested for a name that the ID token lacks. This costs one more request, so it
    /// is set only if the name will be shown to the user.
    public var asksForName = false
    /// A function that returns whether the tokens of a refused answer must stay valid, because a session of
    /// the same issuer and client is stored. At Keycloak it shares the provider's session with them, at
    /// oidc-provider the grant, and older Auth0 tenants revoke all refresh tokens of the user, so revoking
    /// them would end it.
    package var keepsRefusedTokens: @Sendable () -> Bool = { false }
    /// A function that returns why the user must not enter a code at a page; nil if they may.
    package var pageFault: @Sendable (WebURL) -> OIDCError? = { _ in nil }
    /// The `iss` of the authorization response.
    var answeringIssuer: String?

    /// The choice of pushing the request to the provider first (RFC 9126).
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Pushing: String, Sendable {
        case auto
        case require
        case off
    }

    /// The result of a sign-in.
    public struct Outcome: Sendable {
        /// The session, to be saved.
        public var session: Session
        /// The claims of the validated ID token; nil for plain OAuth 2.0.
        public var idToken: IDToken?
        /// Warnings for the user about what was not granted as requested.
        public var warnings: [OIDCWarning]
    }

    /// Creates a sign-in. `request.redirectURI` is replaced when it begins.
    public init(
        context: OIDCContext, metadata: ProviderMetadata, tokenEndpoint: TokenEndpoint,
        request: AuthorizationRequest, key: SessionKey, pushing: Pushing = .auto,
        leeway: Duration = .seconds(60)
    ) {
        self.context = context
        self.metadata = metadata
        var tokenEndpoint = tokenEndpoint
        tokenEndpoint.offer = { metadata }
        self.tokenEndpoint = tokenEndpoint
        self.request = request
        self.key = key
        self.pushing = pushing
        self.leeway = leeway
    }

    /// Generates state, nonce and verifier, pushes the request if required, and returns the URL to open.
    public func begin(redirectURI: String) throws(OIDCError) -> (pending: PendingAuthorization, url: WebURL) {
        let (pending, pushed) = try start(redirectURI: redirectURI)
        return (pending, pushed?.url ?? pending.url)
    }

    /// Generates state, nonce and verifier, and pushes the request if required, or if `isPushed` is true.
    package func start(
        redirectURI: String, isPushed: Bool = false
    ) throws(OIDCError) -> (pending: PendingAuthorization, pushed: PushedAuthorization?) {
        let isPushed = isPushed || self.isPushed
        try tokenEndpoint.check(resources: request.resources)
        var request = request
        request.redirectURI = redirectURI
        if !tokenEndpoint.sendsResources { request.resources = [] }
        var pending = try request.begin(metadata, random: context.random, isPushed: isPushed)
        if let signing = request.signing {
            let keys = metadata.jwksURI.map(documents.keys)
            pending = try pending.signed(
                by: signing, at: metadata, keys: keys, now: context.now(), random: context.random,
                isPushed: isPushed)
        }
        try addResponseRules(to: &pending)
        return (pending, isPushed ? try push(pending) : nil)
    }

    /// Pushes a request; also again, when the last reference to it has expired.
    package func push(_ pending: PendingAuthorization) throws(OIDCError) -> PushedAuthorization {
        let client = tokenEndpoint.client
        let endpoint = try metadata.require(
            .pushedAuthorizationRequest, presentingCertificate: client.presentsCertificate)
        return try PushedAuthorization.push(
            pending, to: endpoint, client: client, dpop: tokenEndpoint.dpop, in: context)
    }

    /// Whether to push the request. If the metadata requires it, the provider would refuse a plain one (RFC
    /// 9126 §5).
    var isPushed: Bool {
        switch pushing {
        case .auto: metadata.requirePushedAuthorizationRequests
        case .require: true
        case .off: false
        }
    }

    /// Redeems the code, once, and checks the answer.
    public func finish(_ code: AuthorizationCode) throws(OIDCError) -> Outcome {
        let issued = try tokenEndpoint.issue(
            .authorizationCode(code, resources: request.resources), in: context)
        var login = self
        login.answeringIssuer = code.issuer
        return try accepted(issued) { (tokens) throws(OIDCError) in
            var tokens = tokens
            tokens.extra = ExtraMembers.merged(code.extra, tokens.extra)
            var outcome = try login.outcome(
                tokens, nonce: code.pending.nonce?.revealed, maxAge: code.pending.maxAge)
            if outcome.idToken != nil, code.pending.nonce == nil {
                outcome.warnings.append("no nonce was sent: PKCE alone ties the ID token to this sign-in")
            }
            return outcome
        }
    }

    /// Runs `check` on the tokens. If it refuses them, or they cannot be read, they are revoked, unless a
    /// stored session would end with them.
    func accepted(
        _ issued: TokenEndpoint.Issued, _ check: (TokenSet) throws(OIDCError) -> Outcome
    ) throws(OIDCError) -> Outcome {
        do throws(OIDCError) { return try check(issued.tokens.get()) } catch {
            discard(issued)
            throw error
        }
    }

    /// Revokes tokens that nobody will use, unless a stored session would end with them.
    package func discard(_ issued: TokenEndpoint.Issued) {
        guard !keepsRefusedTokens() else { return }
        let client = tokenEndpoint.client
        issued.revoke(at: metadata.revocationURL(for: client), client: client, context)
    }

    /// Stores the session of a sign-in with `keep`. If that fails, its tokens are revoked, unless a stored
    /// session would end with them. A store that does not answer may have stored this one, and is not asked again.
    package func store(
        _ outcome: Outcome, with keep: (Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) {
        do throws(OIDCError) { try keep(outcome) } catch {
            guard error.kind != .interrupted else { throw error }
            var error = error
            guard error.code != .noStoreAnswer else {
                error.message +=
                    "; if the session was not stored, its tokens are lost, and stay valid at the provider"
                throw error
            }
            let client = tokenEndpoint.client
            if let endpoint = metadata.revocationURL(for: client), !keepsRefusedTokens() {
                let tokens = outcome.session.tokens
                TokenEndpoint.Issued(
                    refreshToken: tokens.refreshToken, accessToken: tokens.access.token,
                    tokens: .success(tokens)
                ).revoke(at: endpoint, client: client, context)
                throw error
            }
            error.message += "; the tokens of this sign-in are lost, and stay valid at the provider"
            throw error
        }
    }

    /// Makes a session of the tokens of a sign-in. The ID token is required if `openid` was requested from a
    /// known issuer, and checked before anything is kept (OpenID Connect Core §3.1.3.7).
    func outcome(
        _ tokens: TokenSet, nonce: String?, maxAge: Duration?, requiresIDToken: Bool = true
    ) throws(OIDCError) -> Outcome {
        var tokens = tokens
        var warnings: [Warning] = []
        if let flaw = tokens.refreshTokenFlaw, key.grant.needsUser {
            warnings.append("the refresh token cannot be used: \(flaw.message)")
        }
        tokens.refreshTokenFlaw = nil
        let idToken =
            requiresIDToken
            ? try checkedIDToken(tokens, nonce: nonce, maxAge: maxAge, warnings: &warnings) : nil
        tokens.idToken = idToken.map { Redacted($0.compact) }
        let now = context.now()
        var endpoints = endpoints
        endpoints.issuer = try issuer(of: idToken)
        var session = Session(
            key: key, endpoints: endpoints, clientAuthentication: tokenEndpoint.client.authentication.method,
            createdAt: now, requestedScope: request.scope, requestedResources: request.resources,
            sendsResources: request.resources.isEmpty ? nil : tokenEndpoint.sendsResources, tokens: tokens,
            subject: idToken?.subject, displayName: idToken?.displayName,
            dpopKey: tokenEndpoint.dpop?.pem)
        session.nonce = idToken == nil ? nil : nonce
        if session.nonce == nil { session.signInID = Base64URL.encode(context.random(12)) }
        session.useCertificate(of: tokenEndpoint.client, at: metadata)
        warnings += try shortfalls(tokens, idToken)
        if asksForName, idToken != nil, session.displayName == nil {
            session.displayName = nameFromUserInfo(session)
        }
        return Outcome(session: session, idToken: idToken, warnings: warnings)
    }

    /// Returns warnings about what was requested but not granted. An access token for another resource than a
    /// configured one is refused; at a resource's URL, the server may use an abstract identifier (RFC 8707
    /// §2).
    private func shortfalls(_ tokens: TokenSet, _ idToken: IDToken?) throws(OIDCError) -> [Warning] {
        var warnings: [Warning] = []
        if let granted = tokens.access.scope, !request.scope.isSubset(of: granted) {
            // An ID token is what openid asks for, and a scope may be granted without being listed: Keycloak
            // leaves out those without "Include in token scope" (26.7, 2026-11).
            let missing = granted.missing(from: request.scope).filter {
                $0 != "offline_access" && ($0 != "openid" || idToken == nil)
            }
            if !missing.isEmpty {
                warnings.append(
                    "the answer does not list the scope: \(DisplayText.clean(missing.joined(separator: " ")))"
                )
            }
        }
        if let asked = request.acrValues, let idToken {
            let found = idToken.claims["acr"]?.string
            if !asked.split(separator: " ").contains(where: { ExactText.isSame(String($0), found ?? "") }) {
                warnings.append(
                    "acr: asked for \(DisplayText.clean(asked)), got \(DisplayText.clean(found ?? "none"))")
            }
        }
        guard let audience = tokens.access.audience else { return warnings }
        let found = DisplayText.clean(audience.joined(separator: " "))
        if tokenEndpoint.sendsResources, !request.resources.allSatisfy(audience.contains) {
            guard request.rejectsErrorsWithoutIssuer else {
                throw .protocolViolation(
                    .token, "aud", expected: request.resources.joined(separator: " "), found: found,
                    hint: SignInFlow.audienceHint)
            }
            warnings.append(
                "the access token's aud is \(found), not \(DisplayText.clean(request.resources.joined(separator: " ")))"
            )
        }
        if let asked = request.audience, !audience.contains(asked) {
            warnings.append(
                Warning(
                    "the access token's aud is \(found), not the audience \(DisplayText.clean(asked))",
                    hint: SignInFlow.audienceHint))
        }
        return warnings
    }

    private static let audienceHint: Hint =
        "ask the provider's operator how to request this audience; at Keycloak, request a client scope with an audience mapper"

    private func checkedIDToken(
        _ tokens: TokenSet, nonce: String?, maxAge: Duration?, warnings: inout [Warning]
    ) throws(OIDCError) -> IDToken? {
        let isExpected = request.scope.contains("openid")
        guard let issuer = metadata.issuer, let keys = metadata.jwksURI else {
            if isExpected && self.requiresIDToken || tokens.idToken != nil {
                let missing = metadata.issuer == nil ? "issuer" : "jwks_uri"
                warnings.append(
                    "without \(missing) an ID token cannot be checked: it is not used")
            }
            return nil
        }
        guard let compact = tokens.idToken?.revealed else {
            guard isExpected, self.requiresIDToken else { return nil }
            throw OIDCError.protocolViolation(
                .token, "id_token", expected: "an ID token, as openid was requested", found: "none",
                hint: "leave openid out of the scope for plain OAuth 2.0")
        }
        var rules = IDTokenRules(
            issuer: issuer, clientID: tokenEndpoint.client.id, nonce: nonce,
            accessToken: tokens.access.token.revealed, maxAge: maxAge, leeway: leeway,
            allowedAlgorithms: metadata.idTokenSigningAlgValuesSupported,
            clientSecret: metadata.sharedSecret(of: tokenEndpoint.client))
        rules.decryption = tokenEndpoint.client.decryption
        return try IDToken.validate(compact, rules, keys: documents.keys(keys), now: context.now())
    }

    /// The provider's published documents.
    var documents: ProviderDocuments {
        ProviderDocuments(context: context, allowsInsecureHTTP: metadata.allowsInsecureHTTP)
    }

    private var endpoints: Session.Endpoints {
        Session.Endpoints(
            issuer: metadata.issuer, token: tokenEndpoint.url, refresh: metadata[.refresh],
            userInfo: metadata.userInfoEndpoint, keys: metadata.jwksURI,
            revocation: metadata.revocationURL(for: tokenEndpoint.client),
            introspection: metadata.introspectionEndpoint, endSession: metadata.endSessionEndpoint)
    }
}

extension ProviderMetadata {
    /// Returns the client's secret if ID tokens are signed with it (OIDC Core §10.1), which is so only if
    /// every listed algorithm is HMAC. A provider may list HMAC for some of its clients, as Keycloak does.
    func sharedSecret(of client: Client) -> Redacted<String>? {
        signsWithSharedSecret ? client.authentication.secret : nil
    }

    /// Whether ID tokens are signed with the client's secret, and with nothing else.
    package var signsWithSharedSecret: Bool {
        idTokenSigningAlgValuesSupported.map(SignatureAlgorithm.areSymmetric) ?? false
    }
}
