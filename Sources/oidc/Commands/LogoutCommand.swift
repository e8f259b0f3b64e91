import CommandLineKit
import OIDCCore
import OIDCSessions
import OIDCSystem

struct LogoutCommand: RunnableCommand {
    static let name = "logout"
    static let summary = "Revoke the tokens and forget the session"
    static let declaration = Declaration<LogoutCommand>(
        discussion: """
            Revokes the refresh token and the access token at the provider, and always removes the local session, \
            even if the provider is unreachable. With a URL, it ends the session of exactly that resource: one for \
            a URL above it stays. With -o json, "provider" is revoked, refused, unreachable, not_offered, or null if it \
            was not asked; --all prints an array.
            """,
        examples: [
            Example("oidc logout", "log out of the default profile"),
            Example("oidc logout https://mcp.example.com/mcp", "log out of a resource"),
            Example("oidc logout --all --local", "forget every session without contacting a provider"),
        ],
        exitCodes: [
            ExitCode("0", "the provider accepted, does not offer revocation, or there was no session"),
            ExitCode("1", "--browser, and no browser could be opened; the local session is removed"),
            ExitCode("4, 5", "the provider did not confirm or was unreachable; the local session is removed"),
            ExitCode("6", "the browser did not come back in time; the local session is removed"),
        ],
        operands: [.optional(\.url, "URL", "the resource to log out of")],
        options: [
            .flag(\.isAll, "--all", "every session, also those of other profiles"),
            .flag(\.isLocal, "--local", "remove the local session without contacting the provider"),
            .flag(\.endsProviderSession, "--browser", "end the provider's own session too, in the browser"),
            .number(
                \.timeout, "--timeout", "SECONDS", in: 1...86_400, "how long to wait for the browser",
                defaultText: "300"),
            .group(\.options), .group(\.common),
        ])

    var url: String?
    var isAll = false
    var isLocal = false
    var endsProviderSession = false
    var timeout: Int?
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isLocal, endsProviderSession { throw UsageError("--local and --browser cannot be used together") }
        if isAll, url != nil { throw UsageError("--all and a URL cannot be used together") }
        if isAll, endsProviderSession { throw UsageError("--all and --browser cannot be used together") }
        if timeout != nil, !endsProviderSession { throw UsageError("--timeout requires --browser") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let bound = try SettingsLoader.entries([(.timeout, "--timeout", timeout.map { String($0) })])
        guard !isAll else { return try runAll(try context.provider(options, and: bound), context) }
        switch try context.target(url, command: "logout", options, and: bound) {
        case .url(let operand): return try run(operand, context)
        case .settings(let provider):
            if !provider.namesProvider {
                if let error = ResourceRecords(context)?.choice { throw error }
                try refuseNobody(provider, context)
            }
            let account = try Account(provider)
            let outcome = try end(account)
            if context.console.isJSON {
                try context.console.output(outcome.json(of: account.key, provider.settings.profile))
            }
            if let failure = outcome.failure { throw failure }
            return 0
        }
    }

    /// Throws if there is neither a profile nor a session: then nobody misses an issuer.
    private func refuseNobody(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) {
        let profiles = try context.settingsLoader.file()?.profiles ?? []
        guard profiles.isEmpty, try KnownProviders(provider).sessions().isEmpty else { return }
        throw .usage("nobody is signed in, and no provider is set", hint: .run("login"))
    }

    /// Ends the session of an account, wherever it is stored.
    func end(_ account: Account) throws(OIDCError) -> Outcome {
        let (provider, context) = (account.provider, account.provider.context)
        let removal = try (account.engine.isEmpty ? account.earlier ?? account : account).engine.taken()
        provider.target?.forget()
        return try forget(removal, provider, context)
    }

    /// The result of a logout.
    struct Outcome {
        /// The provider's answer to the revocation; nil if none was requested.
        let answer: RevocationAnswer?
        let hadSession: Bool
        let failure: OIDCError?

        static let none = Outcome(answer: nil, hadSession: false, failure: nil)

        func json(of key: SessionKey?, _ profile: String?) -> JSONValue {
            [
                "provider": JSONValue(answer?.rawValue), "profile": JSONValue(profile),
                "issuer": JSONValue(key?.provider), "account": JSONValue(key?.account),
                "session": hadSession ? "forgotten" : "none",
            ]
        }
    }

