import LoopbackHTTP
import OIDCCore
import OIDCSessions
import OIDCSignIn
import Posix

/// The client for a resource's authorization server, in the order of the MCP authorization specification: the
/// configured one, a client metadata document, the one of the last sign-in, or a registered one.
struct ResourceClient {
    let operand: ResourceOperand
    let environment: OIDCContext
    /// The metadata of the resource; nil if the sign-in is to the server itself.
    let resource: ProtectedResourceMetadata?
    let server: ProviderMetadata
    let scope: Scope
    /// Whether a client may be used that cannot be stored.
    var mayKeepNothing = false

    /// A client and its origin.
    struct Choice {
        let clientID: String
        /// The profile that configures it.
        var profile: String?
        var registration: String?
        var registered: RegisteredRecord?
        var isNew = false
        let reason: String
    }

    private var context: CommandContext { operand.context }
    private var issuer: String { server.issuer ?? "" }

    func choice(for grant: GrantType) throws(OIDCError) -> Choice {
        if let configured = try configured(grant) { return configured }
        if let document = try document() { return document }
        if let earlier = try earlier(grant) { return earlier }
        guard server.registrationEndpoint != nil, grant == .authorizationCode else {
            throw unregistered(grant)
        }
        try checkRegistrar(operand.loginLine.adding("--issuer", issuer))
        try checkMethods()
        do throws(OIDCError) { return try registered() } catch { throw closed(error) ?? error }
    }

    /// Returns the client for a sign-in to the server itself: one that is registered automatically if the
    /// server allows that, else the document of `client_metadata_url`.
    func choiceOfProvider() throws(OIDCError) -> Choice {
        if server.registrationEndpoint != nil {
            try checkRegistrar(.run("register", "--issuer", issuer))
            try checkMethods()
            do throws(OIDCError) { return try registered() } catch {
                guard let closed = closed(error) else { throw error }
                guard let document = try document() else { throw closed }
                context.console.trace(error.message)
                return document
            }
        }
        guard let document = try document() else { throw unregistered(.authorizationCode) }
        return document
    }

    /// Returns the client of a metadata document; nil if none is set or the server does not support it.
    private func document() throws(OIDCError) -> Choice? {
        guard let url = operand.settings.client.metadataURL else { return nil }
        guard server.supportsClientMetadataDocuments else {
            context.console.trace("client_metadata_url is not used: \(issuer) does not support it")
            return nil
        }
        // A registered client has a redirect URL of its own, so no other server's answer can be taken for this one's.
        if resource != nil, server.registrationEndpoint != nil,
            !server.authorizationResponseIssParameterSupported,
            !operand.isNamedByOption(issuer),
            let other = KnownClients(operand).others(than: server, sharing: url).first
        {
            context.console.trace(
                "client_metadata_url is not used: \(issuer) does not name itself in its answers, "
                    + "and \(DisplayText.clean(other)) has the same redirect URL")
            return nil
        }
        return Choice(
            clientID: try ClientMetadataDocument.checkedURL(url).text, reason: "client_metadata_url")
    }

    /// Returns the error for a server that refuses automatic registration, as Spring Authorization Server 7.1
    /// does with an empty 401; nil for another failure.
    private func closed(_ error: OIDCError) -> OIDCError? {
        guard error.code == .registrationNeedsToken else { return nil }
        return unregistered(.authorizationCode, because: error.message)
    }

    /// Returns whether a client is known at the server, or can be registered there.
    func isPossible(for grant: GrantType) throws(OIDCError) -> Bool {
        if try configured(grant) != nil { return true }
        if operand.settings.client.metadataURL != nil, server.supportsClientMetadataDocuments { return true }
        if server.registrationEndpoint != nil, grant == .authorizationCode {
            return (try? checkMethods()) != nil
        }
        return try earlier(grant) != nil
    }

