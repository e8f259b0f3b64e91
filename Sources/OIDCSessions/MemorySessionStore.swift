public import OIDCCore
public import Posix
import Synchronization

/// A store in memory, for sessions that end with the process (`store=none`).
public final class MemorySessionStore: SessionStoring {
    private struct Entry {
        let key: SessionKey
        var session: Session?
        var failure: SharedFailure?
        var locked: [LockPurpose] = []

        var isEmpty: Bool { session == nil && failure == nil && locked.isEmpty }
    }

    /// The entries, none of them empty. A list, because a process has few, and its first dictionary takes longer to
    /// create.
    private let entries = Mutex<[Entry]>([])

    /// Creates an empty store.
    public init() {}

    /// The store's name in messages.
    public var description: String { "memory only" }

    /// Returns the store's name, as sessions have no path.
    public func location(of key: SessionKey) -> String { description }

    /// Loads the session; returns nil if there is none.
    public func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        entry(key).session
    }

    /// Saves the session.
    public func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        change(session.key) { $0.session = session }
    }

    /// Saves the session if `current` is still the stored one. Returns whether it did.
    public func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        change(session.key) { entry in
            guard entry.session == current else { return false }
            entry.session = session
            return true
        }
    }

    /// Removes the session.
    public func remove(_ key: SessionKey) throws(OIDCError) {
        change(key) { entry in
            entry.session = nil
            entry.failure = nil
        }
    }

    /// Lists all entries, sorted by name.
    public func all() throws(OIDCError) -> [StoredSession] {
        entries.withLock { $0.compactMap(\.session) }
            .map { StoredSession(name: $0.key.fileStem, location: description, content: .success($0)) }
            .sorted { $0.name < $1.name }
    }

    /// Removes an entry that `all` listed.
    public func remove(_ stored: StoredSession) throws(OIDCError) {
        if let key = stored.session?.key { try remove(key) }
    }

    /// Runs `body` while no other thread does so for this key and purpose; other processes do not see these
    /// sessions.
    public func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        var clock = WaitClock(wait, start: .now())
        while !lock(key, purpose) {
            try clock.check(wait) {
                .store("the session's lock was not free within \(wait.limit.components.seconds) seconds")
            }
            var nothing: [Poll.Interest] = []
            Poll.wait(&nothing, until: min(clock.limit, .now().adding(milliseconds: 5)))
        }
        defer { change(key) { $0.locked.removeAll { $0 == purpose } } }
        return try body()
    }

    private func entry(_ key: SessionKey) -> Entry {
        entries.withLock { $0.first { $0.key == key } } ?? Entry(key: key)
    }

    /// Changes the entry of a key, and returns what `body` does.
    private func change<Value: Sendable>(_ key: SessionKey, _ body: (inout Entry) -> Value) -> Value {
        entries.withLock { entries in
            let index = entries.firstIndex { $0.key == key } ?? entries.endIndex
            if index == entries.endIndex { entries.append(Entry(key: key)) }
            let value = body(&entries[index])
            if entries[index].isEmpty { entries.remove(at: index) }
            return value
        }
    }

    private func lock(_ key: SessionKey, _ purpose: LockPurpose) -> Bool {
        change(key) { entry in
            guard !entry.locked.contains(purpose) else { return false }
            entry.locked.append(purpose)
            return true
        }
    }

    /// Returns the last failure that was stored for the key.
    public func failure(of key: SessionKey) -> SharedFailure? { entry(key).failure }

    /// Stores a failure for other threads, or removes the stored one.
    public func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        change(key) { entry in
            guard id == nil || entry.failure?.id == id else { return }
            entry.failure = failure
        }
    }

    /// Does nothing, as a session in memory can always be saved.
    public func probe(_ key: SessionKey) throws(OIDCError) {}
}
