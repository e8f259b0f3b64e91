package import OIDCCore
import Posix

/// A stored link from a resource to its authorization server and client. It finds the session for a URL
/// without network access.
package struct ResourceLink: StoredRecord {
    /// The resource's identifier, spelled as in its metadata.
    package var resource: String
    /// The URL of the resource's metadata.
    package var metadataURL: String?
    /// The URL that the link is limited to, with everything below it; nil for the whole resource. It is set
    /// if only that URL claims to be part of the resource, or if a URL above it has a link of its own.
    package var prefix: String?
    package var issuer: String
    package var clientID: String
    package var grant: GrantType
    /// The scope to request, from a challenge or the metadata; nil if neither named one.
    package var scope: Scope?
    package var account: String?
    /// The profile that configures the client; nil for a registered client or one without a profile.
    package var profile: String?
    /// The name of the client's file in `Registrations`; nil if the client did not register itself.
    package var registration: String?
    /// Whether the resource accepts only tokens that are bound to a key (RFC 9728 §2).
    package var bindsTokens = false
    /// Whether the user's settings named the issuer, so a client secret may be sent to it.
    package var isIssuerNamed = false
    /// The servers whose codes were at stake when an option named the issuer. The user's word covers them, and none that
    /// became known later.
    package var namedBeside: [String] = []
    /// The scopes that the user's own client may request for this resource, because the user agreed or named
    /// the client for it; nil for a registered client.
    package var agreedScope: Scope?
    /// Whether the user agreed to send the client's secret to a server that only the resource names.
    package var isSecretAgreed = false
    /// The scope that was requested without asking the user, by a client that is identified by its document
    /// and was not used anywhere else before; empty for the server's default scopes.
    package var unaskedScope: Scope?
    /// Whether the user has signed out, so the next sign-in asks about the client again, even if a profile
    /// names the resource. The link is then kept only to remember this.
    package var isConsentWithdrawn = false
    /// The servers and clients of earlier links for this resource that the user was asked about.
    package private(set) var askedBefore: [String] = []
    /// The resource's identifiers at earlier sign-ins, each with the server and the client.
    package var identifiedBefore: [String] = []
    /// Whether the resource was outside the origins of the settings, so what they say tokens are for was not used.
    package var isElsewhere = false
    /// The settings from the sign-in's options that later sign-ins at the same server use again: whether
    /// `resource` is sent and, for the same client, the redirect URL.
    package var settings = JSONObject()
    /// Whether the user has signed out. Such a link leads to no session; it is kept so its resource gets no other
    /// session's token.
    fileprivate(set) var hasEnded = false

    package init(
        resource: String, metadataURL: String? = nil, issuer: String, clientID: String,
        grant: GrantType = .authorizationCode, scope: Scope? = nil, account: String? = nil
    ) {
        self.resource = resource
        self.metadataURL = metadataURL
        self.issuer = issuer
        self.clientID = clientID
        self.grant = grant
        self.scope = scope
        self.account = account
    }

    /// Returns the form of a server and client in `askedBefore`.
    package static func party(issuer: String, clientID: String) -> String { "\(issuer) \(clientID)" }

    /// Returns the link with the questions and identifiers of the links that it replaces. They outlast a
    /// resource that names another server for a while.
    fileprivate func replacing(_ others: [ResourceLink]) -> ResourceLink {
        var link = self
        for other in others {
            let wasAsked = other.agreedScope != nil || other.isConsentWithdrawn
            let party = ResourceLink.party(issuer: other.issuer, clientID: other.clientID)
            for name in other.askedBefore + (wasAsked ? [party] : []) where !link.askedBefore.contains(name) {
                link.askedBefore.append(name)
            }
            let names =
                other.identifiedBefore + (other.resource == resource ? [] : ["\(other.resource) \(party)"])
            for name in names where !link.identifiedBefore.contains(name) {
                link.identifiedBefore.append(name)
            }
        }
        link.identifiedBefore = link.identifiedBefore.suffix(16)
        link.askedBefore = link.askedBefore.suffix(16)
        return link
    }

    /// Returns whether a session was issued for an identifier that the resource had before.
    package func wasIdentified(by key: SessionKey) -> Bool {
        let party = ResourceLink.party(issuer: key.provider, clientID: key.clientID)
        return key.resources.count == 1 && identifiedBefore.contains("\(key.resources[0]) \(party)")
    }

    /// The URL that the token may be sent to, with everything below it.
    package var reach: String { prefix ?? resource }

    /// Returns whether the token may be sent to a URL.
    package func covers(_ url: WebURL) -> Bool {
        ResourceIdentifier(resource)?.covers(url) == true && ResourceIdentifier(reach)?.covers(url) == true
    }

    /// Returns whether the link is for exactly this URL, not for one above it.
    package func isFor(_ url: WebURL) -> Bool {
        guard let identifier = ResourceIdentifier(reach) else { return false }
        return covers(url) && identifier.identifies(url)
    }

    /// Returns whether this link replaces another one. A resource has one link for each grant, account and
    /// `prefix`.
    package func replaces(_ other: ResourceLink) -> Bool {
        resource == other.resource && prefix == other.prefix && grant == other.grant
            && account == other.account
    }

    /// Returns whether, for a URL, another link of the same grant and account is preferred to this one.
    fileprivate func isHidden(by other: ResourceLink, for url: WebURL) -> Bool {
        other.grant == grant && other.account == account && !replaces(other) && other.covers(url)
            && other.reach.utf8.count >= reach.utf8.count
    }

    package init?(_ json: JSONValue) {
        guard let resource = json["resource"]?.string, let issuer = json["issuer"]?.string,
            let clientID = json["client_id"]?.string, let grant = json["grant"]?.string
        else { return nil }
        self.init(
            resource: resource, metadataURL: json["metadata_url"]?.string, issuer: issuer,
            clientID: clientID, grant: GrantType(rawValue: grant),
            scope: json["scope"]?.string.map { Scope($0) },
            account: json["account"]?.string)
        prefix = json["prefix"]?.string
        profile = json["profile"]?.string
        registration = json["registration"]?.string
        bindsTokens = json["dpop"]?.bool ?? false
        isIssuerNamed = json["issuer_named"]?.bool ?? false
        namedBeside = json["named_beside"]?.strings ?? []
        agreedScope = json["agreed_scope"]?.string.map { Scope($0) }
        isSecretAgreed = json["agreed_secret"]?.bool ?? false
        unaskedScope = json["unasked_scope"]?.string.map { Scope($0) }
        isConsentWithdrawn = json["consent_withdrawn"]?.bool ?? false
        askedBefore = json["asked_before"]?.strings ?? []
        identifiedBefore = json["identified_before"]?.strings ?? []
        isElsewhere = json["elsewhere"]?.bool ?? false
        settings = json["settings"]?.object ?? JSONObject()
        hasEnded = json["ended"]?.bool ?? false
    }

    package var json: JSONValue {
        var object = JSONObject()
        object["resource"] = .string(resource)
        object["metadata_url"] = metadataURL.map { .string($0) }
        object["prefix"] = prefix.map { .string($0) }
        object["issuer"] = .string(issuer)
        object["client_id"] = .string(clientID)
        object["grant"] = .string(grant.rawValue)
        object["scope"] = scope.map { .string($0.text) }
        object["account"] = account.map { .string($0) }
        object["profile"] = profile.map { .string($0) }
        object["registration"] = registration.map { .string($0) }
        if bindsTokens { object["dpop"] = true }
        if isIssuerNamed { object["issuer_named"] = true }
        if !namedBeside.isEmpty { object["named_beside"] = .array(namedBeside.map { .string($0) }) }
        object["agreed_scope"] = agreedScope.map { .string($0.text) }
        if isSecretAgreed { object["agreed_secret"] = true }
        object["unasked_scope"] = unaskedScope.map { .string($0.text) }
        if isConsentWithdrawn { object["consent_withdrawn"] = true }
        if !askedBefore.isEmpty { object["asked_before"] = .array(askedBefore.map { .string($0) }) }
        if !identifiedBefore.isEmpty {
            object["identified_before"] = .array(identifiedBefore.map { .string($0) })
        }
        if isElsewhere { object["elsewhere"] = true }
        if !settings.members.isEmpty { object["settings"] = .object(settings) }
        if hasEnded { object["ended"] = true }
        return .object(object)
    }
}

