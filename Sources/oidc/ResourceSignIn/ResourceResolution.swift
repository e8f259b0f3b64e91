import OIDCCore
import OIDCSessions

/// The search for the server and client of a URL, over the network.
extension ResourceOperand {
    /// The facts that are known when a search starts.
    struct Evidence {
        /// The resource's response to a request; nil if none was sent.
        var response: HTTPResponse?
        /// Whether to fetch cached documents again, as after a 401 for a token obtained through them.
        var isRefetching = false
        /// Whether to send the resource a request even if its metadata is cached, as before a sign-in.
        var asksResource = false
        /// The scope to request when stepping up, instead of the one that the search finds.
        var scope: Scope?
        /// The resource as it was just found, for the first search.
        var found: ResourceSearch.Found?
        /// The link of an attempt before this one, whose client the user has agreed to.
        var agreed: ResourceLink?
        /// Whether to ignore the scope of the last sign-in, because the server refused it.
        var forgetsScope = false
        /// Whether to continue even if neither the session nor the registered client can be stored.
        var mayKeepNothing = false

        /// Returns the evidence for another attempt after an error; nil if it would fail again.
        func next(after error: OIDCError, of provider: ProviderContext) -> Evidence? {
            var next = self
            next.asksResource = false
            next.found = nil
            next.agreed = provider.target?.link
            guard error.oauthError == "invalid_scope", !forgetsScope,
                provider.target?.isScopeRemembered == true
            else { return provider.hasLostClient(error) ? next : nil }
            provider.context.console.trace(
                "the server refuses the scope of the last sign-in; asking the resource again")
            next.forgetsScope = true
            if response == nil { next.isRefetching = true }
            return next
        }
    }

    /// Finds the server and the client, which is registered if necessary. Sends the resource a request,
    /// unless its response is known already, or its metadata is cached and no sign-in follows.
    ///
    /// Without `mayLogIn`, a grant that needs a user is refused before a client is registered for it.
    func resolved(
        _ evidence: Evidence = Evidence(), mayLogIn: Bool = true
    ) throws(OIDCError) -> ProviderContext {
        do throws(OIDCError) {
            return try ResourceResolution(self, evidence).provider(mayLogIn: mayLogIn)
        } catch {
            // Nobody was asked to sign in, so the servers did not answer in time.
            guard error.kind == .timedOut, deadline == nil else { throw error }
            var error = error
            error.kind = .unreachable
            throw error
        }
    }

    /// Returns whether the URL's server says which server protects it (RFC 9728).
    func isProtectedResource() throws(OIDCError) -> Bool {
        do throws(OIDCError) { _ = try ResourceResolution(self, Evidence()).published() } catch {
            guard error.kind != .interrupted else { throw error }
            return false
        }
        return true
    }
}

/// One search for the server and client of a URL.
struct ResourceResolution {
    typealias Found = ResourceSearch.Found
    /// The scope to request, and whether it is remembered from the last sign-in.
    typealias RequestedScope = (scope: Scope, isRemembered: Bool)

    let operand: ResourceOperand
    let evidence: ResourceOperand.Evidence
    /// The link of the last sign-in.
    let earlier: ResourceLink?
    let environment: OIDCContext
    let cache: CacheTrace
    let search: ResourceSearch

    private var context: CommandContext { operand.context }
    private var ownership: ResourceOwnership { operand.ownership }

    init(_ operand: ResourceOperand, _ evidence: ResourceOperand.Evidence) throws(OIDCError) {
        self.operand = operand
        self.evidence = evidence
        earlier = try? operand.link()
        let reach = operand.forSearch().reach
        var environment = try reach.environment()
        cache = CacheTrace(environment.cache)
        environment.cache = cache
        self.environment = environment
        search = try ResourceSearch(
            operand.url, context: environment, allowsInsecureHTTP: reach.allowsInsecureHTTP)
    }

