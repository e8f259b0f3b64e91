package import OIDCCore
package import Posix

/// A sign-in on another device, with a code (RFC 8628).
package struct DeviceSignIn {
    package let flow: SignInFlow
    package var notice: (SignInNotice) -> Void
    package var deadline: MonotonicTime
    /// The code that another process has requested; nil to request one.
    package var begun: DeviceAuthorization?
    /// Called every `pause` milliseconds; true ends the wait with an error of kind `interrupted`.
    package var isCancelled: () -> Bool = { false }
    package var pause: Int64 = 1_000
    /// Takes the poll that had no answer when the sign-in was canceled, to be settled later. If it is nil, `run` waits
    /// for that answer, and tokens in it are not lost.
    package var leave: ((UnansweredPoll) -> Void)?

    package init(flow: SignInFlow, deadline: MonotonicTime, notice: @escaping (SignInNotice) -> Void) {
        self.flow = flow
        self.deadline = deadline
        self.notice = notice
    }

    /// Shows a code and waits until it is approved. `keep` stores the session.
    package func run(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome {
        let authorization = if let begun { begun } else { try flow.requestDeviceCode() }
        var code = DeviceCodeWait(authorization, flow, deadline: deadline, notice: notice)
        notice(.device(code.authorization))
        do throws(OIDCError) {
            while true {
                try sleep(until: code.nextMoment, codeEnd: code.end)
                switch try code.request(keep: keep) {
                case .signedIn(let outcome): return outcome
                case .ended(let error): throw error
                case .pending: continue
                }
            }
        } catch {
            if let leave, error.isCancellation {
                code.unanswered.map(leave)
                throw error
            }
            guard let outcome = try code.lastAnswer(keep: keep) else { throw error }
            return outcome
        }
    }

    /// Waits, and shows the remaining time until the code expires or the sign-in times out.
    private func sleep(until moment: MonotonicTime, codeEnd: MonotonicTime) throws(OIDCError) {
        let end = min(moment, deadline)
        while MonotonicTime.now() < end {
            let left = max(0, min(codeEnd, deadline).milliseconds(from: .now()))
            notice(.waiting(secondsLeft: (left + 999) / 1_000, pastedCount: nil))
            Poll.sleep(until: min(end, MonotonicTime.now().adding(milliseconds: pause)))
            try Interruption.throwIfPending()
            guard !isCancelled() else { throw .canceled(.token) }
        }
        guard MonotonicTime.now() < deadline else { throw DeviceSignIn.late }
    }

    private static let late = OIDCError(
        .timedOut, "timed out waiting for the sign-in",
        hint: .advice(.allowMoreTime), stage: .deviceAuthorization)
}

extension OIDCError {
    /// Returns the error of a sign-in that its caller canceled.
    static func canceled(_ stage: Stage) -> OIDCError { OIDCError(.interrupted, "canceled", stage: stage) }

    /// Whether the caller canceled the sign-in, and no signal ended it.
    var isCancellation: Bool { kind == .interrupted && Interruption.recorded == nil }
}
