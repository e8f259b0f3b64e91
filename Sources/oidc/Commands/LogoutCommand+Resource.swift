import OIDCCore
import OIDCSessions

extension LogoutCommand {
    /// Ends every session of a resource: that of its link, and those of earlier clients and servers.
    func run(_ operand: ResourceOperand, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let linked = try linkedProvider(operand, context)
        let known = try KnownProviders(linked ?? ProviderContext(operand.settings, context))
        let linkedKey = try linked.map { provider throws(OIDCError) in try SessionAccess(provider).key }
        let others = try otherSessions(known, operand, linked, except: linkedKey, context)
        let results = Results(context.console, namesProviders: !others.isEmpty)
        if let linked, let key = linkedKey {
            if !others.isEmpty, try isGone(key, linked) {
                linked.target?.forget(context)
            } else {
                try results.collect { () throws(OIDCError) in
                    results.add(
                        try end(key, linked, context), of: key, profile: linked.settings.profile)
                }
            }
        }
        func finish(_ removal: Removal, of key: SessionKey, in store: KnownProviders.Store) throws(OIDCError)
        {
            let provider = known.provider(of: key, in: store)
            results.add(
                try forget(removal, provider, context), of: key, profile: provider.settings.profile)
        }
        for (key, other) in others {
            try results.collect { () throws(OIDCError) in
                ResourceRecords(context)?.forget(key)
                try finish(
                    try take(
                        other.session, from: other.store.store, known.provider(of: key, in: other.store)),
                    of: key, in: other.store)
            }
        }
        var leftovers: [(session: Session, store: KnownProviders.Store)] = []
        try results.collect { () throws(OIDCError) in
            leftovers = try operand.takeLeftovers(known, of: linked?.target?.link, orNote: results.add)
        }
        for leftover in leftovers {
            try results.collect { () throws(OIDCError) in
                try finish(
                    Removal(content: .success(leftover.session)), of: leftover.session.key,
                    in: leftover.store)
            }
        }
        try report(results, operand, context)
        return 0
    }

    /// Returns the provider of the resource's link; nil if there is none.
    private func linkedProvider(
        _ operand: ResourceOperand, _ context: CommandContext
    ) throws(OIDCError) -> ProviderContext? {
        do { return try operand.linkedExactly() } catch {
            // A session may be left from before the URL became part of a larger resource.
            let known = try KnownProviders(ProviderContext(operand.settings, context))
            guard error.kind == .usage, try !operand.sessions(known, of: nil).isEmpty else { throw error }
            return nil
        }
    }

    /// Returns the sessions of earlier clients and servers; warns if they cannot be listed.
    private func otherSessions(
        _ known: KnownProviders, _ operand: ResourceOperand, _ linked: ProviderContext?,
        except key: SessionKey?, _ context: CommandContext
    ) throws(OIDCError) -> [(key: SessionKey, entry: KnownProviders.Entry)] {
        do {
            return try operand.sessions(known, of: linked?.target?.link).filter { $0.key != key }
        } catch {
            guard error.kind != .interrupted else { throw error }
            context.console.warn(error.commandLine)
            return []
        }
    }

    /// Prints the results as one document. Throws the worst failure.
    private func report(
        _ results: Results, _ operand: ResourceOperand, _ context: CommandContext
    ) throws(OIDCError) {
        var documents = results.documents
        if documents.isEmpty, results.failure == nil {
            if ResourceRecords(context)?.links.damagedFile(of: operand.url) != nil {
                throw operand.notSignedIn
            }
            context.console.note("there was no session")
            documents.append(Outcome.none.json(of: nil, nil))
        }
        if context.console.isJSON, var document = documents.first?.object {
            if documents.count > 1 { document["others"] = .array(Array(documents.dropFirst())) }
            try context.console.output(.object(document))
        }
        if let failure = results.failure { throw failure }
    }

    private func isGone(_ key: SessionKey, _ provider: ProviderContext) throws(OIDCError) -> Bool {
        let store = try provider.store()
        return EarlierSession(provider, key) == nil && isEmpty(store, key)
    }
}
