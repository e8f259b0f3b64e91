import CommandLineKit
import OIDCCore
import Posix

/// The console, environment and settings of a command, besides its own options.
struct CommandContext: Sendable {
    let console: Console
    let environment: Variables
    let common: CommonOptions
    /// Whether stdin and the screen belong to this program, not to a command that runs beside it.
    var ownsTerminal = true
    /// Whether a browser may be started: not beside an isolated command, which may have set up what a browser runs.
    var mayOpenBrowser = true
    /// Whether this process executes another program once it has a token.
    var executesAnother = false
    /// Whether a sign-in that no profile describes is saved as one.
    var keepsProfile = true
    /// The options of `login` that name no session, for a hint that repeats the command.
    var loginOptions: [String] = []
    /// Whether a named configuration file need not exist yet, as the sign-in creates it.
    var makesConfiguration = false
    /// Whether the named profile does not exist yet, as the sign-in creates it.
    var makesProfile = false
    /// The start of the command. A failure that another process reports later also applies to this one.
    var startedAt = MonotonicTime.now()
    /// Called before a request that a stored session or a grant without a user makes to a token endpoint.
    var onTokenRequest: (@Sendable () -> Void)?

    var now: Instant { Clock.now() }

    /// Returns the context of a command that leaves no profile behind if an option says so.
    func keepingProfile(_ keepsProfile: Bool) -> CommandContext {
        var context = self
        context.keepsProfile = keepsProfile
        return context
    }

    /// Returns the context of the same command for a profile.
    func using(profile: String) -> CommandContext {
        var common = common
        common.profile = profile
        var context = CommandContext(console: console, environment: environment, common: common)
        context.ownsTerminal = ownsTerminal
        context.mayOpenBrowser = mayOpenBrowser
        context.keepsProfile = keepsProfile
        context.loginOptions = loginOptions
        context.makesConfiguration = makesConfiguration
        context.startedAt = startedAt
        context.onTokenRequest = onTokenRequest
        return context
    }

    /// The context for one use of a session by a long-running process, to which earlier failures do not
    /// apply.
    var restarted: CommandContext {
        var context = self
        context.startedAt = .now()
        return context
    }

    var settingsLoader: SettingsLoader {
        var loader = SettingsLoader(environment: environment, common: common)
        loader.mayBeMissing = makesConfiguration
        loader.isProfileNew = makesProfile
        loader.command = console.command
        return loader
    }

    func settings(profile: String?, _ entries: [SettingLayers.Entry]) -> Settings {
        Settings(SettingLayers(profile: profile, home: environment["HOME"], entries: entries))
    }

    func settings(
        _ options: ProviderOptions, and more: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> Settings {
        let given = more + (try options.entries())
        try SettingsLoader.checkRepeated(given)
        let settings = try settingsLoader.load(given)
        if console.isVerbose { trace(settings) }
        return settings
    }

    /// Logs the configuration file and the profile in use.
    func traceConfiguration() {
        guard console.isVerbose else { return }
        let file = try? settingsLoader.file()
        traceConfiguration((try? file?.profile(named: settingsLoader.profileName))?.name)
    }

    func traceConfiguration(_ profile: String?) {
        let file = settingsLoader.path ?? "none (neither HOME nor XDG_CONFIG_HOME is set)"
        console.trace("configuration: \(file), \(profile.map { "profile \($0)" } ?? "no profile in use")")
    }

    /// Returns the path of a file that an option names. Expands `~/`, which shells do not expand after an
    /// equals sign.
    func path(_ path: String) -> String { SettingFile.path(path, home: environment["HOME"]) }

    /// Logs the configuration file, the profile, and the settings of options and variables.
    private func trace(_ settings: Settings) {
        traceConfiguration(settings.profile)
        let given = settings.layers.entries.filter { $0.origin.layer != .profile }
        if !given.isEmpty {
            let names = given.map { "\($0.setting.name) (\($0.origin.text))" }
            console.trace("options and variables: \(names.joined(separator: ", "))")
        }
        guard !settings.layers.withheld.isEmpty else { return }
        let names = settings.layers.withheld.map { "\($0.setting.name) (\($0.origin.text))" }
        console.trace(
            "not used, because they belong to another provider or client: \(names.joined(separator: ", "))")
    }

    /// Returns the provider of the options, variables and profile.
    func provider(
        _ options: ProviderOptions, and more: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> ProviderContext {
        ProviderContext(try settings(options, and: more), self)
    }
}

extension UsageError {
    /// Refuses `--no-profile` for a command that does not sign in.
    static func refuseWithoutLogin(_ isWithoutProfile: Bool, _ mayLogIn: Bool) throws(UsageError) {
        if isWithoutProfile, !mayLogIn { throw UsageError("--no-profile requires --login") }
    }
}

/// A command that can be run and returns an exit code.
protocol RunnableCommand: Command {
    var common: CommonOptions { get }
    /// The options of the provider, if the command takes them.
    var options: ProviderOptions { get }
    /// Whether the command can print JSON; if not, `-o json` is refused.
    var hasJSONForm: Bool { get }
    func run(_ context: CommandContext) throws(OIDCError) -> Int32
}

extension RunnableCommand {
    var hasJSONForm: Bool { true }
    var options: ProviderOptions { ProviderOptions() }
}
