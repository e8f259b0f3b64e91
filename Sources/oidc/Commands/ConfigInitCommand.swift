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
        let preset = try provider.map { name throws(OIDCError) in
            guard let preset = Preset.named(name) else { throw Preset.unknown(name) }
            return preset
        }
        let path = try context.settingsLoader.requiredPath()
        let name = context.settingsLoader.profileName ?? "default"
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let given = try options.entries()
        let made = try preset.map { preset throws(OIDCError) in
            try PresetProfile(
                preset, words: words, options: given,
                secretFile: RegisterCommand.secretFile(of: name, beside: path), line: commandLine)
        }
        let entries = made?.entries ?? given
        let settings = context.settings(
            SettingLayers(profile: nil, entries: entries + (try around(context, path))))
        try check(settings, made, context)
        try writer.write(as: name, replacing: isForced) { _ in entries }
        let wrote = "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(path))."
        let plain: JSONValue = ["path": .string(path), "profile": .string(name)]
        guard let made else {
            context.console.note("\(wrote) Now: \(settings.loginLine(profile: name))")
            if context.console.isJSON { try context.console.output(plain) }
            return 0
        }
        let guide = PresetGuide(made: made, settings: settings, profile: name)
        context.console.note(([wrote] + guide.lines).joined(separator: "\n"))
        if context.console.isJSON { try context.console.output(guide.json(path: path)) }
        return 0
    }

    /// Checks that the profile is complete, and that the provider has metadata if they are needed.
    private func check(
        _ settings: Settings, _ made: PresetProfile?, _ context: CommandContext
    ) throws(OIDCError) {
        let named = settings.provider
        if named.issuer == nil, named.endpoints[.token] == nil { throw Self.missing(.issuer) }
        if settings.client.id == nil {
            guard let made else { throw Self.missing(.clientID) }
            let arguments = [made.preset.name] + words.map { ShellWord.quoted($0) }
            throw OIDCError.usage(
                "config init: client_id is not given; register \(made.preset.application): "
                    + made.registrationPlace, hint: commandLine(arguments.joined(separator: " ")))
        }
        try settings.check()
        let provider = ProviderContext(settings, context)
        _ = try provider.metadata(try provider.environment(), for: [.authorization, .token])
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

    private static func missing(_ setting: Setting) -> OIDCError {
        .usage(
            "config init: \(setting.name) is not given",
            hint: "oidc config init --issuer URL --client-id ID (a variable does not go into a profile)")
    }
}