    /// Returns the provider of the server and client that were found.
    func provider(mayLogIn: Bool) throws(OIDCError) -> ProviderContext {
        var found = try find()
        trace(
            "resource: \(found.metadata.resource), from \(found.metadataURL?.withoutQuery ?? "its origin")"
                + (found.isNamedByChallenge ? ", which its challenge names" : ""))
        let grant = try grant(of: found.metadata)
        guard mayLogIn || !grant.needsUser else { throw operand.notSignedIn }
        let server = try server(of: &found, grant)
        trace("authorization server: \(server.issuer ?? "")")
        let requested = try scope(found, server, grant)
        let client = try ResourceClient(
            operand: operand, environment: environment, resource: found.metadata, server: server,
            scope: requested.scope, mayKeepNothing: evidence.mayKeepNothing
        ).choice(for: grant)
        trace("client: \(DisplayText.clean(client.clientID)) (\(client.reason))")
        let entries = try operand.entries(of: client.profile)
        var link = try link(
            to: found, at: server, scope: requested.scope, client: client, grant: grant, entries: entries)
        var trusting = operand
        trusting.trustedServers = link.namedBeside
        let consent = ClientConsent(
            operand: trusting, resource: found.metadata, issuer: link.issuer, client: client,
            scope: requested.scope, grant: grant, server: server, entries: entries,
            isIssuerNamed: link.isIssuerNamed)
        let known = [evidence.agreed, earlier]
        link.agreedScope = try consent.scopes(knownFrom: known)
        link.isElsewhere = consent.isElsewhere(knownFrom: known)
        if link.isElsewhere { noteWithheld(entries, of: link) }
        // With a client of the user's own, the user was asked.
        if link.agreedScope == nil, let scope = evidence.scope { try operand.settings.checkScope(scope) }
        link.isSecretAgreed = link.agreedScope != nil && consent.hasUnnamedIssuer
        if link.agreedScope == nil, client.clientID == operand.settings.client.metadataURL {
            link.unaskedScope = requested.scope
        }
        return operand.provider(
            ResourceTarget(
                operand: operand, link: link, earlierLink: earlier, isNewlyRegistered: client.isNew,
                isScopeRemembered: requested.isRemembered),
            client.registered, entries, scope: requested.scope.isEmpty ? nil : requested.scope)
    }

    /// Names the settings that are not used, as the resource is outside their origins.
    private func noteWithheld(_ entries: [SettingLayers.Entry], of link: ResourceLink) {
        let given = ResourceOwnership(entries: entries)
        let used = given.entries(for: link.issuer, elsewhere: link.resource)
        for entry in given.entries(for: link.issuer) {
            let isUsed = used.contains {
                $0.setting == entry.setting && $0.origin == entry.origin && $0.value == entry.value
            }
            guard !isUsed else { continue }
            context.console.note(
                "the resource is outside the origins of the settings: what \(entry.setting.name) of "
                    + "\(entry.origin.text) says about the token's audience is left out")
        }
    }

    /// Returns the metadata of the server of a sign-in, which may know no client yet.
    func server() throws(OIDCError) -> ProviderMetadata {
        var found = try find()
        return try server(of: &found, .authorizationCode)
    }

    func trace(_ text: @autoclosure () -> String) { context.console.trace(text()) }

    func find() throws(OIDCError) -> Found {
        if let found = evidence.found { return found }
        do throws(OIDCError) { return try published() } catch {
            guard let found = try ownServer(after: error) else { throw error }
            return found
        }
    }

    /// Returns the resource as protected by the authorization server of its origin, if it has no metadata and
    /// requires a token (MCP authorization, 2025-03-26); nil if there is no such server. Metadata with a
    /// wrong member count as metadata.
    func ownServer(after error: OIDCError) throws(OIDCError) -> Found? {
        guard error.kind == .refused, error.stage == .discovery, error.member == nil else { return nil }
        var response = evidence.response
        if response == nil { response = try search.probe() }
        guard let response, response.status == 401 else { return nil }
        let found: Found
        do throws(OIDCError) { found = try search.ownServer(after: response) } catch {
            guard error.kind != .interrupted, error.kind != .timedOut else { throw error }
            trace("\(error.message)")
            return nil
        }
        context.console.note(
            "\(DisplayText.clean(found.metadata.resource)) has no metadata of its own: "
                + "it is signed in to at its origin's server, as in MCP authorization of 2025-03-26")
        return found
    }

    /// Returns the resource by the metadata that it publishes.
    func published() throws(OIDCError) -> Found {
        if let response = evidence.response {
            // A challenge may omit the metadata URL that an earlier one named.
            let known = earlier.flatMap { $0.isFor(operand.url) ? $0.metadataURL : nil }
            return try search.find(
                after: response, or: known.flatMap { WebURL($0) }, refetching: evidence.isRefetching)
        }
        // A link for a URL above this one does not say which server protects this one.
        if !evidence.isRefetching, !evidence.asksResource, let earlier, earlier.isFor(operand.url),
            let url = earlier.metadataURL.flatMap({ WebURL($0) }),
            environment.cache.lookup(url, at: environment.now()) != nil,
            let found = try? search.find(at: url)
        {
            return found
        }
        return try search.find(
            after: try search.probe(), refetching: evidence.isRefetching || evidence.asksResource)
    }

