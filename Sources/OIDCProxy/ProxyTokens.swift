package import OIDCCore
package import OIDCSystem
package import Posix

/// The token of a session in memory, for any number of requests: one refresh serves all that wait for it.
///
/// It is used only on the proxy's thread; its jobs run on others.
package final class ProxyTokens {
    /// A token and the key that it is bound to.
    struct Grant {
        let delivery: SessionTokens.Delivery
        let key: DPoPKey?
        let isBoundToCertificate: Bool

        var token: Redacted<String> { delivery.access.token }
    }

    typealias Completion = (_ result: Result<Grant, OIDCError>, _ refreshes: Int) -> Void

    private struct Waiter {
        let refused: Redacted<String>?
        /// The answer that requires a step-up sign-in; nil if a new token is enough.
        let answer: HTTPResponse?
        var refreshes: Int
        let completion: Completion
    }

    private enum JobResult: Sendable {
        case token(Result<SessionTokens.Delivery, OIDCError>)
        case stepUp(Result<SessionTokens.Delivery, OIDCError>, refused: Redacted<String>)
        case ending(OIDCError?)
    }

    let source: ProxyTokenSource
    private let job: ProxyJob<JobResult>
    private var current: Grant?
    /// The time until which the token is used without checking the session.
    private var trustedUntil = MonotonicTime(nanoseconds: .min)
    private var failure: (error: OIDCError, until: MonotonicTime)?
    private var waiters: [Waiter] = []
    private var isEnded = false
    /// Whether the user is signing in for a step-up. Other requests continue with the current token.
    private var isSteppingUp = false
    private var nextLook: MonotonicTime

    /// Milliseconds for which a token or a failure is used without checking the session again.
    static let trust: Int64 = 1_000
    /// Milliseconds for which a missing session is not looked up again; few, as the user may be signing in.
    static let signedOutTrust: Int64 = 50
    /// Milliseconds between the checks of an idle proxy's session.
    static let lookInterval: Int64 = 10_000

    package init(_ source: ProxyTokenSource, wake: FileDescriptor, now: MonotonicTime = .now()) {
        self.source = source
        job = ProxyJob(wake: wake)
        nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
    }

    /// Stores a token that was obtained before the start.
    package func begin(with delivery: SessionTokens.Delivery) throws(OIDCError) {
        current = try Grant(delivery, after: current)
    }

    var environment: ProviderEnvironment { source.environment }

    private func isFresh(_ grant: Grant) -> Bool {
        grant.delivery.access.isFresh(at: source.environment.now(), minimum: source.minimumValidity)
    }

    /// Returns the fresh token in memory if it can be used without a look at the session; nil if it is being replaced.
    /// During a step-up, requests go on with the token that there is.
    func ready(insteadOf refused: Redacted<String>? = nil, now: MonotonicTime) -> Grant? {
        guard isSteppingUp || now < trustedUntil && !isBeingReplaced else { return nil }
        return usable(insteadOf: refused)
    }

    private func usable(insteadOf refused: Redacted<String>?) -> Grant? {
        current.flatMap { $0.token != refused && isFresh($0) ? $0 : nil }
    }

    /// Whether a request waits for another token because a server refused this one.
    private var isBeingReplaced: Bool {
        waiters.contains { $0.answer == nil && $0.refused != nil && $0.refused == current?.token }
    }

    /// Returns whether another token than a refused one is in memory, so that no refresh is needed.
    func hasOther(than refused: Redacted<String>?) -> Bool { current.map { $0.token != refused } ?? false }

    /// Whether a request waits for a token or a sign-in.
    var isAwaited: Bool { !waiters.isEmpty }

    /// Whether the user may be prompted for a step-up sign-in.
    var canStepUp: Bool { source.stepUp != nil }

    /// Calls `completion` with a token other than the refused one, immediately if it is in memory. `answer`
    /// is the answer that requires a step-up sign-in.
    func obtain(
        insteadOf refused: Redacted<String>? = nil, after answer: HTTPResponse? = nil, now: MonotonicTime,
        _ completion: @escaping Completion
    ) {
        if let grant = ready(insteadOf: refused, now: now) { return completion(.success(grant), 0) }
        if answer == nil, let failure, now < failure.until {
            return completion(settled(failure.error, refused), 0)
        }
        waiters.append(Waiter(refused: refused, answer: answer, refreshes: 0, completion: completion))
        startNext()
    }

    private func startNext() {
        guard !job.isRunning, let first = waiters.first else { return }
        let refused = first.refused.flatMap { token in
            current.flatMap { $0.token == token ? $0.delivery : nil }
        }
        if let refused, let answer = first.answer, let stepUp = source.stepUp {
            isSteppingUp = true
            start {
                .stepUp(
                    Result { () throws(OIDCError) in try stepUp(refused, answer) },
                    refused: refused.access.token)
            }
            return
        }
        start { [source] in
            .token(Result { () throws(OIDCError) in try source.token(refused) })
        }
    }

    private func start(_ work: @escaping @Sendable () -> JobResult) {
        do throws(Errno) {
            try job.start(work)
        } catch {
            complete(
                .failure(OIDCError(.failed, "no thread: \(error)", hint: error.startHint)), now: .now())
        }
    }

    /// Handles the result of a job that has ended; otherwise checks the session every ten seconds.
    func advance(now: MonotonicTime) {
        if let result = job.take() {
            isSteppingUp = false
            nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
            switch result {
            case .token(let result): complete(result, now: now)
            case .stepUp(.success(let delivery), _): complete(.success(delivery), now: now)
            case .stepUp(.failure(let error), let refused): failStepUp(error, of: refused)
            case .ending(let error?): end(error)
            case .ending(nil): isEnded = false
            }
            startNext()
        } else if !job.isRunning, now >= nextLook {
            nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
            start { [source] in .ending(source.ending()) }
        }
    }

    var nextMoment: MonotonicTime { job.isRunning ? MonotonicTime(nanoseconds: .max) : nextLook }

    /// Waits for a running job, which may be storing a new refresh token.
    func finish() { job.finish() }

    private func complete(_ result: Result<SessionTokens.Delivery, OIDCError>, now: MonotonicTime) {
        let outcome = result.flatMap { delivery in
            Result { () throws(OIDCError) in try Grant(delivery, after: current) }
        }
        var refreshed = 0
        switch outcome {
        case .success(let grant):
            refreshed = current.map { $0.token != grant.token ? 1 : 0 } ?? 0
            current = grant
            trustedUntil = now.adding(milliseconds: ProxyTokens.trust)
            failure = nil
            isEnded = false
        case .failure(let error):
            let trust = error.kind == .loginRequired ? ProxyTokens.signedOutTrust : ProxyTokens.trust
            failure = (error, now.adding(milliseconds: trust))
            if error.kind == .loginRequired {
                current = nil
                end(error)
            }
        }
        let served = waiters
        waiters = []
        for var waiter in served {
            waiter.refreshes += refreshed
            // A job for another request may have returned the token that was refused here.
            if case .success(let grant) = outcome, let refused = waiter.refused, grant.token == refused,
                waiter.refreshes < 2, served.first?.refused != refused
            {
                waiters.append(waiter)
            } else {
                waiter.completion(
                    outcome.flatMapError { settled($0, waiter.refused) }, waiter.refreshes)
            }
        }
    }

    /// Returns the token in memory if only the network failed and the token was not refused, else the error.
    private func settled(_ error: OIDCError, _ refused: Redacted<String>?) -> Result<Grant, OIDCError> {
        guard [.unreachable, .timedOut].contains(error.kind), let grant = usable(insteadOf: refused) else {
            return .failure(error)
        }
        return .success(grant)
    }

    /// Reports a failed step-up sign-in to the requests that wait for it; the session does not change.
    private func failStepUp(_ error: OIDCError, of refused: Redacted<String>) {
        let served = waiters.filter { $0.answer != nil && $0.refused == refused }
        waiters.removeAll { $0.answer != nil && $0.refused == refused }
        for waiter in served { waiter.completion(.failure(error), waiter.refreshes) }
    }

    private func end(_ error: OIDCError) {
        guard !isEnded else { return }
        isEnded = true
        source.onEnd(error)
    }
}

extension ProxyTokens.Grant {
    /// Creates a grant. It reads the session's key, unless the last grant has the same token and key.
    init(_ delivery: SessionTokens.Delivery, after last: ProxyTokens.Grant?) throws(OIDCError) {
        _ = try delivery.access.credentials(.resource)
        self.delivery = delivery
        isBoundToCertificate = delivery.session.isBoundToCertificate(delivery.access)
        if let last, last.delivery.access == delivery.access,
            last.delivery.session.dpopKey == delivery.session.dpopKey
        {
            key = last.key
        } else {
            key = try delivery.session.dpopKey(of: delivery.access)
        }
    }

    /// Returns the header fields with the token and its proof (RFC 6750 §2.1, RFC 9449 §7.1).
    func authorization(
        _ method: HTTPMethod, _ url: WebURL, nonce: String?, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> [HTTPHeaders.Field] {
        var fields = [
            HTTPHeaders.Field(name: "Authorization", value: try delivery.access.credentials(.resource))
        ]
        if let key {
            let proof = try key.proof(
                method: method, url: url, accessToken: token.revealed, nonce: nonce, now: environment.now(),
                random: environment.random)
            fields.append(HTTPHeaders.Field(name: DPoP.header, value: proof))
        }
        return fields
    }
}
