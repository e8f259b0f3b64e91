import OIDCCore
import Synchronization

/// Copies of sessions in memory, which one process uses until their tokens expire (`store_cache`).
package final class SessionCopies: Sendable {
    private struct State {
        var sessions: [SessionKey: Session] = [:]
        /// The number of threads that wait for a session's lock or hold it.
        var locking: [SessionKey: Int] = [:]
    }
    private let state = Mutex(State())

    package init() {}

    /// Returns the copy of a session whose token has not expired, unless this process is refreshing it.
    func session(_ key: SessionKey, at now: Instant) -> Session? {
        let copy = state.withLock { $0.locking[key, default: 0] == 0 ? $0.sessions[key] : nil }
        guard let copy, copy.tokens.access.expiresAt.map({ now < $0 }) ?? false else { return nil }
        return copy
    }

    func keep(_ session: Session?, _ key: SessionKey) { state.withLock { $0.sessions[key] = session } }

    /// Forgets the copy, and uses none until `endLock`.
    func beginLock(_ key: SessionKey) {
        state.withLock { state in
            state.sessions[key] = nil
            state.locking[key, default: 0] += 1
        }
    }

    func endLock(_ key: SessionKey) { state.withLock { $0.locking[key, default: 1] -= 1 } }
}
