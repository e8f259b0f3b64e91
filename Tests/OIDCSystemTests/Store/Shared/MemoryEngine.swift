import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCShared
@testable import Posix
import Synchronization

/// A shared store in memory, whose time the test moves, and which can fail.
final class MemoryEngine: SharedEngine {
    struct Entry {
        var value: SharedValue
        var end: Int64?
    }

    struct State {
        var entries: [String: Entry] = [:]
        var revision: Int64 = 0
        /// Milliseconds.
        var time: Int64 = 0
        var failure: OIDCError?
        /// The number of calls after which that is over; nil for no end.
        var failureCount: Int?
        /// The failure of reads of one name.
        var readFailure: (name: String, error: OIDCError)?
        /// The failure of writes of names that start so.
        var writeFailure: (prefix: String, error: OIDCError)?
        /// The failure of removals of names that start so.
        var removeFailure: (prefix: String, error: OIDCError)?
        /// Whether no name is listed.
        var hidesNames = false
        var calls = 0
        /// Runs before each call.
        var onCall: @Sendable () -> Void = {}
        /// Runs before each extension of a lease.
        var onExtension: @Sendable () -> Void = {}
        /// Runs before each read.
        var onRead: @Sendable () -> Void = {}
        /// Whether the server is away after the next write, before it answers.
        var losesAnswers = false
        /// Whether the answer to a request for a lease is lost.
        var losesLeases = false
        /// Runs before each removal.
        var onRemove: @Sendable () -> Void = {}
        /// Runs before each write.
        var onWrite: @Sendable () -> Void = {}
    }
    let state = Mutex(State())
    let description: String

    init(_ description: String = "memory://test") { self.description = description }

    /// Returns a server with the same records under another name.
    func named(_ description: String) -> MemoryEngine {
        let other = MemoryEngine(description)
        let entries = state.withLock { $0.entries }
        other.state.withLock { $0.entries = entries }
        return other
    }

    func withoutSecrets(_ text: String) -> String {
        text.replacingOccurrences(of: "correct-horse", with: "(secret)")
    }
    func withoutPassword(_ text: String) -> String { withoutSecrets(text) }
    func deletion(of name: String) -> [String] { ["delete", name] }

    func pass(_ milliseconds: Int64) { state.withLock { $0.time += milliseconds } }
    func fail(_ error: OIDCError?) { state.withLock { $0.failure = error } }

    func fail(_ error: OIDCError?, reading name: String) {
        state.withLock { state in state.readFailure = error.map { (name, $0) } }
    }

    func fail(_ error: OIDCError?, writing prefix: String) {
        state.withLock { state in state.writeFailure = error.map { (prefix, $0) } }
    }

    func fail(_ error: OIDCError?, removing prefix: String) {
        state.withLock { state in state.removeFailure = error.map { (prefix, $0) } }
    }

    private func run<Value>(_ body: (inout State) -> Value) throws(OIDCError) -> Value {
        state.withLock { $0.onCall }()
        let result = state.withLock { state -> Result<Value, OIDCError> in
            state.calls += 1
            if let failure = state.failure {
                guard let count = state.failureCount else { return .failure(failure) }
                state.failureCount = count - 1
                if count > 0 { return .failure(failure) }
                (state.failure, state.failureCount) = (nil, nil)
            }
            return .success(body(&state))
        }
        return try result.get()
    }

    private static func found(_ name: String, _ state: State) -> Entry? {
        guard let entry = state.entries[name], entry.end.map({ state.time < $0 }) ?? true else { return nil }
        return entry
    }

    func read(_ name: String) throws(OIDCError) -> SharedValue? {
        state.withLock { $0.onRead }()
        if let (failing, error) = state.withLock({ $0.readFailure }), failing == name { throw error }
        return try run { Self.found(name, $0)?.value }
    }

    func write(
        _ name: String, _ bytes: [UInt8], replacing current: SharedValue?, lifetime: Duration?
    ) throws(OIDCError) -> SharedValue? {
        state.withLock { $0.onWrite }()
        if let (prefix, error) = state.withLock({ $0.writeFailure }), name.hasPrefix(prefix) { throw error }
        return try run { state -> Result<SharedValue?, OIDCError> in
            guard Self.found(name, state)?.value.revision == current?.revision else { return .success(nil) }
            Self.put(name, bytes, lifetime, &state)
            if state.losesAnswers {
                state.losesAnswers = false
                return .failure(.noAnswer(of: description, "the connection was closed"))
            }
            return .success(state.entries[name]?.value)
        }.get()
    }

    private static func put(_ name: String, _ bytes: [UInt8], _ lifetime: Duration?, _ state: inout State) {
        state.revision += 1
        state.entries[name] = Entry(
            value: SharedValue(bytes: bytes, revision: state.revision),
            end: lifetime.map { state.time + $0.milliseconds })
    }

    func remove(_ name: String) throws(OIDCError) {
        state.withLock { $0.onRemove }()
        if let (prefix, error) = state.withLock({ $0.removeFailure }), name.hasPrefix(prefix) { throw error }
        try run { $0.entries[name] = nil }
    }

    func names(_ prefix: String) throws(OIDCError) -> [String] {
        try run { state in
            state.hidesNames
                ? [] : state.entries.keys.filter { $0.hasPrefix(prefix) && Self.found($0, state) != nil }
        }
    }

    func acquire(
        _ lease: String, owner: String, for duration: Duration, reading names: [String], checksWrites: Bool
    ) throws(OIDCError) -> LeaseAnswer {
        let (refusal, first) = (state.withLock { $0.writeFailure }, names.first)
        let result = try run { [description] state -> Result<LeaseAnswer, OIDCError> in
            var answer = LeaseAnswer(isOurs: true)
            if let found = Self.found(lease, state) { answer.isOurs = found.value.bytes == Array(owner.utf8) }
            if answer.isOurs, checksWrites, let first, var entry = Self.found(first, state) {
                if let refusal, first.hasPrefix(refusal.prefix) { return .failure(refusal.error) }
                // As in etcd, it has another revision then.
                state.revision += 1
                entry.value.revision = state.revision
                state.entries[first] = entry
            }
            for name in names { answer.values[name] = .some(Self.found(name, state)?.value) }
            if answer.isOurs { Self.put(lease, Array(owner.utf8), duration, &state) }
            if state.losesLeases { return .failure(.noAnswer(of: description, "no answer")) }
            return .success(answer)
        }
        return try result.get()
    }

    func extend(_ lease: String, owner: String, to duration: Duration) throws(OIDCError) -> Bool {
        state.withLock { $0.onExtension }()
        return try run { state in
            guard Self.found(lease, state)?.value.bytes == Array(owner.utf8) else { return false }
            Self.put(lease, Array(owner.utf8), duration, &state)
            return true
        }
    }

    func release(_ lease: String, owner: String, within limit: Duration) throws(OIDCError) {
        try run { state in
            if Self.found(lease, state)?.value.bytes == Array(owner.utf8) { state.entries[lease] = nil }
        }
    }

    func health(now: Instant) throws(OIDCError) -> [HealthReport] { [] }

    /// The stored bytes of a name.
    subscript(_ name: String) -> [UInt8]? {
        get { state.withLock { $0.entries[name]?.value.bytes } }
        set {
            state.withLock { state in
                state.entries[name] = nil
                if let newValue { Self.put(name, newValue, nil, &state) }
            }
        }
    }
}

extension SealingKeys {
    static func example(_ byte: UInt8 = 7) throws(OIDCError) -> SealingKeys {
        try SealingKeys([UInt8](repeating: byte, count: 32), source: "store_key_file")
    }
}
