public import OIDCCore
import Posix

/// A store of sessions: records, and the form in which they hold sessions. Every fault is an `OIDCError` with a hint;
/// there is no silent fallback.
///
/// This is the only place that knows the policy: the whole key is compared; a damaged record of a grant without a user
/// counts as missing; newer versions and other keys are never overwritten; each write is a compare-and-set; what a
/// killed refresh left is adopted.
public struct SessionStore: Sendable {
    private let records: any OwnRecordStore
    private let seal: any SessionSeal
    private let copies: SessionCopies?
    private let now: @Sendable () -> Instant

    /// Creates a store of records.
    public init(records: any RecordStore) {
        self.init(ForeignRecords(records: records), PlainSeal())
    }

    /// Creates a store with a file for each session, `<name>.json`, and `<name>.lock` beside it. The directory is
    /// created when it is first needed.
    public init(directory path: String) {
        self.init(FileRecords(directory: path, ending: ".json"), PlainSeal())
    }

    /// Creates a store whose sessions end with the process.
    public static func inMemory() -> SessionStore { SessionStore(MemoryRecords(), PlainSeal()) }

    package init(
        _ records: any OwnRecordStore, _ seal: any SessionSeal = PlainSeal(), copies: SessionCopies? = nil,
        now: @escaping @Sendable () -> Instant = { Clock.now() }
    ) {
        self.records = records
        self.seal = seal
        self.copies = copies
        self.now = now
    }

    /// The store's name in messages: a path, or the name of a program.
    public var description: String { seal.description(of: records.description) }

    /// The processes that can see the sessions.
    package var reach: StoreReach { records.reach }

    /// The reason why nothing can be stored; nil if something can.
    package var unavailability: OIDCError? { records.unavailability }

    /// Why this process could not note a sign-out on this machine; nil if it could, or if the store needs no such note.
    package var noteFailure: OIDCError? { records.noteFailure }

    /// Checks that the keys of sealed sessions are available, without using them.
    package func checkKeys() throws(OIDCError) { try seal.checkAvailable() }

    /// Checks the records' server, and the key, for `oidc doctor`.
    package func health() throws(OIDCError) -> [HealthReport] { try records.health() }

    /// Throws if a session may wait on this machine to be stored, and cannot be read.
    package func checkWaiting(_ key: SessionKey) throws(OIDCError) {
        try records.checkWaiting(key.recordName)
    }

    /// Throws if a copy of a listed session may wait here, and cannot be read.
    package func checkWaiting(_ stored: StoredSession) throws(OIDCError) {
        try records.checkWaiting(RecordName(.session, stored.name))
    }

    /// Returns the path or name of the session, even if it does not exist.
    public func location(of key: SessionKey) -> String { seal.location(records.location(of: key.fileStem)) }

