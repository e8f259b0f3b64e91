import OIDCCore
import OIDCCrypto
import OIDCSystem

/// A guided tour of a sign-in that explains each step and each parameter.
struct DemoTour {
    let context: CommandContext
    /// The browser to open; nil to simulate one.
    let browser: BrowserChoice?

    func run() throws(OIDCError) {
        let stage = try DemoStage()
        defer { stage.end() }
        let environment = ProviderEnvironment(
            transport: transport, cache: NoCache(), now: { Clock.now() }, random: Random.bytes)
        try say("A provider runs at \(stage.origin), with one account: alice.")
        let metadata = try discover(stage.origin, environment)
        let outcome = try signIn(
            stage, metadata, environment, as: Client(id: "demo"),
            scope: Scope("openid profile email offline_access"))
        let session = outcome.session
        try explainTokens(session, outcome.idToken)
        try userInfo(session, environment)
        let refreshed = try refresh(session, environment, metadata)
        try signOut(refreshed, environment)
        try signInToURL(stage, environment)
        try say("Done. Nothing was stored. With your own provider:")
        try line("oidc login --issuer https://your-provider.example --client-id YOUR-CLIENT")
        try line("oidc login https://your-resource.example/")
    }

    var transport: CurlTransport {
        var configuration = CurlConfiguration()
        configuration.isCancelled = { Interruption.pending != nil }
        if context.console.isVerbose {
            let console = context.console
            configuration.trace = { console.trace($0.line) }
        }
        return CurlTransport(configuration)
    }

    func say(_ text: String) throws(OIDCError) {
        try Interruption.throwIfPending()
        try output("\n● \(text)")
    }

    func line(_ text: String) throws(OIDCError) { try output("    \(text)") }

    private func output(_ text: String) throws(OIDCError) {
        try context.console.output(Terminal.text(text, environment: context.environment))
    }

    private func discover(
        _ issuer: String, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> ProviderMetadata {
        let metadata = try ProviderDocuments(environment: environment).metadata(issuer: issuer)
        try say("Discovery: GET \(issuer)/.well-known/openid-configuration. `issuer` is the requested one.")
        for endpoint in [ProviderEndpoint.authorization, .token, .userInfo, .keys] {
            try line("\(endpoint.rawValue): \(metadata[endpoint]?.text ?? "none")")
        }
        return metadata
    }

    /// Signs in with the browser, to a resource if one is given.
    func signIn(
        _ stage: DemoStage, _ metadata: ProviderMetadata, _ environment: ProviderEnvironment,
        as client: Client, scope: Scope, to resource: String? = nil
    ) throws(OIDCError) -> SignInFlow.Outcome {
        let resources = resource.map { [$0] } ?? []
        var request = AuthorizationRequest(
            client: client, redirectURI: RedirectAddress.standard, scope: scope)
        request.resources = resources
        let url = try metadata.require(.token)
        let login = SignInFlow(
            environment: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: url, client: client),
            request: request,
            key: SessionKey(provider: stage.origin, clientID: client.id, resources: resources))
        let narrator = DemoNarrator(tour: self, stage: stage, isBrief: resource != nil)
        let signIn = BrowserSignIn(
            flow: login, redirect: try RedirectAddress(nil), readsInput: false, browser: browser,
            environment: context.environment, deadline: MonotonicTime.now().adding(seconds: 300),
            notice: narrator.narrate)
        let outcome = Result { () throws(OIDCError) in try signIn.run { _ in } }
        narrator.end()
        if let failure = narrator.failure { throw failure }
        return try outcome.get()
    }
}

/// The tour's steps after the sign-in.
extension DemoTour {
    func explainTokens(_ session: Session, _ idToken: IDToken?) throws(OIDCError) {
        let access = session.tokens.access
        try say("The response: tokens for alice.")
        try line(
            "access_token: \(access.type.name), \(access.token.revealed.utf8.count) characters, not shown")
        if let expiresAt = access.expiresAt {
            try line("expires_in: \(expiresAt.seconds(since: access.obtainedAt))")
        }
        try line("scope: \(DisplayText.clean(access.scope?.text ?? ""))")
        try line(
            "refresh_token: \(session.tokens.refreshToken == nil ? "none" : "kept for later, not shown")")
        guard let idToken else { return }
        try say("The id_token was verified before anything was used:")
        try line("signature: by a key of jwks_uri, with an algorithm that fits it")
        try line("iss: \(DisplayText.clean(idToken.issuer)) — the issuer that was requested")
        try line("aud: \(DisplayText.clean(idToken.audience.joined(separator: " "))) — this client")
        try line("exp: \(TimeWords.relative(idToken.expiresAt, to: context.now)); iat: not in the future")
        try line("nonce: the one of the authorization URL")
        try line("sub: \(DisplayText.clean(idToken.subject)) — who signed in")
    }

    func userInfo(_ session: Session, _ environment: ProviderEnvironment) throws(OIDCError) {
        guard let endpoint = session.endpoints.userInfo else { return }
        let call = try UserInfo.call(
            endpoint: endpoint, accessToken: session.tokens.access,
            rules: UserInfo.Rules(
                subject: session.subject, issuer: session.endpoints.issuer, clientID: session.key.clientID),
            keys: nil, now: environment.now())
        try say("GET \(endpoint.text) with Authorization: Bearer …; its `sub` is the ID token's.")
        guard case .claims(let claims) = try environment.transport.perform(call) else { return }
        for member in claims.members {
            let value = member.value.string ?? member.value.compact
            try line("\(DisplayText.clean(member.name)): \(DisplayText.clean(value))")
        }
    }

    func refresh(
        _ session: Session, _ environment: ProviderEnvironment, _ metadata: ProviderMetadata
    ) throws(OIDCError) -> Session {
        let endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: session.key.clientID))
        try say(
            "POST \(endpoint.url.text): grant_type=refresh_token — what `oidc token` does when one is stale.")
        let outcome = try TokenRefresh(
            environment: environment, tokenEndpoint: endpoint,
            allowedAlgorithms: metadata.idTokenSigningAlgValuesSupported
        ).refresh(session, for: .own)
        let isRotated = outcome.session.tokens.refreshToken != session.tokens.refreshToken
        try line(
            "a new access_token"
                + (isRotated ? ", and a new refresh_token: the old one is no longer valid" : ""))
        return outcome.session
    }

    func signOut(_ session: Session, _ environment: ProviderEnvironment) throws(OIDCError) {
        guard let endpoint = session.endpoints.revocation, let token = session.tokens.refreshToken else {
            return
        }
        try say("POST \(endpoint.text): the refresh token is revoked — what `oidc logout` does.")
        try environment.transport.perform(
            try Revocation.call(
                token, hint: .refreshToken, at: endpoint, client: Client(id: session.key.clientID),
                now: environment.now(), random: environment.random))
        let spent = TokenEndpoint(url: session.endpoints.token, client: Client(id: session.key.clientID))
        do throws(OIDCError) {
            _ = try TokenRefresh(environment: environment, tokenEndpoint: spent).request(session, for: .own)
            throw OIDCError(.failed, "the demo provider still accepts a revoked token")
        } catch {
            guard error.endsSession else { throw error }
            try line("asked again, the provider answers \(error.oauthError ?? "no"): the session is over")
        }
    }
}
