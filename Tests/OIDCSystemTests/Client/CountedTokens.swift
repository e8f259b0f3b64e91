import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// One session, a clock that the test moves, and requests that are counted.
final class CountedTokens: Sendable {
    let store: SessionStore
    let key: SessionKey
    private let time = Mutex(Instant(secondsSinceEpoch: 1_800_000_000))
    private let count = Mutex(0)
    private let waiting = Mutex(0)

    init(_ store: SessionStore, key: SessionKey = .example) {
        self.store = store
        self.key = key
    }

    var now: Instant { time.withLock { $0 } }
    var requests: Int { count.withLock { $0 } }
    /// The number of processes that found the lock held.
    var waiters: Int { waiting.withLock { $0 } }

    func pass(_ seconds: Int64) { time.withLock { $0 = $0.adding(seconds) } }

    func refreshed(
        _ demand: TokenDemand = TokenDemand(), startedAt: MonotonicTime = .now(), loaded: Session? = nil,
        refusing refusal: SessionTokens.Refusal = .none, machine: String? = Platform.networkID,
        secret: String = "", _ request: @escaping (Session?) throws(OIDCError) -> SessionTokens.Answer
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let tokens = SessionTokens(
            store: store, key: key, now: { self.now },
            wait: LockWait(
                limit: .seconds(120), noticeAfter: .zero, onWaiting: { self.waiting.withLock { $0 += 1 } }),
            startedAt: startedAt, machine: machine, credentials: { Redacted(secret) }
        ) { (current, _) throws(OIDCError) in
            self.count.withLock { $0 += 1 }
            return try request(current)
        }
        let stored = try store.load(key)
        return try tokens.refreshed(demand, loaded: loaded ?? stored, refusing: refusal)
    }

    /// The hash of the credentials of a process without any.
    var credentialsHash: String { String(FNV1a.digits("\n\(key.text)").prefix(2)) }

    /// Returns the error of a process whose request fails with `error`.
    func failure(
        _ error: OIDCError, _ demand: TokenDemand = TokenDemand(), startedAt: MonotonicTime = .now(),
        secret: String = ""
    ) -> OIDCError? {
        do {
            _ = try refreshed(demand, startedAt: startedAt, secret: secret) { (_) throws(OIDCError) in
                throw error
            }
            return nil
        } catch {
            return error
        }
    }
}

/// Runs work that blocks, off the tests' own threads.
func detached<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        do {
            try BackgroundThread { continuation.resume(returning: body()) }.detach()
        } catch {
            continuation.resume(returning: body())
        }
    }
}
