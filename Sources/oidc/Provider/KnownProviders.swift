import OIDCCore
import OIDCSystem

/// The providers of all profiles. A session is handled with the settings of its own provider and client, so nobody
/// else's secret is sent there.
struct KnownProviders {
    private let asked: ProviderContext
    private let profiles: [ProviderContext]
    /// The network settings, used for every session.
    private let network: [SettingLayers.Entry]

    init(_ asked: ProviderContext) throws(OIDCError) {
        self.asked = asked
        let network = asked.settings.layers.entries.filter { NetworkSettings.shared.contains($0.setting) }
        self.network = network
        let context = asked.context
        profiles = try context.settingsLoader.profiles().compactMap { loaded in
            switch loaded {
            case .success(let entries):
                return ProviderContext(
                    context.settings(SettingLayers(profile: entries.profile, entries: entries.own + network)),
                    context)
            case .failure(let error):
                context.console.warn(error.message)
                return nil
            }
        }
    }

    /// Returns every store that is named, each once.
    func stores() throws(OIDCError) -> [any SessionStoring] {
        var names = [asked.settings.store]
        var stores = [try asked.store()]
        for profile in profiles where !names.contains(profile.settings.store) {
            names.append(profile.settings.store)
            do { stores.append(try profile.store()) } catch { asked.context.console.warn(error.message) }
        }
        return stores
    }

    /// Returns the settings of a resource's session, with the secret of the client that was registered for it.
    private func registered(_ key: SessionKey) -> ProviderContext? {
        guard let records = ResourceRecords(asked.context), let resource = key.resources.first,
            let client = try? records.registrations.client(key.clientID, issuer: key.provider)
        else { return nil }
        let origin = SettingLayers.Origin.resource(resource)
        var entries = network
        func add(_ setting: Setting, _ value: JSONValue?) {
            guard let value else { return }
            entries.append(SettingLayers.Entry(setting: setting, value: value, origin: origin))
        }
        add(.issuer, .string(key.provider))
        add(.clientID, .string(key.clientID))
        add(.clientSecret, client.clientSecret.map { .string($0.revealed) })
        add(.clientAuth, client.settings[Setting.clientAuth.name])
        return ProviderContext(
            asked.context.settings(SettingLayers(profile: nil, entries: entries)), asked.context)
    }

    /// Returns the settings of a session, or only its provider and client, without a secret.
    func provider(of key: SessionKey) -> ProviderContext {
        let known = [asked] + profiles
        let ofClient = known.filter {
            (try? $0.identifier()) == key.provider && $0.settings.client.id == key.clientID
        }
        let own = ofClient.first {
            $0.settings.token.account == key.account && $0.settings.token.audience == key.audience
        }
        if let found = own ?? ofClient.first { return found }
        if let registered = registered(key) { return registered }
        let origin = SettingLayers.Origin.option("the session")
        let layers = SettingLayers(
            profile: nil,
            entries: [
                SettingLayers.Entry(setting: .issuer, value: .string(key.provider), origin: origin),
                SettingLayers.Entry(setting: .clientID, value: .string(key.clientID), origin: origin),
            ] + network)
        return ProviderContext(asked.context.settings(layers), asked.context)
    }
}
