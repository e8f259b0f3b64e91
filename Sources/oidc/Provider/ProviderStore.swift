import CurlHTTP
import OIDCCore
import OIDCSessions
import OIDCShared
import Posix

/// The store of the sessions.
extension ProviderContext {
    /// Returns the store. If no state directory is available, nothing is stored and saving fails.
    func store() throws(OIDCError) -> SessionStore {
        try store(try settings.storeChoice())
    }

    func store(_ choice: SessionStoreChoice) throws(OIDCError) -> SessionStore {
        let directory = StateDirectories(environment: context.environment).state
            .flatMap { FilePath.isPossible($0) ? $0 : nil }
        switch (choice, directory) {
        case (.none, _): return SessionStore.inMemory()
        case (.file, let directory?): return SessionStore(directory: directory)
        case (.helper(let name), let directory?):
            return SessionStore(
                helper: name, directory: directory,
                environment: childEnvironment, deadline: deadline,
                onWaiting: { [console = context.console] text in
                    console.noteWaiting(text)
                })
        case (.keychain, let directory?):
            // Only a sign-in has a deadline, and only a sign-in may prompt.
            return SessionStore(
                keychainOf: context.environment, directory: directory, mayPrompt: deadline != nil,
                deadline: deadline)
        case (.shared(let url), let directory):
            return try sharedStore(url, state: directory)
        case (_, nil): return SessionStore.unavailable(context.environment)
        }
    }

    /// Returns the store on a server. The key is read only when a session is.
    private func sharedStore(
        _ url: SharedStoreURL, state directory: String?
    ) throws(OIDCError) -> SessionStore {
        try settings.sharedStore.check(.shared(url))
        if url.isOpen, url.password != nil {
            context.console.warn("store: the password is sent to \(url.server) without encryption")
        }
        var configuration = try curlConfiguration()
        // Plain http is allowed: records are sealed, and the URL determines whether the connection is
        // encrypted.
        configuration.allowInsecureHTTP = true
        configuration.proxy = .none
        // No deadline: the tokens of a sign-in are stored even if it ends in the last second.
        configuration.deadline = nil
        configuration.connectTimeout = min(configuration.connectTimeout, .seconds(5))
        let (secrets, shared) = (secrets, settings.sharedStore)
        // Longer than a request takes, shorter than other machines wait for the lease.
        let presenting = settings.network.httpTimeout + 30
        return SessionStore(
            url.connect(configuration), keepsCopies: shared.keepsCopies, state: directory,
            times: LeaseTimes(presenting: .seconds(presenting)), versions: .ofProcess
        ) { () throws(OIDCError) in try secrets.storeKeys(shared) }
    }
}
