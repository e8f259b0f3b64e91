import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

private final class Tally: Sendable { let count = Mutex(0) }
private final class Time: Sendable { let milliseconds = Mutex(Int64(0)) }

@Suite("the lease of a shared store")
struct SharedLeaseTests {
    private let engine = MemoryEngine()
    private let lease = "lease/\(SessionKey.example.fileStem)"

    /// `isTimed` means that this machine's clock is the engine's, so it notices that it was stopped.
    private func machine(
        isTimed: Bool = false, now: @escaping @Sendable () -> Instant = { Clock.now() }
    ) throws -> SessionStore {
        let (keys, engine) = (try SealingKeys.example(), engine)
        var runtime = LeaseRuntime()
        runtime.renew = { _, _ in {} }
        if isTimed {
            runtime.now = { MonotonicTime(nanoseconds: engine.state.withLock { $0.time } * 1_000_000) }
            runtime.sleep = { engine.pass($0) }
        }
        return SessionStore(engine, runtime: runtime, now: now) { () throws(OIDCError) in keys }
    }

    private func tokens(_ store: SessionStore) -> CountedTokens { CountedTokens(store) }

    /// Waits until a condition holds, a minute at most.
    private func wait(until condition: () -> Bool) {
        let end = MonotonicTime.now().adding(seconds: 60)
        while !condition(), MonotonicTime.now() < end {
            Poll.sleep(until: .now().adding(milliseconds: 1))
        }
    }

    private func answer(_ session: Session, _ token: String) -> SessionTokens.Answer {
        var next = session
        next.tokens.refreshToken = Redacted("rt-\(token)")
        next.tokens.access.token = Redacted(token)
        next.tokens.access.obtainedAt = Instant(secondsSinceEpoch: 1_800_000_000)
        next.tokens.access.expiresAt = Instant(secondsSinceEpoch: 1_800_003_600)
        let outcome = next
        return SessionTokens.Answer(successor: outcome) { () throws(OIDCError) in
            TokenRefresh.Outcome(session: outcome, access: .success(outcome.tokens.access), warnings: [])
        }
    }

