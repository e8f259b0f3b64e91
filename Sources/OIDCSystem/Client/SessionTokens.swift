package import OIDCCore

/// The one way to a session's tokens: a fresh one as it is, without a lock or a library; else one request for
/// any number of processes, whose outcome, token or failure, all of them take.
package struct SessionTokens {
    /// Sends the one request that replaces a session's tokens: by its refresh token, or by a grant without a
    /// user. `current` is nil if there is no session yet.
    package typealias Request = (_ current: Session?, _ source: TokenSource) throws(OIDCError) -> Answer

    /// What the provider answered, before it was checked.
    package struct Answer {
        /// The session with the refresh token to use from now on; nil if the answer cannot replace one.
        package var successor: Session?
        package var check: () throws(OIDCError) -> TokenRefresh.Outcome

        package init(
            successor: Session? = nil, check: @escaping () throws(OIDCError) -> TokenRefresh.Outcome
        ) {
            self.successor = successor
            self.check = check
        }
    }

    /// A token, and the session that it belongs to.
    package struct Delivery: Sendable {
        package var session: Session
        package var access: AccessToken
        /// What the user should know, such as a scope that is narrower than asked for.
        package var warnings: [Warning]
        /// Why a new ID token was left out of the session.
        package var idTokenFailure: OIDCError?

        package init(session: Session, access: AccessToken, warnings: [Warning] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    /// Which token a caller had before it asked, so a token that was refreshed meanwhile is taken.
    package enum Refusal: Sendable {
        /// Any fresh token will do.
        case none
        /// This token is not good enough, fresh or not: it was refused, or a new one is wanted.
        case of(AccessToken?)
    }

    package let store: any SessionStoring
    package let key: SessionKey
    package let now: @Sendable () -> Instant
    package let wait: LockWait
    /// When the caller was started: a failure that happened since then is its own too.
    let startedAt: MonotonicTime
    let request: Request

    package init(
        store: any SessionStoring, key: SessionKey, now: @escaping @Sendable () -> Instant, wait: LockWait,
        startedAt: MonotonicTime = .now(), request: @escaping Request
    ) {
        self.store = store
        self.key = key
        self.now = now
        self.wait = wait
        self.startedAt = startedAt
        self.request = request
    }

    /// Returns a token that is fresh, from the store if possible.
    package func token(_ demand: TokenDemand) throws(OIDCError) -> Delivery {
        let session = try store.load(key)
        if let session, let access = try SessionTokens.fresh(in: session, for: demand, at: now()) {
            let warning = session.warning(for: demand)
            return Delivery(session: session, access: access, warnings: warning.map { [$0] } ?? [])
        }
        return try refreshed(demand, seen: session, refusing: .none)
    }

    /// Returns a token other than the one that was refused.
    package func token(_ demand: TokenDemand, insteadOf refused: Delivery) throws(OIDCError) -> Delivery {
        try refreshed(demand, seen: refused.session, refusing: .of(refused.access))
    }

    /// Returns the token of a session that was just loaded if it can be handed out as it is.
    package static func fresh(
        in session: Session, for demand: TokenDemand, at now: Instant
    ) throws(OIDCError) -> AccessToken? {
        let source = try session.source(for: demand).granted()
        guard let access = session.accessToken(from: source),
            access.isFresh(at: now, minimum: demand.minimumValidity)
        else { return nil }
        return access
    }

    /// Asks the provider under the session's lock. Whoever waited for the lock takes what the holder stored,
    /// whatever its lifetime, or the failure that the holder left.
    package func refreshed(
        _ demand: TokenDemand, seen: Session?, refusing refusal: Refusal
    ) throws(OIDCError) -> Delivery {
        let before: AccessToken? =
            switch refusal {
            case .none: try seen?.accessToken(from: seen?.source(for: demand).granted() ?? .own)
            case .of(let access): access
            }
        if key.grant.needsPerson { try refuseUnrefreshable(seen) }
        let known = store.failure(of: key)
        let source = try seen?.source(for: demand).granted() ?? .own
        if let known, answersUs(known), isAbout(known, seen, source) { throw take(known) }
        var isHeld = false
        do throws(OIDCError) {
            return try store.withLock(key, wait) { () throws(OIDCError) -> Delivery in
                isHeld = true
                let current = try store.load(key)
                if let current, let adopted = adoptable(current, demand, before: before) { return adopted }
                let source = try current?.source(for: demand).granted() ?? .own
                let failure = store.failure(of: key)
                if let failure, isAbout(failure, current, source),
                    failure.id == known?.id
                        ? answersUs(failure) : failure.isRecent(at: now())
                {
                    throw take(failure)
                }
                return try requested(current, source, after: failure)
            }
        } catch {
            // Nothing can be lost by a grant without a user, so it needs neither lock nor store.
            guard !isHeld, !key.grant.needsPerson, error.kind == .failed else { throw error }
            let outcome = try request(nil, .own).check()
            return Delivery(
                session: outcome.session, access: try outcome.access.get(),
                warnings: outcome.warnings + [SessionTokens.unkept(error)])
        }
    }

    private static func unkept(_ error: OIDCError) -> Warning {
        Warning("the token could not be kept: \(error.message)", hint: error.hint)
    }

    /// Only a sign-in helps; whether a lock could be had or a file be written does not matter then.
    private func refuseUnrefreshable(_ session: Session?) throws(OIDCError) {
        guard let session else {
            throw OIDCError(
                .loginRequired, "not signed in at \(DisplayText.clean(key.provider))", stage: .token)
        }
        guard session.tokens.refreshToken == nil else { return }
        throw TokenRefresh.impossible
    }

    /// The session's token if it answers the demand and was obtained after the one the caller had. A provider may
    /// give the same token again; one that was only marked as expired is not a new one.
    private func adoptable(_ session: Session, _ demand: TokenDemand, before: AccessToken?) -> Delivery? {
        guard case let source = session.source(for: demand), source.isGranted,
            let access = session.accessToken(from: source),
            access.token != before?.token || access.obtainedAt != before?.obtainedAt
        else { return nil }
        return Delivery(session: session, access: access)
    }

    private func requested(
        _ current: Session?, _ source: TokenSource, after failure: SharedFailure?
    ) throws(OIDCError) -> Delivery {
        let answer: Answer
        let stored: Session?
        var warnings: [Warning] = []
        do throws(OIDCError) {
            // A signal that comes while the request is under way waits until the successor is stored.
            (answer, stored) = try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let answer = try guarded(current) { () throws(OIDCError) in try request(current, source) }
                return (answer, storeSuccessor(answer, current, &warnings))
            }
        } catch {
            if error.endsSession, let other = otherDelivery(source, than: current) { return other }
            throw try refused(error, current, source)
        }
        let outcome: TokenRefresh.Outcome
        do throws(OIDCError) { outcome = try answer.check() } catch {
            var error = error
            for warning in warnings { error.message += "; \(warning.message)" }
            throw share(error, source)
        }
        warnings += outcome.warnings
        do {
            if try !store.replace(stored, with: outcome.session) {
                // The wait for the lock is bounded, so a sign-in or sign-out may have happened meanwhile.
                if let other = otherDelivery(source, than: stored) { return other }
                warnings.append("somebody signed out meanwhile: the token is not kept")
            }
        } catch {
            warnings.append(SessionTokens.unkept(error))
        }
        if failure != nil { store.leave(nil, for: key, replacing: nil) }
        if wait.isCancelled() {
            throw Interruption.pending.map(Interruption.error)
                ?? OIDCError(.interrupted, "interrupted", stage: .token)
        }
        var delivery = Delivery(
            session: outcome.session, access: try outcome.access.get(), warnings: warnings)
        delivery.idTokenFailure = outcome.idTokenFailure
        return delivery
    }

    /// The error of a request that was refused. The end of the session is believed of the session's own token
    /// alone: some providers say `invalid_grant` when only a scope or a resource is refused (Entra, AADSTS65001).
    private func refused(
        _ error: OIDCError, _ current: Session?, _ source: TokenSource
    ) throws(OIDCError) -> OIDCError {
        guard error.endsSession else { return share(error, source) }
        if case .derived = source {
            _ = try requested(current, .own, after: nil)
            var refusal = error
            refusal.kind = .refused
            refusal.message = "token: the provider refused the scope or resource with invalid_grant"
            refusal.hint = nil
            return share(refusal, source)
        }
        dropRefreshToken(of: current)
        return share(error, source)
    }

    /// The token of a session that somebody else stored meanwhile, if it can be used.
    private func otherDelivery(_ source: TokenSource, than ours: Session?) -> Delivery? {
        guard let other = try? store.load(key), other != ours, let access = other.accessToken(from: source),
            access.token != ours?.accessToken(from: source)?.token, access.isFresh(at: now(), minimum: 0)
        else { return nil }
        return Delivery(session: other, access: access)
    }

    /// Makes sure, before a refresh token may be spent, that its successor can be stored: that the file can be
    /// replaced, and that file descriptors for it are left.
    private func guarded(
        _ current: Session?, _ request: () throws(OIDCError) -> Answer
    ) throws(OIDCError) -> Answer {
        guard current?.tokens.refreshToken != nil else { return try request() }
        try store.checkReplaceable(key)
        let reserve = try DescriptorReserve()
        defer { withExtendedLifetime(reserve) {} }
        return try request()
    }

    /// Stores the successor of the refresh token, before the rest of the answer is looked at. Returns the session
    /// that is stored now.
    private func storeSuccessor(_ answer: Answer, _ current: Session?, _ warnings: inout [Warning])
        -> Session?
    {
        guard let successor = answer.successor, successor != current else { return current }
        do throws(OIDCError) {
            return try store.replace(current, with: successor) ? successor : current
        } catch {
            // What failed may have been the last step, after the file had been replaced.
            if (try? store.load(key)) == successor { return successor }
            warnings.append("the new refresh token could not be stored: \(error.message)")
            return current
        }
    }

    /// What the provider refused is not presented again. A session that changed meanwhile stays as it is.
    private func dropRefreshToken(of current: Session?) {
        guard var ended = current else { return }
        ended.tokens.refreshToken = nil
        _ = try? store.replace(current, with: ended)
    }
}

extension SessionTokens: AccessTokenSource {
    package func canRefresh(_ session: Session) -> Bool {
        session.tokens.refreshToken != nil || !key.grant.needsPerson
    }
}

extension TokenSource {
    /// Whether a session has it to give.
    package var isGranted: Bool {
        if case .wider = self { return false }
        return true
    }

    /// Refuses what only a new sign-in can give.
    func granted() throws(OIDCError) -> TokenSource {
        guard case .wider(let scope) = self else { return self }
        throw OIDCError(
            .loginRequired, "the session was not granted the scope \(DisplayText.quoted(scope.text))",
            hint: .signInForScope(scope.text), stage: .token)
    }
}
