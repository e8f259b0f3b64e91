import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

/// The values for a new profile, from the arguments of a command or the answers to prompts.
struct Draft {
    /// The command that is typed: `oidc login` takes the same words as `oidc config init`.
    var call = "config init"
    /// The name of the preset.
    var provider: String?
    /// Its parameters, as `NAME=VALUE`.
    var words: [String] = []
    var options = ProviderOptions()
    /// The settings of the options of `oidc login`.
    var more: [SettingLayers.Entry] = []
    var isForced = false
    /// The profile's name.
    var name = "default"
    /// Whether suggested command lines name the profile.
    var isNamed = false
}

extension Draft {
    /// Creates the draft of a profile with the name in `-p` or OIDC_PROFILE, or else with `name`.
    init(_ context: CommandContext, _ name: String) {
        self.name = context.settingsLoader.profileName ?? name
        isNamed = context.common.profile != nil
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

    /// Returns whether the provider issues client secrets and none is given. A file for the new profile's
    /// secret does not count, as it may contain another client's secret.
    func lacksSecret(_ context: CommandContext) throws(OIDCError) -> Bool {
        guard let provider, Preset.named(provider)?.secret == .required else { return false }
        let given = try options.entries() + more
        return !given.contains {
            Setting.clientSecrets.contains($0.setting) || $0.setting == .clientAuth && $0.value == "none"
        } && (context.environment[Setting.clientSecret.variable] ?? "").isEmpty
    }

    /// Returns the error for a missing secret, with the commands that write it to a file and use it.
    func secretMissing(_ preset: Preset, beside path: String) -> OIDCError {
        let file = ProfileSecret.unused(of: name, beside: path).file
        return .usage(
            "\(call): \(preset.title) gives its clients a secret: set \(Setting.clientSecret.variable), or type or "
                + "pipe the secret to this command",
            hint: .words(
                "\(ProfileSecret.writingLine(file)) && ",
                commandLine([preset.name] + words)
                    .adding("--set", "\(Setting.clientSecretFile.name)=\(file)")))
    }

    /// The result of the dialog.
    enum Answer {
        /// A profile that was written.
        case profile(NewProfile)
        /// A URL to sign in at, with a client ID, or with the client that the server registers.
        case url(WebURL, clientID: String?)
    }

    /// Prompts for the missing values and writes the profile.
    func asking(_ context: CommandContext) throws(OIDCError) -> Answer {
        let file = try ProfilesFile(context.settingsLoader)
        let profiles = try file.profiles()
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
            registration: { draft throws(OIDCError) in
                try draft.made(context, isChecked: false).registration
            },
            finding: { draft throws(OIDCError) in
                if call == "login" { finding = try draft.finding(context) }
                return finding
            }, home: context.environment["HOME"])
        var draft = self
        draft.isNamed = true
        let secret = try dialog.complete(&draft, profiles: profiles, path: file.path)
        if let url = draft.options.issuer.flatMap({ WebURL($0) }) {
            let given = try draft.options.entries()
            let hasClient = given.contains { $0.setting == .clientID }
            if finding.isResource || !hasClient { return .url(url, clientID: draft.options.clientID) }
        }
        let profile = try draft.made(context)
        try profile.write(replacing: draft.isForced, secret: secret)
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
    private func finding(_ context: CommandContext) throws(OIDCError) -> InitDialog.Finding {
        guard let url = options.issuer.flatMap({ WebURL($0) }) else { return InitDialog.Finding() }
        let settings = try made(context, isChecked: false).settings
        guard settings.provider.metadataURL == nil else { return InitDialog.Finding() }
        let provider = ProviderContext(settings, context)
        let documents = ProviderDocuments(
            context: try provider.environment(), allowsInsecureHTTP: provider.allowsInsecureHTTP)
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

    /// Makes the profile; checks it at the provider if `isChecked`.
    func made(_ context: CommandContext, isChecked: Bool = true) throws(OIDCError) -> NewProfile {
        let preset = try provider.map { name throws(OIDCError) in
            guard let preset = Preset.named(name) else { throw Preset.unknown(name, line: commandLine) }
            return preset
        }
        context.traceConfiguration(name)
        let file = try ProfilesFile(context.settingsLoader)
        try file.checkName(name, replacing: isForced)
        let given = try options.entries() + more
        let secret = ProfileSecret(of: name, beside: file.path)
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
        let settings = context.settings(profile: nil, entries + (try around(context, file.path)))
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
            $0.origin != .securityProfile && !$0.setting.isForOneServer && $0.setting != .issuer
                || call == "login" && $0.setting == .clientSecret
        }
    }

    /// Returns a command line of the command with other arguments, and with those of the given options that
    /// cannot contain a secret, as an extra parameter or a command can.
    private func commandLine(_ arguments: [String]) -> Hint {
        let profile = isNamed ? ["-p", name] : []
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
