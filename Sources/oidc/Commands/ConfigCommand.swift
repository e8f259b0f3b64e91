import CommandLineKit

struct ConfigCommand: Command {
    static let name = "config"
    static let summary = "Show, check or write the settings"
    static let subcommands: [any Command.Type] = [
        ConfigShowCommand.self, ConfigPathCommand.self, ConfigInitCommand.self, ConfigCheckCommand.self,
    ]
}
