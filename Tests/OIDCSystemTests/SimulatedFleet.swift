import OIDCCore
import Synchronization

@testable import OIDCSystem

/// Machines with one session, an engine and a provider with strict reuse detection, in virtual time. Requests are late
/// or lost; processes are killed and stopped; machines are cut off; clocks differ.
///
/// Unchecked, because only the thread whose turn it is uses the state.
final class SimulatedFleet: @unchecked Sendable {
    struct Faults {
        /// One in so many calls is lost on the way there, or back.
        var loss: Int64 = 400
        var kill: Int64 = 2_000
        var stop: Int64 = 2_000
        /// One in so many token lifetimes starts with machines that cannot reach the engine or the provider.
        var partition: Int64 = 3
        var skew: Int64 = 45

        static let none = Faults(loss: .max, kill: .max, stop: .max, partition: .max, skew: 0)
        /// Whether the engine extends leases that ended.
        var extendsAnything = false
    }

    let time: VirtualTime
    let engine = MemoryEngine()
    let faults: Faults
    let lifetime: Int64 = 600
    let keys: SealingKeys
    /// Seconds that the clock of each machine is ahead.
    private let skews: [Int64]
    /// The machines that are cut off: one in so many, and until when.
    private var cut: (from: Side, oneIn: Int, until: Int64)?
    enum Side { case engine, provider }
    /// The number of the refresh token that the provider takes, and of the newest one that was stored.
    private(set) var current = 1
    private var stored = 1
    /// Whether the newest refresh token was lost with its process, so only a new sign-in helps.
    private var isExcused = false
    /// The processes that were started.
    private(set) var started = 0
    private(set) var rotations = 0
    private(set) var signIns = 0
    private(set) var tokens = 0
    private(set) var kills = 0
    private(set) var failures: [OIDCError.Kind: Int] = [:]
    private(set) var violations: [String] = []

    init(seed: UInt64, machines: Int, faults: Faults) throws {
        let time = VirtualTime(seed: seed)
        self.time = time
        self.faults = faults
        skews = (0..<machines).map { _ in time.below(2 * faults.skew + 1) - faults.skew }
        keys = try .example()
        try SharedSessionStore(engine, now: { [time] in SimulatedFleet.clock(time) }) {
            [keys] () throws(OIDCError) in
            keys
        }.save(session(1), replacingDamaged: false)
    }

    static func clock(_ time: VirtualTime, ahead: Int64 = 0) -> Instant {
        Instant(secondsSinceEpoch: 1_700_000_000 + time.milliseconds / 1_000 + ahead)
    }

    func session(_ number: Int) -> Session {
        var session = Session.example("at-\(number)")
        let now = Self.clock(time)
        session.tokens.access.obtainedAt = now
        session.tokens.access.expiresAt = now.adding(lifetime)
        session.tokens.refreshToken = Redacted("\(number)")
        return session
    }

    /// Starts a token lifetime. The machines that are awake ask for a token: most in the two seconds after the last one
    /// expired, the others later. In a large fleet, a few percent are awake, and now and then all of them. When all faults are over and the token has expired again, one more process has to get one.
    func start(lifetime number: Int, spread: Bool) {
        let start = Int64(number) * 2_000_000
        time.call(at: start) { [self] in
            if time.happens(oneIn: faults.partition) {
                cut = (
                    time.happens(oneIn: 3) ? .provider : .engine, [1, 2, 10][Int(time.below(3))],
                    start + time.below(120_000)
                )
            }
            let isWhole = skews.count <= 1_000 || time.happens(oneIn: 50)
            let percent = isWhole ? 100 : 1 + time.below(10)
            for machine in skews.indices where percent == 100 || time.below(100) < percent {
                started += 1
                let isLate = spread && time.happens(oneIn: 4)
                time.start(at: start + time.below(isLate ? 400_000 : 2_000)) {
                    let process = SimulatedProcess(self, self.faults, machine, self.skews[machine])
                    self.note(process.run(), of: process)
                }
            }
            started += 1
            time.start(at: start + 1_200_000) {
                let process = SimulatedProcess(self, .none, 0, 0)
                let result = process.run()
                if case .failure(let error) = result, error.kind != .loginRequired {
                    self.violate("no progress after all faults: \(error.message)")
                }
                self.note(result, of: process)
            }
        }
    }