    /// Returns the grant of the settings. A profile's grant applies only to its own server.
    private func grant(of resource: ProtectedResourceMetadata) throws(OIDCError) -> GrantType {
        let isOwned = ownership.isOwned(
            .profile, by: resource.authorizationServers.flatMap { IssuerSpelling.all($0) })
        let text = ownership.text(
            .grant, in: isOwned ? [.options, .variables, .profile] : [.options, .variables])
        return text.map { GrantType(rawValue: $0) } ?? .authorizationCode
    }

    /// Returns the metadata of the server. If cached documents lead to one that does not work, they may be
    /// outdated: the resource's metadata is fetched again.
    private func server(of found: inout Found, _ grant: GrantType) throws(OIDCError) -> ProviderMetadata {
        do throws(OIDCError) {
            return try server(of: found.metadata, grant, refetching: evidence.isRefetching)
        } catch {
            guard evidence.response == nil, !evidence.isRefetching, cache.isUsed,
                error.kind != .interrupted, error.kind != .timedOut
            else { throw error }
            trace("\(error.message); fetching the resource's metadata again")
            let outdated = found.metadata.authorizationServers
            found = try search.find(after: try search.probe(), refetching: true)
            // An unreachable server is not tried twice.
            guard error.kind != .unreachable || found.metadata.authorizationServers != outdated else {
                throw error
            }
            return try server(of: found.metadata, grant, refetching: true)
        }
    }

    /// Returns the metadata of the server: the one that the settings name if the resource lists it, or else
    /// the first that works and has a client for us.
    private func server(
        of resource: ProtectedResourceMetadata, _ grant: GrantType, refetching: Bool
    ) throws(OIDCError) -> ProviderMetadata {
        let servers = resource.authorizationServers
        if let issuer = ownership.optionIssuer, grant != .idJAG,
            !servers.contains(where: { IssuerSpelling.isSameServer($0, issuer) })
        {
            throw .usage(
                "--issuer \(DisplayText.clean(issuer)) is not an authorization server of "
                    + "\(DisplayText.clean(resource.resource)), which names \(resource.serverList)",
                hint: "leave --issuer out")
        }
        let preferred = ownership.issuers.first { issuer in
            servers.contains { IssuerSpelling.isSameServer($0, issuer) }
        }
        let server = try search.authorizationServer(
            of: resource, issuer: preferred,
            configured: { issuer in
                let own = ownership.entries(for: issuer)
                return ProviderEndpoint.allCases.filter { endpoint in
                    own.contains { $0.setting.name == endpoint.rawValue }
                }
            }, forSignIn: grant.needsUser, refetching: refetching
        ) { server throws(OIDCError) in
            try ResourceClient(
                operand: operand, environment: environment, resource: resource, server: server,
                scope: Scope("")
            ).isPossible(for: grant)
        }
        if let issuer = ownership.optionIssuer, grant != .idJAG, let found = server.issuer,
            !ExactText.isSame(issuer, found)
        {
            throw .usage(
                "--issuer \(DisplayText.clean(issuer)): the server's own metadata spells it "
                    + DisplayText.clean(found), hint: .useIssuer(found))
        }
        return server
    }

