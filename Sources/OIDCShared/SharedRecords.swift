package import OIDCCore
package import OIDCSessions
import Posix
import Synchronization

extension SessionStore {
    /// Creates a store on a server that several machines share. Sessions are sealed, so the server sees no token.
    ///
    /// - Parameters:
    ///   - keepsCopies: Whether this process keeps a copy of a session in memory, and uses it until its token expires.
    ///   - path: The state directory, for sessions that wait for the server and for the versions that were seen; nil if
    ///     there is none.
    package init(
        _ engine: any SharedEngine, keepsCopies: Bool = false, state path: String? = nil,
        times: LeaseTimes = LeaseTimes(), runtime: LeaseRuntime = LeaseRuntime(),
        versions: SharedVersions = SharedVersions(),
        now: @escaping @Sendable () -> Instant = { Clock.now() },
        keys: @escaping @Sendable () throws(OIDCError) -> SealingKeys
    ) {
        let seal = SharedSeal(
            RecordVersions(of: engine.description, versions, path.map { VersionFiles(state: $0) }), now: now,
            keys: keys)
        self.init(
            SharedRecords(
                engine, seal, pending: path.map { PendingSessions(state: $0) }, times: times, runtime: runtime
            ),
            seal, copies: keepsCopies ? SessionCopies() : nil, now: now)
    }
}

/// Records on a server that several machines share.
///
/// A lease lets one machine refresh at a time. Each write is a compare-and-set on the record, so a holder
/// that lost its lease cannot overwrite a newer session.
final class SharedRecords: OwnRecordStore {
    private let engine: any SharedEngine
    private let seal: SharedSeal
    private let times: LeaseTimes
    private let runtime: LeaseRuntime
    /// The sessions that wait for the server on this machine; nil if there is no directory for them.
    private let pending: PendingSessions?

    private struct Lock: Hashable {
        var stem: String
        var purpose: LockPurpose
    }

    private struct Memory {
        /// The values that were read together with a lease. Each is loaded once, as it is soon outdated.
        var snapshots: [String: [RecordName: Record?]] = [:]
        /// The record that was read or written last under a lease. A write is compared with it.
        var bases: [String: Record] = [:]
        var leases: [Lock: SharedLease] = [:]

        mutating func forget(_ stem: String) {
            snapshots[stem] = nil
            bases[stem] = nil
        }
    }
    private let memory = Mutex(Memory())

    init(
        _ engine: any SharedEngine, _ seal: SharedSeal, pending: PendingSessions?, times: LeaseTimes,
        runtime: LeaseRuntime
    ) {
        self.engine = engine
        self.seal = seal
        self.pending = pending
        self.times = times
        self.runtime = runtime
    }

    var description: String { engine.description }
    var reach: StoreReach { .machines }
    var noteFailure: OIDCError? { seal.versions.noteFailure }
    /// The server removes the session of a grant without a user when it expires.
    var removesExpired: Bool { true }

    func location(of stem: String) -> String { engine.withoutPassword(seal.versions.location(stem)) }

    /// Checks the server and the key.
    func health() throws(OIDCError) -> [HealthReport] {
        let reports = try engine.health(now: seal.now())
        try seal.checkAvailable()
        return reports
            + [
                report(
                    "pending", pending?.failure,
                    "no session could wait on this machine while the server is away"),
                report(
                    "versions", seal.versions.failure,
                    "a sign-out cannot be noted on this machine, so a server that brings the session back is believed"
                ),
            ].compactMap { $0 }
    }

    /// Returns the report about a directory below the state directory that cannot be used; nil if it can.
    private func report(_ directory: String, _ failure: OIDCError?, _ effect: String) -> HealthReport? {
        failure.map { failure in
            HealthReport(
                "\(effect): \(failure.message)",
                warning:
                    "make \(directory) below the state directory yours, with mode 0700, on a disk with space")
        }
    }

    func storeError(_ message: String) -> OIDCError { .sharedStore(description, message) }

