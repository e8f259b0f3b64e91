public import OIDCCore
import Posix
import Synchronization

/// Records in memory, which end with the process (`store=none`).
public final class MemoryRecords: RecordStore {
    private struct Lock: Hashable {
        let stem: String
        let purpose: LockPurpose
    }

    private struct State {
        /// Lists, because a process has few records, and its first dictionary takes longer to create.
        var records: [(name: RecordName, bytes: [UInt8])] = []
        var locks: [Lock] = []

        func index(_ name: RecordName) -> Int? { records.firstIndex { $0.name == name } }
        func bytes(_ name: RecordName) -> [UInt8]? { index(name).map { records[$0].bytes } }

        mutating func set(_ name: RecordName, _ bytes: [UInt8]?) {
            records.removeAll { $0.name == name }
            if let bytes { records.append((name, bytes)) }
        }
    }
    private let state = Mutex(State())

    /// Creates an empty store.
    public init() {}

    /// The store's name in messages.
    public var description: String { "memory only" }

    /// Returns a record; nil if there is none.
    public func read(_ name: RecordName) throws(OIDCError) -> Record? {
        state.withLock { $0.bytes(name) }.map { Record(bytes: $0) }
    }

    /// Writes a record if `current` is still the stored one. Returns whether it did.
    public func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        state.withLock { state in
            guard state.bytes(name) == current?.bytes else { return false }
            state.set(name, bytes)
            return true
        }
    }

    /// Removes a record, unless another one than `current` is stored.
    public func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        state.withLock { state in
            guard current == nil || state.bytes(name) == current?.bytes else { return false }
            state.set(name, nil)
            return true
        }
    }

    /// Lists the names of all records of a kind.
    public func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] {
        state.withLock { $0.records.map(\.name) }.filter { $0.kind == kind }
    }

    /// Runs `body` while no other thread does so for this record and purpose; other processes do not see these
    /// records.
    public func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let lock = Lock(stem: name.stem, purpose: purpose)
        var clock = WaitClock(wait, start: .now())
        while !take(lock) {
            try clock.check(wait) {
                .store("the session's lock was not free within \(wait.limit.components.seconds) seconds")
            }
            Poll.pause(until: min(clock.limit, .now().adding(milliseconds: 5)))
        }
        defer { state.withLock { $0.locks.removeAll { $0 == lock } } }
        return try body()
    }

    private func take(_ lock: Lock) -> Bool {
        state.withLock { state in
            guard !state.locks.contains(lock) else { return false }
            state.locks.append(lock)
            return true
        }
    }
}

extension MemoryRecords: OwnRecordStore {
    package var reach: StoreReach { .process }
    package func location(of stem: String) -> String { description }
}
