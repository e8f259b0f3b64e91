import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
import Synchronization
import TestSupport
import Testing

/// Machines whose clocks differ.
extension SharedStoreTests {
    /// A machine: its clock, and the versions that it has seen.
    private struct Machine {
        let store: SessionStore

        init(_ engine: MemoryEngine, ahead seconds: Int64, _ keys: SealingKeys) {
            let now = Instant(secondsSinceEpoch: 1_700_000_000 + seconds)
            store = SessionStore(engine, versions: SharedVersions(), now: { now }) { () throws(OIDCError) in
                keys
            }
        }
    }

    private enum Step: CaseIterable { case signIn, refresh, signOut }

    /// A sign-in on the first machine, and all sequences of three more steps, each on one of two machines.
    private static let sequences = {
        let steps = [0, 1].flatMap { machine in Step.allCases.map { (machine, $0) } }
        return (0..<3).reduce([[(0, Step.signIn)]]) { found, _ in
            found.flatMap { start in steps.map { start + [$0] } }
        }
    }()

    /// The two machines with the session that they should have.
    private struct Pair {
        let engine: MemoryEngine
        let machines: [Machine]
        var session: Session?
        private var count = 0

        init(_ engine: MemoryEngine, ahead: [Int64], _ keys: SealingKeys) {
            self.engine = engine
            machines = ahead.map { Machine(engine, ahead: $0, keys) }
        }

        mutating func take(_ step: Step, on machine: Int) throws {
            let store = machines[machine].store
            count += 1
            var next = Session.example("at-\(count)")
            switch step {
            case .signIn:
                next.nonce = "nonce-\(count)"
                session = next
                try store.save(next, replacingDamaged: true)
            case .refresh:
                guard let old = session else { return }
                next.nonce = old.nonce
                session = next
                #expect(try store.replace(old, with: next))
            case .signOut:
                session = nil
                try store.remove(.example)
            }
        }
    }

    private static let hour: Int64 = 3_600
    private static let tenYears: Int64 = 315_360_000
    private static let clocks = [[hour, 0], [-hour, 0], [hour, -hour], [tenYears, 0], [0, tenYears]]

    @Test(
        "whatever the machines' clocks say, each has the last session, or none after a sign-out, and takes no earlier one",
        arguments: clocks, [false, true])
    func clocks(_ ahead: [Int64], looks: Bool) throws {
        let keys = try SealingKeys.example()
        for sequence in Self.sequences {
            var pair = Pair(MemoryEngine(), ahead: ahead, keys)
            var replaced: [UInt8]?
            for (machine, step) in sequence {
                let old = pair.engine[record]
                try pair.take(step, on: machine)
                if pair.engine[record] != old { replaced = old }
                guard looks else { continue }
                for machine in pair.machines { _ = try machine.store.load(.example) }
            }
            for machine in pair.machines {
                let found = try machine.store.load(.example)
                guard found == pair.session else {
                    Issue.record("\(sequence): found \(String(describing: found))")
                    return
                }
            }
            // Both have seen the last record now.
            pair.engine[record] = replaced
            for machine in pair.machines where replaced != nil {
                var found: Session?
                let refusal = failure { () throws(OIDCError) in found = try machine.store.load(.example) }
                // An earlier removal also tells that there is none.
                let isNone = refusal == nil && found == nil && pair.session == nil
                guard refusal?.code == .oldRecord || isNone else {
                    Issue.record("\(sequence): an earlier record is used")
                    return
                }
            }
        }
    }

    @Test(
        "a machine token that was requested by a machine with another clock is used",
        arguments: [hour, -hour, tenYears])
    func machineTokenClocks(_ ahead: Int64) throws {
        let keys = try SealingKeys.example()
        let (one, other) = (Machine(engine, ahead: ahead, keys), Machine(engine, ahead: 0, keys))
        func token(_ text: String) -> Session {
            var session = Session.example(text, key: Self.machineKey)
            session.tokens.refreshToken = nil
            return session
        }
        #expect(try one.store.replace(nil, with: token("at-1")))
        #expect(try one.store.load(Self.machineKey) == token("at-1"))
        engine.pass(Self.hour * 2_000)
        #expect(try other.store.replace(token("at-1"), with: token("at-2")))
        #expect(try one.store.load(Self.machineKey) == token("at-2"))
    }

    @Test(
        "the record of a sign-out goes after a year, and a clock that is right then orders the next sign-in")
    func removalLifetime() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        try store.remove(.example)
        #expect(engine[record] != nil)
        engine.pass(366 * 86_400_000)
        #expect(try engine.read(record) == nil)
        #expect(try store.load(.example) == nil)
        let later = Machine(engine, ahead: 366 * 86_400, try .example())
        try later.store.save(.example("at-2"), replacingDamaged: false)
        #expect(try store.load(.example) == .example("at-2"))
    }

    @Test("a server that takes no writes still deletes a session that is signed out of")
    func fullServer() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        let last = engine[record]
        engine.fail(.sharedStore("memory://test", "OOM command not allowed"), writing: "session/")
        // Other machines may take the session for lost, so this is no success.
        let said = failure { () throws(OIDCError) in try store.remove(.example) }
        #expect(
            said?.kind == .unreachable && said?.message.contains("another machine") == true, "\(said as Any)")
        #expect(engine[record] == nil)
        engine[record] = last
        #expect(failure { () throws(OIDCError) in try store.load(.example) }?.code == .oldRecord)
    }

    @Test(
        "a sign-out whose answer was lost leaves its record, and a machine that refreshes meanwhile stores nothing"
    )
    func lostAnswer() throws {
        let (store, other) = (try machine(), try machine())
        try store.save(.example(), replacingDamaged: false)
        #expect(try other.load(.example) == .example())
        engine.state.withLock { $0.losesAnswers = true }
        try store.remove(.example)
        #expect(engine[record] != nil)
        #expect(try store.load(.example) == nil)
        #expect(try !other.replace(.example(), with: .example("at-2")))
    }

    @Test(
        "the record of another session's sign-out is not used, nor one that was changed; a sign-in replaces it"
    )
    func foreignRemoval() throws {
        let store = try machine()
        try store.save(.example(key: .other), replacingDamaged: false)
        try store.remove(.other)
        let removal = try #require(engine["session/\(SessionKey.other.fileStem)"])
        let text = String(decoding: removal, as: UTF8.self)
        let moved = text.replacingOccurrences(
            of: SessionKey.other.fileStem, with: SessionKey.example.fileStem)
        #expect(moved != text)
        for bytes in [removal, Array(moved.utf8)] {
            engine[record] = bytes
            #expect(failure { () throws(OIDCError) in try store.load(.example) }?.kind == .untrusted)
            try store.save(.example(), replacingDamaged: true)
            #expect(try store.load(.example) == .example())
        }
    }

    @Test(
        "without the key of a session, its sign-out leaves no record that the machines with the key cannot open"
    )
    func removalWithoutKey() throws {
        let (seen, new) = (SharedVersions(), try SealingKeys.example(2))
        func store(_ keys: SealingKeys) -> SessionStore {
            SessionStore(engine, versions: seen, now: { self.time.withLock { $0 } }) { () throws(OIDCError) in
                keys
            }
        }
        try store(try .example(1)).save(.example(), replacingDamaged: false)
        try store(new).remove(.example)
        #expect(engine[record] == nil)
    }
}
