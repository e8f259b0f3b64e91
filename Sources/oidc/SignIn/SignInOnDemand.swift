import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix

/// The sign-in of a command with `--login`. One of several processes signs in; the others wait and use its
/// session.
///
/// The session's own lock stays free meanwhile.
struct SignInOnDemand {
    let provider: ProviderContext
    let account: Account
    /// The session that was stored when the command started.
    let earlier: Session?
    /// Whether to accept any session other than the earlier one, because the resource decides whether it is
    /// enough.
    var takesAny = false
    /// The scope that the resource requires, with that of the session; nil if it named none.
    var needed: Scope?

    /// Runs `body` while no other process signs in for the same session. A resource also has a lock for each
    /// account, independent of the client, because another process may register a new one.
    private func withLock<Value>(
        _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        let store = account.store
        guard provider.target != nil else { return try store.withLock(account.key, for: .signIn, wait, body) }
        var ofResource = account.key
        ofResource.clientID = ""
        return try store.withLock(ofResource, for: .signIn, wait) { () throws(OIDCError) in
            try store.withLock(account.key, for: .signIn, wait, body)
        }
    }

    /// Returns the account, whose session is in memory if it could not be saved.
    func run() throws(OIDCError) -> Account {
        var signIn = SignIn(account, with: provider.forSignIn())
        let deadline = MonotonicTime.now().adding(seconds: provider.settings.signIn.timeout)
        let console = provider.context.console
        let startedAt = Clock.now()
        var hasWaited = false
        var hasLock = false
        let wait = LockWait(
            limit: .seconds(provider.settings.signIn.timeout), noticeAfter: .zero,
            onWaiting: {
                hasWaited = true
                console.note("waiting for the sign-in of another oidc process …")
            })
        do throws(OIDCError) {
            return try withLock(wait) {
                () throws(OIDCError) -> Account in
                hasLock = true
                // A session that has ended is useless, whichever process found that out.
                let found = (try? account.load()).flatMap { $0?.ended == nil ? $0 : nil }
                if let found, found != earlier, isEnough(found) { return account }
                let moved = try provider.target?.movedAccount(provider, than: earlier)
                let elsewhere = moved.flatMap { try? $0.load() }
                if let moved, let elsewhere, moved.key.provider != account.key.provider || isEnough(elsewhere)
                {
                    return moved
                }
                let newer = elsewhere ?? (found == earlier ? nil : found)
                // Only one process opens a browser, even if the user declines. A killed process records no
                // failure, so the next one signs in.
                if hasWaited, newer == nil, hasFailed(since: startedAt) {
                    throw unfinished(.loginRequired)
                }
                if let newer, let needed {
                    let scope = needed.union(newer.knownScope)
                    signIn = SignIn(account, with: signIn.provider.requesting(scope, from: .challenge))
                }
                return try signedIn(&signIn)
            }
        } catch {
            // If no lock can be created, nothing can be stored either, but the sign-in's tokens can be used
            // once.
            if !hasLock, !hasWaited, error.isOfStore {
                return try signedIn(&signIn)
            }
            guard hasWaited, error.kind == .failed, MonotonicTime.now() >= deadline else { throw error }
            throw unfinished(.timedOut)
        }
    }

    /// Returns whether the session of another process is enough: the same scope was requested, even if less
    /// was granted.
    private func isEnough(_ session: Session) -> Bool {
        if let needed, !needed.isSubset(of: session.knownScope) { return false }
        return takesAny || session.source(for: account.demand()).isGranted
    }

    private func signedIn(_ signIn: inout SignIn) throws(OIDCError) -> Account {
        var failure: OIDCError?
        signIn.onStoreFailure = { failure = $0 }
        let session: Session
        account.store.leave(nil, for: attempt, replacing: nil)
        do throws(OIDCError) { session = try signIn.run() } catch {
            // Recorded before the lock is released. An unknown client is not the user's refusal, so it is not
            // recorded.
            if !provider.hasLostClient(error) {
                account.store.leave(
                    SharedFailure(
                        error: unfinished(.loginRequired), time: Clock.now(), id: "sign-in",
                        refreshTokenHash: nil), for: attempt, replacing: nil)
            }
            throw error
        }
        guard let failure else { return account }
        provider.context.console.warn(failure, "the session could not be stored")
        let memory = SessionStore.inMemory()
        try memory.save(session, replacingDamaged: true)
        return account.kept(in: memory)
    }

    /// The key for recording a sign-in that ended without a session, which the waiting processes look up.
    private var attempt: SessionKey {
        var key = account.key
        if provider.target != nil { key.clientID = "" }
        key.subject = "sign-in"
        return key
    }

    private func hasFailed(since start: Instant) -> Bool {
        account.store.failure(of: attempt).map { $0.time >= start } ?? false
    }

    private func unfinished(_ kind: OIDCError.Kind) -> OIDCError {
        OIDCError(
            kind, "the sign-in of another oidc process, which this one waited for, was not finished",
            hint: provider.settings.scopedLoginLine, stage: .authorization)
    }
}

extension OIDCError {
    /// Whether this machine cannot store something.
    var isOfStore: Bool { kind == .failed && stage == .store }
}

extension Session {
    /// The scope that was requested or granted.
    var knownScope: Scope { (requestedScope ?? Scope("")).union(grantedScope ?? Scope("")) }
}
