public import OIDCCore

/// A store of sessions. Every fault is an `OIDCError` with a hint; there is no silent fallback.
public protocol SessionStoring: Sendable {
    /// The store's name in messages: a path, or the name of a program.
    var description: String { get }

    /// Returns the path or name of the session, even if it does not exist.
    func location(of key: SessionKey) -> String

    /// Loads the session; nil if there is none. Throws if the entry is damaged or belongs to another key; a damaged
    /// one of a grant without a user is as good as none.
    func load(_ key: SessionKey) throws(OIDCError) -> Session?

    /// Saves the session. It replaces one with the same key, and a damaged one if `replacingDamaged` is true,
    /// as after a sign-in; never one of another key or a newer version.
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError)

    /// Saves a session that replaces `current`, or a missing one. Returns false without a change if the
    /// stored session is another one by now, as the user signed in or out meanwhile.
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool

    /// Removes the session, even a damaged one; it need not exist.
    func remove(_ key: SessionKey) throws(OIDCError)

    /// Lists all sessions and damaged entries, sorted by name.
    func all() throws(OIDCError) -> [StoredSession]

    /// Removes an entry that `all` listed.
    func remove(_ stored: StoredSession) throws(OIDCError)

    /// Removes the unfinished files of sign-ins that were killed while they wrote a session, and returns the sessions
    /// that can be read. Only those of `key` (nil: any key) for which `isMeant` returns true are removed; it is called
    /// with nil for a session that cannot be read.
    func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session]

    /// Runs `body` while no other process does so for this key and purpose.
    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Runs `body` while no other process replaces the tokens of this key. While it waits, a store may call
    /// `settled`, and return its value as soon as there is one.
    func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Returns the last failure that was stored for the key; nil if there is none.
    func failure(of key: SessionKey) -> SharedFailure?

    /// Stores a failure for other processes, or removes the stored one; best effort. With `id`, only if the
    /// stored failure has it.
    func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?)

    /// Throws if a session could not be saved; called before the user signs in.
    func probe(_ key: SessionKey) throws(OIDCError)

    /// Throws if the stored session could not be replaced; called before a single-use refresh token is redeemed, as
    /// its successor would be lost. The returned object holds space for the successor until it is released, so a
    /// disk that fills during the request does no harm.
    func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject?
}

extension SessionStoring {
    /// Runs `body` while no other process replaces the tokens of this key.
    public func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, body)
    }

    /// Runs `body` under the lock; a store whose waiting processes take their turns need not ask `settled`.
    public func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, body)
    }

    /// Returns nothing, as a session in memory is stored at once.
    public func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session] { [] }

    /// Returns nil, as a session in memory can always be replaced.
    public func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject? { nil }

    /// Returns nil, as no other process uses the store.
    public func failure(of key: SessionKey) -> SharedFailure? { nil }
    /// Does nothing, as no other process uses the store.
    public func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {}
}

/// The purpose of a session's lock. Locks for different purposes do not exclude each other: tokens can be refreshed
/// and read while the user is signing in again.
public enum LockPurpose: Hashable, Sendable {
    /// Replacing the session's tokens; held during one request.
    case tokens
    /// Signing in; held for as long as the user takes.
    case signIn
}

/// One entry of a store.
public struct StoredSession: Sendable {
    /// The name in the store, without a file name extension.
    public let name: String
    /// The path or name of the entry.
    public let location: String
    /// The session, or the error of a damaged entry.
    public let content: Result<Session, OIDCError>

    /// Makes an entry.
    public init(name: String, location: String, content: Result<Session, OIDCError>) {
        self.name = name
        self.location = location
        self.content = content
    }

    /// The session; nil if the entry is damaged.
    public var session: Session? { try? content.get() }
}