    func error(_ fault: StoreFault, in stem: String) -> OIDCError {
        let subject = "the session in \(DisplayText.clean(location(of: stem)))"
        switch fault {
        case .otherKey, .untrusted:
            return fault.error(about: subject, hint: nil)
        case .outdated(let found, let newest):
            var error = storeError(
                "returned version \(found) of the session, after version \(newest): it lost data or was set back"
            )
            error.hint = .signIn
            error.code = .oldRecord
            return error
        case .unknownKey(let id, let known):
            return OIDCError(
                .usage,
                "\(subject) was sealed with the key \(engine.withoutSecrets(id)), found "
                    + known.joined(separator: " and "), hint: .advice(.giveStoreKey), stage: .store,
                code: .unknownStoreKey)
        case .newerVersion(let found, let known):
            return .store(
                "\(subject) was written by a newer oidc: expected format \(known) at most, found \(found)",
                hint: .advice(.useNewerVersion))
        case .damaged(let reason):
            return .damagedRecord("\(subject) is damaged: \(engine.withoutSecrets(reason))")
        case .notOpened(let error):
            return error
        }
    }
}

/// Single records.
extension SharedRecords {
    func read(_ name: RecordName) throws(OIDCError) -> Record? {
        // Noted before the read: afterwards, another process may have written a newer record.
        let newest = name.kind == .session ? seal.versions.newest(name.stem) : 0
        return record(try value(name.description), name, after: newest)
    }

    /// Reads a value. That changes nothing, so it does not matter whether only the answer was lost.
    private func value(_ name: String) throws(OIDCError) -> SharedValue? {
        do throws(OIDCError) { return try engine.read(name) } catch { throw error.unanswered(false) }
    }

    private func record(_ value: SharedValue?, _ name: RecordName, after newest: Int64) -> Record? {
        guard let value else { return nil }
        var record = Record(bytes: value.bytes, revision: value.revision)
        if name.kind == .session { record.reading = Record.Reading(stem: name.stem, newest: newest) }
        return record
    }

    func load(_ name: RecordName) throws(OIDCError) -> Record? {
        let stem = name.stem
        guard name.kind == .session else { return try readOnce(name) }
        let lease = lease(stem)
        if let outage = lease?.outage { throw outage }
        completeWrite(pendingName(stem), stem)
        if lease != nil { try adoptOtherSpellings(stem) }
        if hasPending(stem) { memory.withLock { $0.forget(stem) } }
        do throws(OIDCError) { try writePending(stem) } catch {
            // A refresh starts from the record on the server, so it does not use the local copy.
            guard error.kind == .unreachable, lease == nil, let copy = try pendingRecord(stem) else {
                throw error
            }
            return copy
        }
        let record = try readOnce(name)
        memory.withLock { $0.bases[stem] = lease == nil ? nil : record }
        return record
    }

    /// Returns the record as it was read together with the lease, or as it is now.
    private func readOnce(_ name: RecordName) throws(OIDCError) -> Record? {
        let snapshot = memory.withLock { $0.snapshots[name.stem]?.removeValue(forKey: name) }
        if let snapshot { return snapshot }
        return try read(name)
    }

    func isWaiting(_ name: RecordName) -> Bool { name.kind == .session && hasPending(name.stem) }

