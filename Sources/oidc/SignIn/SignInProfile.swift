import OIDCCore
import OIDCSessions

/// The profile that a sign-in leaves behind, so the commands after it need no options.
struct SignInProfile {
    private let provider: ProviderContext
    private let key: SessionKey
    /// The name to use if it is not taken.
    private let given: String?

    /// A profile that was written, and the line that says so.
    struct Saved {
        let name: String
        let note: String
    }

    /// Writes the profile of a sign-in by options, name or URL that no profile describes. `name` is the name to use if
    /// it is not taken. A file that cannot be written is a warning.
    static func saved(_ account: Account, as name: String? = nil) -> Saved? {
        let isStored = account.store.reach != .process && account.store.unavailability == nil
        let profile = SignInProfile(provider: account.provider, key: account.key, given: name)
        guard isStored, account.provider.context.keepsProfile, profile.isNamed else { return nil }
        return profile.written()
    }

    /// Writes the profile, and reports it.
    static func remember(_ account: Account) {
        if let saved = saved(account) { account.provider.context.console.note(saved.note) }
    }

    private var settings: Settings { provider.settings }
    private var layers: SettingLayers { settings.layers }

    /// Whether an option or an operand names the provider or client. Settings that came from variables alone are there
    /// for the next command too.
    private var isNamed: Bool {
        if let target = provider.target {
            // A client that a profile configures, and a profile that was named, describe the sign-in.
            let isNamed = target.operand.namedProfile != nil && newName == nil
            return target.link.profile == nil && !isNamed && key.grant.needsUser
        }
        return [Setting.issuer, .tokenEndpoint, .clientID].contains {
            layers.entry($0)?.origin.layer == .options
        }
    }

    /// The name of the profile that the sign-in is to make.
    private var newName: String? {
        provider.context.makesProfile ? provider.context.settingsLoader.profileName : nil
    }

    /// Returns whether the resource's client is the user's own, and not one that was registered or described
    /// for it.
    private func isOwnClient(_ target: ResourceTarget) -> Bool {
        target.link.registration == nil
            && target.link.clientID != target.operand.settings.client.metadataURL
    }

    private func written() -> Saved? {
        guard let path = provider.context.settingsLoader.path else { return nil }
        let name: String?
        var described: String?
        do throws(OIDCError) {
            name = try ProfilesFile(provider.context.settingsLoader).add { profiles throws(OIDCError) in
                described = profiles.members.first { describes($0.value) }?.name
                guard newName != nil || described == nil else { return nil }
                let name = self.name(beside: profiles.names)
                return (name, try entries(for: name, at: path, beside: profiles))
            }
            if let name, let registeredSecret {
                try ProfileSecret(of: name, beside: path).write(registeredSecret)
            }
        } catch {
            provider.context.console.warn(error, "the sign-in is not saved as a profile")
            return nil
        }
        if let name = name ?? described, let target = provider.target, isOwnClient(target) {
            ResourceRecords(provider.context)?.setProfile(name, of: target.link)
        }
        guard let name else { return nil }
        let needed = secretVariables.map { " (needs \($0.joined(separator: " and ")) again)" } ?? ""
        return Saved(name: name, note: SignInProfile.note(name, provider.context, needed))
    }

    /// Returns the line about a profile that was written, with the commands that use it if it is not the default.
    static func note(_ name: String, _ context: CommandContext, _ remark: String = "") -> String {
        let saved = "Saved as profile \(DisplayText.clean(name))\(remark)"
        let chosen = try? context.settingsLoader.file()?.profile(named: nil)?.name
        guard chosen != name else { return saved }
        let word = ShellWord.quoted(name)
        return "\(saved): use it with -p \(word), or make it the default: "
            + context.common.completing(.run("switch", name))
    }

