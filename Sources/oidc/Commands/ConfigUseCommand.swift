import CommandLineKit
import OIDCCore
import OIDCSystem

struct ConfigUseCommand: RunnableCommand {
    static let name = "use"
    static let summary = "Choose the default profile"
    static let declaration = Declaration<ConfigUseCommand>(
        discussion: "Sets `default_profile` in the configuration file: the profile of commands without -p.",
        examples: [
            Example("oidc config use work", "work is the default from now on"),
            Example("oidc config list", "the profiles to choose from"),
        ],
        operands: [.required(\.profile, "NAME", "the profile", completion: .dynamic("profiles"))],
        options: [.group(\.common)])

    var profile = ""
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if let other = common.profile, other != profile {
            throw UsageError("the profile is named twice: \(UsageError.quoted(profile)) and -p")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let editor = try ProfileEditor(context.settingsLoader)
        if let remaining = try editor.use(profile).remaining { context.console.warn(remaining.commandLine) }
        context.console.note("The default profile is \(DisplayText.clean(profile)).")
        if let name = context.environment["OIDC_PROFILE"], !name.isEmpty, name != profile {
            context.console.warn(
                "OIDC_PROFILE is set to \(DisplayText.quoted(name)), which overrides the default profile")
        }
        if context.console.isJSON {
            try context.console.output(["path": .string(editor.path), "default_profile": .string(profile)])
        }
        return 0
    }
}
