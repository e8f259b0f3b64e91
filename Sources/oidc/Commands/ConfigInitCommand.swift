import CommandLineKit
import OIDCCore
import OIDCSystem

struct ConfigInitCommand: RunnableCommand {
    static let name = "init"
    static let summary = "Write a profile, after checking the provider"
    static let declaration = Declaration<ConfigInitCommand>(
        discussion: """
            Writes the options into a profile of the configuration file, after fetching the provider's metadata. \
            The profile is named by -p, or `default`. Other profiles are not changed.
            """,
        examples: [
            Example(
                "oidc config init --issuer https://login.example.com --client-id cli", "the first profile"),
            Example("oidc config init -p work --issuer URL --client-id ID", "another profile"),
        ],
        options: [
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .group(\.options), .group(\.common),
        ])

    var isForced = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var loader = context.settingsLoader
        let path = try loader.requiredPath()
        let entries = try options.entries()
        let name = loader.profileName ?? "default"
        // The profile must work without variables, except those about the network, such as `ca_file`.
        let written = SettingLayers(profile: nil, entries: entries)
        loader.profileName = nil
        let around = try loader.load(from: nil, in: path).layers.entries.filter {
            $0.setting.owner == .anyone && $0.setting != .issuer
        }
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let settings = context.settings(SettingLayers(profile: nil, entries: written.entries + around))
        let named = settings.provider
        if named.issuer == nil, named.endpoints[.token] == nil { throw Self.missing(.issuer) }
        if settings.client.id == nil { throw Self.missing(.clientID) }
        let provider = ProviderContext(settings, context)
        _ = try provider.metadata(try provider.environment(), for: [.authorization, .token])
        try writer.write(as: name, replacing: isForced) { _ in entries }
        context.console.note(
            "Wrote profile \(DisplayText.clean(name)) to \(DisplayText.clean(path)). Now: oidc login"
                + (name == "default" ? "" : " -p \(ShellWord.quoted(name))"))
        ProfileSessions.noteSharing(of: name, context)
        if context.console.isJSON {
            try context.console.output(["path": .string(path), "profile": .string(name)])
        }
        return 0
    }

    private static func missing(_ setting: Setting) -> OIDCError {
        .usage(
            "config init: \(setting.name) is not given",
            hint: "oidc config init --issuer URL --client-id ID (a variable does not go into a profile)")
    }
}
