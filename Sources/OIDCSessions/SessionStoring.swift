package import OIDCCore
package import Posix

/// A store of sessions: a `SessionStore`, or the one that several machines share. Every fault is an `OIDCError` with a
/// hint; there is no silent fallback.
package protocol SessionStoring: Sendable {
    /// The store's name in messages: a path, or the name of a program.
    var description: String { get }

    /// Who can see the sessions.
    var reach: StoreReach { get }

    /// The reason why nothing can be stored; nil if something can.
    var unavailability: OIDCError? { get }

    /// Checks that the keys of sealed sessions are available, without using them.
    func checkKeys() throws(OIDCError)

    /// Returns the path or name of the session, even if it does not exist.
    func location(of key: SessionKey) -> String

    /// Loads the session; returns nil if there is none. Throws if the entry is damaged or belongs to another
    /// key, but a damaged one of a grant without a user counts as missing.
    func load(_ key: SessionKey) throws(OIDCError) -> Session?

    /// Saves the session. It replaces the one with the same key, and, if `replacingDamaged` is true (as after
    /// a sign-in), a damaged one; never one of another key or a newer version.
    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError)

    /// Saves a session if `current` is still the stored one, or if there is none and `current` is nil.
    /// Returns false if not, as the user signed in or out meanwhile.
    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool

    /// Removes the session, even a damaged one; it need not exist.
    func remove(_ key: SessionKey) throws(OIDCError)

    /// Lists all sessions and damaged entries, sorted by name.
    func all() throws(OIDCError) -> [StoredSession]

    /// Removes an entry that `all` listed.
    func remove(_ stored: StoredSession) throws(OIDCError)

    /// Removes the unfinished files of killed sign-ins, and returns the sessions that can be read.
    ///
    /// Only files of `key`, or of any key if that is nil, are removed, and only if `isMeant` returns true. It
    /// gets the session, or nil if that cannot be read.
    func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session]

    /// Runs `body` while no other process does so for this key and purpose.
    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Runs `body` while no other process replaces the tokens of this key. A store may call `settled` while
    /// it waits, and return its value instead of running `body`.
    func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value

    /// Returns the last failure that was stored for the key; nil if there is none.
    func failure(of key: SessionKey) -> SharedFailure?

    /// Stores a failure for other processes, or removes the stored one if `failure` is nil; errors are
    /// ignored. If `id` is not nil, a failure is stored only in place of the one with this ID.
    func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?)

    /// Checks that a session could be saved; called before the user signs in.
    func probe(_ key: SessionKey) throws(OIDCError)

    /// Checks that the stored session could be replaced; called before a single-use refresh token is
    /// redeemed, as its successor would be lost.
    ///
    /// The returned object holds space for the successor until it is released, so a disk that fills up during
    /// the request does no harm.
    func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject?

    /// Checks the server of a shared store, and its key, for `oidc doctor`.
    func health() throws(OIDCError) -> [HealthReport]
}

extension SessionStoring {
    /// Runs `body` while no other process replaces the tokens of this key.
    package func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, body)
    }

    /// Runs `body` under the lock without calling `settled`, as waiting processes take turns.
    package func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, unless settled: () throws(OIDCError) -> Value?,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try withLock(key, for: .tokens, wait, body)
    }

    /// Returns whether the store has a session of the key's issuer and client, whatever else it is for; true
    /// if an entry that cannot be read may be one.
    package func mayHaveSession(ofClientIn key: SessionKey) -> Bool {
        guard let entries = try? all() else { return true }
        return entries.contains { entry in
            guard let found = entry.session?.key else { return true }
            return ExactText.isSame(found.provider, key.provider)
                && ExactText.isSame(found.clientID, key.clientID)
        }
    }
}

extension SessionStore: SessionStoring {}
