import CommandLineKit
import OIDCCore
import Posix

/// The command line that runs. It turns hints into text, with commands that use the same profile, file, provider and
/// session.
struct InvokedLine: Sendable {
    /// The words after the program's name.
    let words: [String]
    private let common: CommonOptions
    private let options: ProviderOptions
    private let environment: Variables
    /// The command that runs; nil if the command line could not be parsed.
    private let command: (any RunnableCommand)?
    /// The command's path.
    private let call: String?

    /// Creates the line of a command.
    init(_ command: any RunnableCommand, path: [String], words: [String], environment: Variables) {
        self.words = words
        self.environment = environment
        self.command = command
        common = command.common
        options = command.options
        call = path.joined(separator: " ")
    }

    /// Creates a line that could not be parsed, or of which only the common options matter.
    init(_ common: CommonOptions, words: [String] = [], environment: Variables = [:]) {
        self.words = words
        self.environment = environment
        self.common = common
        options = words.isEmpty ? ProviderOptions() : ProviderOptions.lenient(words)
        command = nil
        call = nil
    }

    /// Returns the hint with the options of this line in each of its commands. A change of a profile that is not in
    /// effect becomes `--set`.
    ///
    /// Options become this line with them, or else a sentence.
    func text(_ hint: Hint) -> String {
        var parts: [Hint] = []
        for part in hint.parts {
            let part = withOptions(part)
            // Does not offer the same option twice.
            if case .options = part, parts.contains(part), case .text(let text)? = parts.last,
                text.hasSuffix(", or: ")
            {
                parts[parts.count - 1] = .text(String(text.dropLast(6)))
            } else {
                parts.append(part)
            }
        }
        let text = parts.map(text(of:)).joined()
        guard case .options? = parts.first else { return text }
        return lines(parts) ?? "give \(text)"
    }

    private func text(of part: Hint) -> String {
        switch part {
        case .command(let words): line(SuggestedCommand(words))
        case .text(let text): DisplayText.clean(text, limit: 600)
        default: part.commandLine
        }
    }

    /// Returns the parts with this line in place of options; nil if the line cannot have them, or a sentence goes on after
    /// them.
    private func lines(_ parts: [Hint]) -> String? {
        var text = ""
        for (index, part) in parts.enumerated() {
            guard case .options(let words) = part else {
                text += self.text(of: part)
                continue
            }
            guard index == parts.count - 1 || parts[index + 1] == ", or: ",
                let line = TypedLine(words: self.words).adding(words)
            else { return nil }
            text += line
        }
        return text
    }

    /// Returns `--set` in place of a change of a profile that would have no effect.
    private func withOptions(_ part: Hint) -> Hint {
        guard case .command(let words) = part, let change = SuggestedCommand(words).change else {
            return part
        }
        let isOption = isForNone || given.contains(String(change.prefix { $0 != "=" }))
        return isOption ? .options(["--set", change]) : part
    }

    /// The names of the settings that options and variables set.
    private var given: Set<String> {
        let options = (try? options.entries())?.map(\.setting) ?? []
        let variables = environment.names(startingWith: "OIDC_")
            .filter { environment[$0] != "" }.compactMap(Setting.ofVariable)
        return Set((options + variables).map(\.name))
    }

    /// Whether a missing setting cannot be added to a profile: options or variables name the provider or the
    /// client, or the file has profiles but none is in use.
    private var isForNone: Bool {
        let given = given
        if [Setting.issuer, .clientID, .tokenEndpoint].contains(where: { given.contains($0.name) }) {
            return true
        }
        let loader = SettingsLoader(environment: environment, common: common)
        guard let file = try? loader.file(), !file.profiles.isEmpty else { return false }
        return (try? file.profile(named: loader.profileName)).flatMap { $0 } == nil
    }
}

/// The words that a command needs to be about the session of this line.
extension InvokedLine {
    private func line(_ hint: SuggestedCommand) -> String {
        let missing = missingWords(hint)
        // The file comes last in a command that names a profile of it.
        let rest = hint.namesProfile ? hint.arguments + missing : missing + hint.arguments
        return ShellWord.line(["oidc"] + hint.path + hint.attachingValues(in: rest))
    }