    /// Returns whether a profile of the file names this provider and client, or this resource.
    private func describes(_ profile: JSONValue) -> Bool {
        if let resource = provider.target?.link.resource {
            let named = profile[Setting.resource.name]
            let own = named?.string.map { [$0] } ?? named?.array?.compactMap(\.string) ?? []
            let isForUser =
                profile[Setting.grant.name]?.string.map { GrantType(rawValue: $0).needsUser } ?? true
            guard own == [resource], isForUser, profile[Setting.account.name]?.string == key.account else {
                return false
            }
            guard provider.target.map(isOwnClient) == true else {
                return profile[Setting.issuer.name] == nil && profile[Setting.clientID.name] == nil
            }
        }
        let named = profile[Setting.issuer.name]?.string ?? profile[Setting.tokenEndpoint.name]?.string
        guard let named, profile[Setting.clientID.name]?.string == key.clientID else { return false }
        return ExactText.isSame(SignInProfile.withoutSlash(named), SignInProfile.withoutSlash(key.provider))
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// Returns the profile's name: `default` for the first profile of a provider, else the name of the preset or the
    /// host, with a number if it is taken. A host's name that is also a preset's would hide the preset.
    private func name(beside names: [String]) -> String {
        if let newName, !names.contains(newName) { return newName }
        if let given, !names.contains(given) { return given }
        if names.isEmpty, provider.target == nil { return "default" }
        let preset = provider.target == nil ? Preset.matching(settings)?.preset.name : nil
        let url = provider.target?.link.resource ?? key.provider
        let host = DisplayText.clean(WebURL.ofIssuer(url)?.host ?? "profile", limit: 200)
        let base = preset ?? (Preset.named(host) == nil ? host : "\(host)-host")
        return SignInProfile.free(base, beside: names)
    }

    /// Returns the name, or the first of `NAME-2`, `NAME-3`, … that is not taken.
    static func free(_ name: String, beside names: [String]) -> String {
        var number = 1
        var free = name
        while names.contains(free) {
            number += 1
            free = "\(name)-\(number)"
        }
        return free
    }

    /// The secret of a client that was registered automatically, which nobody can be asked for again.
    private var registeredSecret: Redacted<String>? {
        guard provider.target == nil, let entry = layers.entry(.clientSecret), case .resource = entry.origin
        else { return nil }
        return entry.value.string.map { Redacted($0) }
    }

    /// Returns the settings to write. The secret of a registered client is kept in a file of its own.
    private func entries(
        for name: String, at path: String, beside profiles: JSONObject
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        guard registeredSecret != nil else { return entries }
        let secret = ProfileSecret(of: name, beside: path)
        try secret.check(among: profiles, replacing: false)
        return entries + [.remembered(.clientSecretFile, .string(secret.file))]
    }

    private var entries: [SettingLayers.Entry] {
        if let target = provider.target {
            let given = target.operand.settings.layers
            func isGiven(_ setting: Setting) -> Bool {
                given.entry(setting).map { [.options, .variables].contains($0.origin.layer) } ?? false
            }
            if isOwnClient(target) {
                // The next sign-in finds the rest again.
                let found: [Setting] = [.issuer, .clientID, .resource, .account]
                return layers.entries.filter {
                    $0.isRemembered && $0.setting != .scope
                        && ($0.origin.layer != .resource || found.contains($0.setting))
                } + [given.entry(.scope)].compactMap { isGiven(.scope) ? $0 : nil }
            }
            // The resource's metadata names the issuer, and the client is kept beside the session.
            let account = key.account.map { SettingLayers.Entry.remembered(.account, .string($0)) }
            return [.remembered(.resource, .array([.string(target.link.resource)]))]
                + (account.map { [$0] } ?? []) + layers.entries.filter { $0.isRemembered && isOfStore($0) }
                + [given.entry(.clientMetadataURL)].compactMap { isGiven(.clientMetadataURL) ? $0 : nil }
        }
        return layers.entries.filter { $0.isRemembered }
    }

    private func isOfStore(_ entry: SettingLayers.Entry) -> Bool {
        [.store, .storeKeyFile, .storeKeyCommand].contains(entry.setting)
    }

    /// The variables with secrets that the next command needs, because secrets are not written.
    private var secretVariables: [String]? {
        if let target = provider.target, !isOwnClient(target) { return nil }
        let names: [String] = layers.entries.compactMap { entry in
            guard entry.holdsSecret else { return nil }
            return switch entry.origin {
            case .option: entry.setting.variable
            case .variable(let name): name
            case .profile, .resource: nil
            }
        }
        return names.isEmpty ? nil : names
    }
}

extension SettingLayers.Entry {
    fileprivate static func remembered(_ setting: Setting, _ value: JSONValue) -> SettingLayers.Entry {
        SettingLayers.Entry(setting: setting, value: value, origin: .option("the sign-in"))
    }

    /// Whether the value itself is a secret, or holds one.
    var holdsSecret: Bool {
        setting.kind.isSecret
            || setting == .store && SessionStoreChoice.holdsPassword(value.string ?? "")
    }

    /// Whether the setting is for one sign-in only, as an option of `oidc login` is.
    var isForOneSignIn: Bool {
        let transient = [
            "--flow", "--timeout", "--prompt", "--login-hint", "--max-age", "--acr-values", "--param",
        ]
        guard case .option(let option) = origin else { return false }
        return transient.contains(option)
    }

    /// Whether a profile needs the setting to describe the sign-in: what options said, what belongs to the provider
    /// or client, and what names the session, wherever it came from.
    fileprivate var isRemembered: Bool {
        guard !holdsSecret, origin != .securityProfile else { return false }
        let ofSession: [Setting] = [
            .scope, .audience, .resource, .account, .store, .storeKeyFile, .storeKeyCommand,
        ]
        if ofSession.contains(setting) { return true }
        switch origin {
        case .option: return !isForOneSignIn
        case .variable, .profile: return setting == .issuer || setting.isForOneServer
        // Values that a registration set, such as the redirect URL.
        case .resource: return true
        }
    }
}