    func remembered(_ name: RecordName) -> Record? {
        memory.withLock { $0.bases[name.stem] ?? $0.snapshots[name.stem]?[name] ?? nil }
    }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        guard name.kind == .session else {
            return try engine.write(
                name.description, bytes, replacing: current?.sharedValue, lifetime: lifetime) != nil
        }
        let write = Write(bytes: bytes, stem: name.stem, current: current, lifetime: lifetime)
        guard let lease = lease(name.stem), lease.isPresenting else {
            // A sign-in whose answer was lost may have been signed out of since.
            if let session = try? seal.session(in: bytes), seal.hasEnded(session) { return true }
            let isWritten = try perform(write)
            if isWritten { noteReplaced(by: write) }
            return isWritten
        }
        return try keepAndPerform(write, under: lease)
    }

    func lastAttempt() -> MonotonicTime? { runtime.now().adding(milliseconds: SharedRecords.retries) }

    func isOver(_ last: MonotonicTime?) -> Bool { last.map { runtime.now() >= $0 } ?? false }

    func waits(after error: OIDCError, until last: MonotonicTime?) -> Bool {
        guard error.kind == .unreachable, let last, runtime.now() < last else { return false }
        runtime.sleep(500)
        return true
    }

    private struct Write {
        var bytes: [UInt8]
        var stem: String
        var current: Record?
        var lifetime: Duration?
    }

    private func perform(_ write: Write) throws(OIDCError) -> Bool {
        let name = RecordName(.session, write.stem)
        // A record that is too large, or not a string, cannot be compared.
        if write.current?.isUnreadable == true { try engine.remove(name.description) }
        let value: SharedValue?
        do throws(OIDCError) {
            value = try engine.write(
                name.description, write.bytes, replacing: write.current?.sharedValue,
                lifetime: write.lifetime.map { $0 + SharedRecords.expiredLifetime })
        } catch {
            // The server may have stored it, and may hide it until after a sign-out.
            if error.mayHaveBeenCarriedOut { noteSignIn(in: write.bytes, version: 1, write.stem) }
            throw error
        }
        guard let value else {
            memory.withLock { $0.forget(write.stem) }
            return false
        }
        noteWritten(value, write.stem)
        return true
    }

    /// How long the record of an expired token is kept. The next one takes its version from it, as the machines' clocks
    /// may differ.
    private static let expiredLifetime = Duration.seconds(86_400)

    private func noteWritten(_ value: SharedValue, _ stem: String) {
        let name = RecordName(.session, stem)
        if let version = (try? SealedRecord(stored: value.bytes))?.version {
            noteSignIn(in: value.bytes, version: version, stem)
        }
        let record = record(value, name, after: seal.versions.newest(stem))
        memory.withLock { memory in
            memory.forget(stem)
            if memory.leases[Lock(stem: stem, purpose: .tokens)] != nil { memory.bases[stem] = record }
        }
    }

    private func noteSignIn(in bytes: [UInt8], version: Int64, _ stem: String) {
        let session = try? seal.session(in: bytes)
        seal.versions.note(
            SeenRecord(newest: version, latest: session?.signIn, key: session?.keyOfSignIn), stem)
    }

    /// Notes the end of the sign-ins before the one that was written. Another machine may refresh a session that the
    /// server brings back until its version counts here. A sign-in that started later is not noted: the server may only
    /// not show it for now.
    private func noteReplaced(by write: Write) {
        guard let signIn = seal.signIn(in: write.bytes) else { return }
        func start(_ signIn: String) -> Int64 {
            signIn.split(separator: "-").first.flatMap { Int64($0) } ?? 0
        }
        let former = seal.versions.seen(write.stem).former.filter { start($0) <= start(signIn) }
        let replaced = former + [seal.signIn(in: write.current?.bytes)].compactMap { $0 }
        seal.versions.note(SeenRecord(ended: replaced.filter { $0 != signIn }), write.stem)
    }

    /// Notes the removal, so the server cannot bring the session back. If the server refuses, the session stays usable, and
    /// its tokens are not revoked; only a copy that waits on this machine is dropped.
    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        guard name.kind == .session else {
            try engine.remove(name.description)
            return true
        }
        memory.withLock { $0.forget(name.stem) }
        let version = seal.versions.removal(name.stem)
        // With those before, for machines that have not seen their removal. The server may hide the session, or show the
        // record of an earlier one.
        var seen = seal.versions.seen(name.stem)
        seen.ended = seal.versions.ended(name.stem)
        seen.add(
            SeenRecord(
                ended: seen.former + [seal.signIn(in: current?.bytes), seen.latest].compactMap { $0 }))
        let ended = seen.ended
        let removal = version.flatMap {
            seal.removal(of: name.stem, version: $0, ended: ended, over: current)
        }
        var unnoted: OIDCError?
        do throws(OIDCError) {
            guard try remove(name, current, leaving: removal, &unnoted) else { return false }
        } catch {
            // A copy that waits here would be used while the server is away, and stored again. If the record was certainly
            // not removed, the session stays, and its copy is the only one of the refresh token. So it does after a
            // signal: nothing is revoked then.
            if error.mayHaveBeenCarriedOut, error.kind != .interrupted, hasPending(name.stem) {
                seal.versions.note(SeenRecord(ended: ended), name.stem)
                forgetLeftover(name)
            }
            throw error
        }
        // A removal that stays has another machine's version, which may be less.
        if let version {
            seal.versions.note(SeenRecord(newest: removal == nil ? 0 : version, ended: ended), name.stem)
        }
        forgetLeftover(name)
        if let unnoted { throw unnoted }
        return true
    }

    /// Replaces a record with that of its removal, from which a sign-in on any machine takes the next version; the
    /// machines' clocks may differ. A server that is full still deletes the record. Returns false if another one is
    /// stored by now. `unnoted` is set if the record is gone and no removal is there: another machine may take the session
    /// for lost, and store it again. If there was no record, none is deleted, because somebody may sign in meanwhile.
    private func remove(
        _ name: RecordName, _ record: Record?, leaving removal: [UInt8]?, _ unnoted: inout OIDCError?
    ) throws(OIDCError) -> Bool {
        let name = name.description
        let current = record?.sharedValue
        if record == nil, try value(name) != nil { return false }
        // A removal that this machine cannot seal anew stays for the others.
        let isRemoval = current.flatMap { try? SealedRecord(stored: $0.bytes) }?.content == .removal
        guard let removal else {
            if record != nil, !isRemoval { try engine.remove(name) }
            return true
        }
        func leave(over current: SharedValue?) throws(OIDCError) -> Bool {
            try engine.write(
                name, removal, replacing: current, lifetime: SharedRecords.removalLifetime) != nil
        }
        if let current {
            // If only the answer was lost, the record has changed the second time, and the caller looks at it again.
            var isUnanswered = false
            for _ in 0..<2 {
                do throws(OIDCError) { return try leave(over: current) } catch {
                    isUnanswered = isUnanswered || error.mayHaveBeenCarriedOut
                    // The signal is postponed, but the user waits.
                    if Interruption.recorded != nil { throw error.unanswered(isUnanswered) }
                }
            }
            if isRemoval { return true }
            // Somebody may have signed in meanwhile.
            let found: [UInt8]?
            do throws(OIDCError) { found = try value(name)?.bytes } catch {
                throw error.unanswered(isUnanswered)
            }
            if found == removal { return true }
            guard found == nil || found == current.bytes else { return false }
        }
        if record != nil { try engine.remove(name) }
        do throws(OIDCError) { return try leave(over: nil) } catch {
            var error = error
            if error.kind != .interrupted { error.kind = .unreachable }
            error.message += "; another machine may store the session again"
            // The session itself is gone.
            unnoted = error.unanswered(true)
            return true
        }
    }

    /// How long the record of a removal is kept. After that, a sign-in takes its version from its machine's clock, and
    /// no clock with which TLS works is wrong by so much.
    private static let removalLifetime = Duration.seconds(366 * 86_400)

    func seen(_ name: RecordName) -> SeenSession? {
        let seen = seal.versions.seen(name.stem)
        guard let latest = seen.latest, !seal.versions.ended(name.stem).contains(latest) else { return nil }
        return SeenSession(key: seen.key.flatMap { SessionKey(text: $0) }, signIn: latest)
    }

    func noteEnd(of signIn: String, _ name: RecordName) {
        seal.versions.note(SeenRecord(ended: [signIn]), name.stem)
    }

    /// With those of all, also notes the removal of sessions that the server does not list: it may only be hiding them.
    /// Returns none, as none of them can be read.
    func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)] {
        guard stem == nil, isMeant(.unreadable) else { return [] }
        let stems = seal.versions.stems
        guard !stems.isEmpty else { return [] }
        for stem in Set(stems).subtracting(try names(.session).map(\.stem)).sorted() {
            let name = RecordName(.session, stem)
            if try read(name) == nil { _ = try remove(name, ifStill: nil) }
        }
        return []
    }

    /// Returns the names that the server lists, and those of sessions that this machine has seen and whose sign-out it has
    /// not: the server may leave them out.
    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] {
        let listed = try listed(kind).map { RecordName(kind, $0) }
        guard kind == .session else { return listed }
        let known = seal.versions.stems.map { RecordName(kind, $0) }.filter { seen($0) != nil }
        return listed + Set(known).subtracting(listed)
    }

    private func listed(_ kind: RecordName.Kind) throws(OIDCError) -> [String] {
        let prefix = RecordName(kind, "").description
        return try engine.names(prefix).filter { !$0.hasSuffix(SharedRecords.probe) }
            .map { String($0.dropFirst(prefix.utf8.count)) }
    }

    func probe(_ name: RecordName, byteCount: Int) throws(OIDCError) {
        let lease = SharedLease("lease/\(name.stem)\(SharedRecords.probe)", engine, times)
        guard try lease.acquire(now: runtime.now).isOurs else { return }
        defer { lease.release() }
        // The server may permit leases, but not records.
        let name = RecordName(name.kind, name.stem + SharedRecords.probe).description
        var found: SharedValue?
        do throws(OIDCError) { found = try engine.read(name) } catch {
            guard error.code == .damagedSession else { throw error }
            try engine.remove(name)
        }
        _ = try engine.write(name, Array("probe".utf8), replacing: found, lifetime: times.acquired)
        try engine.remove(name)
    }

    private static let probe = ".probe"

    func reserve(_ name: RecordName, byteCount: Int) throws(OIDCError) -> AnyObject? {
        // A copy that cannot be read may be the only one of the refresh token that follows the stored one, which the provider
        // would take for stolen.
        try checkWaiting(name)
        try checkAdopted(name)
        // The lease has shown that the server takes writes.
        try lease(name.stem)?.present(now: runtime.now)
        return nil
    }
}

