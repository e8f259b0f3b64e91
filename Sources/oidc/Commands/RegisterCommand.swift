import CommandLineKit
import OIDCCore

struct RegisterCommand: RunnableCommand {
    static let name = "register"
    static let summary = "Register a client and write its profile"
    static let declaration = Declaration<RegisterCommand>(
        discussion: """
            Registers a native client (RFC 7591), if the provider allows it, and writes a profile with what was \
            registered. The redirect URLs are those of `redirect_uri`, `port` or `redirect_ports`, or else four \
            on fixed ports of 127.0.0.1. The profile is named by -p, or `default`. With --client-metadata, it prints \
            the document to host at an https URL, which is then the client ID for every server that supports client \
            ID metadata documents: set it as `client_metadata_url`. The public key of `private_key_file`, or the \
            certificate of `tls_client_certificate`, is registered with it if `client_auth` is private_key_jwt or \
            self_signed_tls_client_auth. If the provider lets the client manage its registration (RFC 7592), --update \
            and --delete change it.
            """,
        examples: [
            Example("oidc register --issuer https://login.example.com", "the first profile"),
            Example(
                "oidc register -p work --initial-access-token token.txt",
                "at a provider that requires a token"),
            Example(
                "oidc register --client-metadata https://example.com/oidc.json", "the document to host there"),
        ],
        operands: [.optional(\.url, "URL", "where the document will be; default: client_metadata_url")],
        options: [
            .flag(\.isMetadata, "--client-metadata", "print a client ID metadata document"),
            .value(\.clientName, "--name", "NAME", "the name that users see at the provider"),
            .value(
                \.initialAccessToken, "--initial-access-token", "FILE",
                "the provider's token, or - for stdin",
                completion: .file),
            .number(\.port, "--port", "N", in: 1...65_535, "port of the redirect URL"),
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .flag(\.isUpdate, "--update", "register the profile's client again with its present settings"),
            .flag(\.isDeletion, "--delete", "remove the profile's client at the provider"),
            .group(\.options), .group(\.common),
        ])

