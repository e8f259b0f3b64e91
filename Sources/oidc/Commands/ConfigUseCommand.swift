import CommandLineKit
import OIDCCore

struct ConfigUseCommand: RunnableCommand {
    static let name = "use"
    static let summary = "Choose the default profile"
    static let declaration = Declaration<ConfigUseCommand>(
        discussion: """
            Sets `default_profile` in the configuration file: the profile of commands without -p. `oidc switch` does \
            the same, and also lists the profiles.
            """,
        examples: [
            Example("oidc config use work", "work is the default from now on"),
            Example("oidc config list", "the profiles to choose from"),
        ],
        operands: [.required(\.profile, "NAME", "the profile", completion: .dynamic("profiles"))],
        options: [.group(\.common)])

    var profile = ""
    var common = CommonOptions()

    func validate() throws(UsageError) { try common.refuseOther(profile) }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let change = try DefaultProfile.change(to: profile, context)
        if context.console.isJSON {
            try context.console.output([
                "path": .string(try context.settingsLoader.requiredPath()),
                "default_profile": .string(change.profile), "previous": JSONValue(change.previous),
            ])
        }
        return 0
    }
}