    /// Revokes the tokens of a session that was removed, and reports one that could not be read.
    func forget(
        _ removal: SessionRemoval, _ provider: ProviderContext, _ context: CommandContext
    ) throws(OIDCError) -> Outcome {
        var failures: [OIDCError] = []
        var answer: RevocationAnswer?
        var hadSession = true
        switch removal.content {
        case .failure(let error):
            let isKept = error.kind == .loginRequired && error.code == .damagedSession
            context.console.warn(
                "\(error.message); it is "
                    + (isKept
                        ? "set aside, as a file that ends in .damaged, until the next logout" : "forgotten"))
            if !isLocal {
                failures.append(
                    OIDCError(
                        .failed, "the session could not be read, so nothing was revoked",
                        hint: "the tokens stay valid at the provider until they expire", stage: .revocation))
            }
        case .success(nil):
            hadSession = false
            context.console.note("there was no session")
        case .success(let session?):
            if !isLocal {
                let signOut = SignOut(provider: provider, session: session)
                let revocation = signOut.revoke()
                if revocation.isOffered { failures = revocation.failures.map(notRevoked) }
                answer = revocation.isOffered ? RevocationAnswer(failures.first) : .notOffered
                if endsProviderSession { failures += signOut.endProviderSession() }
            }
            if let failure = removal.failure { throw failure }
            let issuer = DisplayText.clean(session.key.provider)
            let resources = session.key.resources.map { DisplayText.clean($0) }.joined(separator: ", ")
            let account = session.key.account.map { " (account \(DisplayText.clean($0)))" } ?? ""
            let server = (resources.isEmpty ? issuer : "\(issuer) for \(resources)") + account
            context.console.note(
                failures.isEmpty && !isLocal
                    ? "Signed out of \(server); the session is forgotten."
                    : "The session at \(server) is forgotten here.")
        }
        guard let failure = failures.first(where: { $0.kind == .interrupted }) ?? failures.first else {
            return Outcome(answer: answer, hadSession: hadSession, failure: nil)
        }
        guard failure.kind != .interrupted else { throw failure }
        // A revocation that the provider did not confirm has one exit code, whatever the reason.
        var error = failure
        let isOwn = error.stage == .endSession && error.kind == .failed
        if error.kind != .unreachable, error.kind != .timedOut, !isOwn { error.kind = .refused }
        return Outcome(answer: answer, hadSession: hadSession, failure: error)
    }

    /// Returns the error of a failed revocation, with a hint that the tokens stay valid: without the session,
    /// they cannot be revoked any more.
    private func notRevoked(_ failure: OIDCError) -> OIDCError {
        guard failure.kind != .refused, failure.kind != .interrupted else { return failure }
        var error = failure
        error.hint = "the session is forgotten here; the tokens stay valid at the provider until they expire"
        return error
    }
}

extension LogoutCommand {
    /// Ends every session of a resource: that of its link, and those of earlier clients and servers.
    func run(_ operand: ResourceOperand, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let linked = try linkedProvider(operand, context)
        let known = try KnownProviders(linked ?? ProviderContext(operand.settings, context))
        let account = try linked.map { provider throws(OIDCError) in try Account(provider) }
        let others = try otherSessions(known, operand, linked, except: account?.key, context)
        let results = Results(context.console, namesProviders: !others.isEmpty)
        if let account {
            if !others.isEmpty, account.engine.isEmpty, account.earlier == nil {
                try account.engine.noteRemoval()
                account.provider.target?.forget()
            } else {
                try results.collect { () throws(OIDCError) in
                    results.add(
                        try end(account), of: account.key, profile: account.provider.settings.profile)
                }
            }
        }
        func finish(
            _ removal: SessionRemoval, of key: SessionKey, in store: KnownProviders.Store
        ) throws(OIDCError) {
            let provider = known.provider(of: key, in: store)
            results.add(
                try forget(removal, provider, context), of: key, profile: provider.settings.profile)
        }
        for (key, other) in others {
            try results.collect { () throws(OIDCError) in
                ResourceRecords(context)?.forget(key, context)
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
                    SessionRemoval(content: .success(leftover.session)), of: leftover.session.key,
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
            context.console.warn(error)
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

    private func take(
        _ stored: StoredSession, from store: SessionStore, _ provider: ProviderContext
    ) throws(OIDCError) -> SessionRemoval {
        if let key = stored.session?.key {
            return try AccountEngine(key: key, store: store, provider).taken()
        }
        try store.remove(stored)
        return SessionRemoval(content: stored.content.map { $0 })
    }
}

extension LogoutCommand {
    /// Ends every session, also those of other profiles.
    private func runAll(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let known = try KnownProviders(provider)
        let results = Results(context.console, namesProviders: true)
        let sessions = try known.sessions(orNote: results.add)
        let leftovers = try known.takeLeftovers(orNote: results.add) { _ in true }
        func finish(_ removal: SessionRemoval, in store: KnownProviders.Store) throws(OIDCError) {
            let key = removal.session?.key
            if let key { ResourceRecords(context)?.forget(key, context) }
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
                try finish(SessionRemoval(content: .success(leftover.session)), in: leftover.store)
            }
        }
        if results.documents.isEmpty, results.failure == nil { context.console.note("there was no session") }
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
            console.warn(isWorse ? held : other)
            if isWorse { failure = other }
        }

        /// Runs one logout and adds its error, so the others still run. An interruption ends the command.
        func collect(_ logout: () throws(OIDCError) -> Void) throws(OIDCError) {
            do { try logout() } catch {
                guard error.kind == .interrupted else { return add(error) }
                if let failure { console.warn(failure) }
                throw error
            }
        }
    }
}
