import OIDCCore
import OIDCSystem

/// A resource whose authorization server and client are known: what its sign-ins and tokens need.
struct ResourceTarget: Sendable {
    /// The URL that the user named.
    let operand: ResourceOperand
    /// What to remember after a sign-in.
    var link: ResourceLink
    /// The link that there was before; nil if there was none.
    var earlierLink: ResourceLink?
    /// Whether the client was registered just now.
    var isNewlyRegistered = false

    /// Returns whether the resource's token may be sent to a URL.
    func covers(_ url: WebURL) -> Bool { ResourceIdentifier(link.resource)?.covers(url) == true }

    /// Remembers the resource. A failure costs the next command a search, and is reported.
    func remember(_ context: CommandContext) {
        do throws(OIDCError) { try ResourceRecords(context)?.links.keep(link) } catch {
            context.console.warn("the resource could not be remembered: \(error.commandLine)")
        }
    }

    /// Returns the access to a session that another process started meanwhile at another server, or as another client.
    /// Throws if the client of this target was given up meanwhile.
    func movedAccess(_ provider: ProviderContext, than earlier: Session?) throws(OIDCError) -> SessionAccess?
    {
        if try registered(provider.context)?.isRetired == true {
            throw OIDCError(
                .refused, "the server does not know the client any more", hint: provider.settings.loginLine,
                stage: .token, oauthError: "invalid_client")
        }
        guard let current = try operand.link(), current.resource == link.resource,
            current.issuer != link.issuer || current.clientID != link.clientID, current != earlierLink
        else { return nil }
        let access = try SessionAccess(try operand.provider(current))
        guard let session = try access.load(), session != earlier else { return nil }
        return access
    }

    /// Returns the registration of the client; nil if it was not registered by itself.
    func registered(_ context: CommandContext) throws(OIDCError) -> RegisteredRecord? {
        guard let name = link.registration, let records = ResourceRecords(context) else { return nil }
        return try records.registrations.clients(name, issuer: link.issuer).first {
            $0.clientID == link.clientID
        }
    }

    /// Forgets the resource. A link that stays only leads to a session that is gone.
    func forget(_ context: CommandContext) {
        try? ResourceRecords(context)?.links.remove(link)
    }

    /// Notes that the server no longer knows the registered client. Returns whether another one can be registered.
    func retireClient(_ context: CommandContext) -> Bool {
        guard let name = link.registration, !isNewlyRegistered, let records = ResourceRecords(context) else {
            return false
        }
        context.console.trace("the server does not know the client \(link.clientID) any more")
        let retired: Void? = try? records.registrations.retire(link.clientID, in: name, issuer: link.issuer)
        return retired != nil
    }
}

/// The records of resources and registered clients in the state directory.
struct ResourceRecords {
    let links: ResourceLinks
    let registrations: Registrations

    /// Finds the records; nil if no state directory is available.
    init?(_ context: CommandContext) {
        guard let path = StateDirectories(environment: context.environment).state, FilePath.isPossible(path)
        else { return nil }
        links = ResourceLinks(state: path)
        registrations = Registrations(state: path)
    }

    /// Forgets the resources that a session is for.
    func forget(_ key: SessionKey) {
        for resource in key.resources {
            guard let url = WebURL(resource), let known = try? links.links(of: url) else { continue }
            for link in known
            where link.resource == resource && link.issuer == key.provider && link.clientID == key.clientID
                && link.grant == key.grant && link.account == key.account
            {
                try? links.remove(link)
            }
        }
    }
}

/// A URL operand, and the settings that were given with it.
struct ResourceOperand: Sendable {
    let url: WebURL
    let context: CommandContext
    /// The settings as they were loaded, for whatever provider.
    let asked: Settings