/// The links of all resources, in one file for each origin.
package struct ResourceLinks: Sendable {
    private let list: RecordList<ResourceLink>

    /// Creates access to the files in `resources` below a state directory.
    package init(state path: String) {
        list = RecordList(
            directory: SessionDirectory(
                path: "\(FilePath.trimmed(path))/resources", ending: ".json", noun: "resource file"),
            ownerMember: "origin", recordsMember: "resources", limit: 256)
    }

    /// Returns the links of a URL's origin. A damaged file counts as empty: the next sign-in writes it again.
    package func links(of url: WebURL) throws(OIDCError) -> [ResourceLink] {
        ResourceLinks.links(try list.records(ResourceLinks.name(url), of: url.origin), of: url)
    }

    /// Returns the path of the file of a URL's origin if it is damaged; nil if it is valid or does not exist.
    package func damagedFile(of url: WebURL) -> String? {
        list.damagedFile(ResourceLinks.name(url), of: url.origin)
    }

    /// Returns the links that can be read, even those without a session.
    package func all() throws(OIDCError) -> [ResourceLink] {
        try list.all().flatMap { origin, links in
            WebURL(origin).map { ResourceLinks.links(links, of: $0) } ?? []
        }
    }

    /// Checks that the links of a URL's origin could be saved.
    package func probe(_ url: WebURL) throws(OIDCError) {
        try list.directory.reserve(ResourceLinks.name(url))
    }

    /// Saves a link, and removes the one that it replaces.
    package func keep(_ link: ResourceLink) throws(OIDCError) {
        guard let url = WebURL(link.resource) else { return }
        try change(url) { links in
            let link = link.replacing(links.filter { link.replaces($0) })
            if links.first == link { return false }
            links.removeAll { link.replaces($0) }
            links.insert(link, at: 0)
            return true
        }
    }

    /// Saves a link, and makes it the preferred one for `url`, at which the user signed in.
    ///
    /// A link for exactly that URL is removed, unless it `isUsed` otherwise. If a link for a URL above it would be
    /// preferred, that link is kept, and the new one is limited to `url`.
    package func keep(
        _ link: ResourceLink, leadingFrom url: WebURL, unless isUsed: (ResourceLink) -> Bool = { _ in false }
    ) throws(OIDCError) {
        try change(url) { links in
            var link = link
            if links.contains(where: { link.isHidden(by: $0, for: url) && !$0.isFor(url) }) {
                link.prefix = url.withoutQuery
            }
            let others = links.filter { other in
                isUsed(other)
                    || !link.replaces(other) && !(link.isHidden(by: other, for: url) && other.isFor(url))
            }
            link = link.replacing(links.filter { !others.contains($0) })
            guard links != [link] + others else { return false }
            links = [link] + others
            return true
        }
    }

    /// Ends a link, unless it was replaced meanwhile: it leads nowhere any more.
    package func end(_ link: ResourceLink) throws(OIDCError) {
        guard let url = WebURL(link.resource), try !links(of: url).isEmpty else { return }
        try change(url) { links in
            guard let index = links.firstIndex(of: link) else { return false }
            links[index] = ResourceLink(
                resource: link.resource, issuer: link.issuer, clientID: link.clientID, grant: link.grant,
                account: link.account)
            links[index].prefix = link.prefix
            links[index].hasEnded = true
            return true
        }
    }

    /// Returns whether the user has ever signed in to a URL, with any grant and account, or to one above it, unless
    /// `exactly`. True if the file is damaged.
    package func wereFor(_ url: WebURL, exactly: Bool = false) throws(OIDCError) -> Bool {
        guard damagedFile(of: url) == nil else { return true }
        return try list.records(ResourceLinks.name(url), of: url.origin).contains {
            exactly ? ResourceIdentifier($0.resource)?.identifies(url) == true : $0.covers(url)
        }
    }

    private func change(_ url: WebURL, _ body: (inout [ResourceLink]) -> Bool) throws(OIDCError) {
        try list.change(ResourceLinks.name(url), of: url.origin) { all in
            var links = ResourceLinks.links(all, of: url)
            guard body(&links) else { return false }
            let ended = all.filter { other in other.hasEnded && !links.contains { $0.replaces(other) } }
            all = links + ended
            return true
        }
    }

    /// Leaves out links that have ended, and those of another origin than their file's, as a token would be sent there.
    private static func links(_ links: [ResourceLink], of url: WebURL) -> [ResourceLink] {
        links.filter { !$0.hasEnded && WebURL($0.resource)?.origin == url.origin }
    }

    private static func name(_ url: WebURL) -> String {
        FileName.of(url.host, hashing: JSONValue.array([.string(url.origin)]).compact)
    }
}