    @Test("many machines with an expired token make one request")
    func singleFlight() async throws {
        try machine().save(.example(), replacingDamaged: false)
        let requests = Tally()
        let found = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    await detached {
                        guard let machine = try? self.machine() else { return nil }
                        // Each has seen the expired token, also one that starts late.
                        let delivery = try? self.tokens(machine).refreshed(loaded: .example()) {
                            (current) throws(OIDCError) in
                            requests.count.withLock { $0 += 1 }
                            Poll.sleep(until: .now().adding(milliseconds: 30))
                            return self.answer(current ?? .example(), "at-2")
                        }
                        return delivery?.access.token.revealed
                    }
                }
            }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(found.allSatisfy { $0 == "at-2" } && found.count == 40)
        #expect(requests.count.withLock { $0 } == 1)
        #expect(engine[lease] == nil)
    }

    @Test("a machine that gets no answer fails no other that waited; two such machines do")
    func brokenNetwork() async throws {
        try machine().save(.example(), replacingDamaged: false)
        let now: @Sendable () -> Instant = { Instant(secondsSinceEpoch: 1_800_000_000) }
        let requests = Tally()
        let silence = OIDCError(.unreachable, "no answer", stage: .token)
        /// Each machine has seen the expired token, and the first one has the lease until all others wait for it.
        func results(
            broken: Set<String>, in order: [String]
        ) async throws -> [String: Result<String, OIDCError>] {
            let machines = try order.map { ($0, tokens(try machine(now: now))) }
            let before = requests.count.withLock { $0 }
            return await withTaskGroup(of: (String, Result<String, OIDCError>).self) { group in
                for (name, tokens) in machines {
                    group.addTask {
                        await detached {
                            wait { name == order[0] || requests.count.withLock { $0 } > before }
                            let result = Result { () throws(OIDCError) -> String in
                                try tokens.refreshed(loaded: .example(), machine: name) {
                                    (current) throws(OIDCError) in
                                    requests.count.withLock { $0 += 1 }
                                    wait { machines.dropFirst().allSatisfy { $0.1.waiters > 0 } }
                                    guard !broken.contains(name) else { throw silence }
                                    return self.answer(current ?? .example(), "at-2")
                                }.access.token.revealed
                            }
                            return (name, result)
                        }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
        }
        let all = try await results(broken: ["a", "b", "c", "d", "e"], in: ["a", "b", "c", "d", "e"])
        #expect(all.values.allSatisfy { $0 == .failure(silence) } && all.count == 5)
        #expect(requests.count.withLock { $0 } == 2)
        try machine().leave(nil, for: .example, replacing: nil)
        let some = try await results(broken: ["a"], in: ["a", "b", "c"])
        #expect(some["a"] == .failure(silence))
        #expect(some["b"] == .success("at-2") && some["c"] == .success("at-2"))
        #expect(requests.count.withLock { $0 } == 4)
    }

    @Test("a server that is slow and refuses each write as a conflict is asked for a few seconds")
    func conflicts() throws {
        let (store, engine, name) = (
            try machine(isTimed: true), engine, "session/\(SessionKey.example.fileStem)"
        )
        try store.save(.example(), replacingDamaged: false)
        engine.state.withLock { state in
            state.onWrite = { engine[name] = engine[name] }
            state.onCall = { engine.pass(2_500) }
        }
        func check(_ refusal: OIDCError?) {
            #expect(refusal?.message.contains("keeps changing while it is") == true, "\(refusal as Any)")
            let calls = engine.state.withLock { state in
                defer { state.calls = 0 }
                return state.calls
            }
            #expect(calls < 8)
        }
        engine.state.withLock { $0.calls = 0 }
        check(failure { () throws(OIDCError) in try store.replace(.example(), with: .example("next")) })
        check(failure { () throws(OIDCError) in try store.save(.example("next"), replacingDamaged: false) })
        check(failure { () throws(OIDCError) in try store.remove(.example) })
    }

    @Test("what is in place of a probe's record is removed")
    func probe() throws {
        let name = "session/\(SessionKey.example.fileStem).probe"
        engine.fail(.damagedRecord("not a string"), reading: name)
        try machine().probe(.example)
        #expect(engine[name] == nil)
    }

    @Test("a holder that was killed delays the others by its lease")
    func killed() throws {
        try machine().save(.example(), replacingDamaged: false)
        #expect(try engine.acquire(lease, owner: "killed", for: LeaseTimes().acquired))
        let store = try machine()
        let wait = LockWait(limit: .milliseconds(30))
        let refusal = failure { () throws(OIDCError) in try store.withLock(.example, wait) {} }
        #expect(
            refusal?.message
                == "store: memory://test: the session's lease was not free within 0 seconds: another machine "
                + "holds it; if none does, delete its key: delete \(lease)"
        )
        #expect(refusal?.kind == .unreachable && refusal?.hint == .tryAgain(seconds: nil))
        engine.pass(9_999)
        #expect(throws: OIDCError.self) { try store.withLock(.example, wait) {} }
        engine.pass(1)
        try store.withLock(.example, wait) {}
    }

    @Test("a lease whose answer was lost is released, so nobody waits for its end")
    func lostLease() throws {
        let store = try machine()
        engine.state.withLock { $0.losesLeases = true }
        let wait = LockWait(limit: .zero)
        let refusal = failure { () throws(OIDCError) in try store.withLock(.example, wait) {} }
        #expect(refusal?.kind == .unreachable && engine[lease] == nil)
        #expect(throws: OIDCError.self) { try store.probe(.example) }
        #expect(engine.state.withLock { $0.entries.isEmpty })
    }

    @Test("a holder that was stopped before it presented its refresh token no longer presents it")
    func stoppedBefore() throws {
        let (stopped, other) = (try machine(isTimed: true), try machine(isTimed: true))
        try other.save(.example(), replacingDamaged: false)
        var presented: [String] = []
        var turns = 0
        let result = try stopped.withLock(.example, LockWait(limit: .seconds(120))) {
            () throws(OIDCError) -> String in
            turns += 1
            let current = try stopped.load(.example)
            if current != .example() { return "adopted" }
            engine.pass(60_001)
            // Meanwhile, another machine refreshes.
            try other.withLock(.example, LockWait(limit: .seconds(5))) { () throws(OIDCError) in
                _ = try other.reserveSpace(for: .example)
                presented.append("other")
                #expect(try other.replace(.example(), with: .example("at-2")))
            }
            _ = try stopped.reserveSpace(for: .example)
            presented.append("stopped")
            return "presented"
        }
        #expect(result == "adopted" && turns == 2)
        #expect(presented == ["other"])
    }

    @Test(
        "while a refresh token is presented, the lease outlasts a stop of a minute; after that, nothing is overwritten"
    )
    func stoppedAfter() throws {
        let (stopped, other) = (try machine(), try machine())
        try other.save(.example(), replacingDamaged: false)
        let short = LockWait(limit: .milliseconds(20))
        try stopped.withLock(.example, LockWait(limit: .seconds(5))) { () throws(OIDCError) in
            _ = try stopped.reserveSpace(for: .example)
            engine.pass(59_000)
            #expect(throws: OIDCError.self) { try other.withLock(.example, short) {} }
            engine.pass(1_001)
            try other.withLock(.example, short) { () throws(OIDCError) in
                #expect(try other.replace(.example(), with: .example("at-2")))
                #expect(try !stopped.replace(.example(), with: .example("at-1b")))
            }
        }
        #expect(try other.load(.example) == .example("at-2"))
    }

    @Test(
        "a holder that was stopped past its lease stores its answer, though another machine's request was refused"
    )
    func stoppedAndRefused() throws {
        let (stopped, other) = (try machine(), try machine())
        try other.save(.example(), replacingDamaged: false)
        let refusal = OIDCError(
            .loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: .sessionEnded)
        let delivery = try tokens(stopped).refreshed { (current) throws(OIDCError) in
            engine.pass(60_001)
            // Meanwhile, another machine presents the same refresh token.
            #expect(tokens(other).failure(refusal)?.kind == .loginRequired)
            #expect(try other.load(.example)?.tokens.refreshToken == nil)
            return answer(current ?? .example(), "at-2")
        }
        #expect(delivery.access.token.revealed == "at-2" && delivery.warnings.isEmpty)
        #expect(try other.load(.example)?.tokens.refreshToken?.revealed == "rt-at-2")
    }

    @Test(
        "a holder that was stopped past its lease overwrites neither a sign-out nor a new sign-in, and says so"
    )
    func stoppedAndReplaced() throws {
        for (session, words) in [(Session.example("at-9"), "another process changed"), (nil, "is gone")] {
            let (stopped, other) = (try machine(), try machine())
            try other.save(.example(), replacingDamaged: false)
            let delivery = try tokens(stopped).refreshed { (current) throws(OIDCError) in
                engine.pass(60_001)
                try other.remove(.example)
                if var session {
                    session.nonce = "of the new sign-in"
                    session.tokens.access.expiresAt = session.tokens.access.obtainedAt
                    try other.save(session, replacingDamaged: false)
                }
                return answer(current ?? .example(), "at-2")
            }
            #expect(delivery.access.token.revealed == "at-2")
            #expect(delivery.warnings.map(\.message).contains { $0.contains(words) }, "\(delivery.warnings)")
            #expect(try other.load(.example)?.tokens.access.token.revealed == (session == nil ? nil : "at-9"))
            try other.remove(.example)
        }
    }

    @Test(
        "a holder that was stopped until its lease had ended, while it took it for the request, does not present"
    )
    func stoppedWhilePresenting() throws {
        let keys = try SealingKeys.example()
        let time = Time()
        let delay = Time()
        var runtime = LeaseRuntime()
        runtime.renew = { _, _ in {} }
        // Each answer is read so long after it was sent.
        runtime.now = {
            let step = delay.milliseconds.withLock { $0 }
            return time.milliseconds.withLock { now in
                now += step
                return MonotonicTime(nanoseconds: now * 1_000_000)
            }
        }
        let stopped = SessionStore(engine, runtime: runtime) { () throws(OIDCError) in keys }
        try stopped.save(.example(), replacingDamaged: false)
        try stopped.withLock(.example, LockWait(limit: .seconds(5))) { () throws(OIDCError) in
            delay.milliseconds.withLock { $0 = 10_000 }
            let refusal = failure { () throws(OIDCError) in try stopped.reserveSpace(for: .example) }
            #expect(refusal?.message.contains("answers too slowly") == true)
            delay.milliseconds.withLock { $0 = 9_999 }
            _ = try stopped.reserveSpace(for: .example)
            delay.milliseconds.withLock { $0 = 0 }
        }
    }

    @Test(
        "a refresh token is not presented if the server takes leases, but no records; a sign-in does not start"
    )
    func readOnlyRecords() throws {
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        engine.fail(OIDCError(.usage, "no permission"), writing: "session/")
        let requests = tokens(store)
        #expect(requests.failure(OIDCError(.failed, "asked"))?.message == "no permission")
        #expect(requests.requests == 0)
        #expect(failure { () throws(OIDCError) in try store.probe(.example) }?.message == "no permission")
        engine.fail(nil, writing: "")
        try store.probe(.example)
        #expect(try store.all().count == 1 && engine.state.withLock { $0.entries.count } == 1)
    }

    @Test("a lease that another owner has by now is not released")
    func release() throws {
        let store = try machine()
        try store.withLock(.example, LockWait(limit: .seconds(5))) { () throws(OIDCError) in
            engine.pass(60_001)
            #expect(try engine.acquire(lease, owner: "next", for: .seconds(10)))
        }
        #expect(engine[lease] == Array("next".utf8))
    }

    @Test(
        "the successor of a presented refresh token is written again until a short failure of the server is over"
    )
    func outage() throws {
        let keys = try SealingKeys.example()
        let time = Time()
        var runtime = LeaseRuntime()
        runtime.renew = { _, _ in {} }
        runtime.now = { MonotonicTime(nanoseconds: time.milliseconds.withLock { $0 } * 1_000_000) }
        let engine = engine
        runtime.sleep = { milliseconds in
            let now = time.milliseconds.withLock { now in
                now += milliseconds
                return now
            }
            if now >= 5_000 { engine.fail(nil) }
        }
        let store = SessionStore(engine, runtime: runtime) { () throws(OIDCError) in keys }
        try store.save(.example(), replacingDamaged: false)
        try store.withLock(.example, LockWait(limit: .seconds(60))) { () throws(OIDCError) in
            _ = try store.reserveSpace(for: .example)
            engine.fail(.sharedStore("memory://test", "down"))
            #expect(try store.replace(.example(), with: .example("at-2")))
        }
        #expect(try store.load(.example) == .example("at-2"))
        #expect(time.milliseconds.withLock { $0 } >= 5_000)
    }

    @Test("the lease of a long request is renewed")
    func renewed() throws {
        let keys = try SealingKeys.example()
        let store = SessionStore(engine, times: LeaseTimes(acquired: .milliseconds(30))) {
            () throws(OIDCError) in keys
        }
        try store.withLock(.example, LockWait(limit: .seconds(5))) {
            let before = engine.state.withLock { $0.calls }
            wait { engine.state.withLock { $0.calls } >= before + 3 }
            #expect(engine.state.withLock { $0.calls } >= before + 3)
        }
    }

    @Test(
        "a refresh asks the server six times, and once more if it removes a failure",
        arguments: [false, true])
    func roundTrips(hasFailed: Bool) throws {
        let now = Instant(secondsSinceEpoch: 1_800_000_000)
        let store = try machine()
        try store.save(.example(), replacingDamaged: false)
        if hasFailed {
            store.leave(
                SharedFailure(
                    error: OIDCError(.unreachable, "down"), time: now.adding(-3_600), id: "1",
                    refreshTokenHash: nil), for: .example, replacing: nil)
        }
        let tokens = SessionTokens(
            store: store, key: .example, now: { now }, wait: LockWait(limit: .seconds(5))
        ) { (current, _) throws(OIDCError) in
            // The answer's check adds the ID token, so the session is written twice.
            let next = answer(current ?? .example(), "at-2")
            return SessionTokens.Answer(successor: next.successor) { () throws(OIDCError) in
                var outcome = try next.check()
                outcome.session.displayName = "Ada"
                return outcome
            }
        }
        engine.state.withLock { $0.calls = 0 }
        #expect(try tokens.token(TokenDemand()).access.token.revealed == "at-2")
        // Session, failure, lease with both, successor, result, release.
        #expect(engine.state.withLock { $0.calls } == (hasFailed ? 7 : 6))
        let stored = try store.load(.example)
        #expect(stored?.tokens.refreshToken?.revealed == "rt-at-2" && stored?.displayName == "Ada")
        #expect(store.failure(of: .example) == nil && engine[lease] == nil)
    }

    @Test("a session that another machine wrote after it was read with the lease is not overwritten")
    func outdated() throws {
        let (store, other) = (try machine(), try machine())
        try store.save(.example(), replacingDamaged: false)
        try store.withLock(.example, LockWait(limit: .seconds(5))) { () throws(OIDCError) in
            #expect(try store.load(.example) == .example())
            try other.save(.example("at-9"), replacingDamaged: false)
            #expect(try !store.replace(.example(), with: .example("at-2")))
            #expect(try store.replace(.example("at-9"), with: .example("at-10")))
        }
        #expect(try other.load(.example) == .example("at-10"))
    }

    @Test("a refresh that is finished does not wait for an extension of its lease that hangs", .waiting)
    func hangingExtension() throws {
        let keys = try SealingKeys.example()
        let store = SessionStore(engine, times: LeaseTimes(acquired: .milliseconds(30))) {
            () throws(OIDCError) in keys
        }
        let (isHanging, answer) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        engine.state.withLock {
            $0.onExtension = {
                isHanging.signal()
                _ = answer.wait(timeout: .now() + 30)
            }
        }
        let start = MonotonicTime.now()
        try store.withLock(.example, LockWait(limit: .seconds(5))) {
            _ = isHanging.wait(timeout: .now() + 20)
        }
        #expect(MonotonicTime.now().milliseconds(from: start) < 20_000)
        #expect(engine[lease] == nil)
        answer.signal()
    }
}
