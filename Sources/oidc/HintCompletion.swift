import CommandLineKit
import OIDCCore
import OIDCSystem

/// What the commands of a hint need to be about the same profile, file and provider as the command line.
struct HintCompletion: Sendable {
    var common = CommonOptions()
    /// The names of the settings that options and variables set.
    private var given: Set<String> = []
    private var environment: Variables = [:]

    init(_ common: CommonOptions) { self.common = common }

    init(_ common: CommonOptions, words: [String], environment: Variables) {
        self.common = common
        self.environment = environment
        let options = (try? ProviderOptions.lenient(words).entries())?.map(\.setting) ?? []
        let variables = environment.names(startingWith: "OIDC_")
            .filter { environment[$0] != "" }.compactMap(Setting.ofVariable)
        given = Set((options + variables).map(\.name))
    }

    /// Whether options or variables name the provider or the client; a setting that is missing is then not the
    /// profile's, and there may be no profile.
    private var isProviderGiven: Bool {
        [Setting.issuer, .clientID, .tokenEndpoint].contains { given.contains($0.name) }
    }

    /// Whether the file has profiles and none of them is in use, so a change of one fails.
    private var isWithoutProfile: Bool {
        let loader = SettingsLoader(environment: environment, common: common)
        guard let file = try? loader.file(), !file.profiles.isEmpty else { return false }
        return (try? file.profile(named: loader.profileName)).flatMap { $0 } == nil
    }

    private static let fileCommands = [
        "oidc login", "oidc token", "oidc authorize-url", "oidc config init", "oidc config check",
        "oidc config use",
    ]
    private static let change = "oidc config set"
    private static let logout = "oidc logout"

    /// Returns the hint with `--config` and `-p` in its commands, and with `--set` for a change of a profile that is not
    /// in use, or of a setting that an option or a variable overrides. An option alone is no command, so it becomes a
    /// sentence.
    func completed(_ hint: String) -> String {
        let hint = commandCompleted(hint)
        return hint.hasPrefix("-") ? "give \(hint)" : hint
    }

    private func commandCompleted(_ hint: String) -> String {
        let file = common.config.map { " --config \(ShellWord.quoted($0))" } ?? ""
        var completed = hint
        if !hint.includes("--config") {
            for command in HintCompletion.fileCommands {
                completed = HintCompletion.inserting(file, after: command, in: completed)
            }
        }
        let profile = common.profile.map { " -p \(ShellWord.quoted($0))" } ?? ""
        if !isProviderGiven {
            completed = HintCompletion.inserting(profile + file, after: HintCompletion.logout, in: completed)
        }
        let pieces = completed.pieces(between: HintCompletion.change)
        guard pieces.count > 1 else { return completed }
        let isForNone = isProviderGiven || isWithoutProfile
        return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
            if rest.hasPrefix(" -p ") { return text + HintCompletion.change + rest }
            let name = rest.drop { $0 == " " || $0 == "'" }.prefix { $0 != "=" }
            let isOption = isForNone || given.contains(String(name))
            return text + (isOption ? "--set" : HintCompletion.change + profile + file) + rest
        }
    }

    /// Inserts words after each occurrence of a command.
    private static func inserting(_ words: String, after command: String, in hint: String) -> String {
        guard !words.isEmpty else { return hint }
        let pieces = hint.pieces(between: command)
        return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
            let isLonger = rest.utf8.first.map(ASCII.isAlphanumeric) ?? false
            let isNamed = command == logout && rest.hasPrefix(" -p ")
            return text + command + (isLonger || isNamed ? "" : words) + rest
        }
    }
}
