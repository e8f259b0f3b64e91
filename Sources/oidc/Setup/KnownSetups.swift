import OIDCCore
import OIDCSystem

/// What the configuration knows besides what is asked for. A session is dealt with by the settings of its own
/// provider and client: nobody else's secret goes there.
struct KnownSetups {
    private let asked: ProviderSetup
    private let profiles: [ProviderSetup]
    /// How the network is reached holds for every session.
    private let network: [Settings.Entry]

    init(_ asked: ProviderSetup) throws(OIDCError) {
        self.asked = asked
        let network = asked.settings.entries.filter { KnownSetups.ofNetwork.contains($0.setting) }
        self.network = network
        let context = asked.context
        profiles = try context.settingsLoader.profiles().compactMap { loaded in
            switch loaded {
            case .success(let entries):
                return ProviderSetup(
                    Settings(profile: entries.profile, entries: entries.own + network), context)
            case .failure(let error):
                context.console.warn(error.message)
                return nil
            }
        }
    }

    private static let ofNetwork: [Setting] = [.caFile, .httpTimeout, .allowInsecureHTTP]

    /// Every store that is named, each once.
    func stores() throws(OIDCError) -> [any SessionStoring] {
        var names = [asked.storeName]
        var stores = [try asked.store()]
        for profile in profiles where !names.contains(profile.storeName) {
            names.append(profile.storeName)
            do { stores.append(try profile.store()) } catch { asked.context.console.warn(error.message) }
        }
        return stores
    }

    /// The settings that a session came from; else its provider and client alone, without a secret.
    func setup(of key: SessionKey) -> ProviderSetup {
        let known = [asked] + profiles
        let ofClient = known.filter {
            (try? $0.provider()) == key.provider && $0.settings.text(.clientID) == key.clientID
        }
        let own = ofClient.first {
            $0.settings.text(.account) == key.account && $0.settings.text(.audience) == key.audience
        }
        let origin = Settings.Origin.option("the session")
        return own ?? ofClient.first
            ?? ProviderSetup(
                Settings(
                    profile: nil,
                    entries: [
                        Settings.Entry(setting: .issuer, value: .string(key.provider), origin: origin),
                        Settings.Entry(setting: .clientID, value: .string(key.clientID), origin: origin),
                    ] + network), asked.context)
    }
}

extension ProviderSetup {
    fileprivate var storeName: String { settings.text(.store) ?? "file" }
}
