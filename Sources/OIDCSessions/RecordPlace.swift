package import OIDCCore
import Posix

/// Records, and what this program's own stores know beyond `RecordStore`.
package protocol RecordPlace: RecordStore {
    /// Who can see the records.
    var reach: StoreReach { get }

    /// The reason why nothing can be stored; nil if something can.
    var unavailability: OIDCError? { get }

    /// Returns the path or name of a session, even if it does not exist.
    func location(of stem: String) -> String

    /// Returns the error about a session's record.
    func error(_ fault: StoreFault, in stem: String) -> OIDCError

    /// Checks the server of the records for `oidc doctor`.
    func health() throws(OIDCError) -> [HealthReport]

    /// Reserves space for a record of `byteCount` bytes until the returned object is released. Throws if a record could
    /// not be written.
    func reserve(
        _ name: RecordName, byteCount: Int, survivesPowerFailure: Bool
    ) throws(OIDCError) -> AnyObject?

    /// Completes the write of a killed process, if `isSuccessor` returns true for what it left.
    func adoptLeftover(
        _ name: RecordName, if isSuccessor: (_ stored: Record, _ leftover: Record) -> Bool)

    /// Removes what killed writers left before a record existed, and records that were kept aside. Returns the former.
    /// Only those of one session, or of any if `stem` is nil, are removed, and only if `isMeant` returns true.
    func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)]
}

extension RecordPlace {
    package var reach: StoreReach { .machine }
    package var unavailability: OIDCError? { nil }
    package func location(of stem: String) -> String { "\(description), record \(stem)" }

    package func health() throws(OIDCError) -> [HealthReport] { [] }

    package func error(_ fault: StoreFault, in stem: String) -> OIDCError {
        fault.error(about: "the session in \(DisplayText.clean(location(of: stem)))", hint: nil)
    }

    package func reserve(
        _ name: RecordName, byteCount: Int, survivesPowerFailure: Bool
    ) throws(OIDCError) -> AnyObject? {
        try checkSpace(for: name)
        return nil
    }

    package func adoptLeftover(
        _ name: RecordName, if isSuccessor: (_ stored: Record, _ leftover: Record) -> Bool
    ) {}

    package func takeLeftovers(
        of stem: String?, if isMeant: (Record) -> Bool
    ) throws(OIDCError) -> [(stem: String, record: Record)] { [] }
}

/// Who can see the sessions of a store.
package enum StoreReach: Hashable, Sendable {
    /// This process only.
    case process
    /// The processes of this machine.
    case machine
    /// Several machines.
    case machines
}

/// A library user's records.
struct ForeignRecords: RecordPlace {
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
