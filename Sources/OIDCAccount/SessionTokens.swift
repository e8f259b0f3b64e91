package import OIDCCore
package import OIDCSessions
package import Posix

/// Access to a session's tokens. A fresh token needs neither lock nor library; otherwise any number of
/// processes make one request and share its result, token or failure.
package struct SessionTokens {
    /// The request that replaces a session's tokens, by refresh token or by a grant without a user. `current`
    /// is nil if there is no session yet.
    package typealias Request = (_ current: Session?, _ source: TokenSource) throws(OIDCError) -> Answer

    /// The provider's answer, before it is checked.
    package struct Answer {
        /// The session with the new refresh token; nil if the answer cannot replace the old one.
        package var successor: Session?
        package var check: () throws(OIDCError) -> TokenRefresh.Outcome

        package init(
            successor: Session? = nil, check: @escaping () throws(OIDCError) -> TokenRefresh.Outcome
        ) {
            self.successor = successor
            self.check = check
        }
    }

    /// A token and its session.
    package struct Delivery: Sendable {
        package var session: Session
        package var access: AccessToken
        /// Warnings, such as about a scope that is narrower than requested.
        package var warnings: [Warning]
        /// The reason why a new ID token was not stored in the session.
        package var idTokenFailure: OIDCError?
        /// Whether another process obtained the token.
        package var isAdopted = false
        /// Whether the user signed in for the token, in place of a refused one.
        package var isSignedIn = false
        /// The response that refused the token.
        package var refusal: HTTPResponse?
        /// Whether the token's server was found to be the resource's before this token replaced a refused one.
        package var isServerChecked = false
        /// The function that signs proofs for a token whose key is elsewhere; nil if the session has the key.
        package var signing: ProofSigning?

        package init(session: Session, access: AccessToken, warnings: [Warning] = []) {
            self.session = session
            self.access = access
            self.warnings = warnings
        }
    }

    /// Returns the proof of a request with a token that is bound to a key (RFC 9449 §4.2).
    package typealias ProofSigning =
        @Sendable (_ method: HTTPMethod, _ url: WebURL, _ nonce: String?) throws(OIDCError) -> String

    /// The token that the caller must not get again. One that was refreshed meanwhile is accepted.
    package enum Refusal: Sendable {
        /// No token: any fresh one is accepted.
        case none
        /// A token to replace even if it is fresh: it was refused, or a new one is wanted.
        case of(AccessToken?)
        /// A token that a server has refused.
        case refused(AccessToken)
    }

    package let store: SessionStore
    package let key: SessionKey
    package let now: @Sendable () -> Instant
    package let wait: LockWait
    /// The caller's start time: failures since then also apply to it.
    let startedAt: MonotonicTime
    /// The machine and network of this process.
    let machine: String?
    /// A function that returns what the client authenticates with.
    let credentials: () -> Redacted<String>
    /// A function that waits for a number of milliseconds.
    let pause: (Int64) -> Void
    let request: Request

    package init(
        store: SessionStore, key: SessionKey, now: @escaping @Sendable () -> Instant, wait: LockWait,
        startedAt: MonotonicTime = .now(), machine: String? = Platform.networkID,
        credentials: @escaping () -> Redacted<String> = { Redacted("") },
        pause: @escaping (Int64) -> Void = { Poll.sleep(until: .now().adding(milliseconds: $0)) },
        request: @escaping Request
    ) {
        self.store = store
        self.key = key
        self.now = now
        self.wait = wait
        self.startedAt = startedAt
        self.machine = machine
        self.credentials = credentials
        self.pause = pause
        self.request = request
    }

    /// Returns a fresh token, from the store if possible.
    package func token(_ demand: TokenDemand) throws(OIDCError) -> Delivery {
        try token(demand, loaded: try store.load(key))
    }

    /// Returns a fresh token, from a session that was just loaded if possible.
    package func token(_ demand: TokenDemand, loaded session: Session?) throws(OIDCError) -> Delivery {
        if let session, let access = try SessionTokens.fresh(in: session, for: demand, at: now()) {
            let warning = session.warning(for: demand)
            return Delivery(session: session, access: access, warnings: warning.map { [$0] } ?? [])
        }
        return try refreshed(demand, loaded: session, refusing: .none)
    }

    /// Returns another token than the refused one.
    package func token(_ demand: TokenDemand, insteadOf refused: Delivery) throws(OIDCError) -> Delivery {
        try refreshed(demand, loaded: refused.session, refusing: .refused(refused.access))
    }

    /// Returns the token of a session that was just loaded, if it is fresh.
    static func fresh(
        in session: Session, for demand: TokenDemand, at now: Instant
    ) throws(OIDCError) -> AccessToken? {
        let source = try session.source(for: demand).granted()
        guard let access = session.accessToken(from: source),
            access.isFresh(at: now, minimum: demand.minimumValidity)
        else { return nil }
        return access
    }

    /// Returns a new token. If only a sign-in can help, a token that a server has refused is dropped, whichever
    /// process was told so: nothing can replace it.
    package func refreshed(
        _ demand: TokenDemand, loaded: Session?, refusing refusal: Refusal
    ) throws(OIDCError) -> Delivery {
        do throws(OIDCError) {
            return try obtained(demand, loaded: loaded, refusing: refusal)
        } catch {
            if case .refused(let access) = refusal, [.sessionEnded, .signInAgain].contains(error.code),
                let session = try? store.load(key)
            {
                _ = try? store.replace(session, with: session.without(access))
            }
            throw error
        }
    }

    /// Requests a token under the session's lock. A process that waited for the lock uses the token that the
    /// holder stored, whatever its lifetime, or the holder's failure.
    private func obtained(
        _ demand: TokenDemand, loaded: Session?, refusing refusal: Refusal
    ) throws(OIDCError) -> Delivery {
        let before: AccessToken? =
            switch refusal {
            case .none: try loaded?.accessToken(from: loaded?.source(for: demand).granted() ?? .own)
            case .of(let access): access
            case .refused(let access): access
            }
        if key.grant.needsUser { try refuseUnrefreshable(loaded, refusal) }
        let source = try loaded?.source(for: demand).granted() ?? .own
        let known = knownFailure()
        if let known, answersUs(known), isAbout(known, loaded, source, hasWaited: false) { throw take(known) }
        var isHeld = false
        do throws(OIDCError) {
            let settled = { () throws(OIDCError) -> Delivery? in
                let current = try store.load(key)
                if let current, let adopted = adoptable(current, demand, before: before) { return adopted }
                if let failure = store.failure(of: key), failure.id != known?.id,
                    failure.isRecent(at: now()), isAbout(failure, current, source, hasWaited: true)
                {
                    throw take(failure)
                }
                return nil
            }
            return try store.withLock(key, wait, unless: settled) { () throws(OIDCError) -> Delivery in
                isHeld = true
                let current = try store.load(key)
                if let current, let adopted = adoptable(current, demand, before: before) { return adopted }
                let source = try current?.source(for: demand).granted() ?? .own
                let failure = store.failure(of: key)
                if let failure, isAbout(failure, current, source, hasWaited: failure.id != known?.id),
                    failure.id == known?.id
                        ? answersUs(failure) : failure.isRecent(at: now())
                {
                    throw take(failure)
                }
                if let current, key.grant.needsUser { try refuseUnrefreshable(current, refusal) }
                return try requested(current, source, after: failure)
            }
        } catch {
            // A grant without a user cannot lose anything, so it needs neither lock nor store.
            guard !isHeld, !key.grant.needsUser, error.kind == .failed else { throw error }
            let outcome = try request(nil, .own).check()
            return Delivery(
                session: outcome.session, access: try outcome.access.get(),
                warnings: outcome.warnings + [SessionTokens.tokenNotStored(error)])
        }
    }

    private static func tokenNotStored(_ error: OIDCError) -> Warning {
        Warning("the token could not be stored: \(error.message)", hint: error.hint)
    }

    /// Throws if only a sign-in can help, before problems with the lock or the store are reported.
    private func refuseUnrefreshable(_ session: Session?, _ refusal: Refusal) throws(OIDCError) {
        guard let session else { throw SessionTokens.notSignedIn(key) }
        guard session.tokens.refreshToken == nil else { return }
        if let ended = session.endedError { throw ended }
        var error = TokenRefresh.impossible
        if case .refused = refusal { error.message = "the access token was refused, and \(error.message)" }
        throw error
    }

    /// Returns the error for a session that is not stored.
    static func notSignedIn(_ key: SessionKey) -> OIDCError {
        OIDCError(.loginRequired, "not signed in at \(DisplayText.clean(key.provider))", stage: .token)
    }

    /// Returns the session's token if it meets the demand and is newer than the caller's. A provider may
    /// issue the same token again, but one that was only marked as expired is not new.
    private func adoptable(_ session: Session, _ demand: TokenDemand, before: AccessToken?) -> Delivery? {
        guard case let source = session.source(for: demand), source.isGranted,
            let access = session.accessToken(from: source),
            access.token != before?.token || access.obtainedAt != before?.obtainedAt
        else { return nil }
        var delivery = Delivery(session: session, access: access)
        delivery.isAdopted = true
        return delivery
    }
}

