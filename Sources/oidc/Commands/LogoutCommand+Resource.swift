import OIDCCore
import OIDCSystem

extension LogoutCommand {
    /// Ends every session of a resource: that of its link, and those of earlier clients and servers.
    func run(_ operand: ResourceOperand, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let linked: ProviderContext?
        do throws(OIDCError) { linked = try operand.linkedExactly() } catch {
            // A session may be left from before the URL became part of a larger resource.
            let known = try KnownProviders(ProviderContext(operand.settings, context))
            guard error.kind == .usage, try !operand.sessions(known, of: nil).isEmpty else { throw error }
            linked = nil
        }
        let known = try KnownProviders(linked ?? ProviderContext(operand.settings, context))
        var key: SessionKey?
        if let linked { key = try SessionAccess(linked).key }
        var others: [(key: SessionKey, entry: KnownProviders.Entry)] = []
        do throws(OIDCError) {
            others = try operand.sessions(known, of: linked?.target?.link).filter { $0.key != key }
        } catch {
            guard error.kind != .interrupted else { throw error }
            context.console.warn(error.commandLine)
        }
        var documents: [JSONValue] = []
        var failures: [OIDCError] = []
        func note(_ key: SessionKey?, _ provider: ProviderContext?, _ end: () throws(OIDCError) -> Outcome)
            throws(OIDCError)
        {
            do throws(OIDCError) {
                let outcome = try end()
                documents.append(outcome.json(of: key?.provider, provider?.settings.profile))
                if let failure = outcome.failure { failures.append(failure) }
            } catch {
                guard error.kind != .interrupted else { throw error }
                failures.append(error)
            }
        }
        if let linked, let key {
            if !others.isEmpty, try isGone(key, linked) {
                linked.target?.forget(context)
            } else {
                try note(key, linked) { () throws(OIDCError) in try end(key, linked, context) }
            }
        }
        for other in others {
            let provider = known.provider(of: other.key, in: other.entry.store)
            ResourceRecords(context)?.forget(other.key)
            try note(other.key, provider) { () throws(OIDCError) in
                try forget(
                    try take(other.entry.session, from: other.entry.store.store, provider), provider, context)
            }
        }
        let leftovers = try operand.takeLeftovers(known, of: linked?.target?.link) { failures.append($0) }
        for leftover in leftovers {
            let provider = known.provider(of: leftover.session.key, in: leftover.store)
            try note(leftover.session.key, provider) { () throws(OIDCError) in
                try forget(Removal(content: .success(leftover.session)), provider, context)
            }
        }
        if documents.isEmpty, failures.isEmpty {
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
        for failure in failures.dropFirst() { context.console.warn(failure.commandLine) }
        if let failure = failures.first { throw failure }
        return 0
    }

    private func isGone(_ key: SessionKey, _ provider: ProviderContext) throws(OIDCError) -> Bool {
        let store = try provider.store()
        return EarlierSession(provider, key) == nil && isEmpty(store, key)
    }
}
