import OIDCCrypto

/// A sign-in by a user, whichever way they come back: how it begins, and what its tokens must show before
/// they become a session.
package struct Login: Sendable {
    package let environment: LoginEnvironment
    package let metadata: ProviderMetadata
    package let tokenEndpoint: TokenEndpoint
    /// What is asked for; its redirect address is known once the listener is bound.
    package var request: AuthorizationRequest
    package let key: SessionKey
    package var pushing: Pushing
    /// Seconds that clocks may differ by.
    package var leeway: Int64
    /// The issuer of the tenant that the session belongs to; see `pin(to:)`.
    package var pinnedIssuer: String?
    /// The `iss` of the authorization response.
    var answeringIssuer: String?

    /// When the request goes to the provider beforehand (RFC 9126).
    package enum Pushing: String, Sendable {
        case auto
        case require
        case off
    }

    /// What a sign-in ends with.
    package struct Outcome: Sendable {
        package var session: Session
        /// The claims of the validated ID token; nil for plain OAuth 2.0.
        package var idToken: IDToken?
        package var warnings: [Warning]
    }

    package init(
        environment: LoginEnvironment, metadata: ProviderMetadata, tokenEndpoint: TokenEndpoint,
        request: AuthorizationRequest, key: SessionKey, pushing: Pushing = .auto, leeway: Int64 = 60
    ) {
        self.environment = environment
        self.metadata = metadata
        self.tokenEndpoint = tokenEndpoint
        self.request = request
        self.key = key
        self.pushing = pushing
        self.leeway = leeway
    }

    /// Draws state, nonce and verifier, pushes the request where that is wanted, and gives the address to open.
    package func begin(redirectURI: String) throws(OIDCError) -> (pending: PendingAuthorization, url: WebURL)
    {
        try tokenEndpoint.check(resources: request.resources)
        var request = request
        request.redirectURI = redirectURI
        let pending = try request.begin(metadata, random: environment.random, isPushed: isPushed)
        guard isPushed else { return (pending, pending.url) }
        let client = tokenEndpoint.client
        let endpoint = try metadata.require(
            .pushedAuthorizationRequest, presentingCertificate: client.presentsCertificate)
        let pushed = try environment.transport.perform(
            try PushedAuthorization.call(
                pending, at: endpoint, client: client, now: environment.now(), random: environment.random))
        return (pending, pushed.url)
    }

    /// RFC 9126 §5: where the metadata requires it, a plain request would be refused.
    private var isPushed: Bool {
        switch pushing {
        case .auto: metadata.requirePushedAuthorizationRequests
        case .require: true
        case .off: false
        }
    }

    /// Redeems the code, once, and holds the answer against the rules.
    package func finish(_ code: AuthorizationCode) throws(OIDCError) -> Outcome {
        let issued = try tokenEndpoint.issue(
            .authorizationCode(code), over: environment.transport, now: environment.now(),
            random: environment.random)
        var login = self
        login.answeringIssuer = code.issuer
        return try login.outcome(
            issued, nonce: code.pending.nonce?.revealed, maxAge: code.pending.maxAge)
    }

    /// Tokens that are refused after they came are revoked, as far as the provider allows: nobody will use them.
    func outcome(
        _ issued: TokenEndpoint.Issued, nonce: String?, maxAge: Int64?
    ) throws(OIDCError) -> Outcome {
        do throws(OIDCError) {
            return try outcome(issued.tokens.get(), nonce: nonce, maxAge: maxAge)
        } catch {
            let access = try? issued.tokens.get().access.token
            for (token, hint) in [(issued.refreshToken, TokenTypeHint.refreshToken), (access, .accessToken)] {
                guard let token, revoke(token, hint) else { continue }
                break
            }
            throw error
        }
    }

    /// Whether the provider has revoked the token.
    private func revoke(_ token: Redacted<String>, _ hint: TokenTypeHint) -> Bool {
        guard let endpoint = metadata.revocationEndpoint else { return false }
        do throws(OIDCError) {
            try environment.transport.perform(
                Revocation.call(
                    token, hint: hint, at: endpoint, client: tokenEndpoint.client, now: environment.now(),
                    random: environment.random))
            return true
        } catch {
            return false
        }
    }

    /// Makes a session of tokens that answer a sign-in. The ID token is required where `openid` was asked for
    /// at a known issuer, and checked before anything is kept (OpenID Connect Core §3.1.3.7).
    func outcome(_ tokens: TokenSet, nonce: String?, maxAge: Int64?) throws(OIDCError) -> Outcome {
        var tokens = tokens
        var warnings: [Warning] = []
        let idToken = try checkedIDToken(tokens, nonce: nonce, maxAge: maxAge, warnings: &warnings)
        if idToken == nil { tokens.idToken = nil }
        let now = environment.now()
        var endpoints = endpoints
        endpoints.issuer = try issuer(of: idToken)
        var session = Session(
            key: key, endpoints: endpoints, clientAuthentication: tokenEndpoint.client.authentication.method,
            createdAt: now, requestedScope: request.scope, requestedResources: request.resources,
            tokens: tokens, subject: idToken?.subject, displayName: idToken?.displayName,
            dpopKey: tokenEndpoint.dpop?.pem)
        if let granted = tokens.access.scope, !request.scope.isSubset(of: granted) {
            let missing = request.scope.tokens.filter { !granted.contains($0) && $0 != "offline_access" }
            if !missing.isEmpty {
                warnings.append(
                    "the provider did not grant: \(DisplayText.clean(missing.joined(separator: " ")))")
            }
        }
        if idToken != nil, session.displayName == nil { session.displayName = nameFromUserInfo(session) }
        if idToken != nil, !request.sendsNonce {
            warnings.append("no nonce was sent: PKCE alone ties the ID token to this sign-in")
        }
        return Outcome(session: session, idToken: idToken, warnings: warnings)
    }

    private func checkedIDToken(
        _ tokens: TokenSet, nonce: String?, maxAge: Int64?, warnings: inout [Warning]
    ) throws(OIDCError) -> IDToken? {
        let isExpected = request.scope.contains("openid")
        guard let issuer = metadata.issuer, let keys = metadata.jwksURI else {
            if isExpected || tokens.idToken != nil {
                let missing = metadata.issuer == nil ? "issuer" : "jwks_uri"
                warnings.append(
                    "without \(missing) an ID token cannot be checked: it is neither stored nor believed")
            }
            return nil
        }
        guard let compact = tokens.idToken?.revealed else {
            guard isExpected else { return nil }
            throw OIDCError.protocolViolation(
                .token, "id_token", expected: "an ID token, as openid was asked for", found: "none",
                hint: "leave openid out of the scope for plain OAuth 2.0")
        }
        let rules = IDTokenRules(
            issuer: issuer, clientID: tokenEndpoint.client.id, nonce: nonce,
            accessToken: tokens.access.token.revealed, maxAge: maxAge, leeway: leeway,
            allowedAlgorithms: metadata.idTokenSigningAlgValuesSupported,
            clientSecret: metadata.sharedSecret(of: tokenEndpoint.client))
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: metadata.allowsInsecureHTTP)
        return try IDToken.validate(compact, rules, keys: documents.keys(keys), now: environment.now())
    }

    private var endpoints: Session.Endpoints {
        Session.Endpoints(
            issuer: metadata.issuer, token: tokenEndpoint.url, userInfo: metadata.userInfoEndpoint,
            keys: metadata.jwksURI, revocation: metadata.revocationEndpoint,
            introspection: metadata.introspectionEndpoint, endSession: metadata.endSessionEndpoint)
    }
}

extension ProviderMetadata {
    /// The client's secret if ID tokens are signed with it (OIDC Core §10.1): only if every algorithm listed is
    /// HMAC. A provider may list HMAC for some of its clients, as Keycloak does.
    func sharedSecret(of client: Client) -> Redacted<String>? {
        signsWithSharedSecret ? client.authentication.secret : nil
    }

    /// Whether ID tokens are signed with the client's secret, and with nothing else.
    package var signsWithSharedSecret: Bool {
        idTokenSigningAlgValuesSupported.map(SignatureAlgorithm.areSymmetric) ?? false
    }
}

extension ClientAuthentication {
    var secret: Redacted<String>? {
        switch self {
        case .clientSecretBasic(let secret), .clientSecretPost(let secret), .clientSecretJWT(let secret, _):
            secret
        case .none, .privateKeyJWT, .assertion, .tlsClientAuth: nil
        }
    }
}
