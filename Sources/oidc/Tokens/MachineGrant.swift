import OIDCCore
import OIDCAccount

/// A token that needs no user: the client's own, or one for the identity of a machine.
struct MachineGrant {
    let provider: ProviderContext
    let key: SessionKey

    /// Requests the token and returns it in a session, which the same grant refreshes.
    func outcome() throws(OIDCError) -> TokenRefresh.Outcome {
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: [.token])
        try provider.checkSecurityProfile(metadata)
        try metadata.validate(for: [.token], scope: Scope(""))
        let client = try provider.client(metadata, environment)
        var endpoint = try provider.newTokenEndpoint(metadata, client)
        endpoint.offer = { metadata }
        let now = environment.now()
        let issued = try issued(at: endpoint, environment)
        var tokens: TokenSet
        do throws(OIDCError) { tokens = try issued.tokens.get() } catch {
            issued.revoke(at: metadata.revocationURL(for: client), client: client, environment)
            throw error
        }
        // ID tokens are not used with these grants, and a refresh token would be an unnecessary secret.
        tokens.idToken = nil
        tokens.refreshToken = nil
        var session = Session(
            key: key,
            endpoints: Session.Endpoints(
                issuer: metadata.issuer, token: endpoint.url, userInfo: metadata.userInfoEndpoint,
                revocation: metadata.revocationURL(for: client), introspection: metadata.introspectionEndpoint
            ),
            clientAuthentication: client.authentication.method, createdAt: now, requestedScope: key.scope,
            requestedResources: key.resources, tokens: tokens, dpopKey: endpoint.dpop.map(\.pem))
        session.useCertificate(of: client, at: metadata)
        provider.target?.remember(provider)
        return TokenRefresh.Outcome(session: session, access: .success(tokens.access))
    }

    private func issued(
        at endpoint: TokenEndpoint, _ environment: OIDCContext
    ) throws(OIDCError) -> TokenEndpoint.Issued {
        guard key.grant != .idJAG else {
            return try OwnProvider(provider).exchanged(key, at: endpoint, environment)
        }
        return try endpoint.issue(try request(environment), in: environment)
    }

    /// Returns the token request of the grant. Refuses an unknown grant: the token of another one could be
    /// for another subject.
    func request(_ environment: OIDCContext) throws(OIDCError) -> TokenRequest {
        switch key.grant {
        case .tokenExchange: return .tokenExchange(try exchange(environment))
        case .jwtBearer:
            return .jwtBearer(
                assertion: try SubjectToken(provider).token(environment.transport),
                scope: key.scope, audience: key.audience, resources: key.resources)
        case .clientCredentials:
            return .clientCredentials(
                scope: key.scope, audience: key.audience, resources: key.resources,
                authorizationDetails: provider.settings.token.authorizationDetails)
        default:
            throw .usage(
                "grant: \(DisplayText.quoted(key.grant.rawValue)) has no token request of its own",
                hint: "choose another with --grant")
        }
    }

    private func exchange(_ environment: OIDCContext) throws(OIDCError) -> TokenExchange {
        let settings = provider.settings.subject
        var exchange = TokenExchange(
            subjectToken: try SubjectToken(provider).token(environment.transport),
            subjectTokenType: TokenTypeIdentifier(settings.tokenType ?? "jwt"))
        if let actor = try provider.secrets.text(settings.actorFile) {
            exchange.actor = TokenExchange.Actor(
                token: actor, type: TokenTypeIdentifier(settings.actorTokenType ?? "access_token"))
        }
        exchange.requestedTokenType = settings.requestedTokenType.map(TokenTypeIdentifier.init)
        exchange.audiences = key.audience.map { [$0] } ?? []
        exchange.resources = key.resources
        exchange.scope = key.scope
        return exchange
    }
}
