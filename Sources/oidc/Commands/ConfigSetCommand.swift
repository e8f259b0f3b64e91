import CommandLineKit
import OIDCCore
import OIDCShared

struct ConfigSetCommand: RunnableCommand {
    static let name = "set"
    static let summary = "Set settings of a profile"
    static let declaration = Declaration<ConfigSetCommand>(
        discussion: """
            Writes settings into the profile that -p names, or the default one, and keeps the rest of the file as it \
            is. A value that `oidc config check` would refuse is not written. Arrays and objects are written as JSON. \
            Secrets are not taken from the command line: use client_secret_file or client_secret_command.
            """,
        examples: [
            Example("oidc config set scope='openid email' flow=device", "settings of the default profile"),
            Example("oidc config set -p work account=bob", "a setting of another profile"),
        ],
        operands: [
            .rest(
                \.assignments, "KEY=VALUE", atLeast: 1, "a setting and its value",
                completion: .dynamic("settings"))
        ],
        options: [.group(\.common)])

    var assignments: [String] = []
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var entries: [SettingLayers.Entry] = []
        for assignment in assignments {
            entries.append(try SettingsLoader.assignment(assignment, of: "config set"))
        }
        try SettingsLoader.checkRepeated(entries)
        context.traceConfiguration()
        let file = try ProfilesFile(context.settingsLoader)
        let before = ConfigSetCommand.sharedStores(context)
        let sharing = ProfileSessions.sharing(with: context.settingsLoader.profileName, context)
        let outcome = try file.set(entries)
        try ConfigSetCommand.report("Set", entries.map(\.setting.name), outcome, file, context)
        ProfileSessions.noteSharing(of: outcome.profile, before: sharing, context)
        ConfigSetCommand.noteStore(before[outcome.profile], of: outcome.profile, context)
        return 0
    }

    /// Says that a profile's session stays in the shared store that it named before, if it names another one now.
    static func noteStore(_ before: String?, of profile: String, _ context: CommandContext) {
        guard let before, sharedStores(context)[profile] != before else { return }
        let line = context.common.completing(.run("logout"))
        context.console.note(
            "the session on \(before) stays there: to end it, set store back and run \(line)")
    }

    /// Returns the server of each profile with a shared store.
    static func sharedStores(_ context: CommandContext) -> [String: String] {
        var servers: [String: String] = [:]
        for case .success((let profile, let own)) in (try? context.settingsLoader.profiles()) ?? [] {
            guard let setting = own.first(where: { $0.setting == .store })?.value.string,
                case .shared(let url)? = try? SessionStoreChoice(setting: setting)
            else { continue }
            servers[profile] = url.server
        }
        return servers
    }

    /// Reports the settings that were set or unset.
    static func report(
        _ verb: String, _ names: [String], _ outcome: ProfilesFile.Outcome, _ file: ProfilesFile,
        _ context: CommandContext
    ) throws(OIDCError) {
        if let remaining = outcome.remaining { context.console.warn(remaining) }
        context.console.note(
            "\(verb) \(DisplayText.clean(names.joined(separator: ", "))) in profile "
                + "\(DisplayText.clean(outcome.profile)) of \(DisplayText.clean(file.path)).")
        guard context.console.isJSON else { return }
        try context.console.output([
            "path": .string(file.path), "profile": .string(outcome.profile),
            ASCII.lowercased(verb): .array(names.map { .string($0) }),
        ])
    }
}
