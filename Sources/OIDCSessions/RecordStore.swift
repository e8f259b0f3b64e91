public import OIDCCore
import Posix

/// A place for records: files, a table of a database, or a server.
///
/// It knows nothing about sessions. `SessionStore` decides what a record means, when it may be replaced, and what
/// happens to a damaged one.
public protocol RecordStore: Sendable {
    /// The store's name in messages: a path, or the name of a program.
    var description: String { get }

    /// Returns a record; nil if there is none.
    func read(_ name: RecordName) throws(OIDCError) -> Record?

    /// Writes a record if `current` is still the stored one, or if there is none and `current` is nil; compares and
    /// writes in one step. Returns whether it did, and only after the record is durable: a rotated refresh token exists
    /// nowhere else.
    ///
    /// The record is useless after `lifetime`, if that is not nil.
    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool

    /// Removes a record, which need not exist, if `current` is still the stored one, or whatever is stored if
    /// `current` is nil. Returns false if another record is stored by now.
    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool

    /// Lists the names of all records of a kind.
    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName]

    /// Runs `body` while no other process does so for this record and purpose. The lock ends with its process.
    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Checks that a record could be written. Called before the user signs in, and before a refresh token is redeemed,
    /// as its successor would be lost. Does nothing by default.
    func checkSpace(for name: RecordName) throws(OIDCError)
}

extension RecordStore {
    /// Does nothing.
    public func checkSpace(for name: RecordName) throws(OIDCError) {}
}

/// The name of a record.
public struct RecordName: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a record's content.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Kind: String, Hashable, Sendable {
        /// A session: its tokens.
        case session
        /// The failure of a request for a session's tokens, which other processes use.
        case failure
    }

    /// The kind of the record's content.
    public let kind: Kind
    /// The name of the session, which is also valid as the name of a file.
    public let stem: String

    /// Creates a name.
    public init(_ kind: Kind, _ stem: String) {
        self.kind = kind
        self.stem = stem
    }

    /// The name as text, such as `session/login.example.com-my-app-6c62272e07bb0142`.
    public var description: String { "\(kind.rawValue)/\(stem)" }
}

/// A record as it is stored.
public struct Record: Hashable, Sendable {
    /// The content, which the store does not interpret.
    public var bytes: [UInt8]
    /// A number that distinguishes this record from others of the same name; 0 if the store compares the bytes.
    public var revision: Int64
    /// Whether the content is useless. A store may keep such a record aside when it is replaced or removed.
    public package(set) var isDamaged = false
    /// The reading of a record from a shared server; nil for other records.
    package var reading: Reading?
    /// Whether the record is only on this machine, and waits for its server.
    package var isWaiting = false

    /// The name under which a record was read, and the newest version of it that was known before.
    package struct Reading: Hashable, Sendable {
        package let stem: String
        package let newest: Int64

        package init(stem: String, newest: Int64) {
            self.stem = stem
            self.newest = newest
        }
    }

    /// Creates a record.
    public init(bytes: [UInt8], revision: Int64 = 0) {
        self.bytes = bytes
        self.revision = revision
    }

    /// A record that is too damaged to be read.
    package static var unreadable: Record { Record(bytes: [], revision: -1) }
    package var isUnreadable: Bool { bytes.isEmpty && revision == -1 }

    /// Returns the record, marked as damaged or not.
    func damaged(_ isDamaged: Bool) -> Record {
        var record = self
        record.isDamaged = isDamaged
        return record
    }
}

/// The purpose of a session's lock. Locks for different purposes do not exclude each other: tokens can be
/// refreshed and read while the user is signing in again.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum LockPurpose: Hashable, Sendable {
    /// A replacement of the session's tokens; the lock is held during one request.
    case tokens
    /// A sign-in; the lock is held for as long as the user takes.
    case signIn
}
