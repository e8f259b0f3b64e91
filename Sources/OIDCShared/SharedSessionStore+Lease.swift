package import OIDCCore
package import OIDCSessions
package import Posix
import Synchronization

/// Locks, which are leases on the server.
extension SharedSessionStore {
    func lease(_ key: SessionKey) -> SharedLease? {
        memory.withLock { $0.leases[Lock(key: key, purpose: .tokens)] }
    }

    package func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: purpose, wait, unless: { () throws(OIDCError) -> Value? in nil }, body)
    }

    package func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, unless: settled, body)
    }

    private func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait,
        unless settled: () throws(OIDCError) -> Value?, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let lock = Lock(key: key, purpose: purpose)
        let name = "lease/\(key.fileStem)\(purpose == .signIn ? ".sign-in" : "")"
        var clock = WaitClock(wait, start: runtime.now())
        remember(nil, key)
        memory.withLock { $0.refreshing[key, default: 0] += 1 }
        defer { memory.withLock { $0.refreshing[key, default: 1] -= 1 } }
        while true {
            let lease = SharedLease(name, engine, times)
            if let value = try acquire(lease, lock, wait, &clock, unless: settled) { return value }
            let stop = runtime.renew(lease.period) { lease.renew() }
            defer {
                stop()
                memory.withLock { $0.leases[lock] = nil }
                if lease.outage == nil { lease.release() }
            }
            do throws(OIDCError) {
                return try body()
            } catch {
                // Nothing was sent: the next attempt finds what the other process stored.
                guard lease.isLost else { throw error }
                try clock.check(wait, now: runtime.now()) { error }
                runtime.sleep(8 + runtime.random(8))
            }
        }
    }

    /// Waits for the lease and returns nil once it is acquired. If `settled` returns a value before that,
    /// returns this value.
    private func acquire<Value>(
        _ lease: SharedLease, _ lock: Lock, _ wait: LockWait, _ clock: inout WaitClock,
        unless settled: () throws(OIDCError) -> Value?
    ) throws(OIDCError) -> Value? {
        var pause: Int64 = 8
        while true {
            // Threads of this process take turns without requests to the server.
            let isOurs = memory.withLock { memory in
                guard memory.leases[lock] == nil else { return false }
                memory.leases[lock] = lease
                return true
            }
            if isOurs {
                do throws(OIDCError) {
                    if try lease.acquire() { return nil }
                } catch {
                    memory.withLock { $0.leases[lock] = nil }
                    throw error
                }
                memory.withLock { $0.leases[lock] = nil }
            }
            if let value = try settled() { return value }
            try clock.check(wait, now: runtime.now()) {
                .sharedStore(
                    description,
                    "the session's lease was not free within \(wait.limit.components.seconds) seconds: another "
                        + "machine holds it")
            }
            // The pause is random, so machines that started together do not keep polling together.
            runtime.sleep(pause / 2 + runtime.random(pause))
            pause = min(pause * 2, 250)
        }
    }
}