/// Sessions that wait for the server on this machine.
extension SharedRecords {
    func checkWaiting(_ name: RecordName) throws(OIDCError) {
        try pending?.checkReadable(name.stem, pendingName(name.stem)) { isReplaced($0, name) }
    }

    /// Returns whether a later sign-in has made a copy useless.
    private func isReplaced(_ file: String, _ name: RecordName) -> Bool {
        guard file != pendingName(name.stem), let latest = seal.versions.latest(inFile: file) else {
            return false
        }
        // The server is asked only if something waits for another name of it.
        let record = memory.withLock { $0.bases[name.stem] } ?? (try? read(name)) ?? nil
        let session = record.flatMap { (try? seal.open($0, of: nil)) ?? nil }
        return session?.signIn.map { $0 != latest } ?? false
    }

    /// Throws if a copy that waits here was not adopted as the session was loaded under its lease: it could not be read then,
    /// or not be put in place.
    private func checkAdopted(_ name: RecordName) throws(OIDCError) {
        let stem = name.stem
        guard let pending, lease(stem) != nil else { return }
        let own = "\(stem)-"
        guard (pending.names + pending.leftovers).contains(where: { $0.hasPrefix(own) }) else { return }
        let loaded = memory.withLock { $0.bases[stem] }
        guard try load(name)?.bytes == loaded?.bytes else {
            throw .store(
                "the session has changed since it was loaded",
                hint: "run the command again")
        }
        for file in pending.leftovers where file.hasPrefix(own) && !isReplaced(file, name) {
            guard pending.hasLeftover(file, if: { isWhole($0, stem) }) else { continue }
            throw SessionStore.unadopted(pending.location(file))
        }
    }

