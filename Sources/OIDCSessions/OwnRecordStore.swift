package import OIDCCore
package import Posix

/// A record store with the operations that only this program's own stores have.
package protocol OwnRecordStore: RecordStore {
    /// The processes that can see the records.
    var reach: StoreReach { get }

    /// The reason why nothing can be stored; nil if something can.
    var unavailability: OIDCError? { get }

    /// Returns the path or name of a session, even if it does not exist.
    func location(of stem: String) -> String

    /// Returns the error about a session's record.
    func error(_ fault: StoreFault, in stem: String) -> OIDCError

    /// Returns an error about the store as a whole.
    func storeError(_ message: String) -> OIDCError

    /// Whether records are removed when their lifetime is over.
    var removesExpired: Bool { get }

    /// Checks the server of the records for `oidc doctor`.
    func health() throws(OIDCError) -> [HealthReport]

    /// Returns the record to use: the stored one, or one that waits on this machine to be stored.
    func load(_ name: RecordName) throws(OIDCError) -> Record?

    /// Throws if a record may wait on this machine to be stored, or to be put in place, and cannot be read.
    func checkWaiting(_ name: RecordName) throws(OIDCError)

    /// Returns whether a record waits on this machine to be stored.
    func isWaiting(_ name: RecordName) -> Bool

    /// Returns the record that this process read or wrote last under its lock; nil if it must be read. A write is
    /// compared with it, so it does no harm if it is outdated.
    func remembered(_ name: RecordName) -> Record?

    /// Runs `body` while no other process replaces the tokens in this record. `mayRedeem` is whether a single-use
    /// refresh token may be presented meanwhile. A store may call `settled` while it waits, and return its value
    /// instead of running `body`.
    func withTokenLock<Value>(
        _ name: RecordName, mayRedeem: Bool, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Checks that a record of `byteCount` bytes could be written and would be durable; called before the user signs
    /// in.
    func probe(_ name: RecordName, byteCount: Int) throws(OIDCError)

    /// Reserves space for a record of `byteCount` bytes until the returned object is released. Throws if a record could
    /// not be written.
    func reserve(_ name: RecordName, byteCount: Int) throws(OIDCError) -> AnyObject?

    /// Returns the time until which a write is repeated whose record changes meanwhile, or, after a sign-in, one that fails,
    /// as its user would have to sign in again; nil if there is no limit, and no failed write is repeated.
    func lastAttempt() -> MonotonicTime?

    /// Returns whether that time is over.
    func isOver(_ last: MonotonicTime?) -> Bool

    /// Waits before such a write is repeated. Returns false if it should not be.
    func waits(after error: OIDCError, until last: MonotonicTime?) -> Bool

    /// Removes a record that waits on this machine to be stored, as a sign-in has replaced it.
    func forgetLeftover(_ name: RecordName)

    /// Completes the write of a killed process, if `isSuccessor` returns true for what it left. `isOlder` is whether its
    /// file's time is before the stored one's.
    func adoptLeftover(
        _ name: RecordName, if isSuccessor: (_ stored: Record, _ leftover: Record, _ isOlder: Bool) -> Bool)

    /// Returns a session that this machine has seen and not signed out; nil if there is none. If it has no
    /// record, the store has lost it or hides it.
    func seen(_ name: RecordName) -> SeenSession?

    /// Why this process could not note on this machine what it saw; nil if it could, or if the store needs no such notes.
    var noteFailure: OIDCError? { get }

    /// Notes that the user ended a sign-in, by `Session.signIn`, whatever the store shows in its place now.
    func noteEnd(of signIn: String, _ name: RecordName)

    /// Removes what killed writers left before a record existed, and records that were kept aside. Returns the former.
    /// Only those of one session, or of any if `stem` is nil, are removed, and only if `isMeant` returns true.
    func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)]
}

extension OwnRecordStore {
    package var reach: StoreReach { .machine }
    package var unavailability: OIDCError? { nil }
    package var noteFailure: OIDCError? { nil }
    package func location(of stem: String) -> String { "\(description), record \(stem)" }

    package var removesExpired: Bool { false }
    package func storeError(_ message: String) -> OIDCError { .store("\(description): \(message)") }
    package func health() throws(OIDCError) -> [HealthReport] { [] }
    package func load(_ name: RecordName) throws(OIDCError) -> Record? { try read(name) }
    package func checkWaiting(_ name: RecordName) throws(OIDCError) {}
    package func isWaiting(_ name: RecordName) -> Bool { false }
    package func remembered(_ name: RecordName) -> Record? { nil }
    package func lastAttempt() -> MonotonicTime? { nil }
    package func isOver(_ last: MonotonicTime?) -> Bool { false }
    package func waits(after error: OIDCError, until last: MonotonicTime?) -> Bool { false }
    package func forgetLeftover(_ name: RecordName) {}

    package func withTokenLock<Value>(
        _ name: RecordName, mayRedeem: Bool, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(name, for: .tokens, wait, body)
    }

    package func error(_ fault: StoreFault, in stem: String) -> OIDCError {
        fault.error(about: "the session in \(DisplayText.clean(location(of: stem)))", hint: nil)
    }

    package func probe(_ name: RecordName, byteCount: Int) throws(OIDCError) { try checkSpace(for: name) }

    package func reserve(_ name: RecordName, byteCount: Int) throws(OIDCError) -> AnyObject? {
        try checkSpace(for: name)
        return nil
    }

    package func adoptLeftover(
        _ name: RecordName, if isSuccessor: (_ stored: Record, _ leftover: Record, _ isOlder: Bool) -> Bool
    ) {}

    package func seen(_ name: RecordName) -> SeenSession? { nil }
    package func noteEnd(of signIn: String, _ name: RecordName) {}

    package func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)] { [] }
}

/// A session that this machine has seen.
package struct SeenSession {
    /// The key; nil if only an earlier version has seen it.
    package var key: SessionKey?
    /// The sign-in, by `Session.signIn`.
    package var signIn: String

    package init(key: SessionKey?, signIn: String) {
        self.key = key
        self.signIn = signIn
    }
}

/// The processes that can see the sessions of a store.
package enum StoreReach: Hashable, Sendable {
    /// This process only.
    case process
    /// The processes of this machine.
    case machine
    /// Several machines.
    case machines
}

/// A library user's records.
struct ForeignRecords: OwnRecordStore {
    let records: any RecordStore

    var description: String { records.description }

    func read(_ name: RecordName) throws(OIDCError) -> Record? { try records.read(name) }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        try records.write(bytes, to: name, replacing: current, lifetime: lifetime)
    }

    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        try records.remove(name, ifStill: current)
    }

    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] { try records.names(kind) }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try records.withLock(name, for: purpose, wait, body)
    }

    func checkSpace(for name: RecordName) throws(OIDCError) { try records.checkSpace(for: name) }
}
