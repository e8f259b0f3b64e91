/// When to poll the token endpoint again while a user signs in elsewhere (RFC 8628 §3.5).
package struct DevicePolling: Hashable, Sendable {
    package enum Step: Sendable {
        /// Poll again after so many seconds.
        case wait(Int64)
        case failed(OIDCError)
    }

    package private(set) var interval: Int64
    package let expiresAt: Instant
    private var failures = 0

    package init(_ authorization: DeviceAuthorization) {
        interval = authorization.interval
        expiresAt = authorization.expiresAt
    }

    /// Returns the seconds until the first poll: the interval, unless the code expires sooner.
    package func firstWait(now: Instant) -> Int64 {
        max(0, min(interval, expiresAt.seconds(since: now)))
    }

    /// Decides what to do after an error: `slow_down` adds five seconds for good, a temporary error makes the next wait
    /// longer, and any other error ends the sign-in.
    package mutating func next(after error: OIDCError, now: Instant) -> Step {
        switch error.oauthError {
        case "authorization_pending": failures = 0
        case "slow_down":
            failures = 0
            interval = min(interval + 5, 3_600)
        case "expired_token": return .failed(DevicePolling.expired)
        case let code? where DevicePolling.declined.contains(code):
            return .failed(
                OIDCError(
                    .refused, error.message, hint: .advice(.signInAndAllow), stage: .token,
                    oauthError: error.oauthError))
        default:
            guard error.kind == .unreachable else { return .failed(error) }
            failures = min(failures + 1, 6)
        }
        return wait(now: now, atLeast: error.retryAfter)
    }

    /// Returns the next wait, which ends with the code's lifetime at the latest.
    private func wait(now: Instant, atLeast retryAfter: Int?) -> Step {
        let left = expiresAt.seconds(since: now)
        guard left > 0 else { return .failed(DevicePolling.expired) }
        let backedOff = failures == 0 ? interval : max(interval, min(interval << failures, 60))
        return .wait(min(max(backedOff, Int64(min(retryAfter ?? 0, 60))), left))
    }

    /// Returns whether the user refused the sign-in, which no other way to finish it changes.
    package static func isDeclined(_ error: OIDCError) -> Bool {
        error.oauthError.map(declined.contains) ?? false
    }

    /// The codes for a refusal by the user; the second is Entra's (Microsoft's device code documentation, 2026-11).
    private static let declined = ["access_denied", "authorization_declined"]

    package static let expired = OIDCError(
        .timedOut, "token: the code expired before the sign-in was finished", hint: .signIn,
        stage: .token, oauthError: "expired_token")
}