    /// Whether a machine cannot reach the engine or the provider now.
    func isCutOff(_ machine: Int, from side: Side) -> Bool {
        guard let cut, cut.from == side, time.milliseconds < cut.until else { return false }
        return machine % cut.oneIn == 0
    }

    /// The provider's answer to a refresh.
    func refresh(_ token: String) -> Session? {
        guard token == String(current) else {
            if !isExcused { violate("the refresh token \(token) was presented after \(current) replaced it") }
            return nil
        }
        current += 1
        rotations += 1
        isExcused = false
        return session(current)
    }

    /// Notes that nobody has the newest refresh token any more.
    func excuse() { isExcused = true }

    /// Checks a session that was just written.
    func check(_ bytes: [UInt8], over old: [UInt8]?) {
        guard let record = try? SealedRecord(stored: bytes), let plain = try? record.open(with: keys.sealing),
            let session = try? Session(stored: plain)
        else { return violate("an unreadable record was written") }
        if let old = old.flatMap({ try? SealedRecord(stored: $0) }), record.version <= old.version {
            violate("version \(record.version) was written over \(old.version)")
        }
        guard let number = session.tokens.refreshToken.flatMap({ Int($0.revealed) }) else { return }
        if number < stored { violate("the refresh token \(number) was written over \(stored)") }
        stored = max(stored, number)
    }

    /// Signs in again, as the user does after `invalid_grant`.
    func signIn() {
        guard stored < current || isExcused else { return }
        current += 1
        signIns += 1
        isExcused = false
        let keys = keys
        try? SharedSessionStore(engine, now: { [time] in Self.clock(time) }) { () throws(OIDCError) in keys }
            .save(session(current), replacingDamaged: true)
        stored = current
    }

    private func note(_ result: Result<Int, OIDCError>, of process: SimulatedProcess) {
        if process.isKilled {
            kills += 1
            return
        }
        switch result {
        case .success(let number):
            tokens += 1
            if number > current { violate("a token that was never issued") }
        case .failure(let error):
            failures[error.kind, default: 0] += 1
            if error.endsSession || error.kind == .loginRequired { signIn() }
        }
    }

    func violate(_ text: String) {
        if violations.count < 20 { violations.append("at \(time.milliseconds) ms: \(text)") }
    }
}

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
        let store = SharedSessionStore(self, runtime: runtime, now: now) { () throws(OIDCError) in keys }
        let wait = LockWait(limit: .seconds(90), isCancelled: { false })
        let tokens = SessionTokens(
            store: store, key: .example, now: now, wait: wait,
            startedAt: MonotonicTime(nanoseconds: time.milliseconds * 1_000_000)
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
            throw OIDCError(.loginRequired, "over", stage: .token, oauthError: "invalid_grant")
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
    ) throws(OIDCError) -> Bool {
        try call { () throws(OIDCError) in
            let old = engine[name]
            let isWritten = try engine.write(name, bytes, replacing: current, lifetime: lifetime)
            guard isWritten, name.hasPrefix("session/") else { return isWritten }
            fleet.check(bytes, over: old)
            isPresenting = false
            return true
        }
    }

    func remove(_ name: String) throws(OIDCError) {
        try call { () throws(OIDCError) in try engine.remove(name) }
    }

    func names(_ prefix: String) throws(OIDCError) -> [String] { try engine.names(prefix) }

    func acquire(_ lease: String, owner: String, for duration: Duration) throws(OIDCError) -> Bool {
        try call { () throws(OIDCError) in try engine.acquire(lease, owner: owner, for: duration) }
    }

    func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        try call { () throws(OIDCError) in
            try engine.extend(lease, owner: owner, to: duration) || faults.extendsAnything
        }
    }

    func release(_ lease: String, owner: String) throws(OIDCError) {
        try call { () throws(OIDCError) in try engine.release(lease, owner: owner) }
    }

    func health(now: Instant) throws(OIDCError) -> [SharedEngineRemark] { [] }
}
