public import OIDCCore
public import Posix

/// A store with a file for each session, `<name>.json`, and `<name>.lock` beside it.
public struct FileSessionStore: SessionStoring {
    private let directory: SessionDirectory

    /// Creates a store; its directory is created when it is first needed.
    public init(directory path: String) {
        directory = SessionDirectory(path: path, ending: ".json")
    }

    /// The store's name in messages.
    public var description: String { directory.path }

    /// Returns the path of the session, even if it does not exist.
    public func location(of key: SessionKey) -> String { directory.location(key.fileStem) }

    /// Loads the session; returns nil if there is none. A damaged one of a grant without a user counts as
    /// missing.
    public func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        try key.readIfWhole { () throws(OIDCError) in
            guard let bytes = try directory.read(key.fileStem) else { return nil }
            return try read(bytes, key)
        }
    }

    /// Saves the session.
    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        try directory.replace(session.key.fileStem) { existing throws(OIDCError) in
            if let existing { try check(existing, session.key, orDamaged: replacingDamaged) }
            if let existing, isDamaged(existing, session.key) { directory.setAside(session.key.fileStem) }
            return session.json.bytes
        }
    }

    /// Saves the session if `current` is still the stored one. Returns whether it did.
    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        try directory.replace(session.key.fileStem) { existing throws(OIDCError) in
            let found = try session.key.readIfWhole { () throws(OIDCError) in
                try existing.map { bytes throws(OIDCError) in try read(bytes, session.key) }
            }
            return found == current ? session.json.bytes : nil
        }
    }

    /// Removes the session, even a damaged one.
    public func remove(_ key: SessionKey) throws(OIDCError) {
        try directory.remove(key.fileStem) { bytes throws(OIDCError) in
            if case .otherKey? = fault(bytes, key) { throw storeError(.otherKey, key.fileStem) }
            return isDamaged(bytes, key)
        }
    }

    /// Lists all entries, sorted by name.
    public func all() throws(OIDCError) -> [StoredSession] {
        try directory.entries { name, bytes throws(OIDCError) in
            do throws(Session.Damage) {
                return try Session(stored: bytes)
            } catch {
                throw storeError(SessionFault(error), name)
            }
        }
    }

    /// Removes an entry that `all` listed.
    public func remove(_ stored: StoredSession) throws(OIDCError) {
        try directory.remove(stored.name) { _ in stored.isDamaged }
    }

    /// Runs `body` while no other process does so for this key and purpose.
    public func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try directory.withLock(
            key.fileStem, for: purpose, wait,
            adoptingIf: { stored, leftover in
                guard let stored = try? read(stored, key), let leftover = try? read(leftover, key) else {
                    return false
                }
                return leftover.isRefreshed(from: stored)
            }, body)
    }

    /// Removes the unfinished files of killed sign-ins, and returns the sessions that can be read.
    public func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session] {
        try directory.takeLeftovers(of: key?.fileStem) { isMeant(try? Session(stored: $1)) }
            .compactMap { try? Session(stored: $0.content) }
    }

    /// Returns the last failure that was stored for the key.
    public func failure(of key: SessionKey) -> SharedFailure? { directory.failure(key.fileStem) }

    /// Stores a failure for other processes, or removes the stored one.
    public func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        directory.leave(failure, key.fileStem, replacing: id)
    }

    /// Checks that a session could be saved.
    public func probe(_ key: SessionKey) throws(OIDCError) {
        try directory.reserve(key.fileStem) { bytes throws(OIDCError) in
            try check(bytes, key, orDamaged: true)
        }
    }

    /// Checks that the stored session could be replaced, and returns an object that holds space for it until
    /// released.
    public func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject? {
        try directory.reserve(key.fileStem, survivesPowerFailure: false) { bytes throws(OIDCError) in
            try check(bytes, key, orDamaged: !key.grant.needsUser)
        }
    }

    private func read(_ bytes: [UInt8], _ key: SessionKey) throws(OIDCError) -> Session {
        do {
            if let session = try Session(stored: bytes, for: key) { return session }
        } catch {
            throw storeError(SessionFault(error), key.fileStem)
        }
        throw storeError(SessionFault.ofUnmatched(bytes), key.fileStem)
    }

    private func fault(_ bytes: [UInt8], _ key: SessionKey) -> SessionFault? {
        do {
            return try Session(stored: bytes, for: key) == nil ? SessionFault.ofUnmatched(bytes) : nil
        } catch {
            return SessionFault(error)
        }
    }

    private func isDamaged(_ bytes: [UInt8], _ key: SessionKey) -> Bool {
        if case .damaged? = fault(bytes, key) { return true }
        return false
    }

    private func check(_ bytes: [UInt8], _ key: SessionKey, orDamaged: Bool) throws(OIDCError) {
        guard let fault = fault(bytes, key) else { return }
        if case .damaged = fault, orDamaged { return }
        throw storeError(fault, key.fileStem)
    }

    private func storeError(_ fault: SessionFault, _ name: String) -> OIDCError {
        fault.storeError(directory.location(name))
    }
}
