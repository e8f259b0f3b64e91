import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import OIDCAccount
@testable import Posix
import Synchronization

/// One process of a machine.
///
/// Unchecked, because only the thread whose turn it is uses the state.
final class SimulatedProcess: SharedEngine, @unchecked Sendable {
    private let fleet: SimulatedFleet
    private let faults: SimulatedFleet.Faults
    private let machine: Int
    private let skew: Int64
    private(set) var isKilled = false
    private var isStopped = false
    /// Whether the process has presented a refresh token whose successor it has not stored.
    private var isPresenting = false
    let description = "simulation"
    func withoutSecrets(_ text: String) -> String { text }
    func withoutPassword(_ text: String) -> String { text }
    func deletion(of name: String) -> [String] { ["delete", name] }

    init(_ fleet: SimulatedFleet, _ faults: SimulatedFleet.Faults, _ machine: Int, _ skew: Int64) {
        self.fleet = fleet
        self.faults = faults
        self.machine = machine
        self.skew = skew
    }

    private var time: VirtualTime { fleet.time }

    /// Asks for a token. Returns its number.
    func run() -> Result<Int, OIDCError> {
        let now: @Sendable () -> Instant = { SimulatedFleet.clock(self.time, ahead: self.skew) }
        let keys = fleet.keys
        let store = SessionStore(self, runtime: runtime, now: now) { () throws(OIDCError) in keys }
        let wait = LockWait(limit: .seconds(90), isCancelled: { false })
        let tokens = SessionTokens(
            store: store, key: .example, now: now, wait: wait,
            startedAt: MonotonicTime(nanoseconds: time.milliseconds * 1_000_000), machine: String(machine),
            pause: { self.time.pause($0) }
        ) { (current, _) throws(OIDCError) in try self.request(current) }
        let result = Result { () throws(OIDCError) in
            Int(try tokens.token(TokenDemand(minimumValidity: 60)).access.token.revealed.dropFirst(3)) ?? .max
        }
        if isPresenting { fleet.excuse() }
        return result
    }

    private var runtime: LeaseRuntime {
        var runtime = LeaseRuntime()
        runtime.now = { MonotonicTime(nanoseconds: self.time.milliseconds * 1_000_000) }
        runtime.sleep = { self.time.pause($0) }
        runtime.random = { self.time.below($0) }
        runtime.renew = { period, body in
            let renewal = Renewal(body)
            self.schedule(renewal, period)
            return { renewal.body = nil }
        }
        return runtime
    }

    private final class Renewal: @unchecked Sendable {
        var body: (@Sendable () -> Void)?
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private func schedule(_ renewal: Renewal, _ period: Int64) {
        time.call(at: time.milliseconds + period) { [self] in
            guard let body = renewal.body, !isKilled else { return }
            if !isStopped { body() }
            schedule(renewal, period)
        }
    }

    private func request(_ current: Session?) throws(OIDCError) -> SessionTokens.Answer {
        let down = OIDCError(.unreachable, "the provider is out of reach", stage: .token)
        guard let current, let token = current.tokens.refreshToken?.revealed else {
            throw TokenRefresh.impossible
        }
        // From here on, a stop is shorter than the lease for presenting.
        isPresenting = true
        travel(500)
        guard !isKilled, !isCutOff(from: .provider) else { throw down }
        guard let next = fleet.refresh(token) else {
            isPresenting = false
            throw OIDCError(
                .loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: .sessionEnded)
        }
        travel(500)
        if isKilled || time.happens(oneIn: faults.loss) { throw down }
        return SessionTokens.Answer(successor: next) { () throws(OIDCError) in
            TokenRefresh.Outcome(session: next, access: .success(next.tokens.access), warnings: [])
        }
    }

    /// A message on its way, during which the process may be killed or stopped.
    private func travel(_ most: Int64) {
        time.pause(1 + time.below(most))
        if time.happens(oneIn: faults.kill) { isKilled = true }
        if time.happens(oneIn: faults.stop) {
            isStopped = true
            time.pause(time.below(isPresenting ? 20_000 : 200_000))
            isStopped = false
        }
    }

    /// Whether this machine is cut off. It notices that after a time-out.
    private func isCutOff(from side: SimulatedFleet.Side) -> Bool {
        guard fleet.isCutOff(machine, from: side) else { return false }
        if !time.isInCall { time.pause(5_000) }
        return true
    }

    /// A call of the engine.
    private func call<Value>(_ body: () throws(OIDCError) -> Value) throws(OIDCError) -> Value {
        let lost = OIDCError.sharedStore(description, "lost")
        if time.isInCall {
            guard !isKilled, !isCutOff(from: .engine) else { throw lost }
            return try body()
        }
        travel(20)
        if isKilled || isCutOff(from: .engine) || time.happens(oneIn: faults.loss) { throw lost }
        fleet.engine.pass(time.milliseconds - fleet.engine.state.withLock { $0.time })
        let value = try body()
        travel(20)
        if isKilled || time.happens(oneIn: faults.loss) { throw lost }
        return value
    }

    private var engine: MemoryEngine { fleet.engine }

    func read(_ name: String) throws(OIDCError) -> SharedValue? {
        try call { () throws(OIDCError) in try engine.read(name) }
    }

    func write(
        _ name: String, _ bytes: [UInt8], replacing current: SharedValue?, lifetime: Duration?
    ) throws(OIDCError) -> SharedValue? {
        try call { () throws(OIDCError) in
            let old = engine[name]
            let written = try engine.write(name, bytes, replacing: current, lifetime: lifetime)
            guard written != nil, name.hasPrefix("session/") else { return written }
            fleet.check(bytes, over: old)
            isPresenting = false
            return written
        }
    }

    func remove(_ name: String) throws(OIDCError) {
        try call { () throws(OIDCError) in try engine.remove(name) }
    }

    func names(_ prefix: String) throws(OIDCError) -> [String] { try engine.names(prefix) }

    func acquire(
        _ lease: String, owner: String, for duration: Duration, reading names: [String], checksWrites: Bool
    ) throws(OIDCError) -> LeaseAnswer {
        try call { () throws(OIDCError) in
            try engine.acquire(
                lease, owner: owner, for: duration, reading: names, checksWrites: checksWrites)
        }
    }

    func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        try call { () throws(OIDCError) in
            try engine.extend(lease, owner: owner, to: duration) || faults.extendsAnything
        }
    }

    func release(_ lease: String, owner: String, within limit: Duration) throws(OIDCError) {
        try call { () throws(OIDCError) in try engine.release(lease, owner: owner, within: limit) }
    }

    func health(now: Instant) throws(OIDCError) -> [HealthReport] { [] }
}