    private func pendingName(_ stem: String) -> String { seal.versions.fileName(stem) }

    /// Puts in place what a killed process had written of a session that waits.
    private func completeWrite(_ name: String, _ stem: String) {
        pending?.adoptLeftover(name) { isWhole($0, stem) }
    }

    private func isWhole(_ copy: [UInt8], _ stem: String) -> Bool {
        (try? seal.open(pending: copy, stem)) != nil
    }

    private func hasPending(_ stem: String) -> Bool { pending?.content(pendingName(stem)) != nil }
    func forgetLeftover(_ name: RecordName) { pending?.removeAll(pendingName(name.stem)) }

    /// Replaces a session after its refresh token was presented. The new one exists nowhere else, so it is saved
    /// on this machine first: the server may not answer before this process is killed.
    private func keepAndPerform(_ write: Write, under lease: SharedLease) throws(OIDCError) -> Bool {
        let copy = keep(write)
        if let outage = lease.outage { throw copy.noted(in: outage) }
        let retries = copy.bytes == nil ? times.presenting.milliseconds / 3 : SharedRecords.retries
        let end = runtime.now().adding(milliseconds: retries)
        while true {
            do throws(OIDCError) {
                var isWritten = try perform(write)
                if !isWritten { isWritten = try isStored(write) }
                // Another machine changed the record, so the copy stays: the caller loads the session again, which stores
                // the copy if it is newer.
                if isWritten, let bytes = copy.bytes {
                    pending?.remove(pendingName(write.stem), ifStill: bytes)
                }
                return isWritten
            } catch {
                guard error.kind == .unreachable, runtime.now() < end else {
                    // The others wait until the lease ends, as they would present the old refresh token. A failure of this
                    // machine is repeated.
                    let isStored = error.kind == .interrupted && hasRefreshToken(of: write)
                    if error.kind != .failed, !isStored { lease.note(outage: error) }
                    throw copy.noted(in: error)
                }
                runtime.sleep(500)
            }
        }
    }

