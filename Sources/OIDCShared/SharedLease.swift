import OIDCCore
import OIDCCrypto
package import Posix
import Synchronization

/// The durations of leases, by the server's clock.
package struct LeaseTimes: Sendable {
    /// The lease if no refresh token will be presented. It can be short: two processes may safely continue, and it is
    /// how long a killed holder delays the others.
    package var acquired: Duration
    /// The lease if a single-use refresh token will be presented. A holder that is stopped for less time keeps its
    /// session.
    package var presenting: Duration

    package init(acquired: Duration = .seconds(10), presenting: Duration = .seconds(60)) {
        self.acquired = acquired
        self.presenting = presenting
    }
}

/// The clock, pauses, threads and random numbers of a shared store; a simulation replaces them.
package struct LeaseRuntime: Sendable {
    package var now: @Sendable () -> MonotonicTime = { .now() }
    /// A function that sleeps, or returns early after a signal.
    package var sleep: @Sendable (_ milliseconds: Int64) -> Void = {
        Poll.sleep(until: .now().adding(milliseconds: $0))
    }
    /// A function that calls `body` every `milliseconds` until the returned closure is called.
    package var renew:
        @Sendable (_ milliseconds: Int64, _ body: @escaping @Sendable () -> Void) -> () -> Void = {
            RenewalThread.start($0, endsBeforeStop: false, $1)
        }
    /// A function that returns a random number below the bound.
    package var random: @Sendable (Int64) -> Int64 = { Int64.random(in: 0..<max(1, $0)) }

    package init() {}
}

/// A lease that this process holds.
final class SharedLease: Sendable {
    let name: String
    private let engine: any SharedEngine
    private let times: LeaseTimes
    private let duration: Duration
    private let owner: String
    private struct State {
        /// When the server was last asked for this lease, and gave it.
        var givenAt: MonotonicTime?
        var isPresenting = false
        var isLost = false
        var outage: OIDCError?
    }
    private let state = Mutex(State())

    /// Creates a lease, which is not acquired yet. If `presents` is true, a refresh token may be presented under it.
    init(_ name: String, _ engine: any SharedEngine, _ times: LeaseTimes, presents: Bool = false) {
        self.name = name
        self.engine = engine
        self.times = times
        duration = presents ? times.presenting : times.acquired
        owner = Base64URL.encode(Random.bytes(16))
    }

    /// Whether another process took over before a refresh token was presented.
    var isLost: Bool { state.withLock { $0.isLost } }
    /// Whether a refresh token may have been presented.
    var isPresenting: Bool { state.withLock { $0.isPresenting } }
    /// The error of a server that did not take the new refresh token. It is not contacted again under this lease,
    /// because each timeout delays the token.
    var outage: OIDCError? { state.withLock { $0.outage } }
    /// The time between extensions of the lease, in milliseconds.
    var period: Int64 { times.acquired.milliseconds / 3 }

    func acquire(
        reading names: [String] = [], checksWrites: Bool = false, now: @Sendable () -> MonotonicTime
    ) throws(OIDCError) -> LeaseAnswer {
        let start = now()
        let answer: LeaseAnswer
        do throws(OIDCError) {
            answer = try engine.acquire(
                name, owner: owner, for: duration, reading: names, checksWrites: checksWrites)
        } catch {
            // The server may have given it, and the others would wait until it ends.
            if error.mayHaveBeenCarriedOut { release() }
            // Without records to read, only the lease's own key can be of another type.
            if names.isEmpty, error.code == .damagedSession { throw unusable }
            // No session was written.
            throw error.unanswered(false)
        }
        if answer.isOurs { state.withLock { $0.givenAt = start } }
        return answer
    }

    /// The command that deletes the lease's key by hand.
    var deletion: String { ShellWord.line(engine.deletion(of: name)) }

    /// The error about a key of another type in place of the lease. A sign-in does not replace it.
    private var unusable: OIDCError {
        .untrusted(
            .store,
            "\(DisplayText.clean(engine.description)): what is in place of the session's lease is not a string",
            hint: .text("delete the key, unless another program needs it: \(deletion)"))
    }

    /// Checks that the lease outlasts the request with a single-use refresh token. Throws if another process took over.
    ///
    /// A lease that was given a moment ago is not asked for again. If this process was stopped since, or before it got
    /// an answer, the lease may have expired.
    func present(now: @Sendable () -> MonotonicTime) throws(OIDCError) {
        state.withLock { $0.isPresenting = true }
        if duration >= times.presenting, let givenAt = state.withLock({ $0.givenAt }), isShort(givenAt, now())
        {
            return
        }
        for _ in 0..<SharedLease.presentLimit {
            let start = now()
            guard try engine.extend(name, owner: owner, to: times.presenting) else { throw lost() }
            if isShort(start, now()) { return }
        }
        throw .sharedStore(engine.description, "answers too slowly for a refresh")
    }

    private func isShort(_ start: MonotonicTime, _ end: MonotonicTime) -> Bool {
        end.milliseconds(from: start) < times.acquired.milliseconds
    }

    private static let presentLimit = 3

    /// Records that the server is unreachable.
    func note(outage: OIDCError) { state.withLock { $0.outage = outage } }

    /// Records that another process took over, and returns the error.
    func lost() -> OIDCError {
        state.withLock { $0.isLost = true }
        return .sharedStore(
            engine.description, "another process took over the refresh while this one was stopped")
    }

    /// Extends the lease while the request runs. A failure is harmless: the record's version guards the
    /// write.
    func renew() { _ = try? engine.extend(name, owner: owner, to: duration) }

    /// Gives the lease up, also after a signal: the others would wait until it ends. A server that hangs, which may still
    /// read the request, delays the user only for a moment.
    func release() {
        Interruption.postponed { try? engine.release(name, owner: owner, within: SharedLease.releaseLimit) }
    }

    private static let releaseLimit = Duration.seconds(2)
}
