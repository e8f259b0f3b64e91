import CommandLineKit
import OIDCCore

/// What the commands of a hint need to be about the same profile, file and provider as the command line.
struct HintCompletion: Sendable {
    var common = CommonOptions()
    /// Whether options or variables name the provider or the client; a setting that is missing is then not the
    /// profile's, and there may be no profile.
    var isProviderGiven = false

    init(_ common: CommonOptions, isProviderGiven: Bool = false) {
        self.common = common
        self.isProviderGiven = isProviderGiven
    }

    init(_ common: CommonOptions, words: [String], environment: [String: String]) {
        let options = ProviderOptions.lenient(words)
        let isInVariables = [Setting.issuer, .clientID].contains {
            environment[$0.variable]?.isEmpty == false
        }
        self.init(
            common, isProviderGiven: options.issuer != nil || options.clientID != nil || isInVariables)
    }

    private static let fileCommands = [
        "oidc login", "oidc token", "oidc config init", "oidc config check", "oidc config use",
    ]
    private static let change = "oidc config set"
    private static let profileCommands = [change, "oidc logout"]

    /// Returns the hint with `--config` and `-p` in its commands, and with `--set` for a change of the profile that is
    /// not in use.
    func completed(_ hint: String) -> String {
        let file = common.config.map { " --config \(ShellWord.quoted($0))" } ?? ""
        var completed = hint
        if !hint.includes("--config") {
            for command in HintCompletion.fileCommands {
                completed = HintCompletion.inserting(file, after: command, in: completed)
            }
        }
        guard !isProviderGiven else {
            let pieces = completed.pieces(between: HintCompletion.change)
            return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
                text + (rest.hasPrefix(" -p ") ? HintCompletion.change : "--set") + rest
            }
        }
        let profile = common.profile.map { " -p \(ShellWord.quoted($0))" } ?? ""
        for command in HintCompletion.profileCommands {
            completed = HintCompletion.inserting(profile + file, after: command, in: completed)
        }
        return completed
    }

    /// Inserts words after each occurrence of a command that names no profile.
    private static func inserting(_ words: String, after command: String, in hint: String) -> String {
        guard !words.isEmpty else { return hint }
        let pieces = hint.pieces(between: command)
        return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
            let isLonger = rest.utf8.first.map(ASCII.isAlphanumeric) ?? false
            let isNamed = profileCommands.contains(command) && rest.hasPrefix(" -p ")
            return text + command + (isLonger || isNamed ? "" : words) + rest
        }
    }
}