    init(
        _ url: WebURL, _ options: ProviderOptions, _ context: CommandContext,
        and more: [SettingLayers.Entry] = []
    )
        throws(OIDCError)
    {
        guard options.resource.isEmpty else {
            throw .usage(
                "--resource and a URL exclude each other: the URL's metadata names the resource",
                hint: "leave --resource out")
        }
        self.init(url, try context.settings(options, and: more), context)
    }

    init(_ url: WebURL, _ asked: Settings, _ context: CommandContext) {
        self.url = url
        self.context = context
        self.asked = asked
    }

    /// Parses the operand of a command. A hint guesses what was meant: a profile, or a URL without its scheme.
    static func url(_ text: String, command: String, _ context: CommandContext) throws(OIDCError) -> WebURL {
        if let url = WebURL(text), url.fragment == nil { return url }
        let profiles = (try? context.settingsLoader.file())?.profiles ?? []
        var hint = "oidc help \(command)"
        if profiles.contains(where: { $0.name == text }) {
            hint = "oidc \(command) -p \(ShellWord.quoted(text))"
        } else if text.includes("."), let meant = WebURL("https://\(text)"), meant.fragment == nil {
            hint = "oidc \(command) \(ShellWord.quoted(meant.text))"
        }
        throw .usage("\(DisplayText.quoted(text, limit: 100)) is not a URL", hint: hint)
    }

    var ownership: ResourceOwnership { ResourceOwnership(entries: asked.layers.given) }

    /// The profile that `-p` or OIDC_PROFILE names.
    var namedProfile: String? { context.settingsLoader.profileName }

    /// The grant that an option names.
    var optionGrant: GrantType? { ownership.text(.grant, in: [.options]).map { GrantType(rawValue: $0) } }

    /// What the resource itself is reached with: nothing of a provider's, such as its client certificate.
    var reach: ProviderContext {
        let entries = asked.layers.given.filter { NetworkSettings.shared.contains($0.setting) }
        return ProviderContext(context.settings(SettingLayers(profile: nil, entries: entries)), context)
    }