extension SessionTokens: AccessTokenSource {}

extension TokenSource {
    /// Whether a session can provide this token.
    package var isGranted: Bool {
        if case .wider = self { return false }
        return true
    }

    /// Returns the source; throws if only a new sign-in can provide the token.
    func granted() throws(OIDCError) -> TokenSource {
        guard case .wider(let scope) = self else { return self }
        throw OIDCError(
            .loginRequired, "the session was not granted the scope \(DisplayText.quoted(scope.text))",
            hint: .signInForScope(scope.text), stage: .token)
    }
}

/// The request for new tokens: the successor of the refresh token is stored before the rest of the answer is
/// checked.
extension SessionTokens {
    func requested(
        _ current: Session?, _ source: TokenSource, after failure: SharedFailure?
    ) throws(OIDCError) -> Delivery {
        let answer: Answer
        let stored: Session?
        var warnings: [Warning] = []
        do throws(OIDCError) {
            // A signal during the request waits until the successor is stored.
            (answer, stored) = try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let answer = try guarded(current) { () throws(OIDCError) in try request(current, source) }
                return (answer, storeSuccessor(answer, current, &warnings))
            }
        } catch {
            if error.endsSession, let other = otherDelivery(source, than: current) { return other }
            throw try refused(error, current, source, after: failure)
        }
        var outcome: TokenRefresh.Outcome
        do throws(OIDCError) { outcome = try answer.check() } catch {
            var error = error
            for warning in warnings { error.message += "; \(warning.message)" }
            throw share(error, source, after: failure)
        }
        warnings += outcome.warnings
        if let stored, let successor = answer.successor {
            outcome.session = outcome.session.keeping(changesIn: stored, since: successor)
        }
        do {
            if try !store.replace(stored, with: outcome.session) {
                // The wait for the lock is bounded, so a sign-in or sign-out may have happened meanwhile.
                if let other = otherDelivery(source, than: stored) { return other }
                warnings.append(sessionChanged())
            }
        } catch {
            // The same error is reported once.
            let isReported = warnings.contains(SessionTokens.successorNotStored(error))
            if !isReported { warnings.append(SessionTokens.tokenNotStored(error)) }
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

    /// Returns the error of a refused request. `invalid_grant` ends the session only if the request was for
    /// the session's own token: Entra also returns it if only a scope or resource is refused (AADSTS65001).
    private func refused(
        _ error: OIDCError, _ current: Session?, _ source: TokenSource, after last: SharedFailure?
    ) throws(OIDCError) -> OIDCError {
        guard error.endsSession || error.code == .signInAgain else {
            return share(error, source, after: last)
        }
        if case .derived = source {
            guard error.endsSession else { return share(error, source, after: last) }
            _ = try requested(current, .own, after: nil)
            var other = error
            other.kind = .refused
            other.code = nil
            other.message = "token: the provider refused the scope or resource with invalid_grant"
            other.hint = nil
            return share(other, source, after: last)
        }
        // A lock holder that was stopped may still store its successor, to which this refusal does not apply.
        let ended = current?.refused(by: error, at: now())
        if let ended { _ = try? store.replace(current, with: ended) }
        return share(error, source, after: last, of: ended)
    }

    /// Returns the token of a session that another process stored meanwhile, if it is usable.
    private func otherDelivery(_ source: TokenSource, than ours: Session?) -> Delivery? {
        guard let other = try? store.load(key), other != ours, let access = other.accessToken(from: source),
            access.token != ours?.accessToken(from: source)?.token, access.isFresh(at: now(), minimum: 0)
        else { return nil }
        return Delivery(session: other, access: access)
    }

    /// Runs `request`. If it redeems a refresh token, first checks that the successor can be stored, and
    /// reserves disk space and file descriptors for it.
    private func guarded(
        _ current: Session?, _ request: () throws(OIDCError) -> Answer
    ) throws(OIDCError) -> Answer {
        guard current?.tokens.refreshToken != nil else { return try request() }
        try store.checkAdopted(key)
        let reserves = (try store.reserveSpace(for: key), try DescriptorReserve())
        defer { withExtendedLifetime(reserves) {} }
        return try request()
    }

    /// Stores the refresh token's successor, before the rest of the answer is checked. Returns the stored
    /// session.
    private func storeSuccessor(_ answer: Answer, _ current: Session?, _ warnings: inout [Warning])
        -> Session?
    {
        guard let successor = answer.successor, successor != current else { return current }
        var tries = 0
        while true {
            do throws(OIDCError) {
                if try store.replace(current, with: successor) { return successor }
                // Another process may have changed the session, or, if this one was stopped until its lease expired,
                // presented the same refresh token. A store may have stored the successor when it was loaded.
                guard let current, let found = try store.load(key) else { return current }
                if found.isSameSignIn(as: successor), found.replacedToken == successor.replacedToken,
                    found.tokens.refreshToken == successor.tokens.refreshToken
                {
                    return found
                }
                guard let next = found.successor(successor, of: current) else { return current }
                if try store.replace(found, with: next) { return next }
                tries += 1
                guard tries < SessionTokens.storeLimit else { return current }
            } catch {
                // The file may have been replaced before the failure.
                if (try? store.load(key)) == successor { return successor }
                // The process may have been out of file descriptors for a moment.
                tries += 1
                guard error.kind == .failed, tries < SessionTokens.storeLimit else {
                    warnings.append(SessionTokens.successorNotStored(error))
                    return current
                }
                pause(50)
            }
        }
    }

    /// The maximum number of attempts to store a successor: there is no other copy of it.
    private static let storeLimit = 40

    private static func successorNotStored(_ error: OIDCError) -> Warning {
        "the new refresh token could not be stored: \(error.message)"
    }

    /// Returns the warning about a token whose session changed during the request.
    private func sessionChanged() -> Warning {
        if case .success(nil) = Result(catching: { () throws(OIDCError) in try store.load(key) }) {
            return "the session is gone (signed out, or lost by the store); the token was not stored"
        }
        return "another process changed the session meanwhile; the token was not stored"
    }
}
