import OIDCCore
import OIDCSystem

/// A session that is still in a file, as the setting `store` was changed after the sign-in.
struct EarlierSession {
    let store: FileSessionStore
    let key: SessionKey

    /// Finds the session; nil if there is none, or if sessions are kept in files.
    init?(_ provider: ProviderContext, _ key: SessionKey) {
        guard let choice = try? SessionStoreChoice(setting: provider.settings.store), choice != .file,
            choice != .none,
            let directory = StateDirectories(environment: provider.context.environment).state,
            FilePath.isPossible(directory)
        else { return nil }
        store = FileSessionStore(directory: directory)
        self.key = key
        guard let session = try? store.load(key), session.key == key else { return nil }
    }

    private var location: String { DisplayText.clean(store.location(of: key)) }

    /// The warning that the session is not used.
    var warning: String {
        "a session is still in \(location), from before store was changed "
            + "(oidc login replaces it, oidc logout forgets it)"
    }

    /// Removes the session after a new sign-in, and notes it.
    func remove(_ provider: ProviderContext) {
        do throws(OIDCError) {
            try store.withLock(key, provider.refreshWait) { () throws(OIDCError) in try store.remove(key) }
            provider.context.console.note("Removed the earlier session from \(location).")
        } catch {
            provider.context.console.warn("the earlier session is still in \(location): \(error.message)")
        }
    }
}
