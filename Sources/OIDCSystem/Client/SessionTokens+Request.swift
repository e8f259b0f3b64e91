import OIDCCore
import OIDCSessions
import Posix

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
        _ error: OIDCError, _ current: Session?, _ source: TokenSource
    ) throws(OIDCError) -> OIDCError {
        guard error.endsSession || error.code == .signInAgain else { return share(error, source) }
        if case .derived = source {
            guard error.endsSession else { return share(error, source) }
            _ = try requested(current, .own, after: nil)
            var other = error
            other.kind = .refused
            other.code = nil
            other.message = "token: the provider refused the scope or resource with invalid_grant"
            other.hint = nil
            return share(other, source)
        }
        // A lock holder that was stopped may still store its successor, to which this refusal does not apply.
        let ended = current?.refused(by: error, at: now())
        if let ended { _ = try? store.replace(current, with: ended) }
        return share(error, source, of: ended)
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
        do throws(OIDCError) {
            if try store.replace(current, with: successor) { return successor }
            // If this process was stopped until its lease expired, another one may have presented the same
            // refresh token, and dropped it when it was refused. That refusal does not apply to the
            // successor.
            guard let current, let rest = try store.load(key), rest.isRest(of: current),
                try store.replace(rest, with: successor)
            else { return current }
            return successor
        } catch {
            // The file may have been replaced before the failure.
            if (try? store.load(key)) == successor { return successor }
            warnings.append(SessionTokens.successorNotStored(error))
            return current
        }
    }

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
