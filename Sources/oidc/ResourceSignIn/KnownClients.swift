import OIDCCore
import OIDCSessions
import Posix

/// The servers at which the user signs in, and the clients there: of the settings and all profiles, of all sign-ins on this
/// machine, and of the sessions in the store of the settings. Other stores are not read, as they may be slow or locked.
struct KnownClients {
    private struct Client {
        /// The issuer and the token endpoint, as far as they are known.
        let servers: [String]
        let id: String?
        let use: Use
        /// Whether only URLs on the operand's own origin led to the server.
        let isOfURL: Bool

        init(servers: [String], id: String?, use: Use, isOfURL: Bool = false) {
            self.servers = servers.map(ClientUse.name)
            self.id = id
            self.use = use
            self.isOfURL = isOfURL
        }
    }

    private enum Use {
        /// The user signs in with it for themselves.
        case own
        case ofResource
        /// A URL named the server, and no sign-in with the client has started there.
        case unused
        /// It was registered for its server, with a redirect URL of its own there, as far as is known.
        case registered
    }

    private var clients: [Client] = []
    /// Whether everything could be read.
    private var isWhole = true
    private let trusted: [String]

    /// Collects the clients, without those of sign-ins for resources on `origin`.
    init(_ operand: ResourceOperand, besides origin: String? = nil) {
        let context = operand.context
        trusted = operand.trustedServers
        // A client that an option names is known only at the server that an option names.
        let own = ResourceOwnership(entries: operand.settings.layers.given)
        for layers: Set<SettingLayers.Layer> in [[.options], [.variables, .profile]] {
            add(
                [.issuer, .tokenEndpoint].compactMap { own.text($0, in: layers) },
                clientID: own.text(.clientID, in: layers), redirect: own.text(.redirectURI, in: layers))
        }
        do throws(OIDCError) {
            if let file = try context.settingsLoader.file() {
                for profile in file.profiles {
                    let settings = try? file.settings(of: profile.name, home: context.environment["HOME"])
                    // One that a sign-in to a resource wrote is for that resource.
                    if let settings, context.ownResource(settings) != nil { continue }
                    // A mistake in another setting does not make its server unknown.
                    func text(_ setting: Setting) -> String? { profile.values[setting.name]?.string }
                    add(
                        [.issuer, .tokenEndpoint].compactMap(text), clientID: text(.clientID),
                        redirect: text(.redirectURI))
                }
            }
            for (id, use) in try ResourceRecords(context)?.uses.all() ?? [] {
                guard use.origin == nil || use.origin != origin else { continue }
                // A server that only a URL has led to may name any token endpoint.
                let servers = [use.issuer, use.isFound ? nil : use.tokenEndpoint].compactMap { $0 }
                let kind: Use =
                    use.isOnlyNamed
                    ? .unused : use.isRegistered ? .registered : use.origin == nil ? .own : .ofResource
                clients.append(
                    Client(servers: servers, id: id, use: kind, isOfURL: use.origin == operand.url.origin))
            }
            for link in try ResourceRecords(context)?.links.all() ?? []
            where WebURL(link.resource)?.origin != origin {
                let use = link.registration == nil ? Use.ofResource : .registered
                clients.append(
                    Client(
                        servers: [link.issuer], id: link.clientID, use: use,
                        isOfURL: WebURL(link.resource)?.origin == operand.url.origin))
            }
        } catch {
            isWhole = false
        }
        // Sessions of earlier versions, or of other machines, are recorded nowhere else.
        var sessions: [StoredSession] = []
        do throws(OIDCError) {
            sessions = try ProviderContext(operand.settings, context, until: operand.deadline).store().all()
        } catch {
            isWhole = false
        }
        for session in sessions.compactMap(\.session) where session.key.grant.needsUser {
            let key = session.key
            guard key.resources.isEmpty || key.resources.contains(where: { WebURL($0)?.origin != origin })
            else { continue }
            let isOfDocument = WebURL(key.clientID) != nil
            // Not every session has a use or a profile.
            let isRegistered = clients.contains {
                $0.use == .registered && $0.id == key.clientID && $0.servers.contains(key.provider)
            }
            let isOwn = key.resources.isEmpty && !isRegistered
            let use = isOwn ? Use.own : isOfDocument ? .ofResource : .registered
            // A resource's server may have named any token endpoint. Without a resource, that endpoint issued this
            // session's tokens.
            let servers = [key.provider] + (key.resources.isEmpty ? [session.endpoints.token.text] : [])
            let origins = Set(key.resources.map { WebURL($0)?.origin })
            clients.append(
                Client(
                    servers: servers, id: key.clientID, use: use, isOfURL: origins == [operand.url.origin]))
        }
        if !trusted.isEmpty { clients.removeAll { $0.servers.first.map(trusted.contains) == true } }
    }

