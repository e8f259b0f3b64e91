import OIDCCrypto

/// Makes a session's tokens anew by its refresh token (RFC 6749 §6), and says what becomes of the session.
public struct Renewal: Sendable {
    public let environment: LoginEnvironment
    /// Of the session's own token endpoint.
    public let tokenEndpoint: TokenEndpoint
    public var leeway: Int64
    /// From the metadata where it is at hand; nil allows every asymmetric algorithm.
    public var allowedAlgorithms: [String]?

    public init(
        environment: LoginEnvironment, tokenEndpoint: TokenEndpoint, leeway: Int64 = 60,
        allowedAlgorithms: [String]? = nil
    ) {
        self.environment = environment
        self.tokenEndpoint = tokenEndpoint
        self.leeway = leeway
        self.allowedAlgorithms = allowedAlgorithms
    }

    /// The session with its new tokens, to be saved whatever `access` is: the refresh token may have been
    /// rotated. `access` is the token that was asked for, or why it cannot be handed out.
    public struct Outcome: Sendable {
        public var session: Session
        public var access: Result<AccessToken, OIDCError>
        public var warnings: [String]

        public init(session: Session, access: Result<AccessToken, OIDCError>, warnings: [String] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    public func renew(_ session: Session, for source: TokenSource) throws(OIDCError) -> Outcome {
        guard let refreshToken = session.tokens.refreshToken else {
            throw OIDCError(
                .loginRequired, "the access token has expired and there is no refresh token",
                hint: "oidc login",
                stage: .token)
        }
        var (scope, resources): (Scope?, [String]) = (nil, [])
        if case .derived(let narrower, let indicators) = source {
            (scope, resources) = (narrower, indicators)
        }
        let answer = try tokenEndpoint.send(
            .refresh(refreshToken, scope: scope, resources: resources), over: environment.transport,
            now: environment.now(), random: environment.random)
        var warnings: [String] = []
        var access: Result<AccessToken, OIDCError> = .success(answer.access)
        var renewed = session
        renewed.tokens.refreshToken = answer.refreshToken ?? refreshToken
        try adoptIDToken(of: answer, into: &renewed, warnings: &warnings)
        switch source {
        case .own, .wider:
            renewed.tokens.access = answer.access
            if renewed.tokens.access.scope == nil {
                renewed.tokens.access.scope = session.tokens.access.scope
            }
        case .derived:
            access = Result { () throws(OIDCError) in
                try keepDerived(
                    answer.access, scope: scope, resources: resources, in: &renewed, warnings: &warnings)
            }
        }
        return Outcome(session: renewed, access: access, warnings: warnings)
    }

    /// A new ID token must be of the same issuer, person and audience (OpenID Connect Core §12.2), or the whole
    /// answer is refused. Keys that are out of reach are no reason to lose a refresh token that was rotated.
    private func adoptIDToken(
        of answer: TokenSet, into session: inout Session, warnings: inout [String]
    ) throws(OIDCError) {
        guard let compact = answer.idToken?.revealed, let issuer = session.endpoints.issuer,
            let keys = session.endpoints.keys, let subject = session.subject
        else { return }
        let previous =
            session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }.map(IDTokenRules.Previous.init)
            ?? IDTokenRules.Previous(issuer: issuer, subject: subject)
        let rules = IDTokenRules(
            issuer: issuer, clientID: tokenEndpoint.client.id, accessToken: answer.access.token.revealed,
            leeway: leeway, allowedAlgorithms: allowedAlgorithms,
            clientSecret: sharedSecret(session.tokens.idToken), previous: previous)
        let published = ProviderDocuments(environment: environment).keys(keys)
        do throws(OIDCError) {
            let idToken = try IDToken.validate(compact, rules, keys: published, now: environment.now())
            session.tokens.idToken = Redacted(compact)
            session.displayName = idToken.displayName ?? session.displayName
        } catch {
            guard error.kind == .unreachable else { throw error }
            warnings.append("the new ID token could not be checked and is not used: \(error.message)")
        }
    }

    /// The client's secret if the algorithms that are allowed are HMAC; if none are named, if the ID token of the
    /// sign-in was signed with it (OIDC Core §10.1).
    private func sharedSecret(_ idToken: Redacted<String>?) -> Redacted<String>? {
        if let allowedAlgorithms {
            return SignatureAlgorithm.areSymmetric(allowedAlgorithms)
                ? tokenEndpoint.client.authentication.secret : nil
        }
        guard let idToken, let token = try? JWS(compact: idToken.revealed),
            token.algorithm?.isSymmetric == true
        else { return nil }
        return tokenEndpoint.client.authentication.secret
    }

    /// An answer for another audience is refused; one of another scope is handed out, but never kept under
    /// what was asked.
    private func keepDerived(
        _ access: AccessToken, scope: Scope?, resources: [String], in session: inout Session,
        warnings: inout [String]
    ) throws(OIDCError) -> AccessToken {
        if let audience = access.audience, !resources.isEmpty, !resources.allSatisfy(audience.contains) {
            throw OIDCError.protocolViolation(
                .token, "aud", expected: resources.joined(separator: " "),
                found: audience.joined(separator: " "),
                hint: "ask the provider's operator whether it supports resource indicators (RFC 8707)")
        }
        if let scope, let granted = access.scope, granted != scope {
            warnings.append(
                "the provider gave the scope \(DisplayText.quoted(granted.text)) instead of "
                    + "\(DisplayText.quoted(scope.text)): this token is not kept")
            return access
        }
        session.keep(access, scope: scope, resources: resources)
        return access
    }
}

extension AccessToken {
    /// The `aud` of an access token that is a readable JWT (RFC 9068 §2.2); nil when it is opaque.
    var audience: [String]? {
        guard let claims = (try? JWS(compact: token.revealed))?.claims, let audience = claims["aud"] else {
            return nil
        }
        return audience.string.map { [$0] } ?? audience.array?.compactMap(\.string)
    }
}
