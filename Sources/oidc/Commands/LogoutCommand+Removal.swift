import OIDCCore
import OIDCSystem

/// The removal of sessions from their stores.
extension LogoutCommand {
    /// A session removed from the store, and the error if a part of it could not be removed.
    struct Taken {
        var content: Result<Session?, OIDCError>
        var failure: OIDCError?

        var session: Session? { (try? content.get()) ?? nil }
    }

    func take(
        _ stored: StoredSession, from store: any SessionStoring, _ provider: ProviderContext
    ) throws(OIDCError) -> Taken {
        if let key = stored.session?.key { return try take(key, from: store, provider) }
        try store.remove(stored)
        return Taken(content: stored.content.map { $0 })
    }

    /// Removes the session before the provider is asked, which may fail or take long. Uses the lock if possible,
    /// because a refresh in progress would bring the session back.
    func take(
        _ key: SessionKey, from store: any SessionStoring, _ provider: ProviderContext
    ) throws(OIDCError) -> Taken {
        var taken: Taken?
        var isMissing = false
        do throws(OIDCError) { isMissing = try store.load(key) == nil } catch {
            // A session that cannot be read is removed like any other, but not while its store is out of reach.
            guard error.kind != .unreachable, error.kind != .interrupted else { throw error }
        }
        // Nothing is created, not even a lock, for a session that is not there.
        if isMissing { return Taken(content: .success(try store.takeLeftovers(of: key) { _ in true }.first)) }
        do {
            try store.withLock(key, provider.refreshWait) { () throws(OIDCError) in
                taken = remove(key, from: store)
            }
        } catch {
            guard error.kind != .interrupted else { throw error }
        }
        let result = taken ?? remove(key, from: store)
        guard let failure = result.failure else { return result }
        if result.session == nil { throw failure }
        // What stays would be used on, so it must not be revoked.
        guard isEmpty(store, key) else { throw unforgotten(failure) }
        return result
    }

    /// Returns the error about a session that stays, with what to do instead of storing the next one elsewhere.
    private func unforgotten(_ failure: OIDCError) -> OIDCError {
        var error = failure
        error.message += "; the session stays, and nothing was revoked"
        if error.hint == .advice(.useWritableDirectory) {
            error.hint = "make the file or its directory writable, then log out again"
        }
        return error
    }

    private func remove(_ key: SessionKey, from store: any SessionStoring) -> Taken {
        var taken = Taken(content: Result { () throws(OIDCError) in try store.load(key) })
        if case .failure(let error) = taken.content, [.unreachable, .interrupted].contains(error.kind) {
            taken.failure = error
            return taken
        }
        do { try store.remove(key) } catch { taken.failure = error }
        return taken
    }

    /// Returns whether a store has no session of a key; one that cannot be read is there.
    func isEmpty(_ store: any SessionStoring, _ key: SessionKey) -> Bool {
        do { return try store.load(key) == nil } catch { return false }
    }
}
