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
        let environment = LoginEnvironment(
            transport: transport, cache: NoCache(), now: { Clock.now() }, random: Random.bytes)
        try say("A provider runs at \(stage.origin), with one account: alice.")
        let metadata = try discover(stage.origin, environment)
        let outcome = try signIn(stage, metadata, environment)
        let session = outcome.session
        try tellTokens(session, outcome.idToken)
        try userInfo(session, environment)
        let refreshed = try refresh(session, environment, metadata)
        try signOut(refreshed, environment)
        try say("Done. Nothing was stored. With your own provider:")
        try line("oidc login --issuer https://your-provider.example --client-id YOUR-CLIENT")
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
        try context.console.output("\n● \(text)")
    }

    func line(_ text: String) throws(OIDCError) {
        try context.console.output("    \(text)")
    }

    private func discover(
        _ issuer: String, _ environment: LoginEnvironment
    ) throws(OIDCError) -> ProviderMetadata {
        let metadata = try ProviderDocuments(environment: environment).metadata(issuer: issuer)
        try say("Discovery: GET \(issuer)/.well-known/openid-configuration. `issuer` is the one asked for.")
        for endpoint in [ProviderEndpoint.authorization, .token, .userInfo, .keys] {
            try line("\(endpoint.rawValue): \(metadata[endpoint]?.text ?? "none")")
        }
        return metadata
    }

    private func signIn(
        _ stage: DemoStage, _ metadata: ProviderMetadata, _ environment: LoginEnvironment
    ) throws(OIDCError) -> Login.Outcome {
        let client = Client(id: "demo")
        let url = try metadata.require(.token)
        let login = Login(
            environment: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: url, client: client),
            request: AuthorizationRequest(
                client: client, redirectURI: RedirectAddress.standard,
                scope: Scope("openid profile email offline_access")),
            key: SessionKey(provider: stage.origin, clientID: client.id))
        let narrator = DemoNarrator(tour: self, stage: stage)
        let signIn = BrowserSignIn(
            login: login, redirect: try RedirectAddress(nil), readsInput: false, browser: browser,
            environment: context.environment, deadline: MonotonicTime.now().adding(seconds: 300),
            notice: narrator.narrate)
        let outcome = Result { () throws(OIDCError) in try signIn.run { _ in } }
        narrator.end()
        if let failure = narrator.failure { throw failure }
        return try outcome.get()
    }
}
