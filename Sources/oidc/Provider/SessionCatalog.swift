import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix
import Synchronization

/// Every session of this machine: those in the stores of the settings and of all profiles. Each is handled with the
/// settings of its own provider and client, so no other client's secret is sent there.
struct SessionCatalog {
    private let current: ProviderContext
    private let profiles: [ProviderContext]
    /// The network settings, used for every session.
    private let network: [SettingLayers.Entry]
    private let ownKeys = OwnKeys()

    /// The keys of the sessions of the settings and of each profile, kept once they are known: that of a profile of a
    /// resource is found in several files.
    private final class OwnKeys: Sendable { let keys = Mutex<[SessionKey?]?>(nil) }

    /// Creates the catalog. A profile that is not valid is reported with `note`, or else as a warning, and left out.
    init(_ current: ProviderContext, orNote note: ((OIDCError) -> Void)? = nil) throws(OIDCError) {
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
                if let note { note(error) } else { context.console.warn(error.message) }
                return nil
            }
        }
    }

    /// A store that the settings or a profile name.
    struct Store {
        let store: SessionStore
        /// The setting, with the source of a shared store's key.
        let name: String
        /// Whether it is on a server that machines share.
        let isShared: Bool

        fileprivate init(of provider: ProviderContext) throws(OIDCError) {
            store = try provider.store()
            name = provider.settings.storeName
            isShared = if case .shared = try provider.settings.storeChoice() { true } else { false }
        }

        /// Creates the store on this machine that a setting names.
        fileprivate init(setting: String, _ provider: ProviderContext) throws(OIDCError) {
            store = try provider.store(SessionStoreChoice(setting: setting))
            name = setting
            isShared = false
        }

        /// Returns whether the settings of a provider name this store.
        func isStore(of provider: ProviderContext) -> Bool { name == provider.settings.storeName }

        fileprivate func list(_ withHidden: Bool) -> Result<[StoredSession], OIDCError> {
            Result { () throws(OIDCError) in try store.all(withHidden: withHidden) }
        }
    }

    /// Reports the error of a store, with its name.
    typealias Note = (_ error: OIDCError, _ store: String) -> Void

    /// Returns the stores of the settings and of all profiles, each once. One that is not valid is reported with `note`.
    func stores(orNote note: Note) throws(OIDCError) -> [Store] {
        var stores = [try Store(of: current)]
        for profile in profiles where !stores.contains(where: { $0.name == profile.settings.storeName }) {
            do { stores.append(try Store(of: profile)) } catch { note(error, profile.settings.storeName) }
        }
        return stores
    }

    /// Returns the same stores, and those on this machine that have sessions from before `store` was changed.
    func storesWithEarlier(orNote note: Note) throws(OIDCError) -> [Store] {
        var stores = try stores(orNote: note)
        let directory = StateDirectories(environment: current.context.environment).state
            .flatMap { FilePath.isPossible($0) ? $0 : nil }
        let settings = directory.map { KeychainSeal.keepers(in: $0).union(["file"]) } ?? []
        for setting in settings.sorted() where !stores.contains(where: { $0.name == setting }) {
            do { stores.append(try Store(setting: setting, current)) } catch { note(error, setting) }
        }
        return stores
    }

    /// Returns whether a URL is the resource of a profile that is not valid, so its store is not known.
    func hasUnknownStore(of url: WebURL) -> Bool {
        let all = (try? current.context.settingsLoader.file())?.profiles ?? []
        return all.contains { profile in
            let value = profile.values[Setting.resource.name]
            let resources = value?.array ?? [value].compactMap { $0 }
            return !profiles.contains { $0.settings.profile == profile.name }
                && resources.compactMap(\.string).contains { ResourceIdentifier($0)?.identifies(url) == true }
        }
    }

    /// Returns the names of the stores of the profiles whose resource is a URL.
    func stores(of url: WebURL) -> Set<String> {
        Set(
            profiles.filter { profile in
                profile.settings.token.resources.contains {
                    ResourceIdentifier($0)?.identifies(url) == true
                }
            }.map(\.settings.storeName))
    }

    /// Whether the settings and all profiles use one store.
    var hasOneStore: Bool {
        profiles.allSatisfy { $0.settings.storeName == current.settings.storeName }
    }

    /// Returns every session of every store. With `note`, a store that cannot be listed is reported and left
    /// out.
    func items(withHidden: Bool = false, orNote note: Note? = nil) throws(OIDCError) -> [Item] {
        let warn: Note = { [console = current.context.console] error, _ in console.warn(error.message) }
        return try items(in: try stores(orNote: note ?? warn), withHidden: withHidden, orNote: note)
    }

    /// Returns every session of some stores, which are listed at the same time, as a server may not answer.
    ///
    /// A session in two stores that differ only in their keys is listed once, with the store that can read
    /// it. `withHidden` lists those as well that this machine has seen and their store does not show.
    func items(
        in stores: [Store], withHidden: Bool = false, orNote note: Note? = nil
    ) throws(OIDCError) -> [Item] {
        var items: [Item] = []
        var indices: [String: Int] = [:]
        let lists = stores.map { store in
            stores.count > 1 ? try? BackgroundResult { store.list(withHidden) } : nil
        }
        for (store, list) in zip(stores, lists) {
            let all: [StoredSession]
            do throws(OIDCError) { all = try (list?.wait() ?? store.list(withHidden)).get() } catch {
                guard let note, error.kind != .interrupted else { throw error }
                note(error, store.name)
                continue
            }
            for stored in all {
                if case .failure(let error) = stored.content, error.kind == .interrupted { throw error }
                if let index = indices[stored.location] {
                    guard items[index].stored.session == nil, stored.session != nil else { continue }
                    items[index] = Item(stored: stored, store: store)
                } else {
                    indices[stored.location] = items.count
                    items.append(Item(stored: stored, store: store))
                }
            }
        }
        return items
    }

    /// Returns the sign-out of each session that a killed sign-in left; unreadable ones are removed at once.
    /// A store that cannot be listed is reported and left out.
    func leftovers(
        in stores: [Store], orNote note: (OIDCError) -> Void, where isMeant: (SessionKey?) -> Bool
    ) throws(OIDCError) -> [SignOut] {
        var found: [SignOut] = []
        for store in stores {
            do throws(OIDCError) {
                var keys: [SessionKey] = []
                _ = try store.store.takeLeftovers(of: nil) { session in
                    guard isMeant(session?.key) else { return false }
                    guard let key = session?.key else { return true }
                    if !keys.contains(key) { keys.append(key) }
                    return false
                }
                // Each is removed just before it is revoked, so an interruption loses none.
                for key in keys {
                    found.append(
                        signOut(key, in: store) { _, _ throws(OIDCError) in
                            let taken = try store.store.takeLeftovers(of: key) { _ in true }
                            return SessionRemoval(content: .success(taken.first))
                        })
                }
            } catch {
                guard error.kind != .interrupted else { throw error }
                note(error)
            }
        }
        return found
    }

    /// Returns the sign-out of a session. One that cannot be read is only removed; in a shared store, it stays, unless its
    /// key can be told, which is `named`, and no tokens are to be revoked.
    func signOut(_ item: Item, as named: SessionKey? = nil) -> SignOut {
        let (stored, store) = (item.stored, item.store.store)
        guard let key = item.key else {
            return SignOut(provider: current) { isLocal throws(OIDCError) in
                if isLocal, item.store.isShared, let named {
                    let owner = provider(of: named, in: item.store)
                    return try AccountEngine(key: named, store: store, owner).taken(isLocal: true)
                }
                if !isLocal {
                    do throws(OIDCError) { try store.checkWaiting(stored) } catch {
                        throw AccountEngine.unread(error)
                    }
                }
                do throws(OIDCError) { try store.remove(stored) } catch { throw keepingRecord(error, item) }
                return SessionRemoval(content: stored.content.map { $0 })
            }
        }
        return signOut(key, in: item.store) { owner, isLocal throws(OIDCError) in
            try AccountEngine(key: key, store: store, owner).taken(isLocal: isLocal)
        }
    }

    private func signOut(
        _ key: SessionKey, in store: Store,
        take: @escaping (ProviderContext, _ isLocal: Bool) throws(OIDCError) -> SessionRemoval
    ) -> SignOut {
        let owner = provider(of: key, in: store)
        return SignOut(provider: owner, key: key, profile: profile(of: key, in: store)) {
            isLocal throws(OIDCError) in try take(owner, isLocal)
        }
    }

    /// A session, and the store that has it.
    struct Item {
        let stored: StoredSession
        let store: Store

        /// The key; nil if it is not known.
        var key: SessionKey? { stored.session?.key ?? stored.hiddenKey }

        /// Returns the error of a session that cannot be read here, and may be one at a URL's host, with which its name
        /// starts; nil for any other.
        func fault(at url: WebURL) -> OIDCError? {
            let ofHost = SessionKey(provider: url.text, clientID: "").fileStem
            let start = ofHost.utf8.prefix(
                ofHost.utf8.count - ofHost.utf8.reversed().prefix { $0 != .hyphen }.count - 1)
            guard key == nil, stored.name.utf8.starts(with: start), case .failure(let error) = stored.content
            else { return nil }
            return error
        }

        /// The error of a list from which names were left out; nil for a session.
        var omission: OIDCError? {
            guard stored.isOmission, case .failure(let error) = stored.content else { return nil }
            return error
        }
    }

    /// Returns whether another profile than the one in use keeps this session in this store.
    func isInUse(_ store: String, for key: SessionKey) -> Bool {
        owners(of: key).contains { profile in
            profile.settings.profile != current.settings.profile && profile.settings.store == store
        }
    }

    /// Returns the profile whose store has a session that may be another person's, so a sign-out of its URL leaves it: the
    /// settings in use name another store, this one is shared, the profiles that use it are for something else, and its
    /// client was not registered here. Returns nil for any other session.
    func keeper(of key: SessionKey, in store: Store, at url: WebURL) -> String? {
        guard store.isShared, !store.isStore(of: current), registered(key) == nil else { return nil }
        let users = profiles.filter(store.isStore)
        let isMeant = users.contains { user in
            user.settings.hasResource(at: url) || (try? user.sessionKey()) == key
                || key.resources.isEmpty && (try? user.identifier()) == key.provider
        }
        return isMeant ? nil : users.first?.settings.profile
    }

    /// Returns the key of a session that a profile with an issuer and one resource left, as a sign-in to the resource's URL would
    /// write it; nil for another session, or one in a shared store that no profile here would use.
    func requestedKey(of item: Item) -> SessionKey? {
        let keys = requestedKeys(of: item)
        return keys.count == 1 ? keys.first : nil
    }

    /// Returns that of each resource of such a session.
    func requestedKeys(of item: Item) -> [SessionKey] {
        guard let session = item.stored.session, session.key.resources.isEmpty else { return [] }
        let isUsedHere = profiles.contains { profile in
            item.store.isStore(of: profile) && (try? profile.sessionKey()) == session.key
        }
        guard isUsedHere || !item.store.isShared else { return [] }
        return session.requestedResources.map { resource in
            var key = session.key
            key.resources = [resource]
            return key
        }
    }

    /// Returns the settings of a session of a client that was registered automatically, with its secret; nil for
    /// another client.
    private func registered(_ key: SessionKey) -> ProviderContext? {
        guard let records = ResourceRecords(current.context),
            let client = try? records.registrations.client(key.clientID, issuer: key.provider)
        else { return nil }
        let origin = SettingLayers.Origin.resource(key.resources.first ?? key.provider)
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

    /// Returns the name of the profile that a session belongs to, or else of one with its client; nil if that profile uses
    /// another store, or is that of another resource.
    func profile(of key: SessionKey, in store: Store) -> String? {
        if let exact = owners(of: key).first(where: store.isStore) { return exact.settings.profile }
        let settings = provider(of: key, in: store).settings
        let isOfResource = zip([current] + profiles, sessionKeys).contains { profile, own in
            profile.settings.profile == settings.profile && own?.resources.isEmpty == false
        }
        return settings.storeName == store.name && !isOfResource ? settings.profile : nil
    }

    /// Returns the settings and the profiles whose session has this key.
    private func owners(of key: SessionKey) -> [ProviderContext] {
        zip([current] + profiles, sessionKeys).filter { $1 == key }.map { $0.0 }
    }

    private var sessionKeys: [SessionKey?] {
        if let known = ownKeys.keys.withLock({ $0 }) { return known }
        let keys = ([current] + profiles).map {
            try? ProfileSessions.provider($0.settings, $0.context).sessionKey()
        }
        ownKeys.keys.withLock { $0 = keys }
        return keys
    }

    /// The keys of the sessions that the settings and the profiles are for, by the places where they are or would be.
    var places: [String: SessionKey] {
        var places: [String: SessionKey] = [:]
        for provider in [current] + profiles {
            guard let key = try? provider.sessionKey(), let store = try? provider.store() else { continue }
            places[store.location(of: key)] = key
        }
        return places
    }

    /// Returns whether the key that a record names may be that of a session of this machine's: it has seen that session, or
    /// its settings or registrations name the client. Files are never others'.
    func isKnown(_ key: SessionKey, in store: Store) -> Bool {
        !store.isShared || store.store.hides(key) || registered(key) != nil
            || ([current] + profiles).contains { $0.settings.client.id == key.clientID }
    }

    /// Returns the settings whose session is in this place; nil if there are none.
    private func owner(of item: Item) -> ProviderContext? {
        zip([current] + profiles, sessionKeys).first { provider, key in
            guard let key, let store = try? provider.store() else { return false }
            return store.location(of: key) == item.stored.location
        }?.0
    }

    /// Returns the error of a removal that failed. A record that may be anybody's stays; a sign-out that names its session
    /// removes it.
    private func keepingRecord(_ failure: OIDCError, _ item: Item) -> OIDCError {
        guard failure.kind != .interrupted else { return failure }
        var failure = failure
        guard failure.kind == .untrusted else {
            failure.message += "; nothing was revoked"
            return failure
        }
        failure.message += "; the record stays"
        if let owner = owner(of: item) {
            failure.hint = .run("logout", owner.settings.profile.map { ["-p", $0] } ?? [])
        }
        return failure
    }

    /// Returns the error with a hint that names this session, as the command line may be about another one.
    func naming(_ failure: OIDCError, of item: Item) -> OIDCError {
        let location = item.stored.location
        let owner = owner(of: item)
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
        let origin = SettingLayers.Origin.session
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
