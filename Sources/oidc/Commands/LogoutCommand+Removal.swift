import OIDCCore
import OIDCSessions

/// The removal of sessions from their stores.
extension LogoutCommand {
    /// A session removed from the store, and the error if a part of it could not be removed.
    struct Removal {
        var content: Result<Session?, OIDCError>
        var failure: OIDCError?

        var session: Session? { (try? content.get()) ?? nil }
    }

    func take(
        _ stored: StoredSession, from store: any SessionStoring, _ provider: ProviderContext
    ) throws(OIDCError) -> Removal {
        if let key = stored.session?.key { return try take(key, from: store, provider) }
        try store.remove(stored)
        return Removal(content: stored.content.map { $0 })
    }

    /// Removes the session before the request to the provider, which may fail or take long. Uses the lock if
    /// possible, because a refresh in progress would store the session again.
    func take(
        _ key: SessionKey, from store: any SessionStoring, _ provider: ProviderContext
    ) throws(OIDCError) -> Removal {
        var removal: Removal?
        var isMissing = false
        do throws(OIDCError) { isMissing = try store.load(key) == nil } catch {
            guard !leavesSession(error) else { throw error }
        }
        // For a missing session, nothing is created, not even a lock.
        if isMissing {
            return Removal(content: .success(try store.takeLeftovers(of: key) { _ in true }.first))
        }
        do {
            try store.withLock(key, provider.refreshWait) { () throws(OIDCError) in
                removal = remove(key, from: store)
            }
        } catch {
            guard error.kind != .interrupted else { throw error }
        }
        let result = removal ?? remove(key, from: store)
        guard let failure = result.failure else { return result }
        if result.session == nil { throw failure }
        // A session that stays may be used again, so its tokens must not be revoked.
        guard isEmpty(store, key) else { throw notRemoved(failure) }
        return result
    }

    /// Returns the error for a session that could not be removed. The hint is to make its directory writable,
    /// not to use another one.
    private func notRemoved(_ failure: OIDCError) -> OIDCError {
        var error = failure
        error.message += "; the session stays, and nothing was revoked"
        if error.hint == .advice(.useWritableDirectory) {
            error.hint = "make the file or its directory writable, then log out again"
        }
        return error
    }

    /// Whether a session stays because its store cannot be reached. One that cannot be read is removed.
    private func leavesSession(_ error: OIDCError) -> Bool {
        error.kind == .interrupted || error.kind == .unreachable && error.code != .oldRecord
    }

    private func remove(_ key: SessionKey, from store: any SessionStoring) -> Removal {
        var removal = Removal(content: Result { () throws(OIDCError) in try store.load(key) })
        if case .failure(let error) = removal.content, leavesSession(error) {
            removal.failure = error
            return removal
        }
        do { try store.remove(key) } catch { removal.failure = error }
        return removal
    }

    /// Returns whether a store has no session for a key; a session that cannot be read counts as one.
    func isEmpty(_ store: any SessionStoring, _ key: SessionKey) -> Bool {
        do { return try store.load(key) == nil } catch { return false }
    }
}
