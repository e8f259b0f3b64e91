import OIDCCrypto

/// A refresh of a session's tokens (RFC 6749 §6), in two steps: the request, whose answer has the next
/// refresh token, and the checks of everything else.
///
/// The next refresh token is stored between the two, so no fault of a clock, a key set or a claim can end the
/// session.
public struct TokenRefresh: Sendable {
    /// The HTTP client, the clock and the random numbers.
    public let context: OIDCContext
    /// The session's own token endpoint.
    public let tokenEndpoint: TokenEndpoint
    /// The accepted difference between clocks.
    public var leeway: Duration
    /// The ID token algorithms in the metadata; nil if they are unknown, which allows every asymmetric one.
    public var allowedAlgorithms: [String]?

    /// Creates a refresh at the token endpoint of the session.
    public init(
        context: OIDCContext, tokenEndpoint: TokenEndpoint, leeway: Duration = .seconds(60),
        allowedAlgorithms: [String]? = nil
    ) {
        self.context = context
        self.tokenEndpoint = tokenEndpoint
        self.leeway = leeway
        self.allowedAlgorithms = allowedAlgorithms
    }

    /// The answer of the token endpoint, before its tokens are checked.
    public struct Answer: Sendable {
        /// The session with the next refresh token and otherwise unchanged. Save it first.
        public let successor: Session
        let source: TokenSource
        let tokens: Result<TokenSet, OIDCError>
    }

    /// The session with its new tokens, and `access`, the requested token or the reason why there is none.
    /// The session must be saved in both cases.
    public struct Outcome: Sendable {
        /// The session, to be saved.
        public var session: Session
        /// The requested token, or the reason why there is none.
        public var access: Result<AccessToken, OIDCError>
        /// Warnings for the user about what was not granted as requested.
        public var warnings: [OIDCWarning]
        /// The reason why a new ID token is not used; nil if there was none, or it is in the session.
        package var idTokenFailure: OIDCError?

        /// Creates an outcome.
        public init(session: Session, access: Result<AccessToken, OIDCError>, warnings: [OIDCWarning] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    /// Sends the refresh token, once.
    public func request(_ session: Session, for source: TokenSource = .own) throws(OIDCError) -> Answer {
        guard let refreshToken = session.tokens.refreshToken else { throw TokenRefresh.impossible }
        let scope = source.request.scope ?? ownScope(session)
        let resources = try resources(session, source)
        var successor = session
        successor.ended = nil
        let issued: TokenEndpoint.Issued
        do throws(OIDCError) {
            issued = try issue(.refresh(refreshToken, scope: scope, resources: resources))
        } catch {
            let scopes = [scope, session.requestedScope, session.grantedScope].compactMap { $0?.text }
            // The refused request has redeemed nothing. Another resource than the session's cannot be left out.
            guard error.allowsWithoutResource(resources + scopes), source.request.resources.isEmpty,
                !resources.isEmpty
            else { throw error }
            issued = try issue(.refresh(refreshToken, scope: scope))
            successor.sendsResources = false
        }
        // If there is no new refresh token to save, an error in the answer fails the request.
        if issued.refreshToken == nil { _ = try issued.tokens.get() }
        if let next = issued.refreshToken, next != refreshToken {
            successor.tokens.refreshToken = next
            successor.replacedToken = FNV1a.digits(refreshToken.revealed)
        }
        if let flaw = try? issued.tokens.get().refreshTokenFlaw {
            // The old one was replaced, so presenting it again would be a replay (RFC 9700 §4.14.2).
            successor = successor.ended(
                Session.End(
                    description: "the new refresh token cannot be used: \(flaw.message)",
                    at: context.now()))
        }
        return Answer(successor: successor, source: source, tokens: issued.tokens)
    }

    private func issue(_ request: TokenRequest) throws(OIDCError) -> TokenEndpoint.Issued {
        try tokenEndpoint.issue(
            request, in: context)
    }

    /// Returns the scope that a refresh of the session's own token names, if the provider needs one: what was
    /// granted, and `offline_access`, which Entra ID grants without listing it.
    private func ownScope(_ session: Session) -> Scope? {
        guard tokenEndpoint.refreshNamesScope, let granted = session.grantedScope,
            !tokenEndpoint.extraParameters.contains(where: { $0.name == "scope" })
        else { return nil }
        let isOffline = session.requestedScope?.contains("offline_access") == true
        return isOffline ? granted.union(Scope("offline_access")) : granted
    }

    /// Returns the resources for the request (RFC 8707 §2.2): those of the wanted token, or else those of the
    /// sign-in.
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
        .loginRequired, "the session has no refresh token", hint: .signIn, stage: .token,
        code: .noRefreshToken)

