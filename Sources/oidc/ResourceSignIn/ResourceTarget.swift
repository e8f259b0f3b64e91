import OIDCCore
import OIDCSessions
import OIDCAccount
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
    /// Whether an option names it now.
    var isIssuerOption = false

    private var context: CommandContext { operand.context }

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
            for entry in found {
                // A list of ports that the sign-in did not use would contradict the port that it did.
                guard entry.setting != .redirectPorts || !provider.settings.signIn.redirectPorts.isEmpty
                else { continue }
                let value = entry.setting.kind.resolved(entry.value, in: UserFile.currentDirectory)
                link.settings[entry.setting.name] = value
            }
        }
        do throws(OIDCError) {
            try ResourceRecords(provider.context)?.links.keep(link, leadingFrom: operand.url, unless: isKept)
        } catch {
            provider.context.console.warn(error, "the resource could not be stored")
        }
    }

    /// Throws if the link could not be stored, because then no command would find the session.
    func probe(_ store: SessionStore) throws(OIDCError) {
        guard store.reach != .process, let url = WebURL(link.resource) else { return }
        try ResourceRecords(context)?.links.probe(url)
    }

    /// Returns the account of a session that another process created meanwhile, at another server or for
    /// another client. Throws if the client of this target was retired meanwhile.
    func movedAccount(_ provider: ProviderContext, than earlier: Session?) throws(OIDCError) -> Account? {
        if try registered()?.isRetired == true {
            throw OIDCError(
                .refused, "the server no longer knows the client", hint: provider.settings.loginLine,
                stage: .token, oauthError: "invalid_client", code: .unknownClient)
        }
        guard let current = try operand.link(), current.resource == link.resource,
            current.issuer != link.issuer || current.clientID != link.clientID, current != earlierLink
        else { return nil }
        let account = try Account(try operand.provider(current))
        guard let session = try account.load(), session != earlier else { return nil }
        return account
    }

    /// Returns the registration of the client; nil if it was not registered automatically.
    func registered() throws(OIDCError) -> RegisteredRecord? {
        guard let name = link.registration, let records = ResourceRecords(context) else { return nil }
        return try records.registrations.clients(name, issuer: link.issuer).first {
            $0.clientID == link.clientID
        }
    }

    /// Marks the registered client as unknown to the server. Returns whether a new one can be registered.
    func retireClient() -> Bool {
        guard let name = link.registration, let records = ResourceRecords(context) else { return false }
        // A client that was just registered and is already unknown is the server's fault, unless another
        // process retired it.
        guard !isNewlyRegistered || (try? registered())??.isRetired == true else { return false }
        context.console.trace("the server no longer knows the client \(link.clientID)")
        let retired: Void? = try? records.registrations.retire(link.clientID, in: name, issuer: link.issuer)
        return retired != nil
    }
}

/// The session that a new one replaces.
extension ResourceTarget {
    /// Returns whether an earlier link of another client stays, as a profile uses it.
    private func isKept(_ other: ResourceLink) -> Bool {
        let isSame =
            ExactText.isSame(other.issuer, link.issuer) && ExactText.isSame(other.clientID, link.clientID)
        return !isSame && context.keepsLink(other, besides: operand.settings.profile)
    }

    /// Returns the key of the session that a sign-in replaces: that of another client at the same server, for
    /// the same resource and account. Tokens of another server are left to `oidc logout`.
    func superseded(by key: SessionKey) -> SessionKey? {
        guard let records = ResourceRecords(context), let url = WebURL(link.resource),
            let links = try? records.links.links(of: url),
            let earlier = links.first(where: { link.replaces($0) && !isKept($0) }),
            ExactText.isSame(earlier.issuer, key.provider), !ExactText.isSame(earlier.clientID, key.clientID)
        else { return nil }
        var superseded = key
        superseded.clientID = earlier.clientID
        return superseded
    }

    /// Removes a superseded session, and revokes its tokens as the client that they were issued to. If that fails, or if other
    /// sessions of that client would end with them, they stay valid until they expire.
    func end(_ superseded: SessionKey, in store: SessionStore, _ provider: ProviderContext) {
        let console = provider.context.console
        do throws(OIDCError) {
            guard try store.load(superseded) != nil else { return }
            let engine = AccountEngine(key: superseded, store: store, provider)
            guard let taken = try engine.taken().session else { return }
            console.note("Ended the earlier session of the client \(DisplayText.clean(superseded.clientID)).")
            guard !store.mayHaveSession(ofClientIn: superseded),
                !provider.mayHaveSession(ofClientIn: superseded)
            else {
                return console.trace("its tokens are not revoked: there are other sessions of that client")
            }
            let owner = try SessionCatalog(provider).provider(of: superseded)
            if let failure = owner.revoke(taken).failures.first { throw failure }
        } catch {
            console.warn(error, "the tokens of the earlier session were not revoked")
        }
    }
}