    var url: String?
    var isMetadata = false
    var clientName = "oidc"
    var initialAccessToken: String?
    var port: Int?
    var isForced = false
    var isUpdate = false
    var isDeletion = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) {
        if url != nil, !isMetadata {
            throw UsageError("a URL requires --client-metadata", hint: "oidc register --issuer URL")
        }
        if isUpdate, isDeletion { throw UsageError("--update and --delete cannot be used together") }
        let managing = isUpdate ? "--update" : isDeletion ? "--delete" : nil
        let others = [
            ("--client-metadata", isMetadata), ("--force", isForced),
            ("--initial-access-token", initialAccessToken != nil), ("--port", port != nil && isDeletion),
        ]
        if let managing, let other = others.first(where: \.1)?.0 {
            throw UsageError("\(managing) and \(other) cannot be used together")
        }
        guard isMetadata else { return }
        if isForced { throw UsageError("--client-metadata writes no profile, so --force has no meaning") }
        if initialAccessToken != nil {
            throw UsageError("--client-metadata registers nothing, so --initial-access-token has no meaning")
        }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isMetadata else { return try printMetadata(context) }
        guard !isUpdate, !isDeletion else { return try manage(context) }
        let entries = try options.entries() + portEntries()
        let path = try context.settingsLoader.requiredPath()
        let name = context.settingsLoader.profileName ?? "default"
        let writer = ProfileWriter(path: path)
        try writer.checkName(name, replacing: isForced)
        let secret = ProfileSecret(of: name, beside: path)
        try secret.check(among: try writer.profiles(), replacing: isForced)
        context.traceConfiguration(name)
        let provider = ProviderContext(try settings(entries, context), context)
        try refuseOtherClient(provider.settings)
        guard provider.namesProvider || provider.settings.provider.endpoint(.registration) != nil else {
            throw .usage("issuer is not set", hint: "oidc register --issuer URL")
        }
        let registered = try register(provider)
        let client = registered.client
        keepAccess(client, provider)
        do throws(OIDCError) {
            try writer.write(as: name, replacing: isForced) { profiles throws(OIDCError) in
                try secret.check(among: profiles, replacing: isForced)
                return try written(entries, registered, provider, secret)
            }
        } catch {
            var error = error
            error.message += "; the client is registered as \(DisplayText.quoted(client.clientID))"
            throw error
        }
        context.console.note(
            "Registered \(DisplayText.quoted(client.clientID)); wrote profile \(DisplayText.clean(name)) to "
                + "\(DisplayText.clean(path)). Now: "
                + context.common.completing(provider.settings.loginLine(profile: name, of: writer)))
        warnOfVariables(provider.settings, context)
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

    func portEntries() throws(OIDCError) -> [SettingLayers.Entry] {
        try SettingsLoader.entries([(.port, "--port", port.map { String($0) })])
    }

    private static let others = [Setting.clientID] + Setting.clientSecrets

    /// Refuses options that a new client cannot use: another client's ID or secret, and a grant without a
    /// user.
    private func refuseOtherClient(_ settings: Settings) throws(OIDCError) {
        func refuse(_ refused: [Setting], _ reason: String) throws(OIDCError) {
            let given = settings.layers.given.filter { $0.origin.layer == .options }
            guard let entry = given.first(where: { refused.contains($0.setting) }) else { return }
            throw .usage("\(entry.given) \(reason)", hint: "leave \(entry.given) out")
        }
        try refuse(Self.others, "belongs to a client that exists, and register makes a new one")
        if !settings.token.grant.needsUser {
            try refuse([.grant], "needs no user, and register makes a client that signs users in")
        }
    }

    /// Warns about variables that override the profile.
    private func warnOfVariables(_ settings: Settings, _ context: CommandContext) {
        let overriding = Self.others + (settings.token.grant.needsUser ? [] : [.grant])
        for entry in settings.layers.given
        where entry.origin.layer == .variables && overriding.contains(entry.setting) {
            context.console.warn("\(entry.origin.text) is set, which overrides the new profile")
        }
    }

    /// Prints the document to host. It lists the redirect URLs without a port, which servers must ignore (RFC
    /// 8252 §7.3), and with the ports that a sign-in uses, for servers that compare them exactly.
    private func printMetadata(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let settings = try context.settings(options, and: try portEntries())
        try refuseOtherClient(settings)
        let scope = settings.layers.given.first { $0.setting == .scope && $0.origin.layer == .options }
        guard let text = url ?? settings.client.metadataURL else {
            throw .usage(
                "the URL of the document is missing",
                hint: "oidc register --client-metadata https://example.com/oidc.json")
        }
        var registration = Registration(
            clientName: clientName, redirectURIs: ClientRegistration.urls(try settings.signIn.redirect()),
            scope: Scope(scope?.value.string ?? ""))
        registration.addGrants(of: settings)
        let document = try ClientMetadataDocument(
            url: try ClientMetadataDocument.checkedURL(text), registration: registration
        ).document()
        try context.console.output(.object(document))
        let line = context.common.completing(
            "oidc config set client_metadata_url=\(ShellWord.quoted(text))")
        context.console.note("Host this at \(DisplayText.clean(text)); then: \(line)")
        return 0
    }

    /// Returns the entries of the profile: the options, overridden by what the provider registered.
    private func written(
        _ options: [SettingLayers.Entry], _ registered: ClientRegistration.Outcome,
        _ provider: ProviderContext, _ file: ProfileSecret
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        if let secret = registered.client.clientSecret { try file.write(secret) }
        var made = registered.entries
        made.append((.issuer, provider.settings.provider.issuer.map { .string($0) }))
        made.append((.clientSecretFile, registered.client.clientSecret.map { _ in .string(file.file) }))
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

    /// Reads only the options and variables, because the profile does not exist yet.
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
            Redacted(
                ASCII.trimmed(
                    try InputText.read(provider.context.path(file), named: "--initial-access-token")))
        }
        var registration = try ClientRegistration(
            clientName: clientName, settings: provider.settings, metadata: metadata)
        registration.keys = try RegisteredKeys(provider)
        return try registration.run(
            over: environment.transport, initialAccessToken: token, console: provider.context.console)
    }
}
