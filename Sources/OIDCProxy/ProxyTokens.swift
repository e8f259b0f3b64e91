package import OIDCCore
package import OIDCAccount
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
        /// Whether requests have a proof whose key is not here.
        var isSignedElsewhere: Bool { delivery.signing != nil && delivery.access.type == .dpop }
        /// Whether requests have a proof.
        var isBoundToKey: Bool { key != nil || isSignedElsewhere }
    }

    typealias Completion = (_ result: Result<Grant, OIDCError>, _ refreshes: Int) -> Void

    /// What a request waits for.
    private enum Need {
        case token
        /// A sign-in, which the answer requires; nil if only no other token is available without one.
        case signIn(after: ProxyTokenSource.Answer?)
    }

    private struct Waiter {
        let refused: Redacted<String>?
        var need: Need
        let began: MonotonicTime
        var refreshes: Int
        let completion: Completion

        var needsSignIn: Bool {
            if case .signIn = need { true } else { false }
        }
    }

    private struct Failure {
        let error: OIDCError
        let until: MonotonicTime
        /// Whether requests go on with the token in memory, if it was not refused to them.
        let sparesToken: Bool
    }

    private enum JobResult: Sendable {
        /// `refused` is the token that was to be replaced.
        case token(Result<SessionTokens.Delivery, OIDCError>, refused: Redacted<String>?)
        case ending(OIDCError?)
    }

    private struct SignInResult: Sendable {
        let delivery: Result<SessionTokens.Delivery, OIDCError>
        let refused: Redacted<String>
    }

    /// A request whose proof is to be signed elsewhere.
    private struct Signature {
        let job: BackgroundJob<Authorization>
        let work: @Sendable () -> Authorization
        /// Whether the caller still waits.
        let isNeeded: () -> Bool
        let completion: (Authorization) -> Void
    }

    /// The maximum number of proofs being signed elsewhere at a time. The lender serves few of one program's requests.
    private static let signatureLimit = 16
    /// The number of waiting requests from which on those of callers that have left are dropped.
    private static let queueLimit = 256

    /// The header fields with a token and its proof, or the reason why there are none.
    typealias Authorization = Result<[HTTPHeaders.Field], OIDCError>

    let source: ProxyTokenSource
    private let wake: FileDescriptor
    private let job: BackgroundJob<JobResult>
    private var jobBegan: MonotonicTime
    /// Whether the job replaces a token that a server refused; otherwise it looks at the session.
    private var jobReplaces = false
    /// The sign-in for a step-up. Meanwhile, other requests get tokens, and a sign-out is noticed.
    private let signIn: BackgroundJob<SignInResult>
    private var current: Grant?
    /// The time until which the token is used without checking the session.
    private var trustedUntil = MonotonicTime(nanoseconds: .min)
    private var failure: Failure?
    private var waiters: [Waiter] = []
    private var signatures: [Signature] = []
    /// The requests whose proofs are not being signed yet, the oldest first.
    private var unsigned: [Signature] = []
    private var isEnded = false
    private var nextLook: MonotonicTime

    /// Milliseconds for which a token or a failure is used without checking the session again.
    static let trust: Int64 = 1_000
    /// Milliseconds for which a missing session is not looked up again; few, as the user may be signing in.
    static let signedOutTrust: Int64 = 50
    /// Milliseconds for which a request with a good token waits while the session is checked, or the token is replaced
    /// for another request: the store or the provider may not answer at all.
    static let patience: Int64 = 2_000
    /// Milliseconds between the checks of an idle proxy's session.
    static let lookInterval: Int64 = 10_000

    package init(_ source: ProxyTokenSource, wake: FileDescriptor, now: MonotonicTime = .now()) {
        self.source = source
        self.wake = wake
        job = BackgroundJob(wake: wake)
        jobBegan = now
        signIn = BackgroundJob(wake: wake)
        nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
    }

    /// Stores a token that was obtained before the start.
    package func begin(with delivery: SessionTokens.Delivery) throws(OIDCError) {
        current = try Grant(delivery, after: current)
    }

    var environment: OIDCContext { source.environment }

    private func isFresh(_ grant: Grant) -> Bool {
        grant.delivery.access.isFresh(at: source.environment.now(), minimum: source.minimumValidity)
    }

    /// Returns the fresh token in memory if it can be used without a look at the session; nil if it is being replaced,
    /// unless that takes too long.
    func ready(insteadOf refused: Redacted<String>? = nil, now: MonotonicTime) -> Grant? {
        let hangs = mayGoOn && job.isRunning && now >= jobBegan.adding(milliseconds: ProxyTokens.patience)
        guard hangs || now < trustedUntil && !isBeingReplaced else { return nil }
        return usable(insteadOf: refused)
    }

    private func usable(insteadOf refused: Redacted<String>?) -> Grant? {
        current.flatMap { $0.token != refused && isFresh($0) ? $0 : nil }
    }

    /// Whether a request waits for another token because a server refused this one.
    private var isBeingReplaced: Bool {
        waiters.contains { !$0.needsSignIn && $0.refused != nil && $0.refused == current?.token }
    }

    /// Returns whether another token than a refused one is in memory, so no refresh is needed.
    func hasOther(than refused: Redacted<String>?) -> Bool { current.map { $0.token != refused } ?? false }

    /// Whether a request waits for a token, a sign-in or a proof.
    var isAwaited: Bool { !waiters.isEmpty || !signatures.isEmpty || !unsigned.isEmpty }

    /// Whether the user may be prompted for a step-up sign-in.
    var canStepUp: Bool { source.stepUp != nil }

    /// Calls `completion` with a token other than the refused one, immediately if it is in memory. `answer`
    /// is the answer that requires a step-up sign-in.
    func obtain(
        insteadOf refused: Redacted<String>? = nil, after answer: ProxyTokenSource.Answer? = nil,
        now: MonotonicTime, _ completion: @escaping Completion
    ) {
        if let grant = ready(insteadOf: refused, now: now) { return completion(.success(grant), 0) }
        if answer == nil, let failure, now < failure.until {
            return completion(settled(failure, refused), 0)
        }
        let need: Need = answer.map { .signIn(after: $0) } ?? .token
        waiters.append(
            Waiter(refused: refused, need: need, began: now, refreshes: 0, completion: completion))
        startNext(now: now)
    }

    /// Calls `completion` with the fields for a request. If the proof is signed elsewhere, it is called later, and only if
    /// the caller still waits.
    func authorize(
        _ grant: Grant, _ method: HTTPMethod, _ url: WebURL, nonce: String?,
        isNeeded: @escaping () -> Bool, _ completion: @escaping (Authorization) -> Void
    ) {
        let authorization = { @Sendable [environment] in
            Result { () throws(OIDCError) in try grant.authorization(method, url, nonce: nonce, environment) }
        }
        guard grant.isSignedElsewhere else { return completion(authorization()) }
        if unsigned.count >= ProxyTokens.queueLimit { unsigned.removeAll { !$0.isNeeded() } }
        unsigned.append(
            Signature(
                job: BackgroundJob(wake: wake), work: authorization, isNeeded: isNeeded,
                completion: completion))
        startSigning()
    }

    private func startSigning() {
        while signatures.count < ProxyTokens.signatureLimit, !unsigned.isEmpty {
            let next = unsigned.removeFirst()
            guard next.isNeeded() else { continue }
            do throws(Errno) {
                try next.job.start(next.work)
                signatures.append(next)
            } catch {
                next.completion(
                    .failure(OIDCError(.failed, "no thread: \(error)", hint: error.startHint)))
            }
        }
    }

    private func takeSigned() {
        let answered = signatures.map { ($0, $0.job.take()) }
        signatures = answered.filter { $0.1 == nil }.map(\.0)
        let failure = answered.lazy.compactMap { _, result in
            if case .failure(let error)? = result, error.code == .noLender { error } else { nil }
        }.first
        if let failure {
            // Those that wait would not be answered either, and each part of them would wait for the time limit.
            let waiting = unsigned
            unsigned = []
            for signature in waiting { signature.completion(.failure(failure)) }
        }
        startSigning()
        for case (let signature, let result?) in answered { signature.completion(result) }
    }

    /// Returns the delivery in memory if its token is the one that a request was refused.
    private func delivery(refusedTo waiter: Waiter) -> SessionTokens.Delivery? {
        current.flatMap { $0.token == waiter.refused ? $0.delivery : nil }
    }

    /// Whether a request waits for a sign-in: one that is running, or that it needs.
    private func awaitsSignIn(_ waiter: Waiter) -> Bool {
        guard waiter.needsSignIn, source.stepUp != nil else { return false }
        return signIn.isRunning || delivery(refusedTo: waiter) != nil
    }

    private func startNext(now: MonotonicTime) {
        if !signIn.isRunning, let waiter = waiters.first(where: awaitsSignIn),
            case .signIn(let answer) = waiter.need, let refused = delivery(refusedTo: waiter),
            let stepUp = source.stepUp
        {
            start(signIn) {
                SignInResult(
                    delivery: Result { () throws(OIDCError) in try stepUp(refused, answer) },
                    refused: refused.access.token)
            }
        }
        guard !job.isRunning, let first = waiters.first(where: { !awaitsSignIn($0) }) else { return }
        let refused = delivery(refusedTo: first)
        jobBegan = now
        jobReplaces = refused != nil
        start(job) { [source] in
            .token(
                Result { () throws(OIDCError) in try source.token(refused) }, refused: refused?.access.token)
        }
    }

    private func start<Value>(_ job: BackgroundJob<Value>, _ work: @escaping @Sendable () -> Value) {
        do throws(Errno) {
            try job.start(work)
        } catch {
            complete(
                .failure(OIDCError(.failed, "no thread: \(error)", hint: error.startHint)), now: .now())
        }
    }

    /// Handles the result of a job that has ended; otherwise checks the session every ten seconds.
    func advance(now: MonotonicTime) {
        takeSigned()
        if let result = signIn.take() {
            switch result.delivery {
            case .success(var delivery):
                delivery.isSignedIn = true
                complete(.success(delivery), now: now)
            case .failure(let error): failStepUp(error, of: result.refused)
            }
            startNext(now: now)
        }
        if let result = job.take() {
            nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
            switch result {
            case .token(let result, let refused): complete(result, insteadOf: refused, now: now)
            case .ending(let error?): end(error)
            case .ending(nil): isEnded = false
            }
            startNext(now: now)
        } else if !job.isRunning, now >= nextLook {
            nextLook = now.adding(milliseconds: ProxyTokens.lookInterval)
            jobBegan = now
            jobReplaces = false
            start(job) { [source] in .ending(source.ending()) }
        } else {
            serveImpatient(now: now)
        }
    }

    /// Serves the requests that have waited too long with the token in memory, if it was not refused to them.
    private func serveImpatient(now: MonotonicTime) {
        let served = waiters.filter { isImpatient($0) && impatience(of: $0) <= now }
        guard !served.isEmpty else { return }
        waiters.removeAll { isImpatient($0) && impatience(of: $0) <= now }
        for waiter in served {
            if let grant = usable(insteadOf: waiter.refused) {
                waiter.completion(.success(grant), waiter.refreshes)
            }
        }
    }

    /// Whether a job that takes long only means that a server does not answer. With sign-ins, it may wait for the user,
    /// who signed out and is signing in again: then the token in memory is over.
    private var mayGoOn: Bool {
        source.stepUp == nil || jobReplaces && !signIn.isRunning && !source.isAsking()
    }

    private func isImpatient(_ waiter: Waiter) -> Bool {
        mayGoOn && !waiter.needsSignIn && usable(insteadOf: waiter.refused) != nil
    }

    private func impatience(of waiter: Waiter) -> MonotonicTime {
        waiter.began.adding(milliseconds: ProxyTokens.patience)
    }

    var nextMoment: MonotonicTime {
        guard job.isRunning else { return nextLook }
        return waiters.filter(isImpatient).map(impatience).min() ?? MonotonicTime(nanoseconds: .max)
    }

    /// Waits for the jobs that may be storing a new refresh token.
    func finish() {
        job.finish()
        signIn.finish()
    }

    private func complete(
        _ result: Result<SessionTokens.Delivery, OIDCError>, insteadOf replaced: Redacted<String>? = nil,
        now: MonotonicTime
    ) {
        let outcome = result.flatMap { delivery in
            Result { () throws(OIDCError) in try Grant(delivery, after: current) }
        }
        switch outcome {
        case .success(let grant):
            let refreshed = current.map { $0.token != grant.token ? 1 : 0 } ?? 0
            current = grant
            trustedUntil = now.adding(milliseconds: ProxyTokens.trust)
            failure = nil
            isEnded = false
            serve(grant, refreshed: refreshed)
        case .failure(let error):
            fail(error, of: replaced, now: now)
        }
    }

    /// Removes and returns the requests that an outcome answers: all but those that wait for a running sign-in.
    private func takeServed() -> [Waiter] {
        let isServed = { [signIn] (waiter: Waiter) in !(signIn.isRunning && waiter.needsSignIn) }
        defer { waiters.removeAll(where: isServed) }
        return waiters.filter(isServed)
    }

    private func serve(_ grant: Grant, refreshed: Int) {
        let served = takeServed()
        for var waiter in served {
            waiter.refreshes += refreshed
            // A job for another request may have returned the token that was refused here.
            if let refused = waiter.refused, grant.token == refused, waiter.refreshes < 2,
                served.first?.refused != refused
            {
                waiters.append(waiter)
            } else {
                waiter.completion(.success(grant), waiter.refreshes)
            }
        }
    }

    /// Reports a failure to those that wait. One server alone may have refused a token that the others accept; only the
    /// end of the session takes it from them, too.
    private func fail(_ error: OIDCError, of replaced: Redacted<String>?, now: MonotonicTime) {
        let isReplacement = replaced != nil && replaced == current?.token
        let isIrreplaceable = isReplacement && error.code == .noRefreshToken
        if isIrreplaceable, source.stepUp != nil {
            // Others are served beside the sign-in, which may take as long as the user likes.
            for index in waiters.indices {
                guard waiters[index].refused == replaced, !waiters[index].needsSignIn else { continue }
                waiters[index].need = .signIn(after: nil)
            }
            return
        }
        let isSignedOut = error.kind == .loginRequired && !isIrreplaceable
        let failure = Failure(
            error: error,
            until: now.adding(milliseconds: isSignedOut ? ProxyTokens.signedOutTrust : ProxyTokens.trust),
            sparesToken: [.unreachable, .timedOut].contains(error.kind) || isReplacement && !isSignedOut)
        self.failure = failure
        if isSignedOut {
            current = nil
            end(error)
        }
        for waiter in takeServed() {
            waiter.completion(settled(failure, waiter.refused), waiter.refreshes)
        }
    }

    /// Returns the token in memory if the failure spares it and it was not refused, else the error.
    private func settled(_ failure: Failure, _ refused: Redacted<String>?) -> Result<Grant, OIDCError> {
        guard failure.sparesToken, let grant = usable(insteadOf: refused) else {
            return .failure(failure.error)
        }
        return .success(grant)
    }

    /// Reports a failed step-up sign-in to the requests that wait for it; the session does not change.
    private func failStepUp(_ error: OIDCError, of refused: Redacted<String>) {
        let served = waiters.filter { $0.needsSignIn && $0.refused == refused }
        waiters.removeAll { $0.needsSignIn && $0.refused == refused }
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
            key = delivery.signing == nil ? try delivery.session.dpopKey(of: delivery.access) : nil
        }
    }

    /// Returns the header fields with the token and its proof (RFC 6750 §2.1, RFC 9449 §7.1).
    func authorization(
        _ method: HTTPMethod, _ url: WebURL, nonce: String?, _ environment: OIDCContext
    ) throws(OIDCError) -> [HTTPHeaders.Field] {
        var fields = [
            HTTPHeaders.Field(name: "Authorization", value: try delivery.access.credentials(.resource))
        ]
        var proof = try key?.proof(
            method: method, url: url, accessToken: token.revealed, nonce: nonce, now: environment.now(),
            random: environment.random)
        if isSignedElsewhere { proof = try delivery.signing?(method, url, nonce) }
        if let proof { fields.append(HTTPHeaders.Field(name: DPoP.header, value: proof)) }
        return fields
    }
}
