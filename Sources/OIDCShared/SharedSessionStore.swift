package import OIDCCore
package import OIDCSessions
package import Posix
import Synchronization

/// A store on a server that several machines share. Sessions are sealed, so the server sees no token.
///
/// A lease lets one machine refresh at a time. Each write is a compare-and-set on the record, so a holder
/// that lost its lease cannot overwrite a newer session.
package final class SharedSessionStore: SessionStoring {
    let records: SharedRecords
    let times: LeaseTimes
    let runtime: LeaseRuntime
    /// Whether this process keeps a copy of a session in memory, and uses it until its token expires.
    let keepsCopies: Bool
    /// The sessions that wait for the server on this machine; nil if there is no directory for them.
    let pending: PendingSessions?

    struct Lock: Hashable {
        var key: SessionKey
        var purpose: LockPurpose
    }

    /// The values that were read together with a lease. Each is used once, as it is soon outdated.
    struct Snapshot {
        var newest: Int64
        var values: [String: SharedValue?]
    }

    struct Memory {
        var snapshots: [SessionKey: Snapshot] = [:]
        /// What a write under a lease is compared with: the record that was read or written last.
        var bases: [SessionKey: SharedRecords.Stored] = [:]
        var leases: [Lock: SharedLease] = [:]
        var copies: [SessionKey: Session] = [:]
        /// The number of threads of this process that wait for a session's lease or hold it.
        var refreshing: [SessionKey: Int] = [:]
    }
    let memory = Mutex(Memory())

    package init(
        _ engine: any SharedEngine, keepsCopies: Bool = false, state path: String? = nil,
        times: LeaseTimes = LeaseTimes(), runtime: LeaseRuntime = LeaseRuntime(),
        versions: SharedVersions = SharedVersions(),
        now: @escaping @Sendable () -> Instant = { Clock.now() },
        keys: @escaping @Sendable () throws(OIDCError) -> SealingKeys
    ) {
        records = SharedRecords(
            engine, versions: versions, files: path.map { VersionFiles(state: $0) }, now: now, keys: keys)
        self.keepsCopies = keepsCopies
        pending = path.map { PendingSessions(state: $0) }
        self.times = times
        self.runtime = runtime
    }

    var engine: any SharedEngine { records.engine }

    package var description: String { engine.description }

    package var reach: StoreReach { .machines }
    package var unavailability: OIDCError? { nil }

    package func location(of key: SessionKey) -> String { records.location(key.fileStem) }

    package func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        if let copy = copy(of: key) { return copy }
        let lease = lease(key)
        if let outage = lease?.outage { throw outage }
        if hasPending(key) { forget(key) }
        do throws(OIDCError) { try writePending(key) } catch {
            // A refresh starts from the record on the server, so it does not use the local copy.
            guard error.kind == .unreachable, lease == nil, let copy = try pendingSession(key) else {
                throw error
            }
            return copy
        }
        // A damaged record of a grant without a user counts as missing; the next token replaces it.
        let stored = try stored(key, orDamaged: !key.grant.needsUser)
        memory.withLock { $0.bases[key] = lease == nil ? nil : stored }
        remember(stored?.session, key)
        return stored?.session
    }

    /// Returns the record, as it was read together with the lease or as it is now.
    private func stored(_ key: SessionKey, orDamaged: Bool) throws(OIDCError) -> SharedRecords.Stored? {
        guard let (value, newest) = takeSnapshot(SharedRecords.name(.session, key.fileStem), key) else {
            return try records.session(key, orDamaged: orDamaged)
        }
        return try records.session(in: value, key, after: newest, orDamaged: orDamaged)
    }

    private func takeSnapshot(_ name: String, _ key: SessionKey) -> (value: SharedValue?, newest: Int64)? {
        memory.withLock { memory in
            guard let newest = memory.snapshots[key]?.newest,
                let value = memory.snapshots[key]?.values.removeValue(forKey: name)
            else { return nil }
            return (value, newest)
        }
    }

    /// Forgets what was read of a session.
    private func forget(_ key: SessionKey) {
        memory.withLock { memory in
            memory.snapshots[key] = nil
            memory.bases[key] = nil
        }
    }

    package func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        remember(nil, session.key)
        forget(session.key)
        for _ in 0..<SharedSessionStore.writeLimit {
            let stored = try records.session(session.key, orDamaged: replacingDamaged)
            guard
                try records.write(session, replacing: stored, lifetime: session.lifetime(at: records.now()))
                    != nil
            else {
                continue
            }
            return removePending(session.key)
        }
        throw .sharedStore(description, "the session keeps changing while it is saved")
    }

    package func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        remember(nil, session.key)
        guard let lease = lease(session.key), lease.isPresenting else {
            return try replaced(current, with: session)
        }
        return try replaceRefreshed(current, with: session, under: lease)
    }

    /// Compares with the record that was read or written last under the lease, so a refresh reads nothing again. If
    /// another one is stored by now, reads it.
    func replaced(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        let key = session.key
        var base = memory.withLock { memory in
            memory.snapshots[key] = nil
            return memory.bases.removeValue(forKey: key)
        }
        if base?.session != current { base = nil }
        for _ in 0..<SharedSessionStore.writeLimit {
            let isMachine = !session.key.grant.needsUser
            let known = base
            base = nil
            let stored = if let known { known } else { try records.session(key, orDamaged: isMachine) }
            // The answer to our own write may have been lost.
            if let found = stored?.session, found == session { return true }
            // The server removes the session of a grant without a user when it expires, so a missing one may
            // be replaced.
            guard isMachine && stored?.session == nil || stored?.session == current else { return false }
            guard
                let written = try records.write(
                    session, replacing: stored, lifetime: session.lifetime(at: records.now()))
            else { continue }
            memory.withLock { memory in
                let isHeld = memory.leases[Lock(key: key, purpose: .tokens)] != nil
                memory.bases[key] = isHeld ? written : nil
            }
            return true
        }
        return false
    }

    private static let writeLimit = 20

    package func remove(_ key: SessionKey) throws(OIDCError) {
        remember(nil, key)
        forget(key)
        try removeRecords(key.fileStem)
        removePending(key)
    }

    /// Removes what the server has of a session. The removal is noted first, so a server that refuses to delete
    /// something cannot bring the session back either.
    private func removeRecords(_ stem: String) throws(OIDCError) {
        records.noteRemoval(stem)
        try engine.remove(SharedRecords.name(.session, stem))
        try engine.remove(SharedRecords.name(.failure, stem))
    }

    package func all() throws(OIDCError) -> [StoredSession] {
        let prefix = SharedRecords.name(.session, "")
        var entries: [StoredSession] = []
        var wasUnreachable = false
        let deadline = MonotonicTime.now().adding(milliseconds: SharedListing.readingLimit.milliseconds)
        for name in try engine.names(prefix).sorted() where !name.hasSuffix(SharedSessionStore.probe) {
            let stem = String(name.dropFirst(prefix.utf8.count))
            guard MonotonicTime.now() < deadline else {
                // A server may name any number of sessions, and take its time with each.
                let error = OIDCError.sharedStore(engine.description, "takes too long to list all sessions")
                entries.append(
                    StoredSession(name: stem, location: records.location(stem), content: .failure(error)))
                break
            }
            do throws(OIDCError) {
                let listed = try records.listed(stem)
                wasUnreachable = false
                guard let session = listed else { continue }
                entries.append(
                    StoredSession(name: stem, location: records.location(stem), content: .success(session)))
            } catch {
                // One answer may be nonsense because of its record; after two, the server is away.
                let isAway = error.kind == .unreachable && wasUnreachable
                guard !isAway, error.kind != .interrupted else { throw error }
                wasUnreachable = error.kind == .unreachable
                entries.append(
                    StoredSession(name: stem, location: records.location(stem), content: .failure(error)))
            }
        }
        return entries
    }

    package func remove(_ stored: StoredSession) throws(OIDCError) {
        do throws(OIDCError) {
            let key = try stored.content.get().key
            remember(nil, key)
            forget(key)
            removePending(key)
        } catch {
            // A record that cannot be opened stays: machines with another key may have written it.
            guard error.code == .oldRecord else { throw error }
        }
        try removeRecords(stored.name)
    }

    package func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session] { [] }

    package func failure(of key: SessionKey) -> SharedFailure? {
        let name = SharedRecords.name(.failure, key.fileStem)
        let value = takeSnapshot(name, key).map(\.value) ?? ((try? engine.read(name)) ?? nil)
        guard var failure = records.failure(in: value, key) else { return nil }
        // The clock of the machine that failed may be ahead of ours.
        let now = records.now()
        failure.time = min(failure.time, now)
        failure.sharedAt = failure.sharedAt.map { min($0, now) }
        return failure
    }

    package func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        guard let failure else {
            try? engine.remove(SharedRecords.name(.failure, key.fileStem))
            return
        }
        let current = (try? engine.read(SharedRecords.name(.failure, key.fileStem))) ?? nil
        guard id == nil || records.failure(in: current, key)?.id == id else { return }
        try? records.write(failure, of: key, replacing: current)
    }

    package func probe(_ key: SessionKey) throws(OIDCError) {
        _ = try records.keys()
        _ = try records.session(key, orDamaged: true)
        let lease = SharedLease("lease/\(key.fileStem)\(SharedSessionStore.probe)", engine, times)
        guard try lease.acquire(now: runtime.now).isOurs else { return }
        defer { lease.release() }
        // The server may permit leases, but not records.
        let name = SharedRecords.name(.session, key.fileStem + SharedSessionStore.probe)
        _ = try engine.write(
            name, Array("probe".utf8), replacing: try engine.read(name), lifetime: times.acquired)
        try engine.remove(name)
    }

    private static let probe = ".probe"

    package func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject? {
        // That the server takes writes was checked when it gave the lease.
        try lease(key)?.present(now: runtime.now)
        return nil
    }

    /// Checks the server and the key for `oidc doctor`.
    package func health() throws(OIDCError) -> [HealthReport] {
        let reports = try engine.health(now: records.now())
        _ = try records.keys()
        return reports
    }

    /// Checks that the keys can be read.
    package func checkKeys() throws(OIDCError) { _ = try records.keys() }
}