    private mutating func add(_ servers: [String], clientID: String?, redirect: String?) {
        guard let server = servers.first else { return }
        let isRegistered = redirect.map { (try? MixUpDefense.isOwn($0, of: server)) ?? false } ?? false
        clients.append(Client(servers: servers, id: clientID, use: isRegistered ? .registered : .own))
    }

    private static func names(of server: ProviderMetadata) -> [String] {
        [server.issuer, server.tokenEndpoint?.text].compactMap { $0 }.map(ClientUse.name)
    }

    /// Returns whether a client is one of these; true if something could not be read, as it may name any
    /// client.
    func includes(_ id: String, at server: ProviderMetadata) -> Bool {
        let names = KnownClients.names(of: server)
        return !isWhole
            || clients.contains { client in
                ![.registered, .unused].contains(client.use) && client.id == id
                    && names.contains { name in client.servers.contains { ExactText.isSame($0, name) } }
            }
    }

    /// Returns a known server, other than `issuer`, that a URL belongs to; nil if there is none: one on the URL's origin, or,
    /// if that is one of the `own` origins of `issuer`, one beside it. A dot at the end of a host makes no difference.
    func server(of url: WebURL, besides issuer: String?, own: [String]) -> String? {
        func origin(_ url: WebURL) -> String {
            guard url.host.hasSuffix(".") else { return url.origin }
            return WebURL("\(url.scheme)://\(url.host.dropLast()):\(url.effectivePort)")?.origin ?? url.origin
        }
        let place = origin(url)
        guard !own.contains(url.origin) else { return neighbor(of: issuer, above: url) }
        return clients.first { client in
            // A resource's server may have named any token endpoint.
            let servers =
                [.ofResource, .unused].contains(client.use) ? Array(client.servers.prefix(1)) : client.servers
            return servers.contains { WebURL.ofIssuer($0).map(origin) == place }
                && !client.servers.contains { server in
                    issuer.map { IssuerSpelling.isSameServer(server, ClientUse.name($0)) } ?? false
                }
        }?.servers.first
    }

    /// Returns a known server whose issuer is above a URL, and neither above nor below `issuer`. The issuers of one host may
    /// share a page, as those of Authentik do, but not at the path of one of them.
    private func neighbor(of issuer: String?, above url: WebURL) -> String? {
        guard let own = issuer.flatMap({ ResourceIdentifier($0) }) else { return nil }
        // As browsers and the most lenient servers read it: a path with dot segments may lead to any neighbor.
        let readings = PathReadings(url.path)
        let segments = readings.lenientSegments
        return clients.lazy.compactMap(\.servers.first).first { server in
            guard let other = ResourceIdentifier(server), other.url.origin == url.origin else { return false }
            let isAbove =
                readings.haveDotSegments
                || segments.starts(with: PathReadings(other.url.path).lenientSegments)
            return isAbove && !other.covers(own.url) && !own.covers(other.url)
        }
    }

    /// Returns the other servers that may issue their codes to this client, as they know the client or its redirect URL,
    /// each once: the user's own first, and last those that only this URL has led to, which may be many and all its own. A
    /// source that could not be read may contain one. If the client was registered for this server (`isRegistered`), it has
    /// a redirect URL of its own.
    func others(than server: ProviderMetadata, sharing id: String, isRegistered: Bool = false) -> [String] {
        let names = KnownClients.names(of: server)
        // Tenants of a provider that we know by name share its origin, where nobody else gets a code.
        let isTenant = Preset.matching(issuer: server.issuer ?? "") != nil
        let origins = Set([server.authorizationEndpoint, server.tokenEndpoint].compactMap { $0?.origin })
        let isOfDocument = WebURL(id) != nil
        let sharing = clients.filter { client in
            // A client that a document describes is the same at every server, also where another one is registered.
            let isShared =
                (client.use != .registered || isOfDocument) && (client.id == id || !isRegistered)
            let isNeighbour =
                isTenant && client.servers.contains { origins == [WebURL.ofIssuer($0)?.origin ?? ""] }
            return isShared && !isNeighbour
                && !names.contains { name in
                    client.servers.contains { IssuerSpelling.isSameServer($0, name) }
                }
        }
        var seen: Set<String> = []
        let ordered = sharing.filter { $0.use == .own } + sharing.filter { !$0.isOfURL } + sharing
        let found = ordered.compactMap(\.servers.first).filter { seen.insert($0).inserted }
        let unread = "a server that could not be read here"
        return found.isEmpty && !isWhole && !isRegistered && !trusted.contains(unread) ? [unread] : found
    }
}