    /// Returns the operand with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ResourceOperand {
        guard !entries.isEmpty else { return self }
        let layers = SettingLayers(profile: asked.profile, entries: entries + asked.layers.given)
        return ResourceOperand(url, context.settings(layers), context)
    }

    /// The grant of the settings; a profile's only if the profile names no provider.
    var grant: GrantType {
        let isProviderless = ownership.isOwned(.profile, by: [])
        let text = ownership.text(
            .grant, in: isProviderless ? [.options, .variables, .profile] : [.options, .variables])
        return text.map { GrantType(rawValue: $0) } ?? .authorizationCode
    }

    /// Returns the link that leads from the URL to a session; nil if there is none that fits the settings.
    func link() throws(OIDCError) -> ResourceLink? {
        guard let records = ResourceRecords(context) else { return nil }
        let ownership = ownership
        return try records.links.links(of: url).filter { link in
            guard ResourceIdentifier(link.resource)?.covers(url) == true else { return false }
            return fits(link, ownership)
        }.max { $0.resource.utf8.count < $1.resource.utf8.count }
    }

    /// Returns whether a link has the grant, account, issuer and client that are asked for.
    private func fits(_ link: ResourceLink, _ ownership: ResourceOwnership) -> Bool {
        func isAsked(_ setting: Setting, _ value: String?, in layers: Set<SettingLayers.Layer>) -> Bool {
            ownership.text(setting, in: layers).map { $0 == value } ?? true
        }
        // For id_jag, an issuer and client that options name may be those of the user's own provider.
        guard
            link.grant == .idJAG
                || isAsked(.issuer, link.issuer, in: [.options])
                    && isAsked(.clientID, link.clientID, in: [.options])
        else { return false }
        let isOwned = ownership.isOwned(.profile, by: [link.issuer])
        let own: Set<SettingLayers.Layer> =
            isOwned ? [.options, .variables, .profile] : [.options, .variables]
        let asked = ownership.text(.grant, in: own).map { GrantType(rawValue: $0) } ?? .authorizationCode
        guard link.grant == asked, ownership.text(.account, in: own) == link.account else { return false }
        guard let namedProfile, isOwned, ownership.text(.clientID, in: [.profile]) != nil else { return true }
        return link.profile == namedProfile
    }

    /// Returns the provider of the URL's link; nil if there is no link. It takes no network.
    func linked() throws(OIDCError) -> ProviderContext? {
        guard let link = try link() else { return nil }
        context.console.trace("resource: \(link.resource), of \(link.issuer) as \(link.clientID)")
        return try provider(link)
    }

    /// Returns the provider of a link, with the settings that belong to it.
    func provider(_ link: ResourceLink) throws(OIDCError) -> ProviderContext {
        provider(ResourceTarget(operand: self, link: link), nil, try entries(of: link.profile))
    }

    /// Returns the entries of the settings, with another profile's in place of the profile's if one is named.
    func entries(of profile: String?) throws(OIDCError) -> [SettingLayers.Entry] {
        guard let profile, profile != asked.profile else { return asked.layers.given }
        var loader = context.settingsLoader
        loader.profileName = profile
        let others = asked.layers.given.filter { $0.origin.layer != .profile }
        let loaded = try loader.load().layers.given.filter { $0.origin.layer == .profile }
        return others + loaded
    }

    /// Makes the provider of a target: the settings that are its own, and what was found out.
    func provider(
        _ target: ResourceTarget, _ registered: RegisteredRecord?, _ entries: [SettingLayers.Entry],
        scope: Scope? = nil
    ) -> ProviderContext {
        let link = target.link
        let origin = SettingLayers.Origin.resource(url.text)
        var found: [SettingLayers.Entry] = []
        func add(_ setting: Setting, _ value: JSONValue?) {
            guard let value else { return }
            found.append(SettingLayers.Entry(setting: setting, value: value, origin: origin))
        }
        add(.issuer, .string(link.issuer))
        add(.clientID, .string(link.clientID))
        add(.resource, .array([.string(link.resource)]))
        add(.grant, .string(link.grant.rawValue))
        add(.account, link.account.map { .string($0) })
        add(.scope, scope.map { .string($0.text) })
        if link.bindsTokens { add(.dpop, true) }
        if let registered {
            for member in registered.settings.members {
                if let setting = Setting.named(member.name) { add(setting, member.value) }
            }
            add(.clientSecret, registered.clientSecret.map { .string($0.revealed) })
        }
        var own = ResourceOwnership(entries: entries).entries(for: link.issuer)
        let isRegistered = registered != nil || link.registration != nil
        let isOwnClient = !isRegistered && link.clientID != asked.client.metadataURL
        own.removeAll { entry in
            // A secret is only for the client that it was configured for.
            if !isOwnClient, entry.setting.owner == .client { return true }
            // The scope of a profile or variable was that of the sign-in; for a token it would mean a narrower one.
            return entry.setting == .scope && entry.origin.layer != .options
        }
        if scope == nil, !link.grant.needsUser, !own.contains(where: { $0.setting == .scope }) {
            add(.scope, link.scope.flatMap { $0.isEmpty ? nil : .string($0.text) })
        }
        let redirects: [Setting] = [.redirectURI, .port, .redirectPorts]
        if link.clientID == asked.client.metadataURL, !own.contains(where: { redirects.contains($0.setting) })
        {
            // The redirect URLs of the document that `oidc register --client-metadata` prints.
            add(.redirectPorts, .array(ClientRegistration.ports.map { JSONValue(Int64($0)) }))
        }
        let isOwnProfile = ownership.isOwned(.profile, by: [link.issuer])
        let profile = namedProfile ?? link.profile ?? (isOwnProfile ? asked.profile : nil)
        let settings = context.settings(SettingLayers(profile: profile, entries: found + own))
        return ProviderContext(settings, context, target: target)
    }
}
