import CommandLineKit
import OIDCCore
import Posix

/// The options of a command line that name its session, for the commands in hints.
struct CommandLineSession: Sendable {
    private let common: CommonOptions
    private let options: ProviderOptions
    /// The name of the command that runs.
    private let command: String?
    /// The URL of the resource, if the command takes one.
    private let resource: String?
    /// The provider known by name that `oidc login` signs in to, with its parameters.
    private let preset: [String]
    private let environment: Variables

    init(_ common: CommonOptions, words: [String], environment: Variables) {
        self.environment = environment
        options = ProviderOptions.lenient(words)
        guard case .run(let command, let path)? = try? Program.oidc.parse(words) else {
            (self.common, self.command, resource, preset) = (common, nil, nil, [])
            return
        }
        self.command = path.joined(separator: " ")
        var common = common
        var preset: [String] = []
        let url: String?
        switch command {
        case let command as LoginCommand:
            url = command.operand.flatMap { WebURL($0) ?? Entrance.url(withoutScheme: $0) }?.text
            guard let operand = command.operand, url == nil else { break }
            let profiles = try? SettingsLoader(environment: environment, common: common).file()?.profiles
            if profiles?.contains(where: { $0.name == operand }) == true {
                common.profile = common.profile ?? operand
            } else if Preset.named(operand) != nil {
                preset = [operand] + command.words
            }
        case let command as TokenCommand: url = command.url
        case let command as StatusCommand: url = command.url
        case let command as LogoutCommand: url = command.url
        case let command as CredentialHeadersCommand: url = command.url
        default: url = nil
        }
        self.common = common
        self.preset = preset.map { ShellWord.quoted($0) }
        resource = url.flatMap { WebURL($0) == nil ? nil : $0 }
    }

    /// The profile that the settings use, including one chosen without an option.
    private var profileInUse: String? {
        let loader = SettingsLoader(environment: environment, common: common)
        return loader.profileName ?? (try? loader.file()?.profile(named: nil))?.name
    }

    /// Returns whether a command is about another session on purpose, such as that of the user's own
    /// provider.
    private func isForOther(_ hint: HintCommand) -> Bool {
        // A resource has a server and a client of its own, unless the command line is about the same
        // resource.
        if let url = hint.operand, WebURL(url) != nil, url != resource, hint.call != command { return true }
        // The user signs in at their own provider, not at the resource's server.
        if hint.call == "login", options.grant == GrantType.idJAG.rawValue { return true }
        if let profile = hint.profile, profile != profileInUse.map({ ShellWord.quoted($0) }) { return true }
        return hint.issuer.map { $0 != options.issuer.map { ShellWord.quoted($0) } } ?? false
    }

    /// Returns the words that a command in a hint needs to be about this session, each after a space.
    func missingWords(_ hint: HintCommand) -> String {
        // These commands write or read a profile.
        let isSettings = ["config", "register"].contains(hint.path.first)
        let accepted = Program.oidc.command(hint.path)?.options.map(\.name) ?? []
        guard isSettings ? accepted.contains("--config") : accepted.contains("--issuer") else { return "" }
        let file = common.config.map { ShellWord.quoted($0) }
        guard hint.file == nil || hint.file == file else { return "" }
        var words: [String] = []
        let profile = common.profile.map { ShellWord.quoted($0) }
        let takesProfile =
            !isSettings || ["set", "unset", "show", "init", "register"].contains(hint.path.last)
        if let profile, takesProfile, !hint.names("profile"), !hint.options.contains("-p") {
            words += ["-p", profile]
        }
        if let file, hint.file == nil { words += ["--config", file] }
        guard !isSettings, !isForOther(hint) else { return words.map { " \($0)" }.joined() }
        words += providerWords(hint)
        if let resource, hint.operand == nil, ["login", "token", "status", "logout"].contains(hint.call) {
            words.insert(ShellWord.quoted(resource), at: 0)
        }
        if hint.call == "login", hint.operand == nil, !hint.names("issuer") { words = preset + words }
        return words.map { " \($0)" }.joined()
    }

    private func providerWords(_ hint: HintCommand) -> [String] {
        var words: [String] = []
        func add(_ option: String, _ setting: String, _ values: [String]) {
            guard !hint.names(setting) else { return }
            for value in values { words += [option, ShellWord.quoted(value)] }
        }
        // A command that signs in requests the scope that its hint names, or else all scopes of the profile.
        let signsIn = ["login", "authorize-url"].contains(hint.call) || hint.names("login")
        let repeatsScope = !signsIn || hint.call == command
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
            // What a helper does with a token is no matter for another command.
            guard hint.call == command || !Setting.tools.contains(where: { $0.name == name }) else {
                continue
            }
            add("--set", name, [assignment])
        }
        return words
    }
}
