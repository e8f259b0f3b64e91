import CommandLineKit
import OIDCCore
import OIDCSessions
import OIDCAccount
import OIDCShared
import Posix

struct LogoutCommand: RunnableCommand {
    static let name = "logout"
    static let summary = "Revoke the tokens and forget the session"
    static let declaration = Declaration<LogoutCommand>(
        discussion: """
            Removes the session, and revokes its refresh token and access token at the provider. The session is removed \
            even if the provider is unreachable; only one in a shared store may stay: if the store cannot be reached, \
            or, without --local, if its key is missing here. With a URL, it ends the session of exactly \
            that resource or, if the URL is a provider's issuer, the sessions at that provider; a session for a URL above \
            it stays. With -o json, "provider" is revoked, refused, unreachable, not_offered, or null if it \
            was not asked; --all prints an array.
            """,
        examples: [
            Example("oidc logout", "log out of the default profile"),
            Example("oidc logout https://mcp.example.com/mcp", "log out of a resource"),
            Example("oidc logout --all --local", "forget every session without contacting a provider"),
        ],
        exitCodes: [
            ExitCode("0", "the provider accepted, does not offer revocation, or there was no session"),
            ExitCode(
                "1",
                "a session cannot be read here, and stays; or --browser, and no browser could be opened, and the session is "
                    + "removed"),
            ExitCode(
                "2", "the key of a session in a shared store is missing here; it stays, unless with --local"),
            ExitCode(
                "4", "the provider did not confirm, or the shared store has lost the session; it is removed"),
            ExitCode(
                "5",
                "the provider was unreachable, and the session is removed; or the shared store was, and the "
                    + "session may stay"),
            ExitCode("6", "the browser did not come back in time; the session is removed"),
        ],
        operands: [.optional(\.url, "URL", "the resource or provider to log out of")],
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
        try context.refuseIfLent(Self.name, options)
        let bound = try SettingsLoader.entries([(.timeout, "--timeout", timeout.map { String($0) })])
        let results = Results(context.console)
        if isAll {
            try WaitingSignIns.cancel(context) { _ in true }
            let catalog = try SessionCatalog(
                try context.provider(options, and: bound), orNote: results.add)
            results.namesProviders = true
            // A server that does not answer delays no sign-out of a session that is stored here.
            let note: SessionCatalog.Note = { error, _ in results.add(error) }
            let stores = try catalog.storesWithEarlier(orNote: note)
            for part in [stores.filter { !$0.isShared }, stores.filter(\.isShared)] {
                let items = try catalog.items(in: part, withHidden: true, orNote: note)
                // Called first, as it removes the files that earlier logouts set aside. Those of this logout are
                // kept until the next.
                let leftovers = try catalog.leftovers(in: part, orNote: results.add) { _ in true }
                try end(items.map { catalog.signOut($0) } + leftovers, results)
            }
            noteSeen(besides: stores.map(\.store), results, context) { $0.grant.needsUser }
        } else {
            switch try context.target(url, command: "logout", options, and: bound) {
            case .url(let operand): try end(operand, results)
            case .settings(let provider):
                if !provider.namesProvider {
                    if let error = ResourceRecords(context)?.choice { throw error }
                    try refuseNobody(provider, context)
                }
                let account = try Account(provider)
                try end([account.signOut], results)
                if !results.hasFailed, let earlier = account.earlier { try end([earlier.signOut], results) }
                noteSeen(besides: [account.store], results, context) { $0 == account.key }
                if !results.hasFailed { warnOfOthers(account) }
            }
        }
        try results.report(asList: isAll)
        return 0
    }

    /// Throws if there is neither a profile nor a session. Otherwise, the error would ask for an issuer.
    private func refuseNobody(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) {
        let profiles = try context.settingsLoader.file()?.profiles ?? []
        guard profiles.isEmpty, try SessionCatalog(provider).items().isEmpty else { return }
        throw .usage("nobody is signed in, and no provider is set", hint: .run("login"))
    }

