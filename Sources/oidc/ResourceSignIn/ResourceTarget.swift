import OIDCCore
import OIDCSessions
import Posix

/// A resource whose authorization server and client are known.
struct ResourceTarget: Sendable {
    /// The URL that the user named.
    let operand: ResourceOperand
    /// The link to store after a sign-in.
    var link: ResourceLink
    /// The link that was stored before; nil if there was none.
    var earlierLink: ResourceLink?
    /// Whether the client was registered just now.
    var isNewlyRegistered = false
    /// Whether the requested scope is that of the last sign-in, which the resource did not name again.
    var isScopeRemembered = false
    /// Whether the settings name the issuer, now or at the last sign-in.
    var isIssuerNamed = false

    /// Returns whether the resource's token may be sent to a URL.
    func covers(_ url: WebURL) -> Bool { link.covers(url) }

    /// Stores the link, with the settings that options gave for the sign-in. If that fails, the next command
    /// has to search again, and a warning says why.
    func remember(_ provider: ProviderContext) {
        var link = link
        link.settings = JSONObject()
        for group in [Setting.redirects, [.resourceParameter], [.nonce]] {
            let found = provider.settings.layers.entries.filter { group.contains($0.setting) }
            guard found.contains(where: { $0.origin.layer == .options || $0.origin.layer == .resource })
            else { continue }
            for entry in found { link.settings[entry.setting.name] = entry.value }
        }
        do throws(OIDCError) {
            try ResourceRecords(provider.context)?.links.keep(link, leadingFrom: operand.url)
        } catch {
            provider.context.console.warn(error, "the resource could not be stored")
        }
    }

    /// Throws if the link could not be stored, because then no command would find the session.
    func probe(_ store: SessionStore, _ context: CommandContext) throws(OIDCError) {
        guard store.reach != .process, let url = WebURL(link.resource) else { return }
        try ResourceRecords(context)?.links.probe(url)
    }

    /// Returns the access to a session that another process created meanwhile, at another server or for
    /// another client. Throws if the client of this target was retired meanwhile.
    func movedAccess(_ provider: ProviderContext, than earlier: Session?) throws(OIDCError) -> SessionAccess?
    {
        if try registered(provider.context)?.isRetired == true {
            throw OIDCError(
                .refused, "the server no longer knows the client", hint: .text(provider.settings.loginLine),
                stage: .token, oauthError: "invalid_client", code: .unknownClient)
        }
        guard let current = try operand.link(), current.resource == link.resource,
            current.issuer != link.issuer || current.clientID != link.clientID, current != earlierLink
        else { return nil }
        let access = try SessionAccess(try operand.provider(current))
        guard let session = try access.load(), session != earlier else { return nil }
        return access
    }

    /// Returns the registration of the client; nil if it was not registered automatically.
    func registered(_ context: CommandContext) throws(OIDCError) -> RegisteredRecord? {
        guard let name = link.registration, let records = ResourceRecords(context) else { return nil }
        return try records.registrations.clients(name, issuer: link.issuer).first {
            $0.clientID == link.clientID
        }
    }

    /// Removes the link. A link that stays does no harm: its session no longer exists. That of a resource's profile
    /// stays for the next sign-in with it.
    func forget(_ context: CommandContext) {
        guard !context.isOfProfile(link) else { return }
        try? ResourceRecords(context)?.links.remove(link)
    }

    /// Marks the registered client as unknown to the server. Returns whether a new one can be registered.
    func retireClient(_ context: CommandContext) -> Bool {
        guard let name = link.registration, let records = ResourceRecords(context) else { return false }
        // A client that was just registered and is already unknown is the server's fault, unless another
        // process retired it.
        guard !isNewlyRegistered || (try? registered(context))??.isRetired == true else { return false }
        context.console.trace("the server no longer knows the client \(link.clientID)")
        let retired: Void? = try? records.registrations.retire(link.clientID, in: name, issuer: link.issuer)
        return retired != nil
    }
}

/// The records of resources and registered clients in the state directory.
struct ResourceRecords {
    let links: ResourceLinks
    let registrations: Registrations

    /// Creates the records; returns nil if no state directory is available.
    init?(_ context: CommandContext) {
        guard let path = StateDirectories(environment: context.environment).state, FilePath.isPossible(path)
        else { return nil }
        links = ResourceLinks(state: path)
        registrations = Registrations(state: path)
    }

    /// The URLs of all resources that the user signed in to.
    var urls: [String] {
        var urls: [String] = []
        for link in (try? links.all()) ?? [] where !urls.contains(link.reach) { urls.append(link.reach) }
        return urls
    }

    /// The error of a logout without a provider, which lists the resources; nil if there are none.
    var choice: OIDCError? {
        let urls = urls
        guard let first = urls.first else { return nil }
        let list = urls.map { DisplayText.clean($0) }.joined(separator: ", ")
        let line = "oidc logout \(urls.count == 1 ? ShellWord.quoted(first) : "URL")"
        return .usage(
            "no provider is set; the resources that were signed in to are \(DisplayText.clean(list, limit: 300))",
            hint: .text(line))
    }

    /// Stores that a profile configures the client of a link.
    func setProfile(_ name: String, of target: ResourceLink) {
        for var link in (try? links.all()) ?? []
        where link.resource == target.resource && link.issuer == target.issuer
            && link.clientID == target.clientID && link.grant == target.grant
            && link.account == target.account
        {
            link.profile = name
            try? links.keep(link)
        }
    }

    /// Renames the profile in the links of its sign-ins; nil if the profile was removed.
    func rename(profile: String, to name: String?) {
        for var link in (try? links.all()) ?? [] where link.profile == profile {
            link.profile = name
            try? links.keep(link)
        }
    }

    /// Removes the links that lead to a session, except those of resources' profiles.
    func forget(_ key: SessionKey, _ context: CommandContext) {
        for resource in key.resources {
            guard let url = WebURL(resource), let known = try? links.links(of: url) else { continue }
            for link in known
            where link.resource == resource && link.issuer == key.provider && link.clientID == key.clientID
                && link.grant == key.grant && link.account == key.account && !context.isOfProfile(link)
            {
                try? links.remove(link)
            }
        }
    }
}
