import OIDCCore
import Posix

/// A device code that the user has not approved yet, and the polling for its tokens (RFC 8628 §3.4).
struct DeviceCodeWait {
    enum Answer {
        case signedIn(SignInFlow.Outcome)
        /// Not approved yet; poll again at `nextRequest`.
        case pending
        /// The code is useless, as it was declined, refused or has expired.
        case ended(OIDCError)
    }

    let authorization: DeviceAuthorization
    /// The time at which the code expires.
    let end: MonotonicTime
    /// The time of the next request for the tokens; never after `end`.
    private(set) var nextRequest: MonotonicTime

    private let flow: SignInFlow
    private let deadline: MonotonicTime
    private let notice: (SignInNotice) -> Void
    private var polling: DevicePolling

    /// Creates the wait for the approval of a code that was just issued. `deadline` is the time at which the
    /// caller ends the sign-in.
    init(
        _ authorization: DeviceAuthorization, _ flow: SignInFlow, deadline: MonotonicTime,
        notice: @escaping (SignInNotice) -> Void
    ) {
        self.flow = flow
        self.deadline = deadline
        self.notice = notice
        self.authorization = authorization
        polling = DevicePolling(authorization)
        let (date, now) = (flow.context.now(), MonotonicTime.now())
        end = now.adding(seconds: authorization.expiresAt.seconds(since: date))
        nextRequest = min(end, now.adding(seconds: polling.firstWait(now: date).components.seconds))
    }

    /// Requests the tokens once, and stores the session if they were issued. Throws if the sign-in has ended:
    /// it was interrupted, or the tokens were refused or could not be stored.
    mutating func request(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Answer {
        let error: OIDCError
        switch try redeem(keep: keep) {
        case .success(let outcome): return .signedIn(outcome)
        case .failure(let failure): error = failure
        }
        guard error.kind != .interrupted else { throw error }
        // The request was cut short by the deadline, at which the caller ends the sign-in.
        if error.kind == .timedOut, error.oauthError == nil, MonotonicTime.now() >= deadline {
            return .pending
        }
        switch polling.next(after: error, now: flow.context.now()) {
        case .failed(let error): return .ended(error)
        case .wait(let wait):
            if error.kind == .unreachable, error.oauthError != "slow_down" {
                notice(.warning("still trying: \(error.message)"))
            }
            let now = MonotonicTime.now()
            guard now < end else { return .ended(DevicePolling.expired) }
            nextRequest = min(end, now.adding(seconds: wait.components.seconds))
            return .pending
        }
    }

    /// Polls for the tokens and stores the session; returns the provider's error if no tokens were issued.
    private func redeem(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Result<SignInFlow.Outcome, OIDCError> {
        try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
            switch Result(catching: { () throws(OIDCError) in try flow.poll(authorization) }) {
            case .failure(let error): return .failure(error)
            case .success(let issued):
                notice(.answered)
                let outcome = try flow.outcome(of: issued)
                try flow.store(outcome, with: keep)
                return .success(outcome)
            }
        }
    }
}
