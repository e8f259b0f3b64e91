import OIDCCore
import Posix

/// A device code that the user has not approved yet, and the polling for its tokens (RFC 8628 §3.4).
struct DeviceCodeWait {
    enum Answer {
        case signedIn(SignInFlow.Outcome)
        /// Not approved yet; poll again at `nextMoment`.
        case pending
        /// The code is useless, as it was declined, refused or has expired.
        case ended(OIDCError)
    }

    let authorization: DeviceAuthorization
    /// The time at which the code expires.
    let end: MonotonicTime
    /// The time of the next request for the tokens; never after `end`.
    private var nextRequest: MonotonicTime
    /// The request that has no answer yet, on a thread of its own: while a provider does not answer, the sign-in can be
    /// finished in another way or canceled.
    private var poll: DevicePoll?

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

    /// The time at which to call `request`.
    var nextMoment: MonotonicTime { poll == nil ? nextRequest : .now().adding(milliseconds: 50) }

    /// Requests the tokens when that is due, and stores the session once they are issued. Throws if the sign-in has
    /// ended: it was interrupted, or the tokens were refused or could not be stored.
    mutating func request(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Answer {
        if poll == nil {
            guard nextRequest <= .now() else { return .pending }
            poll = try startPoll()
        }
        guard let result = poll?.value else { return .pending }
        poll = nil
        let error: OIDCError
        switch result {
        case .success(let issued): return .signedIn(try signedIn(issued, keep: keep))
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

    private typealias DevicePoll = BackgroundResult<Result<TokenEndpoint.Issued, OIDCError>>

    private func startPoll() throws(OIDCError) -> DevicePoll {
        do throws(Errno) {
            return try DevicePoll { [flow, authorization] in
                Interruption.postponedOnceRedeeming {
                    Result { () throws(OIDCError) in try flow.poll(authorization) }
                }
            }
        } catch {
            throw OIDCError(
                .failed, "no thread for the request: \(error)", hint: error.startHint, stage: .token)
        }
    }

    private func signedIn(
        _ issued: TokenEndpoint.Issued, keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome {
        try Interruption.postponed { () throws(OIDCError) in
            notice(.answered)
            let outcome = try flow.outcome(of: issued)
            try flow.store(outcome, with: keep)
            return outcome
        }
    }

    /// Waits for the answer to the last request, as it may bring tokens, and stores the session; returns nil
    /// if there are none. Called when the sign-in ends for another reason than an answer.
    mutating func lastAnswer(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome? {
        guard let poll else { return nil }
        self.poll = nil
        guard case .success(let issued) = poll.wait() else { return nil }
        return try signedIn(issued, keep: keep)
    }

    /// The unanswered request of a sign-in that was canceled or finished in another way. It is nil if there
    /// is none, or if its tokens must not be revoked, as a stored session would end with them.
    var unanswered: UnansweredPoll? {
        guard let poll, !flow.keepsRefusedTokens() else { return nil }
        return UnansweredPoll(flow: flow, answer: { poll.wait() })
    }
}

/// A poll for a device code that had no answer when the sign-in was finished in another way or canceled.
package struct UnansweredPoll {
    fileprivate let flow: SignInFlow
    fileprivate let answer: () -> Result<TokenEndpoint.Issued, OIDCError>

    /// Waits for the answer, at most as long as a request may take. If it brings tokens, they are revoked after
    /// `ready`, unless a stored session would end with them.
    package func settle(after ready: () -> Void = {}) {
        guard case .success(let issued) = answer() else { return }
        ready()
        Interruption.postponed { flow.discard(issued) }
    }
}
