import CommandLineKit
import OIDCCore
import OIDCSystem

struct ConfigInitCommand: RunnableCommand {
    static let name = "init"
    static let summary = "Write a profile, after checking the provider"
    static let declaration = Declaration<ConfigInitCommand>(
        discussion: """
            Writes the options into a profile of the configuration file, after fetching the provider's metadata. \
            For a provider known by name, the profile has what signs in there, and stderr says what to register \
            where: oidc help providers lists them with their parameters. The profile is named by -p, or \
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
        let preset = try self.preset()
        let path = try context.settingsLoader.requiredPath()
        let name = context.settingsLoader.profileName ?? "default"
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let entries = try entries(
            preset, context, secretFile: RegisterCommand.secretFile(of: name, beside: path))
        let settings = context.settings(
            SettingLayers(profile: nil, entries: entries + (try around(context, path))))
        let named = settings.provider
        if named.issuer == nil, named.endpoints[.token] == nil { throw Self.missing(.issuer) }
        if settings.client.id == nil { throw missingClientID(preset) }
        try settings.check()
        let provider = ProviderContext(settings, context)
        _ = try provider.metadata(try provider.environment(), for: [.authorization, .token])
        try writer.write(as: name, replacing: isForced) { _ in entries }
        report(entries, settings, preset, path: path, profile: name, context.console)
        if context.console.isJSON {
            let plain: JSONValue = ["path": .string(path), "profile": .string(name)]
            let guide = preset.map { PresetGuide(preset: $0, settings: settings, profile: name) }
            try context.console.output(guide?.json(path: path, entries: entries) ?? plain)
        }
        return 0
    }

    private func preset() throws(OIDCError) -> Preset? {
        guard let provider else { return nil }
        guard let preset = Preset.named(provider) else { throw Preset.unknown(provider) }
        return preset
    }

    /// Returns the settings to write: the options, and those that the preset adds to them.
    private func entries(
        _ preset: Preset?, _ context: CommandContext, secretFile: String
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        let given = try options.entries()
        guard let preset else { return given }
        var entries = try PresetProfile(preset, words: words, options: given, line: commandLine).entries
        let secrets: [Setting] = [.clientSecret, .clientSecretFile, .clientSecretCommand]
        if preset.secret == .required, !entries.contains(where: { secrets.contains($0.setting) }) {
            entries.append(
                SettingLayers.Entry(
                    setting: .clientSecretFile, value: .string(secretFile), origin: .option(preset.name)))
        }
        return entries
    }

    /// Returns the variables that are about the network, such as `ca_file`. The profile must work without others.
    private func around(_ context: CommandContext, _ path: String) throws(OIDCError) -> [SettingLayers.Entry]
    {
        var loader = context.settingsLoader
        loader.profileName = nil
        return try loader.load(from: nil, in: path).layers.entries.filter {
            $0.setting.owner == .anyone && $0.setting != .issuer
        }
    }

    /// Returns a command line like this one with other arguments.
    private func commandLine(_ arguments: String) -> String {
        "oidc config init" + (common.profile.map { " -p \(ShellWord.quoted($0))" } ?? "") + " " + arguments
            + " --client-id \(options.clientID.map { ShellWord.quoted($0) } ?? "ID")"
    }

    private func report(
        _ entries: [SettingLayers.Entry], _ settings: Settings, _ preset: Preset?, path: String,
        profile: String,
        _ console: Console
    ) {
        let wrote = "Wrote profile \(DisplayText.clean(profile)) to \(DisplayText.clean(path))."
        guard let preset else {
            return console.note(
                "\(wrote) Now: oidc login" + (profile == "default" ? "" : " -p \(ShellWord.quoted(profile))"))
        }
        let guide = PresetGuide(preset: preset, settings: settings, profile: profile)
        console.note(([wrote] + guide.lines).joined(separator: "\n"))
    }

    private func missingClientID(_ preset: Preset?) -> OIDCError {
        guard let preset else { return Self.missing(.clientID) }
        return .usage(
            "config init: client_id is not given; register \(preset.registration)",
            hint: commandLine(([preset.name] + words.map { ShellWord.quoted($0) }).joined(separator: " ")))
    }

    private static func missing(_ setting: Setting) -> OIDCError {
        .usage(
            "config init: \(setting.name) is not given",
            hint: "oidc config init --issuer URL --client-id ID (a variable does not go into a profile)")
    }
}