    /// Returns whether the record that a write replaces has its refresh token already.
    private func hasRefreshToken(of write: Write) -> Bool {
        let stored = write.current.flatMap { try? seal.session(in: $0.bytes) }
        let token = stored?.tokens.refreshToken
        return token != nil && token == (try? seal.session(in: write.bytes))?.tokens.refreshToken
    }

    /// How long a failed write is retried, in milliseconds. A failover takes a few seconds.
    private static let retries: Int64 = 5_000

    /// Returns whether the server has what was written after all: the answer to our own write may have been lost, or the
    /// record before it, in whose place it is written then.
    private func isStored(_ write: Write) throws(OIDCError) -> Bool {
        let found = try stored(write.stem, beside: try session(in: write.bytes, write.stem))
        if let value = found.record?.sharedValue, value.bytes == write.bytes {
            noteWritten(value, write.stem)
            return true
        }
        guard found.isLost, write.current != nil else { return false }
        var again = write
        again.current = found.record
        return try perform(again)
    }

    /// Returns what the server has in place of a session that is to be stored. A sign-out leaves a record, so a server
    /// without one has lost it, as one with an older record than this machine has seen. But a sign-out of this session
    /// counts even if its machine had seen less.
    private func stored(
        _ stem: String, beside next: Session
    ) throws(OIDCError) -> (record: Record?, session: Session?, isLost: Bool) {
        guard let record = try read(RecordName(.session, stem)) else {
            return (nil, nil, !seal.hasEnded(next))
        }
        do throws(StoreFault) {
            // Anybody can write what looks like a removal by another key, which must not cost the session.
            if let fault = seal.unopenedRemoval(record) { throw fault }
            return (record, try seal.open(record, of: next.key), false)
        } catch {
            guard case .outdated = error else { throw self.error(error, in: stem) }
            return (record, nil, !(seal.ends(record, next) || seal.hasEnded(next)))
        }
    }

    private func keep(_ write: Write) -> LocalCopy {
        guard let pending else { return .unavailable }
        do throws(OIDCError) {
            let waiting = PendingSession(
                session: try session(in: write.bytes, write.stem),
                current: write.current.flatMap { try? seal.session(in: $0.bytes) })
            let bytes = try seal.seal(waiting)
            try pending.keep(bytes, pendingName(write.stem))
            return .stored(bytes)
        } catch {
            return .failed(error)
        }
    }

    private func session(in bytes: [UInt8], _ stem: String) throws(OIDCError) -> Session {
        do throws(StoreFault) { return try seal.session(in: bytes) } catch {
            throw self.error(error, in: stem)
        }
    }