    /// Checks the answer. After an error, only its refresh token may be used.
    public func check(_ answer: Answer) throws(OIDCError) -> Outcome {
        let tokens = try answer.tokens.get()
        var refreshed = answer.successor
        var warnings: [Warning] = []
        refreshed.derived.removeAll { $0.access.expiresAt.map { $0 <= context.now() } ?? false }
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
            warnings += answer.successor.audienceWarning(of: tokens.access).map { [$0] } ?? []
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

    /// Performs both steps, for a caller that does not store the next refresh token in between.
    package func refresh(_ session: Session, for source: TokenSource) throws(OIDCError) -> Outcome {
        try check(request(session, for: source))
    }

    /// Checks that a new ID token has the same issuer, subject and audience (OpenID Connect Core §12.2), and
    /// stores it in the session. If its keys cannot be fetched, the session keeps its earlier one, and the
    /// error is returned.
    private func adoptIDToken(
        of tokens: TokenSet, into session: inout Session
    ) throws(OIDCError) -> OIDCError? {
        guard let compact = tokens.idToken?.revealed, let issuer = session.endpoints.issuer,
            let keys = session.endpoints.keys
        else { return nil }
        // A device sign-in may have had no ID token; a subject from UserInfo must match then.
        var previous =
            session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }.map(IDTokenRules.Previous.init)
            ?? session.subject.map { IDTokenRules.Previous(issuer: issuer, subject: $0) }
        // An ID token in between may have had none.
        if let nonce = session.nonce { previous?.nonce = nonce }
        var rules = IDTokenRules(
            issuer: issuer, clientID: tokenEndpoint.client.id, accessToken: tokens.access.token.revealed,
            leeway: leeway, allowedAlgorithms: allowedAlgorithms,
            clientSecret: sharedSecret(session.tokens.idToken), previous: previous)
        rules.decryption = tokenEndpoint.client.decryption
        let published = ProviderDocuments(context: context).keys(keys)
        do throws(OIDCError) {
            let idToken = try IDToken.validate(compact, rules, keys: published, now: context.now())
            session.tokens.idToken = Redacted(idToken.compact)
            session.endpoints.issuer = idToken.issuer
            session.subject = idToken.subject
            session.displayName = idToken.displayName ?? session.displayName
            return nil
        } catch {
            guard error.kind == .unreachable else { throw error }
            return error
        }
    }

    /// Returns the client's secret if the allowed algorithms are all HMAC or, if they are unknown, if the
    /// session's ID token was signed with HMAC (OpenID Connect Core §10.1).
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

    /// Stores a derived token and returns it, but refuses one for another audience. One of another scope is
    /// returned and never stored under the requested scope.
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
                        + "\(DisplayText.quoted(scope.text)); the token was not stored",
                    hint: scope.isSubset(of: granted)
                        ? .text("ask for what is always granted, too, and it is: \(granted.text)") : nil))
            return access
        }
        session.keep(access, scope: scope, resources: resources)
        return access
    }
}

extension Session {
    /// Returns a warning if a refreshed token is no longer for a resource or audience that the session's
    /// token was for. The token is stored anyway, as the refresh cannot be repeated with a used refresh
    /// token.
    fileprivate func audienceWarning(of access: AccessToken) -> Warning? {
        guard let found = access.audience, let before = tokens.access.audience else { return nil }
        let wanted = (sendsResources == true ? requestedResources : []) + [key.audience].compactMap { $0 }
        let lost = wanted.filter { before.contains($0) && !found.contains($0) }
        guard !lost.isEmpty else { return nil }
        return Warning(
            "the refreshed access token's aud is \(DisplayText.clean(found.joined(separator: " "))), no longer "
                + DisplayText.clean(lost.joined(separator: " ")))
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
    package var audience: [String]? {
        guard let claims = (try? JWS(compact: token.revealed))?.claims, let audience = claims["aud"] else {
            return nil
        }
        return audience.string.map { [$0] } ?? audience.array?.compactMap(\.string)
    }
}
