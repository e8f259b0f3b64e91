import OIDCCore
import OIDCSessions

/// The management of a client that was registered (RFC 7592).
extension RegisterCommand {
    /// A registered client of the profile in use, and the access to its registration.
    private struct Managed {
        let provider: ProviderContext
        let issuer: String
        var record: RegisteredRecord
        let access: RegistrationAccess
        let records: ResourceRecords

        var name: String { RegisterCommand.recordName(issuer) }
        var clientID: String { record.clientID }

        /// The command that registers another client for the profile.
        var registerLine: String {
            let profile = provider.settings.profile.map { " -p \(ShellWord.quoted($0))" } ?? ""
            return "oidc register --force --issuer \(ShellWord.quoted(issuer))\(profile)"
        }
    }

    /// The file of the clients that this command registered at an issuer: those have no redirect URLs of their own.
    fileprivate static func recordName(_ issuer: String) -> String {
        Registrations.name(issuer: issuer, redirects: [])
    }

    /// Keeps the access to a new client's registration, if the provider gave it.
    func keepAccess(_ client: RegisteredClient, _ provider: ProviderContext) {
        guard let access = client.access, let issuer = provider.settings.provider.issuer,
            let records = ResourceRecords(provider.context)
        else { return }
        var record = RegisteredRecord(clientID: client.clientID)
        record.access = access
        do throws(OIDCError) {
            try records.registrations.keep(record, as: RegisterCommand.recordName(issuer), issuer: issuer)
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
        guard let issuer = provider.settings.provider.issuer else {
            throw Setting.issuer.missing(option: "--issuer URL")
        }
        guard let records = ResourceRecords(context),
            let record = try records.registrations.client(id, issuer: issuer), let access = record.access
        else {
            throw .usage(
                "no registration access token is kept for the client \(DisplayText.quoted(id)): oidc did not register "
                    + "it on this machine, or the provider gave none",
                hint: "change the client on the provider's own pages")
        }
        let managed = Managed(
            provider: provider, issuer: issuer, record: record, access: access, records: records)
        do throws(OIDCError) {
            try isUpdate ? update(managed, context) : delete(managed, context)
        } catch {
            guard error.stage == .registration, error.kind == .refused, error.hint == nil else { throw error }
            var error = error
            error.hint = .text("if the provider no longer knows the client: \(managed.registerLine)")
            throw error
        }
        return 0
    }

    private func update(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        let provider = managed.provider
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: [.registration])
        var registration = try ClientRegistration(
            clientName: clientName, settings: provider.settings, metadata: metadata)
        registration.keys = try RegisteredKeys(provider)
        let secret = try provider.secrets.value(provider.settings.client.secret)
        let outcome = try registration.update(
            managed.access, clientID: managed.clientID, secret: secret, over: environment.transport,
            console: context.console)
        // The provider may replace the token with each answer (RFC 7592 §3).
        var record = managed.record
        record.access = outcome.client.access ?? managed.access
        try managed.records.registrations.keep(record, as: managed.name, issuer: managed.issuer)
        if let profile = provider.settings.profile {
            let editor = try ProfileEditor(context.settingsLoader)
            if let new = outcome.client.clientSecret, new != secret {
                try ProfileSecret(of: profile, beside: editor.path).write(new)
            }
            // A port on the command line takes the place of several.
            let changed = outcome.entries.compactMap { setting, value in
                value.flatMap { value in
                    port != nil && setting == .redirectPorts
                        ? nil
                        : SettingLayers.Entry(setting: setting, value: value, origin: .option("register"))
                }
            }
            _ = try editor.set(changed)
            let hasPorts = provider.settings.layers.given.contains {
                $0.setting == .redirectPorts && $0.origin.layer == .profile
            }
            if port != nil, hasPorts { _ = try editor.unset([Setting.redirectPorts.name]) }
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
            "Deleted the client \(DisplayText.quoted(managed.clientID)). To register another: \(managed.registerLine)"
        )
        try report(managed, context)
    }

    /// Removes the client from the profile that names it, and the file of its secret.
    private func forget(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        let settings = managed.provider.settings
        guard let profile = settings.profile else { return }
        let editor = try ProfileEditor(context.settingsLoader)
        let secret = ProfileSecret(of: profile, beside: editor.path)
        let own = settings.layers.given.filter { $0.origin.layer == .profile }
        let isOurs = own.contains { $0.setting == .clientSecretFile && $0.value.string == secret.file }
        let names = own.map(\.setting).filter { $0 == .clientID || isOurs && $0 == .clientSecretFile }
        if !names.isEmpty { _ = try editor.unset(names.map(\.name)) }
        if isOurs { secret.remove() }
    }

    private func report(_ managed: Managed, _ context: CommandContext) throws(OIDCError) {
        guard context.console.isJSON else { return }
        try context.console.output([
            "client_id": .string(managed.clientID), "profile": JSONValue(managed.provider.settings.profile),
        ])
    }
}