    private func missingWords(_ hint: SuggestedCommand) -> [String] {
        let isSettings = hint.isAboutFile
        let accepted = Program.oidc.command(hint.path)?.options.map(\.name) ?? []
        // The second step of a sign-in has the settings of the first.
        guard !hint.options.contains("--finish"), !hint.options.contains("--cancel"),
            accepted.contains(isSettings ? "--config" : "--issuer"),
            hint.file == nil || hint.file == common.config
        else { return [] }
        let (profile, preset) = named
        var words: [String] = []
        let takesProfile =
            !isSettings || ["set", "unset", "show", "init", "register"].contains(hint.path.last)
        if let profile, takesProfile, !hint.names("profile"), hint.profile == nil {
            words += ["-p", profile]
        }
        if let file = common.config, hint.file == nil { words += ["--config", file] }
        guard !isSettings, !isForOther(hint, profile) else { return words }
        words += providerWords(hint)
        if let resource, hint.operand == nil, ["login", "token", "status", "logout"].contains(hint.call),
            hint.issuer.map({ IssuerSpelling.isSameServer($0, resource) }) != true
        {
            words.insert(resource, at: 0)
        }
        if hint.call == "login", hint.operand == nil, !hint.names("issuer") { words = preset + words }
        return words
    }

    /// The URL of the resource, if the command takes one.
    private var resource: String? {
        let url: String? =
            switch command {
            // The operand of a second step is what the user was redirected to, with the code.
            case let command as LoginCommand where command.isSecondStep || command.isCanceling: nil
            case let command as LoginCommand:
                command.operand.flatMap { WebURL($0) ?? LoginOperand.url(withoutScheme: $0) }?.text
            case let command as TokenCommand: command.url
            case let command as StatusCommand: command.url
            case let command as LogoutCommand: command.url
            case let command as CredentialHeadersCommand: command.url
            default: nil
            }
        return url.flatMap { WebURL($0) == nil ? nil : $0 }
    }

    /// The profile that is named, or the provider known by name that `oidc login` signs in to, with its parameters.
    private var named: (profile: String?, preset: [String]) {
        guard let login = command as? LoginCommand, let operand = login.operand, resource == nil else {
            return (common.profile, [])
        }
        let profiles = try? SettingsLoader(environment: environment, common: common).file()?.profiles
        if profiles?.contains(where: { $0.name == operand }) == true {
            return (common.profile ?? operand, [])
        }
        return (common.profile, Preset.named(operand) == nil ? [] : [operand] + login.words)
    }

    /// Returns whether a command is about another session on purpose, such as that of the user's own provider.
    private func isForOther(_ hint: SuggestedCommand, _ named: String?) -> Bool {
        // A resource has a server and a client of its own, unless the command line is about the same resource.
        if let url = hint.operand, WebURL(url) != nil, url != resource, hint.call != call { return true }
        // The user signs in at their own provider, not at the resource's server.
        if hint.call == "login", options.grant == GrantType.idJAG.rawValue { return true }
        if let profile = hint.profile {
            var common = common
            common.profile = named
            let loader = SettingsLoader(environment: environment, common: common)
            if profile != loader.profileName ?? (try? loader.file()?.profile(named: nil))?.name {
                return true
            }
        }
        return hint.issuer.map { $0 != options.issuer } ?? false
    }

    private func providerWords(_ hint: SuggestedCommand) -> [String] {
        var words: [String] = []
        func add(_ option: String, _ setting: String, _ values: [String]) {
            guard !hint.names(setting) else { return }
            for value in values { words += [option, value] }
        }
        // A command that signs in requests the scope that its hint names, or else all scopes of the profile.
        let signsIn = ["login", "authorize-url"].contains(hint.call) || hint.names("login")
        let repeatsScope = !signsIn || hint.call == call
        if hint.operand != options.issuer { add("--issuer", "issuer", options.issuer.map { [$0] } ?? []) }
        add("--client-id", "client_id", options.clientID.map { [$0] } ?? [])
        if repeatsScope { add("--scope", "scope", options.scope) }
        add("--account", "account", options.account.map { [$0] } ?? [])
        add("--audience", "audience", options.audience.map { [$0] } ?? [])
        if repeatsScope, hint.operand == nil { add("--resource", "resource", options.resource) }
        if !["login", "authorize-url", "exchange"].contains(hint.call) {
            add("--grant", "grant", options.grant.map { [$0] } ?? [])
        }
        for assignment in options.assignments {
            let name = String(assignment.prefix { $0 != "=" })
            if case .secret? = Setting.named(name)?.kind { continue }
            // Settings for other programs' use of a token are not repeated for another command.
            guard hint.call == call || !Setting.tools.contains(where: { $0.name == name }) else { continue }
            add("--set", name, [assignment])
        }
        return words
    }
}
