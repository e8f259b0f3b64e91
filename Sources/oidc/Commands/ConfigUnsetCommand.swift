import CommandLineKit
import OIDCCore

struct ConfigUnsetCommand: RunnableCommand {
    static let name = "unset"
    static let summary = "Remove settings from a profile"
    static let declaration = Declaration<ConfigUnsetCommand>(
        discussion: """
            Removes settings from the profile that -p names, or the default one, and keeps the rest of the file as it \
            is. Also removes a misspelled setting, which every other command refuses.
            """,
        examples: [
            Example("oidc config unset flow", "the default flow again"),
            Example("oidc config unset -p work audience resource", "settings of another profile"),
        ],
        operands: [
            .rest(
                \.keys, "KEY", atLeast: 1, "the setting to remove", completion: .dynamic("set-settings"))
        ],
        options: [.group(\.common)])

    var keys: [String] = []
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let file = try ProfilesFile(context.settingsLoader)
        var names: [String] = []
        for key in keys where !names.contains(key) { names.append(key) }
        let before = ConfigSetCommand.sharedStores(context)
        let outcome = try file.unset(names)
        try ConfigSetCommand.report("Unset", names, outcome, file, context)
        ConfigSetCommand.noteStore(before[outcome.profile], of: outcome.profile, context)
        return 0
    }
}
