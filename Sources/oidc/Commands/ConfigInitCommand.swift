import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

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
    /// The command that is typed: `oidc login` takes the same words.
    var call = "config init"
    /// The settings of the options of `oidc login`.
    var more: [SettingLayers.Entry] = []
    /// The profile's name if none is given.
    var newName = "default"

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let path = try context.settingsLoader.requiredPath()
        guard TerminalQuestion.isPossible, !context.console.isJSON, try isIncomplete else {
            let profile = try made(context, path)
            try profile.write(replacing: isForced)
            try profile.report(withRegistration: true)
            ProfileSessions.noteSharing(of: profile.name, context)
            return 0
        }
        guard case .profile(let profile) = try converse(context, path) else { return 0 }
        let settings = profile.settings
        if settings.store == "file", KeychainSeal.hasKeychain(context.environment),
            try InitDialog.confirms("Keep the keys of sessions in the keychain?", TerminalQuestion.ask)
        {
            var loader = context.settingsLoader
            loader.profileName = profile.name
            _ = try ProfilesFile(loader).set([
                try SettingsLoader.assignment("\(Setting.store.name)=keychain")
            ])
        }
        guard profile.hasSecret, profile.obstacles.isEmpty,
            try InitDialog.confirms("Sign in now?", TerminalQuestion.ask)
        else { return 0 }
        var login = LoginCommand()
        login.common = common
        login.common.profile = profile.name
        return try login.run(context.using(profile: profile.name))
    }

    /// Whether a value is missing that the dialog prompts for.
    var isIncomplete: Bool {
        get throws(OIDCError) {
            let given = try options.entries().map(\.setting)
            guard given.contains(.clientID) else { return true }
            if given.contains(.issuer) || given.contains(.tokenEndpoint) { return false }
            guard let provider else { return true }
            let words = Preset.named(provider)?.takingApart(words) ?? words
            return Preset.named(provider)?.parameters.contains { parameter in
                parameter.standard == nil && !words.contains { $0.hasPrefix("\(parameter.name)=") }
            } ?? false
        }
    }

    /// Returns whether the provider gives its clients a secret, and none is given. A file that the new profile would
    /// have its secret in may hold another client's.
    func lacksSecret(_ context: CommandContext) throws(OIDCError) -> Bool {
        guard let provider, Preset.named(provider)?.secret == .required else { return false }
        let given = try options.entries() + more
        return !given.contains {
            Setting.clientSecrets.contains($0.setting) || $0.setting == .clientAuth && $0.value == "none"
        } && (context.environment[Setting.clientSecret.variable] ?? "").isEmpty
    }

    /// The error for a secret that is not given, with the lines that write it to a file and use it.
    func secretMissing(_ preset: Preset, _ context: CommandContext, _ path: String) -> OIDCError {
        let name = common.profile ?? context.settingsLoader.profileName ?? newName
        let file = ProfileSecret.unused(of: name, beside: path).file
        return .usage(
            "\(call): \(preset.title) gives its clients a secret: set \(Setting.clientSecret.variable), or type or "
                + "pipe the secret to this command",
            hint: .words(
                "\(ProfileSecret.writingLine(file)) && ",
                commandLine([preset.name] + words)
                    .adding("--set", "\(Setting.clientSecretFile.name)=\(file)")))
    }

    /// What the dialog leads to.
    enum Answer {
        /// A profile that was written.
        case profile(NewProfile)
        /// A URL to sign in at, with a client ID, or with the client that the server registers.
        case url(WebURL, clientID: String?)
    }

    /// Prompts for the missing values and writes the profile.
    func converse(_ context: CommandContext, _ path: String) throws(OIDCError) -> Answer {
        let profiles = try ProfilesFile(context.settingsLoader).profiles()
        var finding = InitDialog.Finding()
        let dialog = InitDialog(
            say: { text in
                StandardError.write(
                    WrappedText(.standardError).text(
                        Terminal.text(DisplayText.lines(text) + "\n", environment: context.environment)))
            },
            ask: { prompt, isHidden throws(OIDCError) in
                try TerminalQuestion.ask(WrappedText(.standardError).text(prompt), isHidden: isHidden)
            },
            registration: { command throws(OIDCError) in
                try command.made(context, path, isChecked: false).registration
            },
            finding: { command throws(OIDCError) in
                if call == "login" { finding = try command.finding(context, path) }
                return finding
            }, home: context.environment["HOME"])
        var command = self
        command.common.profile = common.profile ?? context.settingsLoader.profileName ?? newName
        let secret = try dialog.complete(&command, profiles: profiles, path: path)
        if let url = command.options.issuer.flatMap({ WebURL($0) }) {
            let given = try command.options.entries()
            let hasClient = given.contains { $0.setting == .clientID }
            if finding.isResource || !hasClient { return .url(url, clientID: command.options.clientID) }
        }
        let profile = try command.made(context, path)
        try profile.write(replacing: command.isForced, secret: secret)
        if call == "login" {
            context.console.note(SignInProfile.note(profile.name, context))
        } else {
            try profile.report(withRegistration: false)
        }
        ProfileSessions.noteSharing(of: profile.name, context)
        return .profile(profile)
    }

    /// Finds out whether the URL is a provider or a resource, and whether clients are registered there, by the
    /// metadata. Throws if it is neither.
    private func finding(_ context: CommandContext, _ path: String) throws(OIDCError) -> InitDialog.Finding {
        guard let url = options.issuer.flatMap({ WebURL($0) }) else { return InitDialog.Finding() }
        let settings = try made(context, path, isChecked: false).settings
        guard settings.provider.metadataURL == nil else { return InitDialog.Finding() }
        let provider = ProviderContext(settings, context)
        let documents = ProviderDocuments(
            environment: try provider.environment(), allowsInsecureHTTP: provider.allowsInsecureHTTP)
        do throws(OIDCError) {
            let metadata = try documents.metadata(ofTyped: url)
            return InitDialog.Finding(registers: metadata.registrationEndpoint != nil)
        } catch {
            guard error.kind == .refused else { throw error }
        }
        let entries = settings.layers.given.filter { $0.setting != .issuer }
        let operand = ResourceOperand(url, context.settings(profile: nil, entries), context)
        let server = try ResourceResolution(operand, ResourceOperand.Evidence()).server()
        return InitDialog.Finding(isResource: true, registers: server.registrationEndpoint != nil)
    }

    /// Creates the profile from the command line; checks it at the provider if `isChecked`.
    func made(
        _ context: CommandContext, _ path: String, isChecked: Bool = true
    ) throws(OIDCError) -> NewProfile {
        let preset = try provider.map { name throws(OIDCError) in
            guard let preset = Preset.named(name) else { throw Preset.unknown(name, line: commandLine) }
            return preset
        }
        let name = common.profile ?? context.settingsLoader.profileName ?? newName
        context.traceConfiguration(name)
        let file = try ProfilesFile(context.settingsLoader)
        try file.checkName(name, replacing: isForced)
        let given = try options.entries() + more
        let secret = ProfileSecret(of: name, beside: path)
        var made = try preset.map { preset throws(OIDCError) in
            try PresetProfile(
                preset, words: words, options: given, secretFile: secret.file, line: commandLine)
        }
        if let entries = made?.entries,
            secret.mayHoldAnother(entries, replacing: try file.profiles()[name])
        {
            let isLeftOut = made?.leaveOutSecretFile() == true
            if isLeftOut, isChecked {
                context.console.warn(
                    "\(DisplayText.clean(secret.file)) already exists and may hold another client's secret, "
                        + "so the profile does not use it")
            }
        }
        let hasVariable =
            call == "login" && !(context.environment[Setting.clientSecret.variable] ?? "").isEmpty
        if hasVariable { _ = made?.leaveOutSecretFile() }
        let entries = made?.entries ?? given
        let settings = context.settings(profile: nil, entries + (try around(context, path)))
        var profile = NewProfile(
            name: name, file: file, entries: entries.filter { !$0.isForOneSignIn }, settings: settings,
            made: made,
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
            throw OIDCError.usage(
                "\(call): client_id is not given; register \(made.preset.application): "
                    + made.registrationPage, hint: commandLine([made.preset.name] + words))
        }
        try settings.check()
        let provider = ProviderContext(settings, context)
        do throws(OIDCError) {
            let metadata = try provider.metadata(try provider.environment(), for: [.authorization, .token])
            return provider.obstacles(metadata).map(\.error)
        } catch {
            guard made != nil, error.kind == .unreachable else { throw error }
            context.console.warn(error, "the provider was not contacted")
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
            !$0.setting.isForOneServer && $0.setting != .issuer
                || call == "login" && $0.setting == .clientSecret
        }
    }

    /// Returns a command line of this command with other arguments, and with those of the given options that
    /// cannot contain a secret, as an extra parameter or a command can.
    private func commandLine(_ arguments: [String]) -> Hint {
        let profile = common.profile.map { ["-p", $0] } ?? []
        let repeated: [Setting] = [.scope, .audience, .account, .resource, .grant]
        let others = ((try? options.entries()) ?? []).filter { repeated.contains($0.setting) }
        let settings = others.flatMap { entry in
            ["--set", "\(entry.setting.name)=\(entry.value.string ?? entry.value.compact)"]
        }
        return .run(call, profile + arguments + ["--client-id", options.clientID ?? "ID"] + settings)
            .adding(isForced ? ["--force"] : [])
    }

    private func missing(_ setting: Setting) -> OIDCError {
        .usage(
            "\(call): \(setting.name) is not given (a variable does not go into a profile)",
            hint: commandLine(["--issuer", options.issuer ?? "URL"]))
    }
}
