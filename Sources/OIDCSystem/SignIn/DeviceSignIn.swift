public import OIDCCore

/// Signs a person in on another device, by a code (RFC 8628).
public struct DeviceSignIn {
    public let login: Login
    public var notice: (SignInNotice) -> Void
    public var deadline: MonotonicTime

    public init(login: Login, deadline: MonotonicTime, notice: @escaping (SignInNotice) -> Void) {
        self.login = login
        self.deadline = deadline
        self.notice = notice
    }

    public func run(
        keep: (Login.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Login.Outcome {
        let authorization = try login.beginOnDevice()
        notice(.device(authorization))
        var polling = DevicePolling(authorization)
        try sleep(polling.interval)
        while true {
            var outcome: Login.Outcome?
            let answer = try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let answer = Result { () throws(OIDCError) in try login.poll(authorization) }
                guard case .success(let tokens) = answer else { return answer }
                notice(.answered)
                let signedIn = try login.outcome(of: tokens, for: authorization)
                try keep(signedIn)
                outcome = signedIn
                return answer
            }
            if let outcome { return outcome }
            if case .failure(let error) = answer, error.kind == .interrupted || error.isDeadline(deadline) {
                throw error.kind == .interrupted ? error : DeviceSignIn.late
            }
            switch polling.next(after: answer, now: login.environment.now()) {
            case .done: continue
            case .failed(let error): throw error
            case .wait(let seconds):
                if case .failure(let error) = answer, error.kind == .unreachable {
                    notice(.remark("still trying: \(error.message)"))
                }
                try sleep(seconds)
            }
        }
    }

    private func sleep(_ seconds: Int64) throws(OIDCError) {
        let end = min(MonotonicTime.now().adding(seconds: seconds), deadline)
        while MonotonicTime.now() < end {
            let left = deadline.milliseconds(from: .now())
            notice(.waiting(secondsLeft: (max(0, left) + 999) / 1_000))
            Poll.sleep(until: min(end, MonotonicTime.now().adding(milliseconds: 1_000)))
            try Interruption.throwIfPending()
        }
        guard MonotonicTime.now() < deadline else { throw DeviceSignIn.late }
    }

    private static let late = OIDCError(
        .timedOut, "nobody finished the sign-in in time",
        hint: "oidc login --timeout SECONDS gives more time", stage: .deviceAuthorization)
}

extension OIDCError {
    fileprivate func isDeadline(_ deadline: MonotonicTime) -> Bool {
        kind == .timedOut && oauthError == nil && MonotonicTime.now() >= deadline
    }
}
