public import OIDCCore
import Synchronization

/// Sessions that end with the process (`store=none`, `demo`).
public final class MemorySessionStore: SessionStoring {
    private let sessions = Mutex<[SessionKey: Session]>([:])

    public init() {}

    public var description: String { "memory only" }

    public func location(of key: SessionKey) -> String { description }

    public func load(_ key: SessionKey) throws(OIDCError) -> Session? { sessions.withLock { $0[key] } }

    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        sessions.withLock { $0[session.key] = session }
    }

    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        sessions.withLock { sessions in
            guard sessions[session.key] == current else { return false }
            sessions[session.key] = session
            return true
        }
    }

    public func remove(_ key: SessionKey) throws(OIDCError) { sessions.withLock { $0[key] = nil } }

    public func all() throws(OIDCError) -> [StoredSession] {
        sessions.withLock { Array($0.values) }
            .map { StoredSession(name: $0.key.fileStem, location: description, content: .success($0)) }
            .sorted { $0.name < $1.name }
    }

    public func remove(_ stored: StoredSession) throws(OIDCError) {
        if let key = stored.session?.key { try remove(key) }
    }

    /// No lock: nobody else sees these sessions.
    public func withLock<Value>(
        _ key: SessionKey, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try body()
    }

    public func probe(_ key: SessionKey) throws(OIDCError) {}
}
