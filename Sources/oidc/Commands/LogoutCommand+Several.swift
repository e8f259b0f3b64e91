import CommandLineKit
import OIDCCore

extension LogoutCommand {
    /// Ends every session, also those of other profiles.
    func runAll(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let known = try KnownProviders(provider)
        let results = Results(context.console, namesProviders: true)
        let sessions = try known.sessions(orNote: results.add)
        let leftovers = try known.takeLeftovers(orNote: results.add) { _ in true }
        func finish(_ removal: Removal, in store: KnownProviders.Store) throws(OIDCError) {
            let key = removal.session?.key
            if let key { ResourceRecords(context)?.forget(key) }
            results.add(
                try forget(removal, key.map { known.provider(of: $0, in: store) } ?? provider, context),
                of: key, profile: key.flatMap { known.profile(of: $0, in: store) })
        }
        for found in sessions {
            try results.collect { () throws(OIDCError) in
                try finish(try take(found.session, from: found.store.store, provider), in: found.store)
            }
        }
        for leftover in leftovers {
            try results.collect { () throws(OIDCError) in
                try finish(Removal(content: .success(leftover.session)), in: leftover.store)
            }
        }
        if context.console.isJSON { try context.console.output(.array(results.documents)) }
        if let failure = results.failure { throw failure }
        return 0
    }

    /// The results of several logouts. The worst failure becomes the error of the command; the others are
    /// warnings before it.
    final class Results {
        private let console: Console
        /// Whether the error of an outcome names its provider, which one of several has to.
        private let namesProviders: Bool
        private(set) var documents: [JSONValue] = []
        private(set) var failure: OIDCError?

        init(_ console: Console, namesProviders: Bool) {
            self.console = console
            self.namesProviders = namesProviders
        }

        func add(_ outcome: Outcome, of key: SessionKey?, profile: String?) {
            documents.append(outcome.json(of: key, profile))
            guard var failure = outcome.failure else { return }
            if namesProviders, let key {
                failure.message = "\(DisplayText.clean(key.provider)): \(failure.message)"
            }
            add(failure)
        }

        func add(_ other: OIDCError) {
            guard let held = failure else { return failure = other }
            let isWorse = Diagnostics.exitCode(other) > Diagnostics.exitCode(held)
            console.warn((isWorse ? held : other).commandLine)
            if isWorse { failure = other }
        }

        /// Runs one logout and adds its error, so the others still run. An interruption ends the command.
        func collect(_ logout: () throws(OIDCError) -> Void) throws(OIDCError) {
            do { try logout() } catch {
                guard error.kind == .interrupted else { return add(error) }
                if let failure { console.warn(failure.commandLine) }
                throw error
            }
        }
    }
}
