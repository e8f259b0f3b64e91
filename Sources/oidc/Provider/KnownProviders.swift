import OIDCCore
import OIDCSessions

/// The providers of all profiles. A session is handled with the settings of its own provider and client, so
/// no other client's secret is sent there.
struct KnownProviders {
    private let current: ProviderContext
    private let profiles: [ProviderContext]
    /// The network settings, used for every session.
    private let network: [SettingLayers.Entry]

    init(_ current: ProviderContext) throws(OIDCError) {
        self.current = current
        let network = current.settings.layers.entries.filter { NetworkSettings.shared.contains($0.setting) }
        self.network = network
        let context = current.context
        profiles = try context.settingsLoader.profiles().compactMap { loaded in
            switch loaded {
            case .success(let entries):
                return ProviderContext(
                    context.settings(profile: entries.profile, entries.own + network),
                    context)
            case .failure(let error):
                context.console.warn(error.message)
                return nil
            }
        }
    }

    /// A store that the settings or a profile name.
    struct Store {
        let store: SessionStore
        /// The setting, with the source of a shared store's key.
        let name: String
    }

    /// Returns the stores of the settings and of all profiles, each once.
    private func stores(isSilent: Bool = false) throws(OIDCError) -> [Store] {
        var stores = [Store(store: try current.store(), name: current.settings.storeName)]
        for profile in profiles where !stores.contains(where: { $0.name == profile.settings.storeName }) {
            do {
                stores.append(Store(store: try profile.store(), name: profile.settings.storeName))
            } catch {
                if !isSilent { current.context.console.warn(error.message) }
            }
        }
        return stores
    }

    /// Returns every session of every store. With `note`, a store that cannot be listed is reported and left
    /// out.
    ///
    /// A session in two stores that differ only in their keys is listed once, with the store that can read
    /// it.
    func sessions(orNote note: ((OIDCError) -> Void)? = nil) throws(OIDCError) -> [Entry] {
        var found: [Entry] = []
        var indices: [String: Int] = [:]
        for store in try stores() {
            let all: [StoredSession]
            do throws(OIDCError) { all = try store.store.all() } catch {
                guard let note, error.kind != .interrupted else { throw error }
                note(error)
                continue
            }
            for session in all {
                if case .failure(let error) = session.content, error.kind == .interrupted { throw error }
                if let index = indices[session.location] {
                    guard found[index].session.session == nil, session.session != nil else { continue }
                    found[index] = Entry(session: session, store: store)
                } else {
                    indices[session.location] = found.count
                    found.append(Entry(session: session, store: store))
                }
            }
        }
        return found
    }

    /// Removes sessions of killed sign-ins from every store, and returns those that can be read.
    func takeLeftovers(
        orNote note: (OIDCError) -> Void, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [(session: Session, store: Store)] {
        var taken: [(session: Session, store: Store)] = []
        for store in try stores(isSilent: true) {
            do throws(OIDCError) {
                taken += try store.store.takeLeftovers(of: nil, where: isMeant).map { ($0, store) }
            } catch {
                guard error.kind != .interrupted else { throw error }
                note(error)
            }
        }
        return taken
    }

    /// A session, and the store that has it.
    struct Entry {
        let session: StoredSession
        let store: Store
    }

    /// Returns whether another profile than the one in use keeps this session in this store.
    func isInUse(_ store: String, for key: SessionKey) -> Bool {
        profiles.contains { profile in
            profile.settings.profile != current.settings.profile && profile.settings.store == store
                && (try? profile.sessionKey()) == key
        }
    }

    /// Returns the settings of a resource's session, with the secret of the client that was registered for
    /// it.
    private func registered(_ key: SessionKey) -> ProviderContext? {
        guard let records = ResourceRecords(current.context), let resource = key.resources.first,
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
            current.context.settings(profile: nil, entries), current.context)
    }

    /// Returns the name of the profile that a session belongs to; nil if that profile uses another store.
    func profile(of key: SessionKey, in store: Store) -> String? {
        let settings = provider(of: key, in: store).settings
        return settings.storeName == store.name ? settings.profile : nil
    }

    /// Returns the error with a hint that names this session, as the command line may be about another one.
    func naming(_ failure: OIDCError, of stored: Entry) -> OIDCError {
        let location = stored.session.location
        let owner = ([current] + profiles).first { provider in
            guard let key = try? provider.sessionKey(), let store = try? provider.store() else {
                return false
            }
            return store.location(of: key) == location
        }
        guard owner?.settings.profile != current.settings.profile || owner == nil else { return failure }
        var failure = failure
        failure.hint = failure.hint?.aboutOther(
            profile: owner?.settings.profile.map { ["-p", $0] },
            file: location.hasPrefix("/") ? location : nil)
        return failure
    }

    /// Returns the settings for a session: those of a profile, preferably one that uses its store; those of a
    /// registered client; or only the provider and the client ID, without a secret.
    func provider(of key: SessionKey, in store: Store? = nil) -> ProviderContext {
        let known = [current] + profiles
        var ofClient = known.filter {
            (try? $0.identifier()) == key.provider && $0.settings.client.id == key.clientID
        }
        let inStore = ofClient.filter { $0.settings.storeName == store?.name }
        if !inStore.isEmpty { ofClient = inStore }
        let own = ofClient.first {
            $0.settings.token.account == key.account && $0.settings.token.audience == key.audience
        }
        if let found = own ?? ofClient.first { return found }
        if let registered = registered(key) { return registered }
        let origin = SettingLayers.Origin.option("the session")
        let entries = [
            SettingLayers.Entry(setting: .issuer, value: .string(key.provider), origin: origin),
            SettingLayers.Entry(setting: .clientID, value: .string(key.clientID), origin: origin),
        ]
        return ProviderContext(current.context.settings(profile: nil, entries + network), current.context)
    }
}

extension Settings {
    /// A string that distinguishes the stores of profiles: the setting, with the source of a shared store's
    /// key.
    fileprivate var storeName: String {
        guard case .shared? = try? SessionStoreChoice(setting: store) else { return store }
        return ([store, sharedStore.keyFile?.path ?? ""] + sharedStore.keyCommand).joined(separator: "\n")
    }
}
