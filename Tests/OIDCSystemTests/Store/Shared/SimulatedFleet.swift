import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
import Synchronization

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
        try SessionStore(engine, now: { [time] in SimulatedFleet.clock(time) }) {
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
        try? SessionStore(engine, now: { [time] in Self.clock(time) }) { () throws(OIDCError) in keys }
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
