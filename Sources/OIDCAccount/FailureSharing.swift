import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

/// Sharing of failures: the process that made a request stores its failure for the others.
extension SessionTokens {
    /// Stores the error for waiting processes if it applies to them too, and returns it. `last` is the failure before it.
    /// `session` is the one that the error is about; nil means the stored one.
    func share(
        _ error: OIDCError, _ source: TokenSource, after last: SharedFailure?, of session: Session? = nil
    ) -> OIDCError {
        guard SharedFailure.isShared(error) else { return error }
        var failure = SharedFailure(
            error: error, time: now(), id: Base64URL.encode(Random.bytes(9)),
            refreshTokenHash: (session ?? (try? store.load(key))).flatMap(SessionTokens.hash), of: source,
            moment: MonotonicTime.now().nanoseconds, machine: machine, credentials: credentialsHash)
        failure.confirm(after: last)
        store.leave(failure, for: key, replacing: nil)
        return error
    }

    /// Returns the error of another process's failure, and records that it was adopted.
    func take(_ failure: SharedFailure) -> OIDCError {
        let now = now()
        if let adopted = failure.adopted(at: now, moment: MonotonicTime.now().nanoseconds) {
            store.leave(adopted, for: key, replacing: failure.id)
        }
        var error = failure.error
        if error.retryAfter != nil {
            let left = failure.secondsLeft(at: now, moment: MonotonicTime.now().nanoseconds)
            let seconds = max(1, Int(clamping: left))
            error.retryAfter = seconds
            error.hint = .tryAgain(seconds: seconds)
        }
        return error
    }

    /// Returns the last stored failure.
    ///
    /// If a provider fails at once, the first processes of a crowd have not adopted the failure yet when the
    /// others start. Therefore, a failure that has just happened is read again after a moment.
    func knownFailure() -> SharedFailure? {
        let failure = store.failure(of: key)
        guard let failure, !answersUs(failure),
            failure.awaitsAdoption(at: now(), moment: MonotonicTime.now().nanoseconds)
        else { return failure }
        pause(30)
        return store.failure(of: key)
    }

    func answersUs(_ failure: SharedFailure) -> Bool {
        failure.answersNewcomer(
            at: now(), moment: MonotonicTime.now().nanoseconds, startedAt: startedAt.nanoseconds)
    }

    /// Returns whether a request for `source` with this session's refresh token would fail in the same way. `hasWaited` is
    /// whether the caller waited for the request that failed.
    func isAbout(
        _ failure: SharedFailure, _ session: Session?, _ source: TokenSource, hasWaited: Bool
    ) -> Bool {
        failure.concerns(source, on: machine, hasWaited: hasWaited, with: credentialsHash)
            && failure.refreshTokenHash == session.flatMap(SessionTokens.hash)
    }

    /// An 8-bit hash of the client's credentials: enough to tell an old secret from a new one, and too short to guess a
    /// secret by, as whoever reads a backup may read the file of a failure.
    private var credentialsHash: String {
        String(FNV1a.digits("\(credentials().revealed)\n\(key.text)").prefix(2))
    }

    /// Returns a 64-bit hash of the session's refresh token, enough to detect a change and too short to
    /// reveal the token. It needs no library, which a thousand waiting processes would have to load.
    static func hash(_ session: Session) -> String? {
        (session.tokens.refreshToken?.revealed).map(FNV1a.digits)
    }
}
