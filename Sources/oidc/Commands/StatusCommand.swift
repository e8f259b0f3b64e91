import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

struct StatusCommand: RunnableCommand {
    static let name = "status"
    static let summary = "Show who is signed in, and for how long"
    static let declaration = Declaration<StatusCommand>(
        discussion: """
            Never uses the network. Without a provider in the settings, it lists every session.
            """,
        examples: [
            Example("oidc status", "the session of the default profile"),
            Example("oidc status https://mcp.example.com/mcp", "the session of a resource"),
            Example("oidc status --all -o json", "every session, as JSON"),
        ],
        exitCodes: [
            ExitCode("0", "a token is available without signing in again"), ExitCode("3", "sign in first"),
        ],
        operands: [.optional(\.url, "URL", "the resource of the session")],
        options: [
            .flag(\.isAll, "--all", "every session, also those of other profiles"), .group(\.options),
            .group(\.common),
        ])

    var url: String?
    var isAll = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if isAll, url != nil { throw UsageError("--all and a URL cannot be used together") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        if let url {
            let operand = try ResourceOperand(
                try ResourceOperand.url(url, command: "status", context), options, context)
            let settings = ProviderContext(operand.settings, context)
            if settings.lent != nil {
                try settings.checkLent(operand.url, isResource: true)
                return try showLent(settings, context)
            }
            let kept = try operand.inProfile()
            guard let provider = try kept.linked() else { return try showNone(kept, context) }
            return try showOne(provider, context)
        }
        let provider = try context.provider(options)
        if provider.lent != nil { return try showLent(provider, context) }
        if !isAll, let server = try context.resourceServer(of: provider) {
            return try showOne(server, context)
        }
        guard !isAll else { return try show(try known(provider, context), provider, context) }
        if !provider.namesProvider {
            let sessions = try known(provider, context)
            if !sessions.isEmpty { return try show(sessions, provider, context) }
            // A profile may have only the settings for sign-ins to a URL.
            let hasProfiles = try context.settingsLoader.file()?.profiles.isEmpty == false
            if !hasProfiles || provider.settings.client.metadataURL != nil {
                throw OIDCError(
                    .loginRequired,
                    "nobody is signed in, and no provider is set (a resource needs none: oidc login URL)",
                    hint: WaitingSignIns.only(context)?.line(at: context.now)
                        ?? .run(hasProfiles ? "login URL" : "login"), stage: .token)
            }
        }
        return try showOne(provider, context)
    }

    /// Shows what is lent: the profile in use, or all of them.
    private func showLent(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        guard let lent = provider.lent else { return 0 }
        // One deadline for all, as a lender may name many.
        let deadline = MonotonicTime.now().adding(seconds: 30)
        let first = try lent.terms(until: deadline)
        var all = [(provider, first)]
        if isAll {
            let loader = context.settingsLoader
            let given = try loader.givenHere(try options.entries())
            for name in first.profiles where name != first.profile {
                let other = LentSession(
                    path: lent.path, profile: name, naming: provider.settings.layers.given,
                    environment: context.environment, command: context.console.command)
                let terms = try other.terms(until: deadline)
                let settings = try loader.lentSettings(terms, at: lent.path, given)
                all.append((ProviderContext(settings, context), terms))
            }
        }
        let reports = try all.map { provider, terms throws(OIDCError) in
            SessionReport(
                session: terms.session(try provider.sessionKey(), at: context.now), profile: terms.profile,
                location: terms.location, now: context.now, lent: terms)
        }
        if context.console.isJSON {
            try context.console.output(isAll ? .array(reports.map(\.json)) : reports[0].json)
        } else {
            try context.console.report(reports.map { Table.text($0.lines) }.joined(separator: "\n\n"))
        }
        guard !reports.contains(where: \.isUsable) else { return 0 }
        throw OIDCError(
            .loginRequired,
            "the session that is lent by \(first.lender) has no token without signing in there",
            hint: "sign in where it is lent", stage: .token)
    }

    private func showOne(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let account = try Account(provider)
        guard let session = try account.load() else {
            if let earlier = account.earlier { context.console.warn(earlier.leftoverWarning) }
            guard !account.key.grant.needsUser else { throw account.noSession }
            return try showNone(account, context)
        }
        let report = SessionReport(
            session: session, profile: provider.settings.profile,
            location: account.store.location(of: account.key), now: context.now,
            isFound: context.isFound(account.key))
        let waiting = WaitingSignIns.open(account.key, context)
        let kept = provider.settings.securityProfile
        if context.console.isJSON {
            var object = report.json.object ?? JSONObject()
            object["security_profile"] = kept == .none ? nil : .string(kept.rawValue)
            object["waiting"] = waiting?.document(in: context)
            try context.console.output(.object(object))
        } else {
            let others = provider.target == nil ? resourceLines(provider, context) : []
            let rule = kept == .none ? [] : [("security profile", kept.rawValue)]
            try context.console.report(Table.text(report.lines + rule + others))
            if let waiting { try context.console.output(waiting.line(at: context.now).commandLine) }
        }
        if let warning = report.refreshWarning(context.console.line) { context.console.warn(warning) }
        try account.checkAvailable(session)
        return 0
    }

