import CommandLineKit
import OIDCCore

struct ConfigRenameCommand: RunnableCommand {
    static let name = "rename"
    static let summary = "Rename a profile"
    static let declaration = Declaration<ConfigRenameCommand>(
        discussion: """
            Renames a profile in the configuration file. Its session stays, because sessions do not depend on the \
            profile's name. Programs that were set up with the old name need the new one.
            """,
        examples: [
            Example("oidc config rename default work", "the profile default is named work"),
            Example("oidc config list", "the profiles and their names"),
        ],
        operands: [
            .required(\.profile, "NAME", "the profile", completion: .dynamic("profiles")),
            .required(\.newName, "NEW-NAME", "its new name"),
        ],
        options: [.group(\.common)])

    var profile = ""
    var newName = ""
    var common = CommonOptions()

    func validate() throws(UsageError) {
        try common.refuseOther(profile)
        if newName.isEmpty { throw UsageError("a profile needs a name") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        context.traceConfiguration()
        let file = try ProfilesFile(context.settingsLoader)
        if let remaining = try file.rename(profile, to: newName).remaining {
            context.console.warn(remaining)
        }
        ResourceRecords(context)?.rename(profile: profile, to: newName)
        context.console.note(
            "Renamed profile \(DisplayText.clean(profile)) to \(DisplayText.clean(newName)).")
        context.warnOfProfileVariable(unless: newName)
        if context.console.isJSON {
            try context.console.output([
                "path": .string(file.path), "profile": .string(newName), "previous": .string(profile),
            ])
        }
        return 0
    }
}
