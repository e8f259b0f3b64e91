import CommandLineKit
import OIDCCore
import OIDCSessions

struct RegisterCommand: RunnableCommand {
    static let name = "register"
    static let summary = "Register a client and write its profile"
    static let declaration = Declaration<RegisterCommand>(
        discussion: """
            Registers a native client (RFC 7591), if the provider allows it, and writes a profile with what was \
            registered. The redirect URLs are those of `redirect_uri`, `port` or `redirect_ports`, or else four \
            on fixed ports of 127.0.0.1. The profile is named by -p, or `default`. With --client-metadata, it prints \
            the document to host at an https URL, which is then the client ID for every server that supports client \
            ID metadata documents: set it as `client_metadata_url`. The public key of `private_key_file` is registered \
            if requests are signed or `client_auth` is private_key_jwt; the certificate of `tls_client_certificate`, if \
            it is self_signed_tls_client_auth; the key of `decryption_key_file`, if \
            `id_token_encrypted_response_alg` is set. If the provider lets the client manage its registration (RFC 7592), --update and --delete \
            change it.
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
            throw UsageError(
                "a URL requires --client-metadata", hint: .command(["register", "--issuer", "URL"]))
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
        let name = context.settingsLoader.profileName ?? "default"
        let file = try ProfilesFile(context.settingsLoader)
        try file.checkName(name, replacing: isForced)
        let secret = ProfileSecret(of: name, beside: file.path)
        try secret.check(among: try file.profiles(), replacing: isForced)
        context.traceConfiguration(name)
        let provider = ProviderContext(try settings(entries, context), context)
        try refuseOtherClient(provider.settings)
        try provider.settings.checkSecurityProfile()
        guard provider.namesProvider || provider.settings.provider.endpoint(.registration) != nil else {
            throw .usage("issuer is not set", hint: .run("register --issuer URL"))
        }
        let registered = try register(provider)
        let client = registered.client
        keepAccess(client, provider)
        do throws(OIDCError) {
            try file.write(as: name, replacing: isForced) { profiles throws(OIDCError) in
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
                + "\(DisplayText.clean(file.path)). Now: "
                + context.common.completing(provider.settings.line("login", profile: name, of: file)))
        warnOfVariables(provider.settings, context)
        // So far, the server may have been known only from a URL.
        if let issuer = provider.settings.provider.issuer {
            provider.noteNamed(issuer)
        }
        if context.console.isJSON {
            try context.console.output([
                "client_id": .string(client.clientID), "profile": .string(name), "path": .string(file.path),
                "client_secret_expires_at": client.clientSecretExpiresAt.map {
                    JSONValue($0.secondsSinceEpoch)
                } ?? .null,
            ])
        }
        return 0
    }

    private func portEntries() throws(OIDCError) -> [SettingLayers.Entry] {
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
                hint: .run("register --client-metadata https://example.com/oidc.json"))
        }
        var registration = Registration(
            clientName: clientName, redirectURIs: ClientRegistration.urls(try settings.signIn.redirect()),
            scope: Scope(scope?.value.string ?? ""))
        registration.addGrants(of: settings)
        let document = try ClientMetadataDocument(
            url: try ClientMetadataDocument.checkedURL(text), registration: registration
        ).document()
        try context.console.output(.object(document))
        let line = context.common.completing(.run("config set", "client_metadata_url=\(text)"))
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
        // An algorithm that the provider dropped is not kept either.
        var entries = options.filter { entry in
            !made.contains {
                $0.0 == entry.setting && ($0.1 != nil || RegisteredRequests.answers.contains($0.0))
            }
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
        registration.encryption = try RegisteredEncryption(provider)
        registration.requests = try RegisteredRequests(provider, metadata)
        return try registration.run(
            over: environment.transport, initialAccessToken: token, console: provider.context.console)
    }
}

/// The management of a client that was registered (RFC 7592).
extension RegisterCommand {
    /// A registered client of the profile in use, and the access to its registration.
    private struct Managed {
        let provider: ProviderContext
        let issuer: String
        let server: WebURL
        var record: RegisteredRecord
        let access: RegistrationAccess
        let records: ResourceRecords

        var name: String { RegisterCommand.recordName(issuer) }
        var clientID: String { record.clientID }

        /// The command that registers another client for the profile.
        var registerLine: Hint {
            .run(
                "register --force --issuer", [issuer] + (provider.settings.profile.map { ["-p", $0] } ?? []))
        }
    }

    /// Returns the name of the file of the clients that this command registered at an issuer: those have no
    /// redirect URLs of their own.
    fileprivate static func recordName(_ issuer: String) -> String {
        Registrations.name(issuer: issuer, redirects: [])
    }

    /// Returns the URL of the server that registers clients: the configured endpoint, or the issuer.
    private func server(_ issuer: String, _ provider: ProviderContext) -> WebURL? {
        provider.settings.provider.endpoint(.registration).flatMap { WebURL($0) } ?? WebURL.ofIssuer(issuer)
    }

    /// Keeps the access to a new client's registration, if the provider gave it.
    private func keepAccess(_ client: RegisteredClient, _ provider: ProviderContext) {
        guard let issuer = provider.settings.provider.issuer, let server = server(issuer, provider),
            let records = ResourceRecords(provider.context)
        else { return }
        var record = RegisteredRecord(clientID: client.clientID)
        do throws(OIDCError) {
            guard let access = try client.access(from: server) else { return }
            record.keep(access)
            try records.keep(record, as: RegisterCommand.recordName(issuer), issuer: issuer)
        } catch {
            provider.context.console.warn(
                "the registration access token could not be kept, so --update and --delete are not possible: "
                    + error.message)
        }
    }

    /// Updates or deletes the client of the profile in use.
    func manage(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try context.provider(options, and: try portEntries())
        let id = try provider.settings.client.requiredID()
        guard let issuer = provider.settings.provider.issuer, let server = server(issuer, provider) else {
            throw Setting.issuer.missing(option: "--issuer URL")
        }
        guard let records = ResourceRecords(context),
            let record = try records.registrations.client(id, issuer: issuer),
            let access = try access(record, from: server)
        else {
            throw .usage(
                "no registration access token is kept for the client \(DisplayText.quoted(id)): oidc did not register "
                    + "it on this machine, or the provider gave none that can be used",
                hint: RegisterCommand.wayOn)
        }
        let managed = Managed(
            provider: provider, issuer: issuer, server: server, record: record, access: access,
            records: records)
        do throws(OIDCError) {
            try isUpdate ? update(managed, context) : delete(managed, context)
        } catch {
            guard error.stage == .registration, error.kind == .refused else { throw error }
            var error = error
            error.hint =
                error.hint ?? .words("if the provider no longer knows the client: ", managed.registerLine)
            throw error
        }
        return 0
    }

    private static let wayOn: Hint = "change the client on the provider's own pages"

    private func access(
        _ record: RegisteredRecord, from server: WebURL
    ) throws(OIDCError) -> RegistrationAccess? {
        do throws(OIDCError) { return try record.access(from: server) } catch {
            var error = error
            error.hint = RegisterCommand.wayOn
            throw error
        }
    }

    private func update(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        let provider = managed.provider
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: [.registration])
        var registration = try ClientRegistration(
            clientName: clientName, settings: provider.settings, metadata: metadata)
        registration.keys = try RegisteredKeys(provider)
        registration.encryption = try RegisteredEncryption(provider)
        registration.requests = try RegisteredRequests(provider, metadata)
        let secret = try provider.secrets.value(provider.settings.client.secret)
        let outcome = try registration.update(
            managed.access, clientID: managed.clientID, secret: secret, over: environment.transport,
            console: context.console)
        // The provider may replace the token with each answer (RFC 7592 §3).
        var record = managed.record
        do throws(OIDCError) {
            if let access = try outcome.client.access(from: managed.server) { record.keep(access) }
        } catch {
            context.console.warn("the new registration access token could not be kept: " + error.message)
        }
        try managed.records.keep(record, as: managed.name, issuer: managed.issuer)
        if let profile = provider.settings.profile {
            let file = try ProfilesFile(context.settingsLoader)
            if let new = outcome.client.clientSecret, new != secret {
                try ProfileSecret(of: profile, beside: file.path).write(new)
            }
            // A port on the command line replaces several.
            let changed = outcome.entries.compactMap { setting, value in
                value.flatMap { value in
                    port != nil && setting == .redirectPorts
                        ? nil
                        : SettingLayers.Entry(setting: setting, value: value, origin: .option("register"))
                }
            }
            _ = try file.set(changed)
            var gone = outcome.entries.filter { $0.1 == nil && RegisteredRequests.answers.contains($0.0) }
                .map(\.0)
            if port != nil || provider.settings.signIn.redirectPorts.isEmpty { gone.append(.redirectPorts) }
            let names = provider.settings.layers.given.compactMap {
                $0.origin.layer == .profile && gone.contains($0.setting) ? $0.setting.name : nil
            }
            if !names.isEmpty { _ = try file.unset(names) }
        }
        context.console.note("Updated the client \(DisplayText.quoted(managed.clientID)).")
        try report(managed, context)
    }

    private func delete(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        try managed.provider.environment().transport.perform(managed.access.delete())
        try managed.records.registrations.remove(
            managed.clientID, from: managed.name, issuer: managed.issuer)
        try forget(managed, context)
        context.console.note(
            "Deleted the client \(DisplayText.quoted(managed.clientID)). To register another: "
                + managed.registerLine.commandLine
        )
        try report(managed, context)
    }

    /// Removes the client from the profile that names it, and the file of its secret.
    private func forget(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        let settings = managed.provider.settings
        guard let profile = settings.profile else { return }
        let file = try ProfilesFile(context.settingsLoader)
        let secret = ProfileSecret(of: profile, beside: file.path)
        let own = settings.layers.given.filter { $0.origin.layer == .profile }
        let isOurs = own.contains { $0.setting == .clientSecretFile && $0.value.string == secret.file }
        let names = own.map(\.setting).filter { $0 == .clientID || isOurs && $0 == .clientSecretFile }
        if !names.isEmpty { _ = try file.unset(names.map(\.name)) }
        if isOurs { secret.remove() }
    }

    private func report(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        guard context.console.isJSON else { return }
        try context.console.output([
            "client_id": .string(managed.clientID), "profile": JSONValue(managed.provider.settings.profile),
        ])
    }
}
