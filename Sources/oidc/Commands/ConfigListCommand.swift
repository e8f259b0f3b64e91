import CommandLineKit
import OIDCCore
import Posix

struct ConfigListCommand: RunnableCommand {
    static let name = "list"
    static let summary = "List the profiles, and who is signed in"
    static let declaration = Declaration<ConfigListCommand>(
        discussion: """
            Lists the profiles of the configuration file. `*` marks the profile that is used without -p. Two \
            profiles with the same issuer, client and account share one session, and are listed as such. Never uses \
            the network.
            """,
        examples: [
            Example("oidc config list", "every profile"),
            Example("oidc config list -o json | jq -r '.[].profile'", "their names"),
        ],
        options: [.group(\.common)])

    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let loader = context.settingsLoader
        context.traceConfiguration()
        let file = try loader.file()
        if let name = common.profile { _ = try file?.profile(named: name) }
        let sessions = ProfileSessions(file, context)
        let listed = sessions.profiles.filter { common.profile == nil || $0.name == common.profile }
        if context.console.isJSON {
            try context.console.output(.array(listed.map { Self.json($0, sessions) }))
            return 0
        }
        guard !listed.isEmpty else {
            context.console.note(
                "no profiles in \(DisplayText.clean(try loader.requiredPath())); write one with: "
                    + context.common.completing(.run("config init")))
            return 0
        }
        let rows = listed.map { Self.row($0, sessions) }
        try context.console.report(
            Table.text(
                ["", "PROFILE", "PROVIDER", "CLIENT", "SIGNED IN"], rows,
                width: Terminal.width(.standardOutput)))
        if common.profile == nil, let name = loader.profileName {
            context.console.note("OIDC_PROFILE is set: commands without -p use \(DisplayText.clean(name))")
        }
        return 0
    }

    private static func row(_ profile: ProfileSessions.Profile, _ sessions: ProfileSessions) -> [String] {
        let settings = profile.settings
        return [
            profile.isDefault ? "*" : "", profile.name,
            profile.providerName, settings?.client.id ?? "-", sessions.state(profile),
        ].map { DisplayText.clean($0, limit: 200) }
    }

    private static func json(_ profile: ProfileSessions.Profile, _ sessions: ProfileSessions) -> JSONValue {
        let settings = profile.settings
        let (report, failure): (SessionReport?, OIDCError?) =
            switch sessions.report(profile) {
            case .failure(let error): (nil, error)
            case .success(let report): (report, profile.problem)
            }
        return [
            "profile": .string(profile.name), "default": .bool(profile.isDefault),
            "issuer": JSONValue(settings?.provider.issuer), "client_id": JSONValue(settings?.client.id),
            "account": JSONValue(settings?.token.account),
            "signed_in": .bool(report?.isUsable ?? false),
            "subject": JSONValue(report?.session.subject), "name": JSONValue(report?.session.displayName),
            "shares_session_with": .array(sessions.sharing(with: profile).map { .string($0) }),
            "problem": JSONValue(failure?.message),
        ]
    }
}
