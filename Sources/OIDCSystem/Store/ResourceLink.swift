package import OIDCCore

/// What is remembered of a resource: who issues its tokens, and to which client. It leads from a URL to the session
/// without the network.
package struct ResourceLink: Hashable, Sendable {
    /// The resource's identifier, as its metadata spells it.
    package var resource: String
    /// The URL of the resource's metadata.
    package var metadataURL: String?
    /// The URL that the link covers, with everything below it, if only that URL says that it is part of the resource.
    /// Nil for the whole resource.
    package var prefix: String?
    package var issuer: String
    package var clientID: String
    package var grant: GrantType
    /// The scope to request, which a challenge or the metadata named; nil if none did.
    package var scope: Scope?
    package var account: String?
    /// The profile that the client is from; nil for a registered client or one without a profile.
    package var profile: String?
    /// The name of the registration that the client is from.
    package var registration: String?
    /// Whether the resource takes only tokens that are bound to a key (RFC 9728 §2).
    package var bindsTokens = false
    /// Whether the user's settings named the issuer, so a client's secret may go there.
    package var isIssuerNamed = false
    /// What options set for the sign-in, and later ones at the same server repeat: the redirect URL, for the same client,
    /// and whether `resource` is sent.
    package var settings = JSONObject()

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

    /// The URL that the token may be sent to, and below which.
    package var reach: String { prefix ?? resource }

    /// Returns whether the token may be sent to a URL.
    package func covers(_ url: WebURL) -> Bool {
        ResourceIdentifier(resource)?.covers(url) == true && ResourceIdentifier(reach)?.covers(url) == true
    }

    /// Returns whether the link is for exactly a URL, not for one above it.
    package func isFor(_ url: WebURL) -> Bool {
        guard let identifier = ResourceIdentifier(reach) else { return false }
        return covers(url) && identifier.identifies(url)
    }

    /// Returns whether one link takes the other's place: a resource has one for each grant and account, and for each URL
    /// that only speaks for itself.
    package func replaces(_ other: ResourceLink) -> Bool {
        resource == other.resource && prefix == other.prefix && grant == other.grant
            && account == other.account
    }

    /// Returns whether another link of the same kind would be taken before this one for a URL.
    fileprivate func isHidden(by other: ResourceLink, for url: WebURL) -> Bool {
        other.grant == grant && other.account == account && !replaces(other) && other.covers(url)
            && other.reach.utf8.count >= reach.utf8.count
    }

    init?(_ json: JSONValue) {
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
        settings = json["settings"]?.object ?? JSONObject()
    }

    var json: JSONValue {
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
        if !settings.members.isEmpty { object["settings"] = .object(settings) }
        return .object(object)
    }
}

/// The links of all resources: one file for each origin.
package struct ResourceLinks: Sendable {
    private static let formatVersion: Int64 = 1
    /// How many links an origin may have; the oldest are dropped first.
    private static let limit = 256

    private let directory: SessionDirectory

    /// Uses a directory below the one for sessions.
    package init(state path: String) {
        directory = SessionDirectory(
            path: "\(StateDirectories.trimmed(path))/resources", ending: ".json", noun: "resource file")
    }

    /// Returns the links of a URL's origin. A file that cannot be understood has none: a sign-in writes it again.
    package func links(of url: WebURL) throws(OIDCError) -> [ResourceLink] {
        guard let bytes = try directory.read(ResourceLinks.name(url)) else { return [] }
        return ResourceLinks.links(bytes, of: url)
    }

    /// Returns the path of the file of a URL's origin if it cannot be understood; nil if it can, or there is none.
    package func damagedFile(of url: WebURL) -> String? {
        let name = ResourceLinks.name(url)
        guard let bytes = try? directory.read(name), !ResourceLinks.isReadable(bytes, of: url) else {
            return nil
        }
        return directory.location(name)
    }

    /// Returns every link, also those without a session.
    package func all() throws(OIDCError) -> [ResourceLink] {
        var links: [ResourceLink] = []
        for name in try directory.names() {
            guard let bytes = try? directory.read(name), let json = try? JSONValue(parsing: bytes),
                let origin = json["origin"]?.string.flatMap({ WebURL($0) })
            else { continue }
            links += ResourceLinks.links(bytes, of: origin)
        }
        return links
    }

    /// Throws if the links of a URL's origin could not be kept.
    package func probe(_ url: WebURL) throws(OIDCError) {
        try directory.reserve(ResourceLinks.name(url)) { _ throws(OIDCError) in }
    }

    /// Keeps a link in place of the one before it.
    package func keep(_ link: ResourceLink) throws(OIDCError) {
        guard let url = WebURL(link.resource) else { return }
        try change(url) { links in
            if links.first == link { return false }
            links.removeAll { link.replaces($0) }
            links.insert(link, at: 0)
            return true
        }
    }

    /// Keeps a link in place of the one before it, and lets the URL that was signed in to lead to it: a link for exactly
    /// that URL is removed. One for a URL above it stays, and the new link is for the URL only.
    package func keep(_ link: ResourceLink, leadingFrom url: WebURL) throws(OIDCError) {
        var link = link
        if try links(of: url).contains(where: { link.isHidden(by: $0, for: url) && !$0.isFor(url) }) {
            link.prefix = url.withoutQuery
        }
        try keep(link)
        for other in try links(of: url) where link.isHidden(by: other, for: url) && other.isFor(url) {
            try remove(other)
        }
    }

    /// Removes a link, unless it was replaced meanwhile.
    package func remove(_ link: ResourceLink) throws(OIDCError) {
        guard let url = WebURL(link.resource), try !links(of: url).isEmpty else { return }
        try change(url) { links in
            let count = links.count
            links.removeAll { $0 == link }
            return links.count != count
        }
    }

    private func change(_ url: WebURL, _ body: (inout [ResourceLink]) -> Bool) throws(OIDCError) {
        try directory.replace(ResourceLinks.name(url)) { existing in
            var links = existing.map { ResourceLinks.links($0, of: url) } ?? []
            guard body(&links) else { return nil }
            let document: JSONValue = [
                "version": JSONValue(ResourceLinks.formatVersion), "origin": .string(url.origin),
                "resources": .array(links.prefix(ResourceLinks.limit).map(\.json)),
            ]
            return document.bytes
        }
    }

    /// Reads a file's links. A link of another origin is not used: it would send a token there.
    private static func links(_ bytes: [UInt8], of url: WebURL) -> [ResourceLink] {
        guard isReadable(bytes, of: url), let json = try? JSONValue(parsing: bytes) else { return [] }
        return (json["resources"]?.array ?? []).compactMap { ResourceLink($0) }.filter {
            WebURL($0.resource)?.origin == url.origin
        }
    }

    private static func isReadable(_ bytes: [UInt8], of url: WebURL) -> Bool {
        guard let json = try? JSONValue(parsing: bytes), let version = json["version"]?.integer else {
            return false
        }
        return json["origin"]?.string == url.origin && version <= formatVersion
    }

    private static func name(_ url: WebURL) -> String {
        FileName.of(url.host, hashing: JSONValue.array([.string(url.origin)]).compact)
    }
}
