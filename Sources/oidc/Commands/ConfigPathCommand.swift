import CommandLineKit
import OIDCCore
import Posix

struct ConfigPathCommand: RunnableCommand {
    static let name = "path"
    static let summary = "Print where the configuration file is"
    static let declaration = Declaration<ConfigPathCommand>(
        examples: [
            Example("oidc config path", "the file, whether or not it exists"),
            Example("$EDITOR \"$(oidc config path)\"", "edit it"),
        ],
        options: [.group(\.common)])

    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let path = try context.settingsLoader.requiredPath()
        context.traceConfiguration()
        guard !context.console.isJSON else {
            try context.console.output(["path": .string(path), "exists": .bool(UserFile.isThere(path))])
            return 0
        }
        try context.console.output(path)
        return 0
    }
}