    /// Returns the client of the last sign-in, which may have been named by an option.
    private func earlier(_ grant: GrantType) throws(OIDCError) -> Choice? {
        guard let link = try operand.link(), let resource, link.resource == resource.resource,
            link.grant == grant,
            ExactText.isSame(link.issuer, issuer), link.registration == nil, link.profile == nil,
            link.clientID != operand.settings.client.metadataURL
        else { return nil }
        return Choice(clientID: link.clientID, reason: "of the last sign-in")
    }

    /// Returns the client of the settings, or, if they name none, of a profile for this issuer.
    private func configured(_ grant: GrantType) throws(OIDCError) -> Choice? {
        let ownership = operand.ownership
        if let entry = ownership.entries(for: issuer).first(where: { $0.setting == .clientID }),
            let clientID = entry.value.string
        {
            let isOfProfile = entry.origin.layer == .profile
            return Choice(
                clientID: clientID, profile: isOfProfile ? operand.settings.profile : nil,
                reason: entry.origin.text)
        }
        // For id_jag, the named profile may be that of the user's own provider.
        guard operand.namedProfile == nil || grant == .idJAG else { return nil }
        for case .success(let profile) in try context.settingsLoader.profiles() {
            let own = ResourceOwnership(entries: profile.own)
            guard let found = own.text(.issuer, in: [.profile]), ExactText.isSame(found, issuer),
                let clientID = own.text(.clientID, in: [.profile]),
                own.text(.account, in: [.profile]) == nil
            else { continue }
            return Choice(
                clientID: clientID, profile: profile.profile,
                reason: "profile \(DisplayText.clean(profile.profile))")
        }
        return nil
    }

    /// Returns the settings of a registration: those that apply to this server, and the scope to register.
    private func settings(scope: Scope) -> Settings {
        var entries = operand.ownership.entries(for: issuer).filter { $0.setting != .scope }
        if !scope.isEmpty {
            entries.append(
                SettingLayers.Entry(
                    setting: .scope, value: .string(scope.text), origin: .resource(operand.url.text)))
        }
        return context.settings(profile: nil, entries)
    }

    /// Returns the settings of a registration like `settings(scope:)`, with a redirect URL of its own for
    /// this issuer (RFC 9700 §4.4.2.2). A redirect URL elsewhere is used unchanged.
    ///
    /// If other sign-ins use all of our usual ports, other free ports are chosen.
    private func registrationSettings(scope: Scope) throws(OIDCError) -> Settings {
        let settings = settings(scope: scope)
        let redirect = try settings.signIn.redirect()
        guard let loopback = redirect.loopback, redirect.leadsHereWithAnyPath else { return settings }
        let origin = SettingLayers.Origin.resource(operand.url.text)
        let own = try MixUpDefense.redirectURI(redirect.text, for: issuer)
        var entries = [SettingLayers.Entry(setting: .redirectURI, value: .string(own), origin: origin)]
        if loopback.ports == .any {
            let usual = LoopbackAddress(host: loopback.host, ports: .firstFree(of: ClientRegistration.ports))
            let ports =
                usual.isInUse
                ? LoopbackAddress.freePorts(ClientRegistration.ports.count, host: loopback.host) : []
            if !ports.isEmpty {
                let value = JSONValue.array(ports.map { JSONValue(Int64($0)) })
                entries.append(SettingLayers.Entry(setting: .redirectPorts, value: value, origin: origin))
            }
        }
        return settings.overridden(by: entries)
    }

