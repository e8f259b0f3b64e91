import OIDCCore
import OIDCCrypto

/// A failure is shared like a success: the process that asked leaves it for the others.
extension SessionTokens {
    /// Leaves the error for the processes that wait, if it would be theirs too.
    func share(_ error: OIDCError, _ source: TokenSource) -> OIDCError {
        guard SharedFailure.isShared(error) else { return error }
        store.leave(
            SharedFailure(
                error: error, time: now(), id: Base64URL.encode(Random.bytes(9)),
                refreshTokenHash: (try? store.load(key)).flatMap(SessionTokens.hash), of: source,
                moment: MonotonicTime.now().nanoseconds),
            for: key, replacing: nil)
        return error
    }

    /// Takes another process's failure as our own, and notes that a crowd is still coming in.
    func take(_ failure: SharedFailure) -> OIDCError {
        let now = now()
        if failure.sharedAt.map({ $0 < now }) ?? true {
            var shared = failure
            shared.sharedAt = now
            store.leave(shared, for: key, replacing: failure.id)
        }
        var error = failure.error
        if let pause = error.retryAfter {
            let secondsLeft = max(1, pause - Int(clamping: now.seconds(since: failure.time)))
            error.retryAfter = secondsLeft
            error.hint = .tryAgain(seconds: secondsLeft)
        }
        return error
    }

    func answersUs(_ failure: SharedFailure) -> Bool {
        failure.answersNewcomer(at: now(), startedAt: startedAt.nanoseconds)
    }

    /// Whether the failure would be that of a request with this session's refresh token for that token.
    func isAbout(_ failure: SharedFailure, _ session: Session?, _ source: TokenSource) -> Bool {
        failure.concerns(source) && failure.refreshTokenHash == session.flatMap(SessionTokens.hash)
    }

    /// A hash of the session's refresh token: 64 bits, enough to see that it changed and far too few to tell what
    /// it is. It needs no library, which a thousand waiting processes would all have to load.
    static func hash(_ session: Session) -> String? {
        (session.tokens.refreshToken?.revealed).map(FNV1a.digits)
    }
}
