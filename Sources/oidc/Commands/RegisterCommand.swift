import CommandLineKit
import OIDCCore
import OIDCSystem

struct RegisterCommand: RunnableCommand {
    static let name = "register"
    static let summary = "Register a client and write its profile"
    static let declaration = Declaration<RegisterCommand>(
        discussion: """
            Registers a native client (RFC 7591), if the provider allows it, and writes a profile with what was \
            registered. The redirect URLs are those of `redirect_uri`, `port` or `redirect_ports`, or else four \
            on fixed ports of 127.0.0.1. The profile is named by -p, or `default`.
            """,
        examples: [
            Example("oidc register --issuer https://login.example.com", "the first profile"),
            Example(
                "oidc register -p work --initial-access-token token.txt",
                "at a provider that requires a token"),
        ],
        options: [
            .value(\.clientName, "--name", "NAME", "the name that users see at the provider"),
            .value(
                \.initialAccessToken, "--initial-access-token", "FILE",
                "the provider's token, or - for stdin",
                completion: .file),
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .group(\.options), .group(\.common),
        ])

    var clientName = "oidc"
    var initialAccessToken: String?
    var isForced = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let entries = try options.entries()
        let path = try context.settingsLoader.requiredPath()
        let name = context.settingsLoader.profileName ?? "default"
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let secretFile = Self.secretFile(of: name, beside: path)
        try check(secretFile, of: name, among: try writer.existing().profiles)
        let provider = ProviderContext(try settings(entries, context), context)
        let registered = try register(provider)
        let client = registered.client
        do throws(OIDCError) {
            try writer.write(as: name, replacing: isForced) { profiles throws(OIDCError) in
                try check(secretFile, of: name, among: profiles)
                return try written(entries, registered, provider, secretFile: secretFile)
            }
        } catch {
            var error = error
            error.message += "; the client is registered as \(DisplayText.quoted(client.clientID))"
            throw error
        }
        context.console.note(
            "Registered \(DisplayText.quoted(client.clientID)); wrote profile \(DisplayText.clean(name)) to "
                + "\(DisplayText.clean(path)). Now: oidc login"
                + (name == "default" ? "" : " -p \(ShellWord.quoted(name))"))
        if context.console.isJSON {
            try context.console.output([
                "client_id": .string(client.clientID), "profile": .string(name), "path": .string(path),
                "client_secret_expires_at": client.clientSecretExpiresAt.map {
                    JSONValue($0.secondsSinceEpoch)
                } ?? .null,
            ])
        }
        return 0
    }

    /// Returns the profile: the options, and the provider's values for the client.
    private func written(
        _ options: [SettingLayers.Entry], _ registered: ClientRegistration.Outcome,
        _ provider: ProviderContext,
        secretFile: String
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        if let secret = registered.client.clientSecret {
            try UserFile.rewrite(
                secretFile, followingLinks: false, named: Setting.clientSecretFile.name
            ) { Array((secret.revealed + "\n").utf8) }
        }
        var made = registered.entries
        made.append((.issuer, provider.settings.provider.issuer.map { .string($0) }))
        made.append((.clientSecretFile, registered.client.clientSecret.map { _ in .string(secretFile) }))
        var entries = options.filter { entry in
            !made.contains { $0.0 == entry.setting && $0.1 != nil }
        }
        for (setting, value) in made {
            guard let value else { continue }
            entries.append(
                SettingLayers.Entry(setting: setting, value: value, origin: .option("register")))
        }
        return entries
    }

    /// Reads the settings from options and variables only, as the profile does not exist yet.
    private func settings(
        _ entries: [SettingLayers.Entry], _ context: CommandContext
    ) throws(OIDCError) -> Settings {
        var loader = context.settingsLoader
        loader.profileName = nil
        return try loader.load(entries, from: nil, in: "")
    }

    private func register(_ provider: ProviderContext) throws(OIDCError) -> ClientRegistration.Outcome {
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: [.registration])
        let token: Redacted<String>? = try initialAccessToken.map { file throws(OIDCError) in
            Redacted(ASCII.trimmed(try InputText.read(file, named: "--initial-access-token")))
        }
        let registration = try ClientRegistration(
            clientName: clientName, settings: provider.settings, metadata: metadata)
        return try registration.run(
            over: environment.transport, initialAccessToken: token, console: provider.context.console)
    }

    /// Returns the path of the profile's secret: one for each name, also on a file system that ignores case.
    static func secretFile(of profile: String, beside path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let name = profile.utf8.map { byte in
            plain.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        let directory = FilePath.split(UserFile.absolute(path)).directory
        return FilePath.join(directory, name.joined() + ".secret")
    }

    /// Checks that a secret is overwritten only together with its profile.
    private func check(_ file: String, of profile: String, among profiles: JSONObject) throws(OIDCError) {
        let setting = Setting.clientSecretFile
        let isAnothers = profiles.members.contains { other in
            guard other.name != profile, let value = other.value[setting.name] else { return false }
            return setting.kind.resolved(value, in: FilePath.split(file).directory).string == file
        }
        guard isAnothers || !isForced, UserFile.isThere(file) else { return }
        throw OIDCError.usage(
            "there is a secret at \(DisplayText.clean(file)) already",
            hint: isAnothers ? "choose another name with -p" : "move it away, or replace it with --force")
    }
}
