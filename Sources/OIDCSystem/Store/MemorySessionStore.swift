public import OIDCCore
import Synchronization

/// A store in memory, for sessions that end with the process (`store=none`).
public final class MemorySessionStore: SessionStoring {
    private struct Content {
        var sessions: [SessionKey: Session] = [:]
        var failures: [SessionKey: SharedFailure] = [:]
        var locked: Set<Lock> = []
    }

    private struct Lock: Hashable {
        let key: SessionKey
        let purpose: LockPurpose
    }

    private let content = Mutex(Content())

    /// Makes an empty store.
    public init() {}

    /// The store's name in messages.
    public var description: String { "memory only" }

    /// Returns the store's name, as sessions have no path.
    public func location(of key: SessionKey) -> String { description }

    /// Loads the session; nil if there is none.
    public func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        content.withLock { $0.sessions[key] }
    }

    /// Saves the session.
    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        content.withLock { $0.sessions[session.key] = session }
    }

    /// Saves the session if `current` is still the one that is stored.
    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        content.withLock { content in
            guard content.sessions[session.key] == current else { return false }
            content.sessions[session.key] = session
            return true
        }
    }

    /// Removes the session.
    public func remove(_ key: SessionKey) throws(OIDCError) {
        content.withLock { content in
            content.sessions[key] = nil
            content.failures[key] = nil
        }
    }

    /// Lists all entries, sorted by name.
    public func all() throws(OIDCError) -> [StoredSession] {
        content.withLock { Array($0.sessions.values) }
            .map { StoredSession(name: $0.key.fileStem, location: description, content: .success($0)) }
            .sorted { $0.name < $1.name }
    }

    /// Removes an entry that `all` listed.
    public func remove(_ stored: StoredSession) throws(OIDCError) {
        if let key = stored.session?.key { try remove(key) }
    }

    /// Runs `body` while no other thread does so for this key; other processes do not see these sessions.
    public func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let lock = Lock(key: key, purpose: purpose)
        var clock = WaitClock(wait, start: .now())
        while !content.withLock({ $0.locked.insert(lock).inserted }) {
            try clock.check(wait) {
                .store("the session's lock was not free within \(wait.limit.components.seconds) seconds")
            }
            var nothing: [Poll.Interest] = []
            Poll.wait(&nothing, until: min(clock.limit, .now().adding(milliseconds: 5)))
        }
        defer { content.withLock { _ = $0.locked.remove(lock) } }
        return try body()
    }

    /// Returns the last failure that was stored for the key.
    public func failure(of key: SessionKey) -> SharedFailure? { content.withLock { $0.failures[key] } }

    /// Stores a failure for other threads, or removes the stored one.
    public func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        content.withLock { content in
            guard id == nil || content.failures[key]?.id == id else { return }
            content.failures[key] = failure
        }
    }

    /// Checks that a session could be saved.
    public func probe(_ key: SessionKey) throws(OIDCError) {}
}
