public import OIDCCore

/// Gives out access tokens of one session: a fresh one as it stands, without a lock or a library; a stale one
/// after it was renewed, once for any number of processes.
public struct AccessTokenSource {
    /// Makes the session anew: by its refresh token, or by a grant without a person. `current` is nil where
    /// there is none yet. Returns what to save and the token that was asked for.
    public typealias Renew = (_ current: Session?, _ source: TokenSource) throws(OIDCError) -> Renewal.Outcome

    /// A token, and the session that it belongs to.
    public struct Delivery: Sendable {
        public var session: Session
        public var access: AccessToken
        /// What the person should know: an answer that was narrower than asked, say.
        public var warnings: [String]

        public init(session: Session, access: AccessToken, warnings: [String] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    /// Which token a caller had before it asked, so that a token renewed meanwhile is taken.
    public enum Refusal: Sendable {
        /// Any fresh token will do.
        case none
        /// This token is not good enough, fresh or not: it was refused, or a new one is wanted.
        case of(AccessToken?)
    }

    public let store: any SessionStoring
    public let key: SessionKey
    public let now: @Sendable () -> Instant
    public let wait: LockWait

    public init(
        store: any SessionStoring, key: SessionKey, now: @escaping @Sendable () -> Instant, wait: LockWait
    ) {
        self.store = store
        self.key = key
        self.now = now
        self.wait = wait
    }

    /// The token of a session that was just loaded, when it can be handed out as it is.
    public static func fresh(
        in session: Session, for demand: TokenDemand, at now: Instant
    ) throws(OIDCError) -> AccessToken? {
        let source = try session.source(for: demand).granted()
        guard let access = session.accessToken(from: source),
            access.isFresh(at: now, minimum: demand.minimumValidity)
        else { return nil }
        return access
    }

    /// Renews under the session's lock. Whoever waited for it takes what the winner stored meanwhile, whatever
    /// its lifetime: a provider that gives short-lived tokens is not asked once a process.
    public func renewed(
        _ demand: TokenDemand, seen: Session?, refusing refusal: Refusal, by renew: Renew
    ) throws(OIDCError) -> Delivery {
        let before: AccessToken? =
            switch refusal {
            case .none: try seen?.accessToken(from: seen?.source(for: demand).granted() ?? .own)
            case .of(let access): access
            }
        let adopt = { (session: Session) -> Result<Delivery, OIDCError>? in
            AccessTokenSource.adoptable(session, demand, before: before)
        }
        let outcome = try store.withLock(key, wait, adopting: adopt) {
            () throws(OIDCError) -> Result<Delivery, OIDCError> in
            let current = try store.load(key)
            if let current, let adopted = adopt(current) { return adopted }
            return .success(try renewedAlone(current, demand, by: renew))
        }
        return try outcome.get()
    }

    /// A session that another process stored since we looked answers the demand when its token is another.
    private static func adoptable(
        _ session: Session, _ demand: TokenDemand, before: AccessToken?
    ) -> Result<Delivery, OIDCError>? {
        guard case let source = session.source(for: demand), source.isGranted,
            let access = session.accessToken(from: source), access != before
        else { return nil }
        return .success(Delivery(session: session, access: access))
    }

    private func renewedAlone(
        _ current: Session?, _ demand: TokenDemand, by renew: Renew
    ) throws(OIDCError) -> Delivery {
        let delivery = try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
            try renewedAndKept(current, demand, by: renew)
        }
        if wait.isCancelled() {
            throw Interruption.pending.map(Interruption.error)
                ?? OIDCError(.interrupted, "interrupted", stage: .token)
        }
        return delivery
    }

    private func renewedAndKept(
        _ current: Session?, _ demand: TokenDemand, by renew: Renew
    ) throws(OIDCError) -> Delivery {
        let source = try current?.source(for: demand).granted() ?? .own
        // A refresh token may be spent by the refresh: first see that its successor can be kept.
        if current?.tokens.refreshToken != nil { try store.checkReplaceable(key) }
        let renewed: Renewal.Outcome
        do {
            renewed = try renew(current, source)
        } catch {
            guard error.endsSession, let other = try? store.load(key), other != current else { throw error }
            guard let access = other.accessToken(from: other.source(for: demand)) else { throw error }
            return Delivery(session: other, access: access)
        }
        var warnings = renewed.warnings
        do {
            if try !store.replace(current, with: renewed.session) {
                // The lock is not waited for without end: a sign-in or sign-out may have gone ahead.
                if let other = try store.load(key),
                    let access = other.accessToken(from: other.source(for: demand))
                {
                    return Delivery(session: other, access: access)
                }
                warnings.append("somebody signed out meanwhile: the token is not kept")
            }
        } catch {
            warnings.append("the token could not be kept: \(error.told)")
        }
        return Delivery(session: renewed.session, access: try renewed.access.get(), warnings: warnings)
    }
}

extension TokenSource {
    /// Whether a session has it to give.
    public var isGranted: Bool {
        if case .wider = self { return false }
        return true
    }

    /// Refuses what only a new sign-in can give.
    func granted() throws(OIDCError) -> TokenSource {
        guard case .wider(let scope) = self else { return self }
        throw OIDCError(
            .loginRequired, "the session was not granted the scope \(DisplayText.quoted(scope.text))",
            hint: "oidc login --scope \"\(DisplayText.clean(scope.text))\"", stage: .token)
    }
}