/// Copies in memory (`store_cache`).
extension SharedSessionStore {
    /// Returns the copy of a session whose token has not expired, unless this process is refreshing it.
    func copy(of key: SessionKey) -> Session? {
        guard keepsCopies else { return nil }
        let copy = memory.withLock { memory in
            memory.refreshing[key, default: 0] == 0 ? memory.copies[key] : nil
        }
        guard let copy, copy.tokens.access.expiresAt.map({ records.now() < $0 }) ?? false else { return nil }
        return copy
    }

    func remember(_ session: Session?, _ key: SessionKey) {
        guard keepsCopies else { return }
        memory.withLock { $0.copies[key] = session }
    }
}

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
            let lease = SharedLease(
                name, engine, times, presents: purpose == .tokens && key.grant.needsUser)
            if let value = try acquire(lease, lock, wait, &clock, unless: settled) { return value }
            let stop = runtime.renew(lease.period) { lease.renew() }
            defer {
                stop()
                memory.withLock { memory in
                    memory.leases[lock] = nil
                    memory.bases[key] = nil
                    memory.snapshots[key] = nil
                }
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
                    if try acquire(lease, lock) { return nil }
                } catch {
                    memory.withLock { $0.leases[lock] = nil }
                    throw error
                }
                memory.withLock { $0.leases[lock] = nil }
            }
            defer { if isOurs { memory.withLock { $0.snapshots[lock.key] = nil } } }
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

    /// Asks for the lease, and keeps what the server answers of the session.
    private func acquire(_ lease: SharedLease, _ lock: Lock) throws(OIDCError) -> Bool {
        guard lock.purpose == .tokens else { return try lease.acquire(now: runtime.now).isOurs }
        let (key, stem) = (lock.key, lock.key.fileStem)
        let names = [SharedRecords.name(.session, stem), SharedRecords.name(.failure, stem)]
        let newest = records.newest(key)
        let answer: LeaseAnswer
        do throws(OIDCError) {
            answer = try lease.acquire(
                reading: names, checksWrites: key.grant.needsUser, now: runtime.now)
        } catch {
            // A record that is too large to be read is replaced under the lease.
            guard error.code == .damagedSession else { throw error }
            return try lease.acquire(now: runtime.now).isOurs
        }
        memory.withLock { $0.snapshots[key] = Snapshot(newest: newest, values: answer.values) }
        return answer.isOurs
    }
}