    /// Loads the session; returns nil if there is none. Throws if the record is damaged or belongs to another
    /// key, but a damaged one of a grant without a user counts as missing: the next token replaces it.
    public func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        if let copy = copies?.session(key, at: now()) { return copy }
        let isMachine = !key.grant.needsUser
        let record = try record(orUnreadable: isMachine) { () throws(OIDCError) in
            try records.load(key.recordName)
        }
        let session = try found(in: record, key, orDamaged: isMachine)
        // A record that waits for its server is loaded each time, so it is stored as soon as possible.
        if record?.isWaiting != true { copies?.keep(session, key) }
        return session
    }

    /// Loads the session that a sign-out ends. A machine's token that was sealed with an unknown key is not missing, as
    /// other machines use it.
    package func loadToEnd(_ key: SessionKey) throws(OIDCError) -> Session? {
        if let session = try load(key) { return session }
        if !key.grant.needsUser, let record = try record(key, orUnreadable: true) {
            try checkKey(of: record, key)
        }
        return nil
    }

    /// Saves the session. It replaces the one with the same key, and, if `replacingDamaged` is true (as after
    /// a sign-in), a damaged one; never one of another key or a newer version.
    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        try save(session, replacingDamaged: replacingDamaged, until: records.lastAttempt())
    }

    private func save(
        _ session: Session, replacingDamaged: Bool, until last: MonotonicTime?
    ) throws(OIDCError) {
        copies?.keep(nil, session.key)
        var isUnanswered = false
        for attempt in 0..<SessionStore.writeLimit {
            do throws(OIDCError) {
                let current = try replaceable(session.key, orDamaged: replacingDamaged)
                if isSaved(session, as: current) { return records.forgetLeftover(session.key.recordName) }
                if try write(session, over: current) { return records.forgetLeftover(session.key.recordName) }
                if attempt > 0, records.isOver(last) { break }
            } catch {
                isUnanswered = isUnanswered || error.code == .noStoreAnswer
                guard records.waits(after: error, until: last) else { throw error.unanswered(isUnanswered) }
            }
        }
        throw records.storeError(SessionStore.changing)
    }

    package static let changing = "the session keeps changing while it is saved"

    /// Saves the session of a sign-in under its lock, because a refresh in progress would overwrite it. If the lock fails,
    /// saves without it rather than losing the sign-in.
    ///
    /// A server that takes connections and is silent is asked once, not once for each step.
    package func saveSignIn(_ session: Session, _ wait: LockWait) throws(OIDCError) {
        var last = records.lastAttempt()
        var isTried = false
        do throws(OIDCError) {
            try withLock(session.key, wait) { () throws(OIDCError) in
                isTried = true
                // The wait for the lease may have used up that time.
                last = records.lastAttempt()
                try save(session, replacingDamaged: true, until: last)
            }
        } catch {
            let isAway =
                error.kind == .unreachable && error.code != .leaseHeld || error.code == .noStoreAnswer
            guard error.kind != .interrupted, !isAway || !isTried && records.waits(after: error, until: last)
            else { throw error }
            if error.code == .leaseHeld { last = records.lastAttempt() }
            try save(session, replacingDamaged: true, until: last)
        }
    }

    /// Returns whether a server has the session of a sign-in after all, as only the answer was lost. Another machine may
    /// have refreshed it since.
    private func isSaved(_ session: Session, as record: Record?) -> Bool {
        guard records.reach == .machines, session.key.grant.needsUser,
            session.nonce ?? session.signInID != nil, let record,
            case .some(.some(let stored)) = try? seal.open(record, of: session.key)
        else { return false }
        return stored.isSameSignIn(as: session)
    }

    /// Saves a session if `current` is still the stored one, or if there is none and `current` is nil.
    /// Returns false if not, as the user signed in or out meanwhile.
    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        let key = session.key
        let isMachine = !key.grant.needsUser
        copies?.keep(nil, key)
        let last = records.lastAttempt()
        var remembered = records.remembered(key.recordName)
        for attempt in 0..<SessionStore.writeLimit {
            let isCurrent = remembered == nil
            let stored = if let remembered { remembered } else { try record(key, orUnreadable: isMachine) }
            remembered = nil
            let found = try found(in: stored, key, orDamaged: isMachine)
            // The answer to our own write may have been lost.
            if found == session { return true }
            let isExpired = found == nil && isMachine && records.removesExpired
            if found == current || isExpired {
                if found == nil, let stored { try checkKey(of: stored, key) }
                if try write(session, over: stored) { return true }
                if attempt > 0, records.isOver(last) { throw records.storeError(SessionStore.changing) }
            } else if isCurrent {
                return false
            }
        }
        return false
    }

    private static let writeLimit = 20

    /// Returns the stored record; nil if there is none.
    private func record(_ key: SessionKey, orUnreadable: Bool) throws(OIDCError) -> Record? {
        try record(orUnreadable: orUnreadable) { () throws(OIDCError) in try records.read(key.recordName) }
    }

    private func record(
        orUnreadable: Bool, _ read: () throws(OIDCError) -> Record?
    ) throws(OIDCError) -> Record? {
        do throws(OIDCError) { return try read() } catch {
            guard orUnreadable, error.code == .damagedSession else { throw error }
            return .unreadable
        }
    }

    /// Returns the session in a record; nil if there is none, or a damaged one and `orDamaged` is true.
    private func found(in record: Record?, _ key: SessionKey, orDamaged: Bool) throws(OIDCError) -> Session? {
        guard let record else { return nil }
        do throws(StoreFault) { return try seal.open(record, of: key) } catch {
            guard error.isReplaceable(of: key), orDamaged else {
                throw records.error(error, in: key.fileStem)
            }
            return nil
        }
    }

    /// Returns the record that a session of the key would replace, marked if it is damaged; nil if there is none.
    /// Throws if it must not be replaced.
    private func replaceable(_ key: SessionKey, orDamaged: Bool) throws(OIDCError) -> Record? {
        guard let record = try record(key, orUnreadable: orDamaged) else { return nil }
        do throws(StoreFault) { try seal.check(record, of: key) } catch {
            guard error.isReplaceable, orDamaged else {
                throw records.error(error, in: key.fileStem)
            }
            return record.damaged(true)
        }
        return record
    }

    /// Throws if a record was sealed with an unknown key: other machines use it.
    private func checkKey(of record: Record, _ key: SessionKey) throws(OIDCError) {
        do throws(StoreFault) { try seal.check(record, of: key) } catch {
            if case .unknownKey = error { throw records.error(error, in: key.fileStem) }
        }
    }

    /// Seals first and compares afterwards, as a keychain may prompt.
    private func write(_ session: Session, over current: Record?) throws(OIDCError) -> Bool {
        let bytes = try seal.seal(session, over: current)
        return try records.write(
            bytes, to: session.key.recordName, replacing: current, lifetime: session.lifetime(at: now()))
    }

    /// Removes the session, even a damaged one; it need not exist.
    public func remove(_ key: SessionKey) throws(OIDCError) { try remove(key, expecting: nil) }

    /// Removes the session, but not one of a later sign-in than `session`, which a server took meanwhile.
    package func remove(_ key: SessionKey, expecting session: Session?) throws(OIDCError) {
        copies?.keep(nil, key)
        func isLater(_ record: Record) -> Bool {
            guard let session, records.reach == .machines else { return false }
            return hasLater(record, key, than: session.signIn) { !$0.isSameSignIn(as: session) }
        }
        try remove(key.fileStem, unlessLater: isLater) { record throws(OIDCError) in
            do throws(StoreFault) { _ = try seal.open(record, of: key) } catch {
                if error == .otherKey { throw records.error(error, in: key.fileStem) }
                return error.isReplaceable
            }
            return false
        }
    }

    /// Notes the removal of a session that a server says it does not have: it may only be hiding it, or be an outdated
    /// replica, and its record must not count when it comes back. One that this machine has not seen was stored meanwhile,
    /// and stays. The tokens of a machine belong to no sign-in, and can be requested again.
    package func noteRemoval(of key: SessionKey) throws(OIDCError) {
        copies?.keep(nil, key)
        // A read that shows another session changes it.
        let signIn = records.seen(key.recordName)?.signIn
        func isLater(_ record: Record) -> Bool {
            key.grant.needsUser
                && hasLater(record, key, than: signIn) { $0.signIn == nil || $0.signIn != signIn }
        }
        try remove(key.fileStem, unlessLater: isLater) { _ in false }
    }

    /// Returns whether a record has a session for which `isMeant` returns true, or may have one that this machine cannot
    /// open, which stays. The server may show it only for this moment, so the end of the sign-in is noted.
    private func hasLater(
        _ record: Record, _ key: SessionKey, than signIn: String?, _ isMeant: (Session) -> Bool
    ) -> Bool {
        let isLater: Bool
        do throws(StoreFault) { isLater = try seal.open(record, of: key).map(isMeant) ?? false } catch {
            isLater = !error.isReplaceable
        }
        if isLater, let signIn { records.noteEnd(of: signIn, key.recordName) }
        return isLater
    }

    /// Removes an entry that `all` listed.
    public func remove(_ stored: StoredSession) throws(OIDCError) {
        switch stored.content {
        case .success(let session): copies?.keep(nil, session.key)
        case .failure(let error):
            // Machines with another key may have written a record that cannot be opened here.
            guard records.reach != .machines || [.oldRecord, .lostSession].contains(error.code) else {
                throw error
            }
        }
        try remove(stored.name, unlessLater: { _ in false }) { _ in stored.isDamaged }
    }

    /// Removes a record and then its secret, so the session is gone even if a keychain fails. An unreadable
    /// record is removed unchecked.
    private func remove(
        _ stem: String, unlessLater isLater: (Record) -> Bool,
        unlessDamaged isDamaged: (Record) throws(OIDCError) -> Bool
    ) throws(OIDCError) {
        let name = RecordName(.session, stem)
        let last = records.lastAttempt()
        for attempt in 0..<SessionStore.writeLimit {
            var record: Record?
            var isThere = true
            do throws(OIDCError) {
                record = try records.read(name)
                isThere = record != nil
            } catch {
                guard error.kind != .interrupted else { throw error }
                record = error.code == .damagedSession ? .unreadable : nil
            }
            if let found = record {
                if isLater(found) { return }
                record = found.damaged(try isDamaged(found))
            }
            func end() throws(OIDCError) -> Bool {
                guard try records.remove(name, ifStill: record) else { return false }
                if isThere { try seal.forget(record, of: stem) }
                _ = try records.remove(RecordName(.failure, stem), ifStill: nil)
                return true
            }
            // A server may carry out what a signal keeps from being answered; then nobody could revoke the tokens any more.
            let isDone = records.reach == .machines ? try Interruption.postponed(end) : try end()
            if isDone { return }
            if attempt > 0, records.isOver(last) { break }
        }
        throw records.storeError("the session keeps changing while it is removed")
    }

    /// Lists all sessions and damaged entries, sorted by name. If a server names too many, an error about those that were
    /// left out comes first.
    public func all() throws(OIDCError) -> [StoredSession] { try all(withHidden: false) }

    /// Lists all sessions and damaged entries, and, `withHidden`, those that this machine has seen and the store does not
    /// show, or shows damaged: of a server, up to `limit`.
    package func all(withHidden: Bool, limit: Int = 4_096) throws(OIDCError) -> [StoredSession] {
        var outage: OIDCError?
        var entries: [StoredSession] = []
        var wasUnreachable = false
        let isBounded = records.reach == .machines
        let limits = SessionStore.listingLimits
        let deadline = MonotonicTime.now().adding(milliseconds: limits.time.milliseconds)
        var bytes = 0
        var names = try records.names(.session).sorted { $0.stem < $1.stem }
        if isBounded {
            // Those that this machine has seen come first: a neighbor without the key can store any number of others.
            let known = Set(names.filter { records.seen($0) != nil })
            names = names.filter(known.contains) + names.filter { !known.contains($0) }
        }
        var omission: StoredSession?
        for (index, name) in names.enumerated() {
            var record: Record?
            let content: Result<Session, OIDCError>
            do throws(OIDCError) {
                // A server may name any number of sessions, and take its time with each. Removals, which stay for a year, do
                // not count: nobody makes them without the key.
                let isWithin =
                    MonotonicTime.now() < deadline && entries.count < limit && bytes < limits.bytes
                guard !isBounded || isWithin else {
                    let error = records.storeError(
                        "has too many sessions to list them all, or is too slow: "
                            + "\(names.count - index) were not read")
                    omission = entry(name, .failure(error))
                    omission?.isOmission = true
                    break
                }
                // Whatever the store shows, a session that waits on this machine is the one that is used.
                let isUsed = !withHidden && records.isWaiting(name)
                record = try isUsed ? records.load(name) : records.read(name)
                bytes += record?.bytes.count ?? 0
                let session = try listed(record, name, &outage)
                wasUnreachable = false
                guard let session else {
                    if withHidden, let seen = records.seen(name) {
                        var hidden = entry(name, .failure(hiddenSession))
                        hidden.hiddenKey = seen.key
                        entries.append(hidden)
                    }
                    continue
                }
                content = .success(session)
            } catch {
                // One failure may be due to its record; after two in a row, the server counts as unreachable.
                let isUnreachable = error.kind == .unreachable && error.code != .oldRecord
                guard !(isUnreachable && wasUnreachable), error.kind != .interrupted else { throw error }
                wasUnreachable = isUnreachable
                content = .failure(error)
            }
            var found = entry(name, content)
            if case .failure(let error) = content {
                let seen = records.seen(name)?.key
                found.namedKey = seen ?? SessionStore.key(in: record, named: name)
                // The server may show the session again.
                if withHidden, error.kind == .untrusted { found.hiddenKey = seen }
            }
            entries.append(found)
        }
        return (omission.map { [$0] } ?? []) + entries.sorted { $0.name < $1.name }
    }

    /// Returns the key in a record that cannot be used; nil if there is none, or its session has another name. No machine
    /// uses a record under another name than its session's.
    private static func key(in record: Record?, named name: RecordName) -> SessionKey? {
        let text = record.flatMap { try? JSONValue(parsing: $0.bytes) }?["key"]?.string
        return text.flatMap { SessionKey(text: $0) }.flatMap { $0.fileStem == name.stem ? $0 : nil }
    }

    private func entry(_ name: RecordName, _ content: Result<Session, OIDCError>) -> StoredSession {
        StoredSession(name: name.stem, location: records.location(of: name.stem), content: content)
    }

    private static let listingLimits = (time: Duration.seconds(60), bytes: 64 << 20)

    /// Returns a listed session. `outage` is the failure of a keychain, which is not asked again.
    private func listed(
        _ record: Record?, _ name: RecordName, _ outage: inout OIDCError?
    ) throws(OIDCError) -> Session? {
        guard let record else { return nil }
        do throws(StoreFault) {
            if let outage {
                try seal.check(record, of: nil)
                throw .notOpened(outage)
            }
            return try seal.open(record, of: nil)
        } catch {
            guard case .notOpened(let failure) = error else { throw records.error(error, in: name.stem) }
            outage = failure
            throw OIDCError(
                failure.kind, "\(DisplayText.clean(records.location(of: name.stem))): \(failure.message)",
                hint: failure.hint, stage: failure.stage)
        }
    }

    /// Returns whether this machine has seen a session, and not its sign-out. If it is missing, the store has lost or hides
    /// it.
    package func hides(_ key: SessionKey) -> Bool { records.seen(key.recordName) != nil }

    /// The error of a session that the store hides.
    package var hiddenSession: OIDCError {
        OIDCError(
            .failed, "\(description) does not show the session that this machine has seen", stage: .store,
            code: .lostSession)
    }

    /// Removes what killed sign-ins left, with its secrets, and returns the sessions that can be read.
    ///
    /// Only sessions of `key`, or of any key if that is nil, are removed, and only if `isMeant` returns true. It
    /// gets the session, or nil if that cannot be read.
    package func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session] {
        try records.takeLeftovers(of: key?.fileStem) { isMeant(try? seal.open($0, of: nil)) }
            .compactMap { leftover in
                let session = try? seal.open(leftover.record, of: nil)
                seal.forget(leftover: leftover.record)
                return session
            }
    }

    /// Runs `body` while no other process does so for this key and purpose.
    ///
    /// The holder of the lock for tokens first completes the write of a killed refresh: the refresh token in it is the
    /// only one left.
    public func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose = .tokens, _ wait: LockWait,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        guard purpose != .tokens else {
            return try withLock(key, wait, unless: { () throws(OIDCError) -> Value? in nil }, body)
        }
        copies?.beginLock(key)
        defer { copies?.endLock(key) }
        return try records.withLock(key.recordName, for: purpose, wait, body)
    }

    /// Runs `body` under the lock for tokens. A store may call `settled` while it waits, and return its value instead
    /// of running `body`.
    package func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        copies?.beginLock(key)
        defer { copies?.endLock(key) }
        return try records.withTokenLock(
            key.recordName, mayRedeem: key.grant.needsUser, wait, unless: settled
        ) { () throws(OIDCError) in
            findsLeftover(key, adopting: true)
            return try body()
        }
    }

    /// Returns whether a killed refresh left a later session than the stored one, which is put in its place if `adopting`.
    @discardableResult
    private func findsLeftover(_ key: SessionKey, adopting: Bool) -> Bool {
        var isFound = false
        records.adoptLeftover(key.recordName) { stored, leftover, isOlder in
            guard let stored = try? seal.open(stored, of: key),
                let leftover = try? seal.open(leftover, of: key)
            else { return false }
            isFound = leftover.isRefreshed(from: stored, isOlder: isOlder)
            return isFound && adopting
        }
        return isFound
    }

    /// Throws if the holder of the lock for tokens could not complete the write of a killed refresh: what that left has the
    /// refresh token that follows the stored one.
    package func checkAdopted(_ key: SessionKey) throws(OIDCError) {
        guard !findsLeftover(key, adopting: false) else { throw SessionStore.unadopted(location(of: key)) }
    }

    /// Returns the error of an unfinished copy of a session, which whoever takes the lock should have put in place.
    package static func unadopted(_ location: String) -> OIDCError {
        .store(
            "a later copy of the session has not been put in place of \(DisplayText.clean(location))",
            hint: "run the command again; if that does not help, check the disk")
    }

    /// Returns the last failure that was stored for the key; nil if there is none.
    package func failure(of key: SessionKey) -> SharedFailure? {
        ((try? records.load(RecordName(.failure, key.fileStem))) ?? nil).flatMap {
            seal.open(failure: $0, of: key)
        }
    }

    /// Stores a failure for other processes, or removes the stored one if `failure` is nil; errors are
    /// ignored, as it only saves requests. If `id` is not nil, a failure is stored only in place of the one with this
    /// ID.
    package func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        let name = RecordName(.failure, key.fileStem)
        guard let failure else {
            _ = try? records.remove(name, ifStill: nil)
            return
        }
        let last = records.lastAttempt()
        for _ in 0..<SessionStore.writeLimit {
            let current: Record?
            do throws(OIDCError) { current = try records.read(name) } catch { return }
            guard id == nil || current.flatMap({ seal.open(failure: $0, of: key) })?.id == id else { return }
            guard let bytes = try? seal.seal(failure, of: key) else { return }
            let isWritten = try? records.write(
                bytes, to: name, replacing: current, lifetime: .seconds(300))
            if isWritten != false || records.isOver(last) { return }
        }
    }

    /// Seals a secret of a sign-in that is kept beside the session.
    package func sealed(_ document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8] {
        try seal.seal(document: document, of: key)
    }

    /// Opens a secret that `sealed` returned.
    package func opened(_ document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8] {
        do throws(StoreFault) { return try seal.open(document: document, of: key) } catch {
            throw error.error(about: "the waiting sign-in", hint: .signIn)
        }
    }

    /// Forgets the key of a sealed secret that was removed.
    package func forget(_ document: [UInt8]) { seal.forget(document: document) }

    /// Checks that a session could be saved; called before the user signs in.
    package func probe(_ key: SessionKey) throws(OIDCError) {
        let current = try replaceable(key, orDamaged: true)
        try records.probe(key.recordName, byteCount: SessionStore.space(for: current))
        try seal.probe()
    }

    /// Checks that the stored session could be replaced; called before a single-use refresh token is
    /// redeemed, as its successor would be lost. No keychain is asked, as a refresh does not change the key.
    ///
    /// The returned object holds space for the successor until it is released, so a disk that fills up during
    /// the request does no harm.
    package func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject? {
        var current = records.remembered(key.recordName)
        if current == nil { current = try replaceable(key, orDamaged: !key.grant.needsUser) }
        return try records.reserve(key.recordName, byteCount: SessionStore.space(for: current))
    }

    /// Returns the number of bytes for the session that replaces a record. The successor of a refresh token may be
    /// longer than the token.
    private static func space(for current: Record?) -> Int { (current?.bytes.count ?? 0) + 32_768 }

    /// Returns whether the store has a session of the key's issuer and client, whatever else it is for; true
    /// if an entry that cannot be read may be one.
    package func mayHaveSession(ofClientIn key: SessionKey) -> Bool {
        guard let entries = try? all() else { return true }
        return entries.contains { entry in
            entry.session.map { $0.key.isOfClient(in: key) } ?? true
        }
    }
}

