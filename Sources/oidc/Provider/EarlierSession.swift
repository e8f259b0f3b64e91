import OIDCCore
import OIDCSessions
import Posix

/// A session that is still in a file, plain or sealed, because the setting `store` was changed after the
/// sign-in.
struct EarlierSession {
    let store: SessionStore
    let key: SessionKey

    /// Creates the session from a file, without using a keychain. Returns nil if there is none on this
    /// machine.
    init?(_ provider: ProviderContext, _ key: SessionKey) {
        guard let choice = try? SessionStoreChoice(setting: provider.settings.store), choice != .none,
            let directory = StateDirectories(environment: provider.context.environment).state,
            FilePath.isPossible(directory)
        else { return nil }
        self.key = key
        let setting: String
        let file = SessionStore(directory: directory)
        if choice != .file, let session = try? file.load(key), session.key == key {
            store = file
            setting = "file"
        } else if !choice.seals, let keeper = KeychainSeal.keeper(of: key, in: directory),
            let sealed = try? provider.store(SessionStoreChoice(setting: keeper))
        {
            store = sealed
            setting = keeper
        } else {
            return nil
        }
        // It may be the session of another profile.
        guard (try? KnownProviders(provider))?.isInUse(setting, for: key) != true else { return nil }
    }

    private var location: String { DisplayText.clean(store.location(of: key)) }

    /// The warning that the session is not used.
    var warning: Warning {
        Warning(
            "a session is still in \(location), from before store was changed",
            hint: "oidc login replaces it, oidc logout forgets it")
    }

    /// Removes the session after a new sign-in, and reports it.
    func remove(_ provider: ProviderContext) {
        do throws(OIDCError) {
            try store.withLock(key, provider.lockWait) { () throws(OIDCError) in try store.remove(key) }
            provider.context.console.note("Removed the earlier session from \(location).")
        } catch {
            provider.context.console.warn(
                "the earlier session in \(location) could not be removed: \(error.message)")
        }
    }
}
