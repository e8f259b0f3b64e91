import CommandLineKit
import OIDCCore
import OIDCSystem

/// What a command is given besides its own options: where to write, the environment, and the settings.
struct CommandContext: Sendable {
    let console: Console
    let environment: [String: String]
    let common: CommonOptions
    let startedAt = MonotonicTime.now()

    var now: Instant { Clock.now() }

    var settingsLoader: SettingsLoader {
        SettingsLoader(environment: environment, common: common)
    }

    func settings(_ options: ProviderOptions, and more: [Settings.Entry] = []) throws(OIDCError) -> Settings {
        let settings = try settingsLoader.load(more + (try options.entries()))
        if console.isVerbose, !settings.withheld.isEmpty {
            let names = settings.withheld.map { "\($0.setting.name) (\($0.origin.text))" }
            console.trace("not used, as of another provider or client: \(names.joined(separator: ", "))")
        }
        return settings
    }
}

/// A command that can be run; its result is the exit code.
protocol RunnableCommand: Command {
    var common: CommonOptions { get }
    func run(_ context: CommandContext) throws(OIDCError) -> Int32
}
