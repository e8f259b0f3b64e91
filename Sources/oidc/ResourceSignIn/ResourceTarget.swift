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
    /// Whether the scope to request is that of the last sign-in, which the resource did not name again.
    var isScopeRemembered = false
    /// Whether the settings name the issuer, now or at the last sign-in.
    var isIssuerNamed = false

    /// Returns whether the resource's token may be sent to a URL.
    func covers(_ url: WebURL) -> Bool { link.covers(url) }

    /// Remembers the resource, and what options set for its sign-in. A failure costs the next command a search, and is
    /// reported.
    func remember(_ provider: ProviderContext) {
        var link = link
        link.settings = JSONObject()
        for group in [Setting.redirects, [.resourceParameter]] {
            let found = provider.settings.layers.entries.filter { group.contains($0.setting) }
            guard found.contains(where: { $0.origin.layer == .options || $0.origin.layer == .resource })
            else { continue }
            for entry in found { link.settings[entry.setting.name] = entry.value }
        }
        do throws(OIDCError) {
            try ResourceRecords(provider.context)?.links.keep(link, leadingFrom: operand.url)
        } catch {
            provider.context.console.warn("the resource could not be remembered: \(error.commandLine)")
        }
    }

    /// Throws if the resource could not be remembered, as nothing would find its session.
    func probe(_ store: any SessionStoring, _ context: CommandContext) throws(OIDCError) {
        guard !(store is MemorySessionStore), let url = WebURL(link.resource) else { return }
        try ResourceRecords(context)?.links.probe(url)
    }

    /// Returns the session that another process created meanwhile at another server or for another client.
    /// Throws if the client of this target was given up meanwhile.
    func movedAccess(_ provider: ProviderContext, than earlier: Session?) throws(OIDCError) -> SessionAccess?
    {
        if try registered(provider.context)?.isRetired == true {
            throw OIDCError(
                .refused, "the server no longer knows the client", hint: provider.settings.loginLine,
                stage: .token, oauthError: "invalid_client")
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

    /// Forgets the resource. A link that stays does no harm: its session no longer exists.
    func forget(_ context: CommandContext) {
        try? ResourceRecords(context)?.links.remove(link)
    }

    /// Notes that the server no longer knows the registered client. Returns whether another one can be registered.
    func retireClient(_ context: CommandContext) -> Bool {
        guard let name = link.registration, let records = ResourceRecords(context) else { return false }
        // A new client that is not known is the server's fault, unless another process gave it up meanwhile.
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

    /// Finds the records; nil if no state directory is available.
    init?(_ context: CommandContext) {
        guard let path = StateDirectories(environment: context.environment).state, FilePath.isPossible(path)
        else { return nil }
        links = ResourceLinks(state: path)
        registrations = Registrations(state: path)
    }

    /// The URLs of all resources that somebody signed in to.
    var places: [String] {
        var places: [String] = []
        for link in (try? links.all()) ?? [] where !places.contains(link.reach) { places.append(link.reach) }
        return places
    }

    /// The error that a resource must be chosen to log out of; nil if there is none.
    var choice: OIDCError? {
        let places = places
        guard let first = places.first else { return nil }
        let list = places.map { DisplayText.clean($0) }.joined(separator: ", ")
        let line = "oidc logout \(places.count == 1 ? ShellWord.quoted(first) : "URL")"
        return .usage(
            "no provider is set; the resources that were signed in to are \(DisplayText.clean(list, limit: 300))",
            hint: .text(line))
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
