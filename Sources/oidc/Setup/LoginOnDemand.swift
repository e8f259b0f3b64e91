import OIDCCore
import OIDCSystem

/// Signs in for a command that was given `--login`. Of several processes one does it; the others wait for it,
/// and find its session. The session's own lock is free meanwhile.
struct LoginOnDemand {
    let setup: ProviderSetup
    let access: SessionAccess
    /// What was stored when the command began.
    let seen: Session?

    /// Where the command finds its session now: in memory, when the store could not keep it.
    func run() throws(OIDCError) -> SessionAccess {
        var signIn = SignIn(setup: setup.forLogin(), access: access)
        let deadline = MonotonicTime.now().adding(seconds: setup.timeout)
        var signInKey = access.key
        signInKey.grant = GrantType(rawValue: "authorization_code, signing in")
        let console = setup.context.console
        var hasWaited = false
        let wait = LockWait(
            limit: .seconds(setup.timeout), noticeAfter: .zero,
            onWaiting: {
                hasWaited = true
                console.note("waiting for the sign-in of another oidc process …")
            })
        do throws(OIDCError) {
            return try access.store.withLock(signInKey, wait) { () throws(OIDCError) -> SessionAccess in
                let found = try? access.load()
                if let found, found != seen, found.source(for: access.demand()).isGranted { return access }
                // One browser for all of them, also when the person says no.
                if hasWaited, found == seen { throw unfinished(.loginRequired) }
                return try signedIn(&signIn)
            }
        } catch {
            guard hasWaited, error.kind == .failed, MonotonicTime.now() >= deadline else { throw error }
            throw unfinished(.timedOut)
        }
    }

    private func signedIn(_ signIn: inout SignIn) throws(OIDCError) -> SessionAccess {
        var failure: OIDCError?
        signIn.onUnkept = { failure = $0 }
        let session = try signIn.run()
        guard let failure else { return access }
        setup.context.console.warn("the session could not be kept: \(failure.commandLine)")
        let memory = MemorySessionStore()
        try memory.save(session, replacingDamaged: true)
        return SessionAccess(access, in: memory)
    }

    private func unfinished(_ kind: OIDCError.Kind) -> OIDCError {
        OIDCError(
            kind, "the sign-in of another oidc process, which this one waited for, was not finished",
            hint: setup.loginLine, stage: .authorization)
    }
}