    /// Returns the session that waits for the server; nil if there is none.
    private func pendingRecord(_ stem: String) throws(OIDCError) -> Record? {
        guard let bytes = pending?.content(pendingName(stem)) else { return nil }
        let waiting: PendingSession
        do throws(StoreFault) { waiting = try seal.open(pending: bytes, stem) } catch {
            throw self.error(error, in: stem)
        }
        var record = Record(bytes: try seal.seal(waiting.session, over: nil))
        record.isWaiting = true
        return record
    }

    /// Writes a session that waits for a server that the settings named otherwise: another host, or with TLS by now. It
    /// belongs here if it replaces the one that is stored here.
    private func adoptOtherSpellings(_ stem: String) throws(OIDCError) {
        guard let pending else { return }
        let own = pendingName(stem)
        for name in pending.leftovers where name.hasPrefix("\(stem)-") {
            completeWrite(name, stem)
        }
        for name in pending.names where name != own && name.hasPrefix("\(stem)-") {
            guard let bytes = pending.content(name) else { continue }
            let waiting: PendingSession
            do throws(StoreFault) { waiting = try seal.open(pending: bytes, stem) } catch {
                if case .unknownKey = error { try checkOpens(stem, bytes, in: name, beside: error) }
                continue
            }
            let stored = try stored(stem, beside: waiting.session).session
            guard stored != nil, waiting.replacement(of: stored) != nil else { continue }
            try write(waiting, stem)
            pending.remove(name, ifStill: bytes)
        }
    }

    /// Writes a pending session, unless the stored one has changed meanwhile.
    private func writePending(_ stem: String) throws(OIDCError) {
        guard let pending, let bytes = pending.content(pendingName(stem)) else { return }
        let waiting: PendingSession
        do throws(StoreFault) { waiting = try seal.open(pending: bytes, stem) } catch {
            // It may be sealed with a key that is only missing for now. A damaged one is useless.
            guard error.isReplaceable else {
                if case .unknownKey = error {
                    return try checkOpens(stem, bytes, in: pendingName(stem), beside: error)
                }
                throw self.error(error, in: stem)
            }
            return pending.remove(pendingName(stem))
        }
        try write(waiting, stem)
        pending.remove(pendingName(stem), ifStill: bytes)
    }

    /// Throws the fault of a session that waits and cannot be opened, unless the stored one can, and is later: versions
    /// follow the clock. A copy that waits under another name of the server concerns this session if this machine last
    /// saw the same sign-in under that name.
    private func checkOpens(
        _ stem: String, _ waiting: [UInt8], in name: String, beside fault: StoreFault
    ) throws(OIDCError) {
        let record = try read(RecordName(.session, stem))
        let session = record.flatMap { try? seal.open($0, of: nil) }
        if name != pendingName(stem) {
            guard let signIn = session?.signIn, signIn == seal.versions.latest(inFile: name) else { return }
        }
        if let record, session != nil, seal.unopenedRemoval(record) == nil,
            let version = try? SealedRecord(stored: record.bytes).version,
            let earlier = try? SealedRecord(stored: waiting).version, version > earlier
        {
            return
        }
        guard let path = pending?.location(name) else { return }
        var error = fault.error(about: "the session that waits in \(DisplayText.clean(path))", hint: nil)
        let away = ShellWord.line([path, path + ".old"])
        error.hint = .text("give its key, or, if no machine has that any more: mv \(away)")
        throw error
    }

    private func write(_ waiting: PendingSession, _ stem: String) throws(OIDCError) {
        let next = waiting.session
        let last = lastAttempt()
        for attempt in 0..<SharedRecords.writeLimit {
            let (record, stored, isLost) = try stored(stem, beside: next)
            guard stored != next, let next = isLost ? next : waiting.replacement(of: stored) else { return }
            let isWritten = try perform(
                Write(
                    bytes: try seal.seal(next, over: record), stem: stem, current: record,
                    lifetime: next.lifetime(at: seal.now())))
            if isWritten { return }
            if attempt > 0, isOver(last) { break }
        }
        throw storeError(SessionStore.changing)
    }

    private static let writeLimit = 20
}

