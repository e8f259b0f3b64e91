package import OIDCCore

/// A sign-in on another device by a code (RFC 8628).
package struct DeviceSignIn {
    package let login: Login
    package var notice: (SignInNotice) -> Void
    package var deadline: MonotonicTime
    /// Called every second; true ends the wait with an error of kind `interrupted`.
    package var isCancelled: () -> Bool = { false }

    package init(login: Login, deadline: MonotonicTime, notice: @escaping (SignInNotice) -> Void) {
        self.login = login
        self.deadline = deadline
        self.notice = notice
    }

    package func run(
        keep: (Login.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Login.Outcome {
        let authorization = try login.beginOnDevice()
        notice(.device(authorization))
        var polling = DevicePolling(authorization)
        let now = login.environment.now()
        let codeEnd = MonotonicTime.now().adding(seconds: authorization.expiresAt.seconds(since: now))
        try sleep(polling.firstWait(now: now), codeEnd: codeEnd)
        while true {
            var outcome: Login.Outcome?
            let failure = try Interruption.postponedOnceRedeeming { () throws(OIDCError) -> OIDCError? in
                let issued: TokenEndpoint.Issued
                do throws(OIDCError) { issued = try login.poll(authorization) } catch { return error }
                notice(.answered)
                let signedIn = try login.outcome(of: issued)
                try keep(signedIn)
                outcome = signedIn
                return nil
            }
            if let outcome { return outcome }
            guard let error = failure else { continue }
            if error.kind == .interrupted || error.isDeadline(deadline) {
                throw error.kind == .interrupted ? error : DeviceSignIn.late
            }
            switch polling.next(after: error, now: login.environment.now()) {
            case .failed(let error): throw error
            case .wait(let seconds):
                if error.kind == .unreachable {
                    notice(.warning("still trying: \(error.message)"))
                }
                guard MonotonicTime.now() < codeEnd else { throw DevicePolling.expired }
                try sleep(seconds, codeEnd: codeEnd)
            }
        }
    }

    /// Waits, and shows the remaining time until the code expires or the sign-in times out.
    private func sleep(_ seconds: Int64, codeEnd: MonotonicTime) throws(OIDCError) {
        let last = min(codeEnd, deadline)
        let end = min(MonotonicTime.now().adding(seconds: seconds), last)
        while MonotonicTime.now() < end {
            let left = last.milliseconds(from: .now())
            notice(.waiting(secondsLeft: (max(0, left) + 999) / 1_000))
            Poll.sleep(until: min(end, MonotonicTime.now().adding(milliseconds: 1_000)))
            try Interruption.throwIfPending()
            guard !isCancelled() else { throw OIDCError(.interrupted, "cancelled", stage: .token) }
        }
        guard MonotonicTime.now() < deadline else { throw DeviceSignIn.late }
    }

    private static let late = OIDCError(
        .timedOut, "timed out waiting for the sign-in",
        hint: .advice(.allowMoreTime), stage: .deviceAuthorization)
}

extension OIDCError {
    fileprivate func isDeadline(_ deadline: MonotonicTime) -> Bool {
        kind == .timedOut && oauthError == nil && MonotonicTime.now() >= deadline
    }
}
