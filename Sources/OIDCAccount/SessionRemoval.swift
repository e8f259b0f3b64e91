package import OIDCCore
import OIDCSessions

/// A session that was removed from its store, and the error if a part of it could not be removed.
package struct SessionRemoval {
    package var content: Result<Session?, OIDCError>
    package var failure: OIDCError?
    /// Why this machine cannot remember the sign-out, so a server that brings the session back would be believed.
    package var noteFailure: OIDCError?

    package init(content: Result<Session?, OIDCError>) {
        self.content = content
    }

    package var session: Session? { (try? content.get()) ?? nil }
}

/// The end of a session: it is removed before its tokens are revoked, as the request may fail or take long.
extension AccountEngine {
    /// Removes the session. Uses the lock if possible, because a refresh in progress would store the session again. One
    /// that other machines can read, and this one cannot, stays unless `isLocal` says that its tokens are not to be
    /// revoked. So does one whose last refresh left a copy that cannot be read, as only that has the valid tokens.
    package func taken(isLocal: Bool = false) throws(OIDCError) -> SessionRemoval {
        var removal = try withdrawn(isLocal: isLocal)
        removal.noteFailure = store.noteFailure
        return removal
    }

    private func withdrawn(isLocal: Bool) throws(OIDCError) -> SessionRemoval {
        var removal: SessionRemoval?
        var first: Session?
        var isMissing = false
        if !isLocal {
            do throws(OIDCError) { try store.checkWaiting(key) } catch {
                throw AccountEngine.unread(error)
            }
        }
        do throws(OIDCError) {
            first = try store.loadToEnd(key)
            isMissing = first == nil
        } catch {
            guard !AccountEngine.leavesSession(error), isLocal || error.code != .unknownStoreKey else {
                throw error
            }
            // A key that cannot be obtained now is no reason to end the session of the other machines.
            if !isLocal, store.reach == .machines { try store.checkKeys() }
        }
        // For a missing session, nothing is created, not even a lock.
        if isMissing {
            let isHidden = store.hides(key)
            try noteRemoval()
            let leftover = try store.takeLeftovers(of: key) { _ in true }.first
            guard leftover == nil, isHidden else { return SessionRemoval(content: .success(leftover)) }
            return SessionRemoval(content: .failure(store.hiddenSession))
        }
        do throws(OIDCError) {
            try store.withLock(key, lockWait) { () throws(OIDCError) in removal = removed(isLocal: isLocal) }
        } catch {
            guard error.kind != .interrupted else { throw error }
        }
        var result = removal ?? removed(isLocal: isLocal)
        // The server may only have hidden it since.
        if store.reach == .machines, case .success(nil) = result.content { result.content = .success(first) }
        guard var failure = result.failure else { return result }
        if result.session == nil {
            if case .failure = result.content { failure.message += "; nothing was revoked" }
            throw failure
        }
        if isUnknown(failure) { return try settled(result, failure) }
        // A session that stays may be used again, so its tokens must not be revoked.
        guard isEmpty else { throw AccountEngine.notRemoved(failure) }
        return result
    }

    /// Returns the removal of a session whose server gave no answer, which may have removed it or not. If it cannot be
    /// asked, the tokens are revoked all the same: if the session is gone, nobody can do that later, and if it stays,
    /// it is useless.
    private func settled(
        _ removal: SessionRemoval, _ failure: OIDCError
    ) throws(OIDCError) -> SessionRemoval {
        var removal = removal
        removal.failure = nil
        do throws(OIDCError) {
            guard let found = try store.load(key) else {
                do throws(OIDCError) { try noteRemoval(of: removal.session) } catch {
                    guard error.kind == .unreachable else { throw error }
                    removal.failure = error
                    removal.failure?.hint = "log out again once the store takes writes"
                }
                return removal
            }
            if let session = removal.session {
                // Somebody has signed in since, so only the end of this sign-in is noted. Otherwise, it may have been refreshed.
                guard found.isSameSignIn(as: session) else {
                    try noteRemoval(of: session)
                    return removal
                }
                removal.content = .success(found)
            }
            do throws(OIDCError) { try store.remove(key) } catch {
                guard error.kind == .unreachable else { throw AccountEngine.notRemoved(error) }
                throw error
            }
        } catch {
            guard [.unreachable, .timedOut, .interrupted].contains(error.kind) else { throw error }
            removal.failure = failure
            removal.failure?.message += "; it is not known whether the session was removed"
            removal.failure?.hint = "log out again once the store can be reached"
        }
        return removal
    }

    /// Removes the session without its lock.
    package func removed(isLocal: Bool = false) -> SessionRemoval {
        var removal = SessionRemoval(content: Result { () throws(OIDCError) in try store.loadToEnd(key) })
        if case .failure(let error) = removal.content,
            AccountEngine.leavesSession(error) || !isLocal && error.code == .unknownStoreKey
        {
            removal.failure = error
            return removal
        }
        do throws(OIDCError) { try store.remove(key, expecting: removal.session) } catch {
            removal.failure = error
        }
        return removal
    }

    /// Notes the removal of a session, or of the one that this machine has seen last if that is nil.
    private func noteRemoval(of session: Session? = nil) throws(OIDCError) {
        guard store.reach == .machines else { return }
        if session == nil {
            try store.noteRemoval(of: key)
        } else {
            try store.remove(key, expecting: session)
        }
    }

    /// Returns whether the session may be gone after a failed removal. Only a shared store says when it is not.
    private func isUnknown(_ failure: OIDCError) -> Bool {
        store.reach == .machines ? failure.code == .noStoreAnswer : failure.kind == .unreachable
    }

    /// Whether the store has no session; one that cannot be read counts as one.
    package var isEmpty: Bool {
        do throws(OIDCError) { return try store.load(key) == nil } catch { return false }
    }

    /// Returns the error for a session that stays because a copy of it cannot be read.
    package static func unread(_ failure: OIDCError) -> OIDCError {
        var error = notRemoved(failure)
        if failure.hint == .advice(.useWritableDirectory) {
            error.hint = "make the file readable for this user, then log out again"
        }
        return error
    }

    /// Returns the error for a session that could not be removed. The hint is to make its directory writable,
    /// not to use another one.
    private static func notRemoved(_ failure: OIDCError) -> OIDCError {
        var error = failure
        error.message += "; the session stays, and nothing was revoked"
        if error.hint == .advice(.useWritableDirectory) {
            error.hint = "make the file or its directory writable, then log out again"
        }
        return error
    }

    /// Whether a session stays because its store cannot be reached. One that cannot be read is removed.
    private static func leavesSession(_ error: OIDCError) -> Bool {
        error.kind == .interrupted || error.kind == .unreachable && error.code != .oldRecord
    }
}
