import OIDCCrypto

/// Replaces a session's tokens by its refresh token (RFC 6749 §6), in two steps: the request, whose answer holds
/// the successor of the refresh token, and the checks of everything else. The successor is stored between the
/// two, so no fault of a clock, a key set or a claim can cost the session.
package struct TokenRefresh: Sendable {
    package let environment: ProviderEnvironment
    /// The session's own token endpoint.
    package let tokenEndpoint: TokenEndpoint
    package var leeway: Int64
    /// The algorithms of the metadata, if it is known; nil allows every asymmetric algorithm.
    package var allowedAlgorithms: [String]?

    package init(
        environment: ProviderEnvironment, tokenEndpoint: TokenEndpoint, leeway: Int64 = 60,
        allowedAlgorithms: [String]? = nil
    ) {
        self.environment = environment
        self.tokenEndpoint = tokenEndpoint
        self.leeway = leeway
        self.allowedAlgorithms = allowedAlgorithms
    }

    /// What the token endpoint answered, before anything but the refresh token was looked at.
    package struct Answer: Sendable {
        /// The session as it was, with the refresh token to use from now on. Save it first.
        package let successor: Session
        let source: TokenSource
        let tokens: Result<TokenSet, OIDCError>
    }

    /// The session with its new tokens, to be saved whatever `access` is. `access` is the requested
    /// token, or the reason why there is none.
    package struct Outcome: Sendable {
        package var session: Session
        package var access: Result<AccessToken, OIDCError>
        package var warnings: [Warning]
        /// Why a new ID token was left out; nil if there was none, or it is in the session.
        package var idTokenFailure: OIDCError?

        package init(session: Session, access: Result<AccessToken, OIDCError>, warnings: [Warning] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    /// Presents the refresh token, once.
    package func request(_ session: Session, for source: TokenSource) throws(OIDCError) -> Answer {
        guard let refreshToken = session.tokens.refreshToken else { throw TokenRefresh.impossible }
        let issued = try tokenEndpoint.issue(
            .refresh(
                refreshToken, scope: source.request.scope, resources: try resources(session, source)),
            over: environment.transport,
            now: environment.now(), random: environment.random)
        // Without a successor the session stays as it was, and the error is the request's.
        if issued.refreshToken == nil { _ = try issued.tokens.get() }
        var successor = session
        successor.tokens.refreshToken = issued.refreshToken ?? refreshToken
        return Answer(successor: successor, source: source, tokens: issued.tokens)
    }

    /// Returns the resources to name (RFC 8707 §2.2): those of the token that is wanted, else those of the sign-in.
    private func resources(_ session: Session, _ source: TokenSource) throws(OIDCError) -> [String] {
        let others = source.request.resources
        guard !others.isEmpty else { return session.sendsResources == true ? session.requestedResources : [] }
        guard tokenEndpoint.sendsResources, session.sendsResources != false else {
            throw .usage(
                "resource is not sent to this provider, so another resource needs its own sign-in",
                hint: .set(.resourceParameter, to: "on"))
        }
        return others
    }

    /// The error of a session without a refresh token.
    package static let impossible = OIDCError(
        .loginRequired, "the session has no refresh token", hint: .signIn,
        stage: .token)

    /// Checks the answer. An error means that nothing of it but the refresh token may be used.
    package func check(_ answer: Answer) throws(OIDCError) -> Outcome {
        let tokens = try answer.tokens.get()
        var refreshed = answer.successor
        var warnings: [Warning] = []
        refreshed.derived.removeAll { $0.access.expiresAt.map { $0 <= environment.now() } ?? false }
        let idTokenFailure = try adoptIDToken(of: tokens, into: &refreshed)
        if let idTokenFailure {
            warnings.append(
                "the new ID token could not be checked and is not used: \(idTokenFailure.message)")
        }
        let access: Result<AccessToken, OIDCError>
        switch answer.source {
        case .own, .wider:
            refreshed.tokens.access = tokens.access
            refreshed.tokens.extra = ExtraMembers.merged(refreshed.tokens.extra, tokens.extra)
            let before = answer.successor.tokens.access.scope
            refreshed.tokens.access.scope =
                before.map { tokens.access.scope?.separated(as: $0) ?? $0 } ?? tokens.access.scope
            access = .success(refreshed.tokens.access)
        case .derived:
            access = Result { () throws(OIDCError) in
                try keepDerived(tokens.access, answer.source, in: &refreshed, warnings: &warnings)
            }
        }
        var outcome = Outcome(session: refreshed, access: access, warnings: warnings)
        outcome.idTokenFailure = idTokenFailure
        return outcome
    }

    /// Both steps, for a caller that has nowhere to store the successor.
    package func refresh(_ session: Session, for source: TokenSource) throws(OIDCError) -> Outcome {
        try check(request(session, for: source))
    }

    /// Checks that a new ID token has the same issuer, subject and audience (OpenID Connect Core §12.2). If its
    /// keys are out of reach, the session keeps the ID token that it has, and the reason is returned.
    private func adoptIDToken(
        of tokens: TokenSet, into session: inout Session
    ) throws(OIDCError) -> OIDCError? {
        guard let compact = tokens.idToken?.revealed, let issuer = session.endpoints.issuer,
            let keys = session.endpoints.keys
        else { return nil }
        // A sign-in by a device code may have come without an ID token: the first one says who it was.
        let previous =
            session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }.map(IDTokenRules.Previous.init)
            ?? session.subject.map { IDTokenRules.Previous(issuer: issuer, subject: $0) }
        let rules = IDTokenRules(
            issuer: issuer, clientID: tokenEndpoint.client.id, accessToken: tokens.access.token.revealed,
            leeway: leeway, allowedAlgorithms: allowedAlgorithms,
            clientSecret: sharedSecret(session.tokens.idToken), previous: previous)
        let published = ProviderDocuments(environment: environment).keys(keys)
        do throws(OIDCError) {
            let idToken = try IDToken.validate(compact, rules, keys: published, now: environment.now())
            session.tokens.idToken = Redacted(compact)
            session.endpoints.issuer = idToken.issuer
            session.subject = idToken.subject
            session.displayName = idToken.displayName ?? session.displayName
            return nil
        } catch {
            guard error.kind == .unreachable else { throw error }
            return error
        }
    }

    /// Returns the client's secret if the allowed algorithms are HMAC or, if none are named, if the ID token of the
    /// sign-in was signed with it (OpenID Connect Core §10.1).
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

    /// Refuses a token for another audience. A token of another scope is handed out, but never kept under the
    /// scope that was requested.
    private func keepDerived(
        _ access: AccessToken, _ source: TokenSource, in session: inout Session, warnings: inout [Warning]
    ) throws(OIDCError) -> AccessToken {
        let (scope, resources) = source.request
        if let audience = access.audience, !resources.isEmpty, !resources.allSatisfy(audience.contains) {
            throw OIDCError.protocolViolation(
                .token, "aud", expected: resources.joined(separator: " "),
                found: audience.joined(separator: " "),
                hint: "ask the provider's operator whether it supports resource indicators (RFC 8707)")
        }
        if let scope, let granted = access.scope, granted != scope {
            warnings.append(
                Warning(
                    "the provider granted the scope \(DisplayText.quoted(granted.text)) instead of "
                        + "\(DisplayText.quoted(scope.text)); the token was not stored"))
            return access
        }
        session.keep(access, scope: scope, resources: resources)
        return access
    }
}

extension TokenSource {
    /// The parameters of a refresh; none for the session's own token.
    fileprivate var request: (scope: Scope?, resources: [String]) {
        if case .derived(let scope, let resources) = self { return (scope, resources) }
        return (nil, [])
    }
}

extension AccessToken {
    /// The `aud` of an access token that is a readable JWT (RFC 9068 §2.2); nil if it is opaque.
    var audience: [String]? {
        guard let claims = (try? JWS(compact: token.revealed))?.claims, let audience = claims["aud"] else {
            return nil
        }
        return audience.string.map { [$0] } ?? audience.array?.compactMap(\.string)
    }
}