    /// Returns the client that was registered before, or registers one. Only one of several processes does.
    private func registered() throws(OIDCError) -> Choice {
        let settings = settings(scope: scope)
        let redirect = try settings.signIn.redirect()
        let ports = redirect.loopback.map { $0.ports.candidates.map { String($0) } } ?? []
        let own =
            redirect.leadsHereWithAnyPath
            ? try MixUpDefense.redirectURI(redirect.text, for: issuer) : redirect.text
        let name = Registrations.name(
            issuer: issuer, resource: resource?.resource, redirects: [own] + ports)
        guard let records = ResourceRecords(context) else {
            return choice(try register(replacing: nil), name: nil, isNew: true)
        }
        if let known = try known(name, records) { return choice(known, name: name) }
        let wait = LockWait(
            limit: .seconds(settings.network.httpTimeout * 2 + 30),
            onWaiting: { [console = context.console] in
                console.noteWaiting("waiting for the registration of another oidc process …")
            })
        var hasLock = false
        do throws(OIDCError) {
            try records.checkDirectory()
            return try records.registrations.withLock(name, wait) { () throws(OIDCError) in
                hasLock = true
                if let known = try known(name, records) { return choice(known, name: name) }
                let client = try register(replacing: try newest(name, records))
                do throws(OIDCError) {
                    try records.keep(client, as: name, issuer: issuer)
                } catch {
                    context.console.warn(error, "the registered client could not be stored")
                }
                return choice(client, name: name, isNew: true)
            }
        } catch {
            guard mayKeepNothing, !hasLock, error.isOfStore else { throw error }
            return choice(try register(replacing: nil), name: nil, isNew: true)
        }
    }

    private func newest(_ name: String, _ records: ResourceRecords) throws(OIDCError) -> RegisteredRecord? {
        try records.registrations.clients(name, issuer: issuer).first
    }

    /// Returns the client to use: the newest one that has a free port, if the ports are our choice.
    private func known(_ name: String, _ records: ResourceRecords) throws(OIDCError) -> RegisteredRecord? {
        let choosesPorts = try settings(scope: scope).signIn.redirect().loopback?.ports == .any
        return try records.registrations.clients(name, issuer: issuer).first {
            $0.isUsable(at: environment.now()) && !(choosesPorts && isInUse($0))
        }
    }

    /// Returns whether other sign-ins use all ports of a registered client.
    private func isInUse(_ client: RegisteredRecord) -> Bool {
        let settings = context.settings(
            profile: nil, client.entries(origin: .resource(operand.url.text)))
        return (try? settings.signIn.redirect())?.loopback?.isInUse ?? false
    }

    private func choice(_ client: RegisteredRecord, name: String?, isNew: Bool = false) -> Choice {
        Choice(
            clientID: client.clientID, registration: name, registered: client, isNew: isNew,
            reason: isNew ? "registered now" : "registered before")
    }

    /// Registers a client for all scopes that the resource supports, or for fewer if the server refuses them.
    /// These include the scope of the client that it replaces, or sign-ins for different scopes would keep
    /// replacing each other's client.
    private func register(replacing earlier: RegisteredRecord?) throws(OIDCError) -> RegisteredRecord {
        let supported = resource?.scopesSupported.map { scope.union($0) } ?? scope
        // Without a scope, the server registers its default.
        let all = supported.isEmpty ? supported : supported.union(earlier?.scope ?? Scope(""))
        var fewer = [supported, scope][...]
        var wanted = all
        while true {
            do throws(OIDCError) { return try register(registrationSettings(scope: wanted)) } catch {
                fewer = fewer.drop { $0 == wanted }
                guard ["invalid_client_metadata", "invalid_scope"].contains(error.oauthError),
                    let next = fewer.popFirst()
                else { throw error }
                wanted = next
            }
        }
    }

    private func register(_ settings: Settings) throws(OIDCError) -> RegisteredRecord {
        var registration = try ClientRegistration(clientName: "oidc", settings: settings, metadata: server)
        registration.acceptsOtherRedirects = false
        let outcome = try registration.run(
            over: environment.transport, initialAccessToken: nil, console: context.console)
        // The ID must not be that of the user's own client, which may be known at a provider that accepts any
        // loopback redirect URL (RFC 9700 §4.4).
        let id = outcome.client.clientID
        guard ![operand.settings.client.id, operand.settings.client.metadataURL].contains(id) else {
            let named = operand.loginLine.adding("--issuer", DisplayText.clean(issuer), "--client-id", id)
                .adding(operand.scopeOption(scope))
            throw .untrusted(
                .registration, "client_id", expected: "a new client",
                found: "that of your settings, \(DisplayText.clean(id, limit: 200))",
                hint: operand.naming(
                    server, sharing: id, if: "if the server gives all its clients this ID: ", named))
        }
        let authentication = try outcome.client.authentication(at: server)
        var kept = JSONObject()
        for (setting, value) in outcome.entries where ResourceClient.keptSettings.contains(setting) {
            kept[setting.name] = value
        }
        kept[Setting.clientAuth.name] = authentication.method.map { .string($0) }
        return RegisteredRecord(
            clientID: outcome.client.clientID, clientSecret: authentication.secret,
            secretExpiresAt: authentication.secret == nil ? nil : outcome.client.clientSecretExpiresAt,
            scope: settings.token.scope, settings: kept)
    }

