public import OIDCCore
import Synchronization

/// Sessions that end with the process (`store=none`, `demo`).
public final class MemorySessionStore: SessionStoring {
    private let sessions = Mutex<[SessionKey: Session]>([:])

    /// Makes an empty store.
    public init() {}

    /// What messages call the store.
    public var description: String { "memory only" }

    /// Returns where the session is, or would be.
    public func location(of key: SessionKey) -> String { description }

    /// Loads the session; nil if there is none.
    public func load(_ key: SessionKey) throws(OIDCError) -> Session? { sessions.withLock { $0[key] } }

    /// Saves the session.
    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        sessions.withLock { $0[session.key] = session }
    }

    /// Saves the session if `current` is still the one that is stored.
    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        sessions.withLock { sessions in
            guard sessions[session.key] == current else { return false }
            sessions[session.key] = session
            return true
        }
    }

    /// Removes the session, a damaged one too.
    public func remove(_ key: SessionKey) throws(OIDCError) { sessions.withLock { $0[key] = nil } }

    /// Lists every entry in the order of their names.
    public func all() throws(OIDCError) -> [StoredSession] {
        sessions.withLock { Array($0.values) }
            .map { StoredSession(name: $0.key.fileStem, location: description, content: .success($0)) }
            .sorted { $0.name < $1.name }
    }

    /// Removes an entry that `all` listed.
    public func remove(_ stored: StoredSession) throws(OIDCError) {
        if let key = stored.session?.key { try remove(key) }
    }

    /// No lock: nobody else sees these sessions.
    public func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try body()
    }

    /// Checks that a session could be saved.
    public func probe(_ key: SessionKey) throws(OIDCError) {}
}
