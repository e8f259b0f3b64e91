import OIDCCore
import OIDCSessions
import OIDCSystem

/// The sessions of one resource, which may be at several servers and of several clients.
extension ResourceOperand {
    /// Finds every session of the linked resource, or of exactly this URL, that fits the settings, at any
    /// server and of any client.
    func sessions(
        _ known: KnownProviders, of link: ResourceLink?
    ) throws(OIDCError) -> [(key: SessionKey, entry: KnownProviders.Entry)] {
        let ownership = ownership
        return try known.sessions().compactMap { entry in
            guard let key = entry.session.session?.key, isOf(key, link, ownership) else { return nil }
            return (key, entry)
        }
    }

    /// Removes the sessions of killed sign-ins to the resource, and returns them.
    func takeLeftovers(
        _ known: KnownProviders, of link: ResourceLink?, orNote note: (OIDCError) -> Void
    ) throws(OIDCError) -> [(session: Session, store: KnownProviders.Store)] {
        let ownership = ownership
        return try known.takeLeftovers(orNote: note) { session in
            session.map { isOf($0.key, link, ownership) } ?? false
        }
    }

    private func isOf(_ key: SessionKey, _ link: ResourceLink?, _ ownership: ResourceOwnership) -> Bool {
        guard let resource = key.resources.first, key.resources.count == 1 else { return false }
        return (resource == link?.resource || ResourceIdentifier(resource)?.identifies(url) == true)
            && fits(self.link(of: key, resource), ownership)
    }

    /// Returns the link that would lead to a session.
    private func link(of key: SessionKey, _ resource: String) -> ResourceLink {
        var link = ResourceLink(
            resource: resource, issuer: key.provider, clientID: key.clientID, grant: key.grant,
            account: key.account)
        if ownership.text(.clientID, in: [.profile]) == key.clientID { link.profile = namedProfile }
        return link
    }
}

/// The session that a new one replaces.
extension ResourceTarget {
    /// Returns the key of the session that a sign-in replaces: that of another client at the same server, for
    /// the same resource and account. Tokens of another server are left to `oidc logout`.
    func superseded(by key: SessionKey, _ context: CommandContext) -> SessionKey? {
        guard let records = ResourceRecords(context), let url = WebURL(link.resource),
            let links = try? records.links.links(of: url),
            let earlier = links.first(where: { link.replaces($0) }),
            ExactText.isSame(earlier.issuer, key.provider), !ExactText.isSame(earlier.clientID, key.clientID)
        else { return nil }
        var superseded = key
        superseded.clientID = earlier.clientID
        return superseded
    }

    /// Removes a superseded session, and revokes its tokens as the client that they were issued to. If that fails, they
    /// stay valid until they expire.
    func end(_ superseded: SessionKey, in store: SessionStore, _ provider: ProviderContext) {
        let console = provider.context.console
        do throws(OIDCError) {
            guard try store.load(superseded) != nil else { return }
            let engine = AccountEngine(key: superseded, store: store, provider)
            guard let taken = try engine.taken().session else { return }
            console.trace(
                "the session of the client \(DisplayText.clean(superseded.clientID)) is superseded")
            var signOut = SignOut(
                provider: try KnownProviders(provider).provider(of: superseded), session: taken)
            signOut.isSilent = true
            if let failure = signOut.revoke().failures.first { throw failure }
        } catch {
            console.trace("the superseded session was not revoked: \(error.message)")
        }
    }
}