    /// The registered settings of a client. How the redirect reaches the listener is not part of them, as it
    /// may differ between sign-ins.
    private static let keptSettings: Set<Setting> = [
        .redirectURI, .port, .redirectPorts, .postLogoutRedirectURI,
    ]

    /// Refuses to register at a server that accepts only clients with a key or a certificate: the user has to
    /// choose one.
    private func checkMethods() throws(OIDCError) {
        let possible = ["none", "client_secret_basic", "client_secret_post", "client_secret_jwt"]
        guard let methods = server.tokenEndpointAuthMethodsSupported, !methods.isEmpty,
            !methods.contains(where: possible.contains), operand.settings.client.method == nil
        else { return }
        let names = methods.prefix(5).map { DisplayText.clean($0) }.joined(separator: ", ")
        throw OIDCError(
            .usage,
            "no client is set for \(DisplayText.clean(issuer)), which only takes clients with "
                + "\(names): register one there with a key or a certificate of your own",
            hint: .run("login", operand.url.text, "--client-id", "ID", "--set", "private_key_file=FILE"),
            stage: .registration)
    }

    /// Refuses to register a client elsewhere for a server that does not promise `iss`: at another provider, the client
    /// would have a redirect URL that counts as this server's own (RFC 9700 §4.4).
    private func checkRegistrar(_ wayOn: Hint) throws(OIDCError) {
        guard !server.authorizationResponseIssParameterSupported,
            resource == nil || !operand.names(issuer: issuer, operand.settings.layers.given),
            let registrar = server.registrationEndpoint, !server.ownOrigins.contains(registrar.origin)
        else { return }
        let shown = DisplayText.clean(registrar.hostAndPort)
        throw .untrusted(
            .discovery, "registration_endpoint",
            expected: "a URL of \(DisplayText.clean(server.ownOrigins.first ?? ""))",
            found: DisplayText.clean(registrar.withoutQuery),
            hint: .trusting(server, asMuchAs: [shown], wayOn))
    }

    /// Returns the error if no client is known and none can be registered here.
    private func unregistered(_ grant: GrantType, because reason: String? = nil) -> OIDCError {
        let server = DisplayText.clean(issuer)
        guard grant == .authorizationCode else {
            return .usage(
                "no client is set for \(server), which grant=\(grant.rawValue) needs",
                hint: .words(
                    "give --client-id ID, or: ",
                    .run("config init -p NAME", "--issuer", server, "--client-id", "ID")))
        }
        // The user may register a client there now, whose codes another server must not get (RFC 9700 §4.4).
        operand.recordNamedServer(to: self.server)
        let redirect = (try? settings(scope: scope).signIn.redirect())?.text ?? RedirectAddress.standard
        let line = Hint.run("login", operand.url.text)
        let registered = line.adding("--client-id", "ID")
        return OIDCError(
            .usage,
            "no client is set for \(server), and it does not register clients automatically"
                + (reason.map { " (\($0))" } ?? "")
                + ": register a native client there with the redirect URL \(DisplayText.clean(redirect))",
            hint: self.server.supportsClientMetadataDocuments
                ? .words(
                    "publish what ", .run("register --client-metadata URL"), " prints, and: ",
                    line.adding("--set", "client_metadata_url=URL"), ", or: ", registered)
                : registered, stage: .registration)
    }
}