    /// Returns a row for each resource with a session.
    private func resourceLines(_ provider: ProviderContext, _ context: CommandContext) -> [(String, String)] {
        guard let links = try? ResourceRecords(context)?.links.all() else { return [] }
        return links.compactMap { link in
            guard let url = WebURL(link.reach),
                let own = try? ResourceOperand(url, provider.settings, context).provider(link),
                let account = try? Account(own), let session = try? account.load()
            else { return nil }
            let report = SessionReport(session: session, profile: nil, location: "", now: context.now)
            let suffix = link.account.map { " (account \($0))" } ?? ""
            return ("signed in to", DisplayText.clean("\(link.reach)\(suffix), \(report.validity)"))
        }
    }

    /// Reports that no token is stored, and that the grant gets one on demand, without a user.
    private func showNone(_ account: Account, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let key = account.key
        try SubjectToken(account.provider).checkOrigin()
        if context.console.isJSON {
            try context.console.output(
                SessionReport.json(
                    key, profile: account.provider.settings.profile,
                    location: account.store.location(of: key)))
        } else {
            let provider = DisplayText.clean(key.provider, limit: 120)
            let line = context.console.line.text(account.provider.settings.line("token"))
            try context.console.report(
                "No token from \(provider) is stored; \(line) requests one with \(key.grant.rawValue), "
                    + "without a user")
        }
        return 0
    }

    /// Reports that no token is stored for a URL, and that the grant gets one on demand. Throws if the
    /// settings do not allow a grant without a user.
    private func showNone(
        _ operand: ResourceOperand, _ context: CommandContext
    ) throws(OIDCError) -> Int32 {
        guard operand.mayNeedNoUser else { throw operand.notSignedIn }
        let settings = operand.settings
        let issuer = operand.ownership.issuers.first
        let (grant, url) = (settings.token.grant, operand.url.withoutQuery)
        if grant == .idJAG {
            let target = ResourceTarget(
                operand: operand, link: ResourceLink(resource: url, issuer: "", clientID: ""))
            _ = try OwnProvider(ProviderContext(settings, context, target: target)).identity()
        } else if issuer == nil,
            let secret = settings.layers.entries.first(where: {
                Setting.presented(by: grant).contains($0.setting)
            })
        {
            throw .usage(
                "\(secret.setting.name) is sent only to a server that the settings name, and issuer is not set",
                hint: "set issuer to that of the server of \(ShellWord.quoted(url))")
        }
        if context.console.isJSON {
            var key = SessionKey(
                provider: issuer ?? "", clientID: settings.client.id ?? "", grant: grant,
                account: settings.token.account)
            key.resources = [url]
            let store = try ProviderContext(settings, context).store()
            try context.console.output(
                SessionReport.json(key, profile: settings.profile, location: store.location(of: key)))
        } else {
            let condition = grant == .idJAG ? nil : issuer
            let line = context.console.line.text(.run("token", operand.url.text))
            try context.console.report(
                "No token for \(DisplayText.clean(url)) is stored; \(line) requests one with \(grant.rawValue), "
                    + "without a user"
                    + (condition.map { ", if it takes tokens from \(DisplayText.clean($0, limit: 120))" }
                        ?? "")
            )
        }
        return 0
    }

    private func known(
        _ provider: ProviderContext, _ context: CommandContext
    ) throws(OIDCError) -> [SessionReport] {
        let catalog = try SessionCatalog(provider)
        var reports: [SessionReport] = []
        var failures: [OIDCError] = []
        let note: SessionCatalog.Note = { error, _ in failures.append(error) }
        for item in try catalog.items(in: try catalog.storesWithEarlier(orNote: note), orNote: note) {
            switch item.stored.content {
            case .success(let session):
                reports.append(
                    SessionReport(
                        session: session, profile: catalog.profile(of: session.key, in: item.store),
                        location: item.stored.location, now: context.now,
                        isFound: context.isFound(session.key)))
            case .failure(let error): failures.append(catalog.naming(error, of: item))
            }
        }
        // A session that cannot be read may be usable, so this is not reported as "nobody is signed in".
        if reports.isEmpty, let first = failures.first { throw first }
        for failure in failures.prefix(10) { context.console.warn(failure) }
        if failures.count > 10 { context.console.warn("\(failures.count - 10) more cannot be read") }
        return reports
    }

    private func show(
        _ reports: [SessionReport], _ provider: ProviderContext, _ context: CommandContext
    ) throws(OIDCError) -> Int32 {
        if context.console.isJSON {
            try context.console.output(.array(reports.map(\.json)))
        } else if !reports.isEmpty {
            try context.console.report(reports.map { Table.text($0.lines) }.joined(separator: "\n\n"))
        }
        guard !reports.contains(where: \.isUsable) else { return 0 }
        throw OIDCError(
            .loginRequired,
            reports.isEmpty ? "nobody is signed in" : "no session has a token without signing in again",
            hint: provider.namesProvider
                ? provider.settings.loginLine : reports.first?.loginLine ?? provider.setUpLine, stage: .token)
    }
}
