import OIDCCore
import OIDCSessions
import Posix

extension Account {
    /// Returns the kept keys of a name, or those that `obtain` returns, which are kept with the session: they
    /// are sealed like it, and removed with it.
    ///
    /// The session's lock is held meanwhile, so any number of processes obtain keys once. Keys that cannot be
    /// kept are still returned.
    func keeping(
        _ name: String, _ obtain: () throws(OIDCError) -> AWSCredential
    ) throws(OIDCError) -> Redacted<String> {
        guard try store.load(key) != nil else { return Redacted(try obtain().json.compact) }
        return try store.withLock(key, provider.lockWait) { () throws(OIDCError) in
            let current = try store.load(key)
            if let kept = current?.kept(name, at: Clock.now()) { return kept.value }
            let credential = try obtain()
            if let current, let kept = credential.kept(as: name) {
                var session = current
                session.keep(kept, at: Clock.now())
                do throws(OIDCError) { _ = try store.replace(current, with: session) } catch {
                    provider.context.console.trace("the keys are not kept: \(error.message)")
                }
            }
            return Redacted(credential.json.compact)
        }
    }
}