    private func scope(
        _ found: Found, _ server: ProviderMetadata, _ grant: GrantType
    ) throws(OIDCError) -> RequestedScope {
        if let scope = evidence.scope {
            trace("scope: \(DisplayText.quoted(scope.text)), of the session and the challenge")
            return (scope, false)
        }
        let own = ResourceOwnership(entries: ownership.entries(for: server.issuer ?? ""))
        // A profile's scope may be for another resource.
        let resources = own.entries.first { $0.setting == .resource && $0.origin.layer == .profile }?.value
            .array
        let isForOther = resources.map { !$0.contains(.string(found.metadata.resource)) } ?? false
        let caller = own.text(
            .scope, in: isForOther ? [.options, .variables] : [.options, .variables, .profile]
        )
        .map { Scope($0) }
        let remembered = found.challenge.scope == nil ? rememberedScope(of: found) : nil
        let choice = try ScopeChoice(
            caller: caller,
            challenge: remembered.map { ResourceChallenge(scope: $0) } ?? found.challenge,
            resource: found.metadata, server: server, isForUser: grant.needsUser,
            needsOfflineAccess: Preset.matching(issuer: server.issuer ?? "")?.needsOfflineScope != false)
        let reason =
            switch choice.source {
            case .caller: "of the settings"
            case .challenge: remembered == nil ? "of the resource's challenge" : "of the last sign-in"
            case .resource: "of scopes_supported of the resource"
            case .server: "as the resource names none"
            }
        let offline = choice.addsOfflineAccess ? ", and offline_access, which the server lists" : ""
        trace("scope: \(DisplayText.quoted(choice.scope.text)), \(reason)\(offline)")
        return (choice.scope, choice.source == .challenge && remembered != nil)
    }

    /// Returns the scope of the last sign-in to the same resource, unless the server refused it.
    private func rememberedScope(of found: Found) -> Scope? {
        earlier?.resource == found.metadata.resource && !evidence.forgetsScope ? earlier?.scope : nil
    }
}

/// The link that a search produces.
extension ResourceResolution {
    /// Returns the link to store after a sign-in.
    func link(
        to found: Found, at server: ProviderMetadata, scope: Scope, client: ResourceClient.Choice,
        grant: GrantType, entries: [SettingLayers.Entry]
    ) throws(OIDCError) -> ResourceLink {
        let issuer = server.issuer ?? ""
        let given = ResourceOwnership(entries: entries)
        // The same layers that `fits` compares: an account names a session of the user, and is not for one
        // server.
        let own: Set<SettingLayers.Layer> =
            given.isOwned(.profile, by: [issuer])
            ? [.options, .variables, .profile] : [.options, .variables]
        var link = ResourceLink(
            resource: found.metadata.resource, metadataURL: found.metadataURL?.text, issuer: issuer,
            clientID: client.clientID, grant: grant, account: given.text(.account, in: own))
        if let prefix = found.prefix {
            link.prefix = prefix.text
            trace(
                "\(prefix.text) names this resource, so the token is used only for that URL and those below it"
            )
        }
        let isNamed = found.challenge.scope != nil || evidence.scope != nil
        link.scope = isNamed || !grant.needsUser ? scope : rememberedScope(of: found)
        link.profile = client.profile
        link.registration = client.registration
        let isSameClient = earlier?.clientID == client.clientID
        let wasNamed = earlier?.isIssuerNamed == true && earlier?.issuer == issuer && isSameClient
        link.isIssuerNamed = operand.names(issuer: issuer, entries) || wasNamed
        if grant.needsUser, operand.isNamedByOption(issuer) {
            link.namedBeside = operand.stakes(
                of: server, client: client.clientID, isRegistered: client.registration != nil)
        } else if wasNamed {
            link.namedBeside = earlier?.namedBeside ?? []
        }
        if let earlier, ExactText.isSame(earlier.issuer, issuer) {
            link.settings = earlier.settings
            if earlier.metadataURL == nil { link.settings[Setting.resourceParameter.name] = nil }
            if !isSameClient {
                for redirect in Setting.redirects { link.settings[redirect.name] = nil }
            }
        }
        // A server of MCP authorization 2025-03-26 does not know `resource`.
        if found.metadataURL == nil { link.settings[Setting.resourceParameter.name] = "off" }
        link.bindsTokens = try bindsTokens(found)
        return link
    }

    /// Returns whether the resource requires tokens that are bound to a key. Throws if an option refuses them.
    private func bindsTokens(_ found: Found) throws(OIDCError) -> Bool {
        let isChallenged = found.challenge != ResourceChallenge()
        let bindsTokens =
            found.metadata.requiresDPoP || found.challenge.requiresDPoP
            || !isChallenged && earlier?.resource == found.metadata.resource && earlier?.bindsTokens == true
        let isRefused = operand.settings.layers.given.contains {
            $0.setting == .dpop && $0.origin.layer == .options && $0.value == false
        }
        guard bindsTokens, isRefused else { return bindsTokens }
        throw .usage(
            "\(DisplayText.clean(found.metadata.resource)) requires tokens that are bound to a key (DPoP)",
            hint: "leave --set dpop=false out")
    }
}
