import CommandLineKit
import OIDCCore
import OIDCSystem

struct StatusCommand: RunnableCommand {
    static let name = "status"
    static let summary = "Show who is signed in, and for how long"
    static let declaration = Declaration<StatusCommand>(
        discussion: "Never uses the network.",
        examples: [
            Example("oidc status", "the session of the default profile"),
            Example("oidc status --all -o json", "every session, as JSON"),
        ],
        exitCodes: [
            ExitCode("0", "a token is available without signing in again"), ExitCode("3", "sign in first"),
        ],
        options: [
            .flag(\.isAll, "--all", "every session, also those of other profiles"), .group(\.options),
            .group(\.common),
        ])

    var isAll = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try context.provider(options)
        return isAll ? try showAll(provider, context) : try showOne(provider, context)
    }

    private func showOne(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let access = try SessionAccess(provider)
        guard let session = try access.load() else {
            if let earlier = EarlierSession(provider, access.key) { context.console.warn(earlier.warning) }
            guard !access.key.grant.needsUser else { throw access.noSession }
            return try showNone(access, context)
        }
        let report = SessionReport(
            session: session, profile: provider.settings.profile,
            location: access.store.location(of: access.key), now: context.now)
        if context.console.isJSON {
            try context.console.output(report.json)
        } else {
            try context.console.output(Table.text(report.lines))
        }
        guard !report.isUsable else { return 0 }
        throw OIDCError(
            .loginRequired, "the token has expired and cannot be refreshed", hint: access.noSession.hint,
            stage: .token)
    }

    /// Reports a grant without a user, which gets a token on demand.
    private func showNone(_ access: SessionAccess, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let key = access.key
        if context.console.isJSON {
            try context.console.output(
                SessionReport.json(
                    key, profile: access.provider.settings.profile, location: access.store.location(of: key)))
        } else {
            let provider = DisplayText.clean(key.provider, limit: 120)
            try context.console.output(
                "No token of \(provider) is stored; oidc token requests one by \(key.grant.rawValue), "
                    + "without a user")
        }
        return 0
    }

    private func showAll(_ provider: ProviderContext, _ context: CommandContext) throws(OIDCError) -> Int32 {
        let known = try KnownProviders(provider)
        var reports: [SessionReport] = []
        var stored: [StoredSession] = []
        for store in try known.stores() { stored += try store.all() }
        for entry in stored {
            switch entry.content {
            case .success(let session):
                reports.append(
                    SessionReport(
                        session: session, profile: known.provider(of: session.key).settings.profile,
                        location: entry.location, now: context.now))
            case .failure(let error): context.console.warn(error.message)
            }
        }
        if context.console.isJSON {
            try context.console.output(.array(reports.map(\.json)))
        } else if reports.isEmpty {
            context.console.note("no sessions")
        } else {
            try context.console.output(reports.map { Table.text($0.lines) }.joined(separator: "\n\n"))
        }
        return reports.contains(where: \.isUsable) ? 0 : 3
    }
}
