import OIDCCore

/// A device code that the user has not approved yet (RFC 8628 §3.4): says when to ask for its tokens, and asks.
struct DeviceCodeWait {
    enum Answer {
        case signedIn(Login.Outcome)
        /// Ask again at `nextRequest`.
        case pending
        /// The code is useless: declined, expired or refused.
        case ended(OIDCError)
    }

    let authorization: DeviceAuthorization
    /// When the code expires.
    let end: MonotonicTime
    /// When to ask for the tokens; never after `end`.
    private(set) var nextRequest: MonotonicTime

    private let login: Login
    private let deadline: MonotonicTime
    private let notice: (SignInNotice) -> Void
    private var polling: DevicePolling

    /// Requests a code; no request is made after `deadline`.
    init(
        _ login: Login, deadline: MonotonicTime, notice: @escaping (SignInNotice) -> Void
    ) throws(OIDCError) {
        self.login = login
        self.deadline = deadline
        self.notice = notice
        authorization = try login.beginOnDevice()
        polling = DevicePolling(authorization)
        let (date, now) = (login.environment.now(), MonotonicTime.now())
        end = now.adding(seconds: authorization.expiresAt.seconds(since: date))
        nextRequest = min(end, now.adding(seconds: polling.firstWait(now: date)))
    }

    /// Asks for the tokens once, and stores the session if they came. Throws if the sign-in is over: it was
    /// interrupted, or the tokens were refused or could not be stored.
    mutating func request(
        keep: (Login.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Answer {
        let error: OIDCError
        switch try redeem(keep: keep) {
        case .success(let outcome): return .signedIn(outcome)
        case .failure(let failure): error = failure
        }
        guard error.kind != .interrupted else { throw error }
        // The caller ends the sign-in at its deadline, which also cut this request short.
        if error.kind == .timedOut, error.oauthError == nil, MonotonicTime.now() >= deadline {
            return .pending
        }
        switch polling.next(after: error, now: login.environment.now()) {
        case .failed(let error): return .ended(error)
        case .wait(let seconds):
            if error.kind == .unreachable { notice(.warning("still trying: \(error.message)")) }
            let now = MonotonicTime.now()
            guard now < end else { return .ended(DevicePolling.expired) }
            nextRequest = min(end, now.adding(seconds: seconds))
            return .pending
        }
    }

    /// Returns a failure if no tokens came.
    private func redeem(
        keep: (Login.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Result<Login.Outcome, OIDCError> {
        try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
            switch Result(catching: { () throws(OIDCError) in try login.poll(authorization) }) {
            case .failure(let error): return .failure(error)
            case .success(let issued):
                notice(.answered)
                let outcome = try login.outcome(of: issued)
                try keep(outcome)
                return .success(outcome)
            }
        }
    }
}
