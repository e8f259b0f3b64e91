import OIDCCore
import OIDCSystem

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
        /// Whether to ignore the scope of the last sign-in, because the server refused it.
        var forgetsScope = false
        /// Whether to continue even if neither the session nor the registered client can be stored.
        var mayKeepNothing = false

        /// Returns the evidence for another attempt after an error; nil if it would fail again.
        func next(after error: OIDCError, of provider: ProviderContext) -> Evidence? {
            var next = self
            next.asksResource = false
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
        let console = context.console
        let reach = reach
        var environment = try reach.environment()
        let cache = CacheTrace(environment.cache)
        environment.cache = cache
        let search = try ResourceSearch(
            url, environment: environment, allowsInsecureHTTP: reach.allowsInsecureHTTP)
        let link = try? link()
        var found = try find(search, environment, evidence, link)
        console.trace(
            "resource: \(found.metadata.resource), from \(found.metadataURL.withoutQuery)"
                + (found.isNamedByChallenge ? ", which its challenge names" : ""))
        let grant = try grant(of: found.metadata)
        guard mayLogIn || !grant.needsUser else { throw notSignedIn }
        let server: ProviderMetadata
        do throws(OIDCError) {
            server = try self.server(
                of: found.metadata, search, environment, grant, refetching: evidence.isRefetching)
        } catch {
            // The documents that led to this server may be outdated.
            guard evidence.response == nil, !evidence.isRefetching, cache.isUsed,
                error.kind != .interrupted, error.kind != .timedOut
            else { throw error }
            console.trace("\(error.message); fetching the resource's metadata again")
            let earlier = found.metadata.authorizationServers
            found = try search.find(after: try search.probe(), refetching: true)
            // An unreachable server is not tried twice.
            guard error.kind != .unreachable || found.metadata.authorizationServers != earlier else {
                throw error
            }
            server = try self.server(of: found.metadata, search, environment, grant, refetching: true)
        }
        let issuer = server.issuer ?? ""
        console.trace("authorization server: \(issuer)")
        let (scope, isScopeRemembered) = try scope(found, server, evidence, link, grant)
        let client = try ResourceClient(
            operand: self, environment: environment, resource: found.metadata, server: server, scope: scope,
            mayKeepNothing: evidence.mayKeepNothing
        ).choice(for: grant)
        console.trace("client: \(DisplayText.clean(client.clientID)) (\(client.reason))")
        let given = ResourceOwnership(entries: try entries(of: client.profile))
        let own = ResourceOwnership(entries: given.entries(for: issuer))
        var target = ResourceLink(
            resource: found.metadata.resource, metadataURL: found.metadataURL.text, issuer: issuer,
            clientID: client.clientID, grant: grant,
            account: own.text(.account, in: [.options, .variables, .profile]))
        target.prefix = found.prefix?.text
        if let prefix = found.prefix {
            console.trace(
                "\(prefix.text) names this resource, so the token is used only for that URL and those below it"
            )
        }
        let isNamed = found.challenge.scope != nil || evidence.scope != nil
        let earlier = link?.resource == target.resource && !evidence.forgetsScope ? link?.scope : nil
        target.scope = isNamed || !grant.needsUser ? scope : earlier
        target.profile = client.profile
        target.isIssuerNamed =
            given.names(issuer: issuer)
            || link?.isIssuerNamed == true && link?.issuer == issuer && link?.clientID == client.clientID
        target.registration = client.registration
        if let link, ExactText.isSame(link.issuer, issuer) {
            target.settings = link.settings
            if link.clientID != client.clientID {
                for redirect in Setting.redirects { target.settings[redirect.name] = nil }
            }
        }
        let isChallenged = found.challenge != ResourceChallenge()
        target.bindsTokens =
            found.metadata.requiresDPoP || found.challenge.requiresDPoP
            || !isChallenged && link?.resource == target.resource && link?.bindsTokens == true
        let refusesBinding = settings.layers.given.contains {
            $0.setting == .dpop && $0.origin.layer == .options && $0.value == false
        }
        if target.bindsTokens, refusesBinding {
            throw .usage(
                "\(DisplayText.clean(target.resource)) requires tokens that are bound to a key (DPoP)",
                hint: "leave --set dpop=false out")
        }
        return provider(
            ResourceTarget(
                operand: self, link: target, earlierLink: link, isNewlyRegistered: client.isNew,
                isScopeRemembered: isScopeRemembered),
            client.registered,
            try entries(of: client.profile), scope: scope.isEmpty ? nil : scope)
    }

    private func find(
        _ search: ResourceSearch, _ environment: ProviderEnvironment, _ evidence: Evidence,
        _ link: ResourceLink?
    ) throws(OIDCError) -> ResourceSearch.Found {
        if let response = evidence.response {
            // A challenge may omit the metadata URL that an earlier one named.
            let earlier = link.flatMap { $0.isFor(url) ? $0.metadataURL : nil }.flatMap { WebURL($0) }
            return try search.find(after: response, or: earlier, refetching: evidence.isRefetching)
        }
        // A link for a URL above this one does not say which server protects this one.
        if !evidence.isRefetching, !evidence.asksResource, let link, link.isFor(url),
            let url = link.metadataURL.flatMap({ WebURL($0) }),
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
        let isOwned = ownership.isOwned(.profile, by: resource.authorizationServers)
        let text = ownership.text(
            .grant, in: isOwned ? [.options, .variables, .profile] : [.options, .variables])
        return text.map { GrantType(rawValue: $0) } ?? .authorizationCode
    }

    /// Returns the metadata of the server: the one that the settings name if the resource lists it, or else
    /// the first that works and has a client for us.
    private func server(
        of resource: ProtectedResourceMetadata, _ search: ResourceSearch,
        _ environment: ProviderEnvironment, _ grant: GrantType, refetching: Bool
    ) throws(OIDCError) -> ProviderMetadata {
        let servers = resource.authorizationServers
        if let issuer = ownership.optionIssuer, grant != .idJAG,
            !servers.contains(where: { ExactText.isSame($0, issuer) })
        {
            throw .usage(
                "--issuer \(DisplayText.clean(issuer)) is not an authorization server of "
                    + "\(DisplayText.clean(resource.resource)), which names \(resource.serverList)",
                hint: "leave --issuer out")
        }
        let preferred = ownership.issuers.first { issuer in
            servers.contains { ExactText.isSame($0, issuer) }
        }
        return try search.authorizationServer(
            of: resource, issuer: preferred,
            configured: { issuer in
                let own = ownership.entries(for: issuer)
                return ProviderEndpoint.allCases.filter { endpoint in
                    own.contains { $0.setting.name == endpoint.rawValue }
                }
            }, forSignIn: grant.needsUser, refetching: refetching
        ) { server throws(OIDCError) in
            try ResourceClient(
                operand: self, environment: environment, resource: resource, server: server, scope: Scope("")
            ).isPossible(for: grant)
        }
    }

    private func scope(
        _ found: ResourceSearch.Found, _ server: ProviderMetadata, _ evidence: Evidence,
        _ link: ResourceLink?, _ grant: GrantType
    ) throws(OIDCError) -> (Scope, isRemembered: Bool) {
        if let scope = evidence.scope {
            context.console.trace(
                "scope: \(DisplayText.quoted(scope.text)), of the session and the challenge")
            return (scope, false)
        }
        let own = ResourceOwnership(entries: ownership.entries(for: server.issuer ?? ""))
        let caller = own.text(.scope, in: [.options, .variables, .profile]).map { Scope($0) }
        let remembered =
            found.challenge.scope == nil && link?.resource == found.metadata.resource
                && !evidence.forgetsScope
            ? link?.scope : nil
        let choice = try ScopeChoice(
            caller: caller,
            challenge: remembered.map { ResourceChallenge(scope: $0) } ?? found.challenge,
            resource: found.metadata, server: server, isForUser: grant.needsUser)
        let reason =
            switch choice.source {
            case .caller: "of the settings"
            case .challenge: remembered == nil ? "of the resource's challenge" : "of the last sign-in"
            case .resource: "of scopes_supported of the resource"
            case .server: "as the resource names none"
            }
        let offline = choice.addsOfflineAccess ? ", and offline_access, which the server lists" : ""
        context.console.trace("scope: \(DisplayText.quoted(choice.scope.text)), \(reason)\(offline)")
        return (choice.scope, choice.source == .challenge && remembered != nil)
    }
}
