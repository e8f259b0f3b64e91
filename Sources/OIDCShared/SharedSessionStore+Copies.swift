import OIDCCore
import Synchronization

/// Copies in memory (`store_cache`).
extension SharedSessionStore {
    /// Returns the copy of a session whose token has not expired, unless this process is refreshing it.
    func copy(of key: SessionKey) -> Session? {
        guard keepsCopies else { return nil }
        let copy = memory.withLock { memory in
            memory.refreshing[key, default: 0] == 0 ? memory.copies[key] : nil
        }
        guard let copy, copy.tokens.access.expiresAt.map({ records.now() < $0 }) ?? false else { return nil }
        return copy
    }

    func remember(_ session: Session?, _ key: SessionKey) {
        guard keepsCopies else { return }
        memory.withLock { $0.copies[key] = session }
    }
}