/// Locks, which are leases on the server.
extension SharedRecords {
    private func lease(_ stem: String) -> SharedLease? {
        memory.withLock { $0.leases[Lock(stem: stem, purpose: .tokens)] }
    }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let turn = Turn(
            lock: Lock(stem: name.stem, purpose: purpose), mayRedeem: false,
            lease: "lease/\(name.stem)\(purpose == .signIn ? ".sign-in" : "")")
        return try withLease(turn, wait, unless: { () throws(OIDCError) -> Value? in nil }, body)
    }

    func withTokenLock<Value>(
        _ name: RecordName, mayRedeem: Bool, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let turn = Turn(
            lock: Lock(stem: name.stem, purpose: .tokens), mayRedeem: mayRedeem, lease: "lease/\(name.stem)")
        return try withLease(turn, wait, unless: settled, body)
    }

    private struct Turn {
        var lock: Lock
        /// Whether a refresh token may be presented.
        var mayRedeem: Bool
        /// The name of the lease.
        var lease: String
    }

    private func withLease<Value>(
        _ turn: Turn, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        var clock = WaitClock(wait, start: runtime.now())
        while true {
            let lease = SharedLease(turn.lease, engine, times, presents: turn.mayRedeem)
            if let value = try acquire(lease, turn, wait, &clock, unless: settled) { return value }
            let stop = runtime.renew(lease.period) { lease.renew() }
            defer {
                stop()
                memory.withLock { memory in
                    memory.leases[turn.lock] = nil
                    memory.forget(turn.lock.stem)
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
        _ lease: SharedLease, _ turn: Turn, _ wait: LockWait, _ clock: inout WaitClock,
        unless settled: () throws(OIDCError) -> Value?
    ) throws(OIDCError) -> Value? {
        let lock = turn.lock
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
                    if try acquire(lease, turn) { return nil }
                } catch {
                    memory.withLock { $0.leases[lock] = nil }
                    throw error
                }
                memory.withLock { $0.leases[lock] = nil }
            }
            defer { if isOurs { memory.withLock { $0.snapshots[lock.stem] = nil } } }
            if let value = try settled() { return value }
            try clock.check(wait, now: runtime.now()) {
                var error = storeError(
                    "the session's lease was not free within \(wait.limit.components.seconds) seconds: another "
                        + "machine holds it; if none does, delete its key: \(lease.deletion)")
                error.code = .leaseHeld
                return error
            }
            // The pause is random, so machines that started together do not keep polling together.
            runtime.sleep(pause / 2 + runtime.random(pause))
            pause = min(pause * 2, 250)
        }
    }

    /// Asks for the lease, and keeps what the server answers of the session.
    private func acquire(_ lease: SharedLease, _ turn: Turn) throws(OIDCError) -> Bool {
        guard turn.lock.purpose == .tokens else { return try lease.acquire(now: runtime.now).isOurs }
        let stem = turn.lock.stem
        let names = [RecordName(.session, stem), RecordName(.failure, stem)]
        let newest = seal.versions.newest(stem)
        let answer: LeaseAnswer
        do throws(OIDCError) {
            answer = try lease.acquire(
                reading: names.map(\.description), checksWrites: turn.mayRedeem, now: runtime.now)
        } catch {
            // A record that is too large to be read is replaced under the lease.
            guard error.code == .damagedSession else { throw error }
            return try lease.acquire(now: runtime.now).isOurs
        }
        let snapshot = names.compactMap { name in
            answer.values[name.description].map { (name, record($0, name, after: newest)) }
        }
        memory.withLock { $0.snapshots[stem] = Dictionary(uniqueKeysWithValues: snapshot) }
        return answer.isOurs
    }
}

extension Record {
    fileprivate var sharedValue: SharedValue? {
        isUnreadable ? nil : SharedValue(bytes: bytes, revision: revision)
    }
}

extension OIDCError {
    /// Returns the error of a record that no machine can use. A sign-in replaces it.
    static func damagedRecord(_ message: String) -> OIDCError {
        var error = OIDCError.untrusted(.store, message, hint: .signIn)
        error.code = .damagedSession
        return error
    }
}