    /// Ends every session of a resource: that of its link, and those of earlier clients and servers.
    private func end(_ operand: ResourceOperand, _ results: Results) throws(OIDCError) {
        let context = operand.context
        try WaitingSignIns.cancel(context, where: operand.isOwn)
        var linked: ProviderContext?
        var isPartOfAnother: OIDCError?
        do { linked = try operand.linkedExactly() } catch {
            guard error.kind == .usage else { throw error }
            isPartOfAnother = error
        }
        var outages: [(error: OIDCError, store: String?)] = []
        let catalog = try SessionCatalog(linked ?? ProviderContext(operand.settings, context)) {
            outages.append(($0, nil))
        }
        let account = try linked.map { provider throws(OIDCError) in try Account(provider) }
        let isDamaged = ResourceRecords(context)?.links.damagedFile(of: operand.url) != nil
        let hasOwnSession = try operand.hasSession()
        let mayBeProvider = (isPartOfAnother != nil || !hasOwnSession) && !isDamaged
        func isOwn(_ key: SessionKey?) -> Bool {
            key.map { operand.isOwn($0, linked?.target?.link) } == true
                || mayBeProvider && operand.isProvider(of: key)
        }
        if mayBeProvider {
            try WaitingSignIns.cancel(context) { operand.isProvider(of: SessionKey(text: $0.key)) }
        }
        let stores = try catalog.storesWithEarlier { outages.append(($0, $1)) }
        let listed = try catalog.items(in: stores, withHidden: true) { outages.append(($0, $1)) }
        outages += listed.compactMap { item in item.omission.map { ($0, item.store.name) } }
        let items = listed.filter { $0.omission == nil }
        let places = catalog.places
        /// Returns the key of a session, also of one that cannot be read if it can be told whose it is.
        func key(of item: SessionCatalog.Item) -> SessionKey? {
            item.key ?? places[item.stored.location]
                ?? item.stored.namedKey.flatMap { catalog.isKnown($0, in: item.store) ? $0 : nil }
        }
        func isOfSeveral(_ item: SessionCatalog.Item) -> Bool {
            let keys = catalog.requestedKeys(of: item)
            return keys.count > 1 && keys.contains(where: isOwn)
        }
        func profile(of item: SessionCatalog.Item) -> String? {
            item.key.flatMap { catalog.profile(of: $0, in: item.store) }
        }
        /// Returns whether -p names the profile of a session.
        func isNamed(_ item: SessionCatalog.Item) -> Bool {
            operand.settings.layers.isProfileNamed && operand.settings.profile == profile(of: item)
        }
        // Another profile's store may have a session with the same key.
        let found = items.filter { item in
            let key = key(of: item)
            let isHere = account.map { $0.key == key && item.store.isStore(of: $0.provider) } ?? false
            let isMeant = isOwn(catalog.requestedKey(of: item)) || isOfSeveral(item) && isNamed(item)
            return (isOwn(key) || isMeant) && !isHere
        }
        /// Returns the arguments of the command that ends a session which this one leaves; nil if this one ends it.
        func keeping(_ item: SessionCatalog.Item) -> [String]? {
            // This machine has seen one that its store hides.
            guard item.stored.hiddenKey == nil, let key = key(of: item),
                let keeper = catalog.keeper(of: key, in: item.store, at: operand.url)
            else { return nil }
            return key.arguments(operand.url.text) + ["-p", keeper]
        }
        let others = found.filter { keeping($0) == nil }
        let kept = Set(found.compactMap(keeping))
        for arguments in kept.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            results.addKept(
                Warning(
                    "a session for \(DisplayText.clean(operand.url.withoutQuery)) is in the store of profile "
                        + "\(DisplayText.clean(arguments.last ?? "")), and stays, as it may be another user's",
                    hint: .run("logout", arguments)))
        }
        for item in items where isOfSeveral(item) && !isNamed(item) {
            let line = profile(of: item).map { Hint.run("logout", [operand.url.text, "-p", $0]) }
            results.addKept(
                Warning(
                    "a session for \(DisplayText.clean(operand.url.withoutQuery)) and other resources stays",
                    hint: line ?? "log out with the options of its sign-in"))
        }
        // A provider's sessions may be in any store. A resource's is found by its link, and others are rare.
        let mayStay = mayBeProvider && (isPartOfAnother == nil || !others.isEmpty)
        let own = catalog.stores(of: operand.url)
        for outage in outages {
            let error = outage.error
            let isOfURL = outage.store.map(own.contains) ?? catalog.hasUnknownStore(of: operand.url)
            if mayStay || isOfURL {
                results.add(error, saying: isOfURL ? "; a session of the URL may stay there" : "")
            } else {
                context.console.warn(error)
            }
        }
        // A session may be left from before the URL became part of a larger resource.
        if others.isEmpty, kept.isEmpty, let isPartOfAnother { throw isPartOfAnother }
        results.namesProviders = !others.isEmpty
        let endings = others.map { catalog.signOut($0, as: key(of: $0)) }
        try end((account.map { [$0.signOut] } ?? []) + endings, results)
        try end(try catalog.leftovers(in: stores, orNote: results.add, where: isOwn), results)
        noteSeen(besides: stores.map(\.store), results, context, where: isOwn)
        if account == nil, results.isEmpty, isDamaged { throw operand.notSignedIn }
        warnOfWaiting(context) { $0.askedURL == operand.url ? operand.url.withoutQuery : nil }
        if mayBeProvider {
            // Each of these has a URL of its own, which ends it.
            let keys = items.compactMap(\.key).filter {
                $0.grant.needsUser && $0.resources.count == 1 && !isOwn($0)
                    && operand.url.isSame(exceptLastSlash: $0.provider)
            }
            warn(of: keys.map { ($0.resources.joined(), $0.account) }, context) { "for \($0)" }
            warnOfWaiting(context) { signIn in
                guard let key = SessionKey(text: signIn.key), signIn.askedURL != operand.url,
                    operand.url.isSame(exceptLastSlash: key.provider)
                else { return nil }
                return key.resources.first
            }
        }
        // One that cannot be read may be anybody's, unless somebody signed in to the URL so on this machine.
        let links = try ResourceRecords(context)?.links.links(of: operand.url) ?? []
        func linkedKey(_ item: SessionCatalog.Item) -> SessionKey? {
            item.stored.namedKey.flatMap { key in
                links.contains {
                    $0.issuer == key.provider && $0.clientID == key.clientID && $0.account == key.account
                }
                    ? key : nil
            }
        }
        try warnOfOthers(
            operand, items.compactMap { catalog.requestedKey(of: $0) ?? $0.key ?? linkedKey($0) })
        guard mayBeProvider else { return }
        for item in items where key(of: item) == nil {
            guard item.stored.namedKey.map(isOwn) ?? true, let fault = item.fault(at: operand.url) else {
                continue
            }
            var error = catalog.naming(fault, of: item)
            error.message += "; it may be one at \(DisplayText.clean(operand.url.withoutQuery)), and stays"
            if error.kind == .loginRequired { error.kind = .failed }
            // Whoever reaches a shared store can leave such a record there, and others may use the store for theirs.
            if item.store.isShared, error.kind != .unreachable || error.code == .oldRecord {
                error.hint = nil
                results.addWarning(error)
            } else {
                results.add(error)
            }
        }
    }

    /// Warns of the sign-ins that wait, for which `url` returns a URL.
    private func warnOfWaiting(_ context: CommandContext, _ url: (WaitingSignIn) -> String?) {
        for signIn in WaitingSignIns.open(context) {
            guard let url = url(signIn) else { continue }
            let account =
                SessionKey(text: signIn.key)?.account.map { " (account \(DisplayText.clean($0)))" } ?? ""
            context.console.warn(
                Warning(
                    "a sign-in to \(DisplayText.clean(url))\(account) is waiting",
                    hint: .run("login", "--cancel", signIn.id)))
        }
    }

    /// Warns of the sessions that commands for the same URL still find: those of other accounts, unless an option names
    /// the one that is meant, and that of a URL above it.
    private func warnOfOthers(_ operand: ResourceOperand, _ keys: [SessionKey]) throws(OIDCError) {
        if operand.settings.layers.entry(.account)?.origin.layer != .options {
            let others = keys.filter { key in
                guard key.grant.needsUser, let account = key.account else { return false }
                let other = operand.forAccount(account)
                let link = (try? other.linkedExactly())?.target?.link
                return !operand.isOwn(key, nil) && other.isOwn(key, link)
            }
            warn(of: others.map { (operand.url.text, $0.account) }, operand.context) { "to \($0)" }
        }
        guard let link = try operand.link(), !link.isFor(operand.url), try operand.hasSession() else {
            return
        }
        warn(of: [(link.reach, link.account)], operand.context) { "to \($0), which covers the URL" }
    }

    /// Warns of the sessions in the same store that differ from a profile's by the account, unless an option names the one
    /// that is meant, or the store is shared and may have many. The URL in their command lines works without that profile,
    /// too.
    private func warnOfOthers(_ account: Account) {
        let key = account.key
        guard key.grant.needsUser, WebURL(key.provider) != nil, account.store.reach == .machine,
            account.provider.settings.layers.entry(.account)?.origin.layer != .options,
            let keys = try? account.store.all().compactMap(\.session?.key)
        else { return }
        let others = keys.filter { other in
            var same = other
            same.account = key.account
            return same == key && other != key && other.account != nil
        }
        warn(of: others.map { ($0.provider, $0.account) }, account.provider.context) { "at \($0)" }
    }

    /// Warns of sessions that this machine has seen in other shared stores than these. A server may have several names, so
    /// one that was just ended may be meant, too.
    private func noteSeen(
        besides stores: [SessionStore], _ results: Results, _ context: CommandContext,
        where isMeant: (SessionKey) -> Bool
    ) {
        guard let path = StateDirectories(environment: context.environment).state else { return }
        let keys = SeenSessions.keys(state: path, besides: stores.map(\.description))
        let count = keys.count(where: isMeant)
        guard count > 0 else { return }
        results.addKept(
            Warning(
                "\(count == 1 ? "a session" : "\(count) sessions") that \(count == 1 ? "was" : "were") last seen in another "
                    + "shared store may still be there",
                hint: "set store as it was, and log out with that setting, too"))
    }

    /// Warns of sessions, each of which has a command line that ends it.
    private func warn(
        of sessions: [(url: String, account: String?)], _ context: CommandContext,
        _ place: (_ url: String) -> String
    ) {
        let lines = sessions.map { session in
            [session.url] + (session.account.map { ["--account", $0] } ?? [])
        }
        for line in Set(lines).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let account = line.count > 1 ? " with account \(DisplayText.clean(line[2]))" : ""
            context.console.warn(
                Warning(
                    "you are still signed in\(account) \(place(DisplayText.clean(line[0])))",
                    hint: .run("logout", line)))
        }
    }

    private func end(_ sessions: [SignOut], _ results: Results) throws(OIDCError) {
        let options = SignOut.Options(isLocal: isLocal, endsProviderSession: endsProviderSession)
        var begun: [SignOut.Revocation] = []
        var interruption: OIDCError?
        func finishFirst() {
            let next = begun.removeFirst()
            do { results.add(try next.finish(options)) } catch {
                if error.kind == .interrupted { interruption = error } else { results.add(error) }
            }
        }
        for session in sessions where interruption == nil {
            do throws(OIDCError) {
                if let key = session.key?.text {
                    try WaitingSignIns.cancel(session.provider.context) { $0.key == key }
                }
                begun.append(try session.begin(options, isOneOfSeveral: sessions.count > 1))
            } catch {
                if error.kind == .interrupted { interruption = error } else { results.add(error) }
            }
            if begun.count == LogoutCommand.revocationLimit { finishFirst() }
        }
        while !begun.isEmpty { finishFirst() }
        if interruption == nil, let signal = Interruption.pending {
            interruption = Interruption.error(signal: signal)
        }
        if let interruption { throw results.interrupted(interruption) }
    }

    /// The number of sessions whose tokens are revoked at once.
    private static let revocationLimit = 16

    /// The results of a logout. The worst failure becomes the error of the command; the others are warnings before it.
    private final class Results {
        private let console: Console
        /// Whether the error of an outcome names its provider, as it must if there are several.
        var namesProviders = false
        private var documents: [JSONValue] = []
        /// The result for a session that did not exist.
        private var none: JSONValue?
        private var failure: OIDCError?
        /// The messages of the failures of stores. One that is away is asked for several lists.
        private var storeFailures: Set<String> = []
        private var warnings = 0
        private var hasKept = false

        init(_ console: Console) { self.console = console }

        var hasFailed: Bool { failure != nil }

        /// Whether no session was ended, and nothing failed.
        var isEmpty: Bool { documents.isEmpty && failure == nil }

        /// Returns the error of an interruption, which ends the command. The worst failure becomes a warning.
        func interrupted(_ error: OIDCError) -> OIDCError {
            if let failure { console.warn(failure) }
            return error
        }

        func add(_ outcome: SignOut.Outcome) {
            guard outcome.hadSession else { return none = none ?? outcome.json }
            documents.append(outcome.json)
            guard var failure = outcome.failure else { return }
            if namesProviders, let key = outcome.key {
                failure.message = "\(DisplayText.clean(key.provider)): \(failure.message)"
            }
            add(failure)
        }

        /// Adds a failure, with `addition` after its message.
        func add(_ failure: OIDCError, saying addition: String) {
            guard failure.stage != .store || storeFailures.insert(failure.message).inserted else { return }
            var other = failure
            other.message += addition
            guard let held = self.failure else { return self.failure = other }
            let isWorse = Diagnostics.exitCode(other) > Diagnostics.exitCode(held)
            addWarning(isWorse ? held : other)
            if isWorse { self.failure = other }
        }

        func add(_ failure: OIDCError) { add(failure, saying: "") }

        /// Adds a session that this command leaves.
        func addKept(_ warning: Warning) {
            hasKept = true
            console.warn(warning)
        }

        /// Adds a failure that is not the error of the command.
        func addWarning(_ other: OIDCError) {
            if other.stage == .store { warnings += 1 }
            if other.stage != .store || warnings <= Results.warningLimit { console.warn(other) }
        }

        /// The number of a store's failures that are shown. A shared one may have any number of records that nobody can read.
        private static let warningLimit = 10

        /// Prints the results as one document: an array, or the first with the others in it. Throws the worst failure.
        func report(asList isList: Bool) throws(OIDCError) {
            if isEmpty {
                console.note(warnings == 0 && !hasKept ? "there was no session" : "no session was ended")
            }
            if warnings > Results.warningLimit {
                console.warn("\(warnings - Results.warningLimit) more stored sessions cannot be read")
            }
            if console.isJSON {
                let first = documents.first ?? (isEmpty ? none ?? SignOut.Outcome().json : nil)
                if isList {
                    try console.output(.array(documents))
                } else if var document = first?.object {
                    if documents.count > 1 { document["others"] = .array(Array(documents.dropFirst())) }
                    try console.output(.object(document))
                }
            }
            if let failure { throw failure }
        }
    }
}
