/// The schedule for polling the token endpoint while a user signs in elsewhere (RFC 8628 §3.5).
public struct DevicePolling: Hashable, Sendable {
    /// The next step after an error.
    public enum Step: Sendable {
        /// A wait of this time, then another poll.
        case wait(Duration)
        /// The sign-in has failed.
        case failed(OIDCError)
    }

    package private(set) var interval: Int64
    /// The time when the code expires.
    public let expiresAt: OIDCInstant
    private var failures = 0

    /// Creates the schedule of a code that was just issued.
    public init(_ authorization: DeviceAuthorization) {
        interval = authorization.interval.components.seconds
        expiresAt = authorization.expiresAt
    }

    /// Returns the time until the first poll: the interval, unless the code expires sooner.
    public func firstWait(now: OIDCInstant) -> Duration {
        .seconds(max(0, min(interval, expiresAt.seconds(since: now))))
    }

    /// Returns the next step after an error. `authorization_pending` waits, `slow_down` makes this and all
    /// later waits five seconds longer, a temporary error makes the next wait longer, and any other error
    /// ends the sign-in.
    public mutating func next(after error: OIDCError, now: OIDCInstant) -> Step {
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

    /// Returns the next wait, which ends no later than the code expires.
    private func wait(now: Instant, atLeast retryAfter: Int?) -> Step {
        let left = expiresAt.seconds(since: now)
        guard left > 0 else { return .failed(DevicePolling.expired) }
        let backedOff = failures == 0 ? interval : max(interval, min(interval << failures, 60))
        return .wait(.seconds(min(max(backedOff, Int64(min(retryAfter ?? 0, 60))), left)))
    }

    /// Returns whether the user refused the sign-in, so no other way to finish it may be tried.
    package static func isDeclined(_ error: OIDCError) -> Bool {
        error.oauthError.map(declined.contains) ?? false
    }

    /// The codes for a refusal by the user; the second is Entra's (Microsoft's device code documentation,
    /// 2026-11).
    private static let declined = ["access_denied", "authorization_declined"]

    package static let expired = OIDCError(
        .timedOut, "token: the code expired before the sign-in was finished", hint: .signIn,
        stage: .token, oauthError: "expired_token", code: .deviceCodeExpired)
}