extension SessionKey {
    /// Returns whether another key has the same provider and client.
    package func isOfClient(in other: SessionKey) -> Bool {
        ExactText.isSame(provider, other.provider) && ExactText.isSame(clientID, other.clientID)
    }
}

extension SessionKey {
    package var recordName: RecordName { RecordName(.session, fileStem) }
}

extension Session {
    /// What a user's sign-in is known by, which a refresh keeps; nil for one without a nonce that an earlier version
    /// stored.
    package var signIn: String? {
        guard key.grant.needsUser, let value = nonce ?? signInID else { return nil }
        return "\(createdAt.secondsSinceEpoch)-\(FNV1a.digits(value))"
    }

    /// Returns how long the session is useful: until its last token expires. Nil, without a limit, if a user signed in,
    /// if there is a refresh token, or if a token does not expire.
    package func lifetime(at now: Instant) -> Duration? {
        guard !key.grant.needsUser, tokens.refreshToken == nil else { return nil }
        let ends = [tokens.access.expiresAt] + derived.map(\.access.expiresAt)
        var last: Instant?
        for end in ends {
            guard let end else { return nil }
            last = max(last ?? end, end)
        }
        guard let last else { return nil }
        return .seconds(min(max(1, last.seconds(since: now)), 31_536_000))
    }

    /// Returns whether this session may be the result of a refresh of the other one: both are of the same
    /// sign-in and have a refresh token, and this one replaced the other's token or is not older. `isOlder`
    /// compares the files' times. The other's refresh token may then be spent.
    func isRefreshed(from other: Session, isOlder: Bool) -> Bool {
        guard isSameSignIn(as: other), self != other, tokens.refreshToken != nil,
            let token = other.tokens.refreshToken
        else { return false }
        // The clock may have been set back between the two.
        if replacedToken == FNV1a.digits(token.revealed) { return true }
        return !isOlder && tokens.access.obtainedAt >= other.tokens.access.obtainedAt
    }
}
