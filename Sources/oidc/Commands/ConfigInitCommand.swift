import CommandLineKit
import OIDCCore
import OIDCSystem

struct ConfigInitCommand: RunnableCommand {
    static let name = "init"
    static let summary = "Write a profile, after checking the provider"
    static let declaration = Declaration<ConfigInitCommand>(
        discussion: """
            Writes the options into a profile of the configuration file, after fetching the provider's metadata. \
            For a provider known by name, the profile also gets its settings, and stderr says what to register, and \
            where; oidc help providers lists these providers. The profile is named by -p, or \
            `default`. Other profiles are not changed.
            """,
        examples: [
            Example("oidc config init google --client-id ID", "a provider known by name"),
            Example(
                "oidc config init -p work okta domain=dev-123456.okta.com --client-id ID", "another profile"),
            Example(
                "oidc config init --issuer https://login.example.com --client-id cli", "any other provider"),
        ],
        operands: [
            .optional(\.provider, "PROVIDER", "a provider known by name", completion: .dynamic("providers")),
            .rest(\.words, "NAME=VALUE", "the provider's parameters", completion: .dynamic("parameters")),
        ],
        options: [
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .group(\.options), .group(\.common),
        ])

    var provider: String?
    var words: [String] = []
    var isForced = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let path = try context.settingsLoader.requiredPath()
        guard TerminalQuestion.isPossible, !context.console.isJSON, try isIncomplete else {
            let profile = try made(context, path)
            try profile.write(replacing: isForced)
            try profile.report(withRegistration: true)
            ProfileSessions.noteSharing(of: profile.name, context)
            return 0
        }
        return try converse(context, path)
    }

    /// Whether a value is missing that the dialog prompts for.
    private var isIncomplete: Bool {
        get throws(OIDCError) {
            let given = try options.entries().map(\.setting)
            guard given.contains(.clientID) else { return true }
            if given.contains(.issuer) || given.contains(.tokenEndpoint) { return false }
            guard let provider else { return true }
            return Preset.named(provider)?.parameters.contains { parameter in
                parameter.standard == nil && !words.contains { $0.hasPrefix("\(parameter.name)=") }
            } ?? false
        }
    }

    /// Prompts for the missing values, writes the profile and offers to sign in.
    private func converse(_ context: CommandContext, _ path: String) throws(OIDCError) -> Int32 {
        let profiles = try ProfileWriter(path: path).profiles()
        let dialog = InitDialog(
            say: { text in
                StandardError.write(
                    Terminal.text(DisplayText.lines(text) + "\n", environment: context.environment))
            },
            ask: { prompt, isHidden throws(OIDCError) in
                try TerminalQuestion.ask(prompt, isHidden: isHidden)
            },
            registration: { command throws(OIDCError) in
                try command.made(context, path, isChecked: false).registration
            }, home: context.environment["HOME"])
        var command = self
        command.common.profile = common.profile ?? context.settingsLoader.profileName
        let secret = try dialog.complete(&command, profiles: profiles, path: path)
        let profile = try command.made(context, path)
        try profile.write(replacing: command.isForced, secret: secret)
        try profile.report(withRegistration: false)
        ProfileSessions.noteSharing(of: profile.name, context)
        if profile.settings.store == "file", CredentialHelperStore.hasKeychain(context.environment),
            try dialog.confirms("Keep the keys of sessions in the keychain?")
        {
            var loader = context.settingsLoader
            loader.profileName = profile.name
            _ = try ProfileEditor(loader).set([
                try SettingsLoader.assignment("\(Setting.store.name)=keychain")
            ])
        }
        guard profile.hasSecret, profile.obstacles.isEmpty, try dialog.confirms("Sign in now?") else {
            return 0
        }
        var login = LoginCommand()
        login.common = command.common
        return try login.run(
            CommandContext(
                console: context.console, environment: context.environment, common: command.common))
    }

    /// Creates the profile from the command line; checks it at the provider if `isChecked`.
    private func made(
        _ context: CommandContext, _ path: String, isChecked: Bool = true
    ) throws(OIDCError) -> NewProfile {
        let preset = try provider.map { name throws(OIDCError) in
            guard let preset = Preset.named(name) else { throw Preset.unknown(name, line: commandLine) }
            return preset
        }
        let name = common.profile ?? context.settingsLoader.profileName ?? "default"
        context.traceConfiguration(name)
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let given = try options.entries()
        let secret = ProfileSecret(of: name, beside: path)
        var made = try preset.map { preset throws(OIDCError) in
            try PresetProfile(
                preset, words: words, options: given, secretFile: secret.file, line: commandLine)
        }
        if let entries = made?.entries,
            secret.mayHoldAnother(entries, replacing: try writer.profiles()[name])
        {
            let isLeftOut = made?.leaveOutSecretFile() == true
            if isLeftOut, isChecked {
                context.console.warn(
                    "\(DisplayText.clean(secret.file)) already exists and may hold another client's secret, "
                        + "so the profile does not use it")
            }
        }
        let entries = made?.entries ?? given
        let settings = context.settings(profile: nil, entries + (try around(context, path)))
        var profile = NewProfile(
            name: name, writer: writer, entries: entries, settings: settings, made: made,
            console: context.console, common: context.common)
        if isChecked { profile.obstacles = try check(settings, made, context) }
        return profile
    }

    /// Checks that the profile is complete, and that the provider's metadata can be fetched if it is needed.
    /// Returns the errors that a sign-in with the profile will fail with.
    ///
    /// The profile of a preset, whose URLs are known, is written even if the provider is unreachable.
    private func check(
        _ settings: Settings, _ made: PresetProfile?, _ context: CommandContext
    ) throws(OIDCError) -> [OIDCError] {
        let named = settings.provider
        if named.issuer == nil, named.endpoint(.token) == nil { throw missing(.issuer) }
        if settings.client.id == nil {
            guard let made else { throw missing(.clientID) }
            let arguments = [made.preset.name] + words.map { ShellWord.quoted($0) }
            throw OIDCError.usage(
                "config init: client_id is not given; register \(made.preset.application): "
                    + made.registrationPage, hint: commandLine(arguments.joined(separator: " ")))
        }
        try settings.check()
        let provider = ProviderContext(settings, context)
        do throws(OIDCError) {
            let metadata = try provider.metadata(try provider.environment(), for: [.authorization, .token])
            return provider.obstacles(metadata).map(\.error)
        } catch {
            guard made != nil, error.kind == .unreachable else { throw error }
            context.console.warn("the provider was not contacted: \(error.commandLine)")
            return []
        }
    }

    /// Returns the network settings in variables, such as `ca_file`; a new profile must not depend on other
    /// variables.
    private func around(_ context: CommandContext, _ path: String) throws(OIDCError) -> [SettingLayers.Entry]
    {
        var loader = context.settingsLoader
        loader.profileName = nil
        return try loader.load(from: nil, in: path).layers.entries.filter {
            $0.setting.owner == .anyone && $0.setting != .issuer
        }
    }

    /// Returns a command line of this command with other arguments, and with those of the given options that
    /// cannot contain a secret, as an extra parameter or a command can.
    private func commandLine(_ arguments: String) -> String {
        let profile = common.profile.map { " -p \(ShellWord.quoted($0))" } ?? ""
        let client = options.clientID.map { ShellWord.quoted($0) } ?? "ID"
        let repeated: [Setting] = [.scope, .audience, .account, .resource, .grant]
        let others = ((try? options.entries()) ?? []).filter { repeated.contains($0.setting) }
        let settings = others.map { entry in
            let value = entry.value.string ?? entry.value.compact
            return " --set " + ShellWord.quoted("\(entry.setting.name)=\(value)")
        }
        return "oidc config init\(profile) \(arguments) --client-id \(client)\(settings.joined())"
            + (isForced ? " --force" : "")
    }

    private func missing(_ setting: Setting) -> OIDCError {
        .usage(
            "config init: \(setting.name) is not given (a variable does not go into a profile)",
            hint: commandLine("--issuer \(options.issuer.map { ShellWord.quoted($0) } ?? "URL")"))
    }
}
