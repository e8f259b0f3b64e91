import CommandLineKit
import CurlHTTP
import DemoProvider
import OIDCCore
import OIDCCrypto
import OIDCSignIn
import Posix

/// A guided tour of a sign-in that explains each step, on one or two screens.
struct DemoTour {
    let context: CommandContext
    /// The browser to open; nil to simulate one.
    let browser: BrowserChoice?

    func run() throws(OIDCError) {
        let stage = try DemoStage()
        defer { stage.end() }
        let environment = ProviderEnvironment(
            transport: transport, cache: NoCache(), now: { Clock.now() }, random: Random.bytes)
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
        try end()
    }

    /// Prints what to type next, which works as it stands.
    private func end() throws(OIDCError) {
        let resource = try DemoProvider.resource(at: "http://127.0.0.1:\(DemoCommand.usualPort)").text
        try step(9, "Nothing was stored. To do this yourself, run a provider in one terminal:")
        try line("  \(call) demo --serve")
        try line("and sign in to its URL in another:")
        try line("  \(call) login \(resource)")
        try line("  \(call) request \(resource)")
        try line("With a provider of your own: \(call) login")
    }

    /// The word that runs this program: its name, or its path if a shell does not find it by name.
    private var call: String {
        guard (try? Executable.find("oidc", in: context.environment)) == nil else { return "oidc" }
        let path = ProcessEnvironment.arguments.first ?? "oidc"
        let here = UserFile.currentDirectory + "/"
        return ShellWord.quoted(path.hasPrefix(here) ? "./" + path.dropFirst(here.count) : path)
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

    func step(_ number: Int, _ text: String) throws(OIDCError) {
        try Interruption.throwIfPending()
        try output("\(number). \(text)")
    }

    func line(_ text: String) throws(OIDCError) { try output("   \(text)") }

    /// Prints a name and its meaning, in columns.
    func line(_ name: String, _ meaning: String) throws(OIDCError) {
        try line(name + TextLayout.spaces(14 - name.utf8.count) + "  " + meaning)
    }

    private func output(_ text: String) throws(OIDCError) {
        try context.console.report(Terminal.text(text, environment: context.environment))
    }

    private func discover(
        _ issuer: String, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> ProviderMetadata {
        let metadata = try ProviderDocuments(environment: environment).metadata(issuer: issuer)
        try step(1, "A provider runs at \(issuer), with one account: alice.")
        try line("GET /.well-known/openid-configuration names it as issuer, and all its URLs.")
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
    private func explainTokens(_ session: Session, _ idToken: IDToken?) throws(OIDCError) {
        let access = session.tokens.access
        try step(4, "The response: tokens for alice, which are not shown.")
        let lifetime = access.expiresAt.map {
            ", for \(TimeWords.duration($0.seconds(since: access.obtainedAt)))"
        }
        try line("access_token", "\(access.type.name)\(lifetime ?? "")")
        try line("refresh_token", session.tokens.refreshToken == nil ? "none" : "kept for later")
        guard let idToken else { return }
        let subject = DisplayText.clean(idToken.subject)
        try line("id_token", "says who signed in: \(subject). Verified: signature, iss, aud, exp, nonce")
    }

    func userInfo(_ session: Session, _ environment: ProviderEnvironment) throws(OIDCError) {
        guard let endpoint = session.endpoints.userInfo else { return }
        let call = try UserInfo.call(
            endpoint: endpoint, accessToken: session.tokens.access,
            rules: UserInfo.Rules(
                subject: session.subject, issuer: session.endpoints.issuer, clientID: session.key.clientID),
            keys: nil, now: environment.now())
        try step(5, "GET \(endpoint.path) with the access token, as oidc userinfo does:")
        guard case .claims(let claims) = try environment.transport.perform(call) else { return }
        let shown = ["sub", "name", "email"].compactMap { name in
            claims[name]?.string.map { "\(name) \(DisplayText.clean($0))" }
        }
        try line(shown.joined(separator: ", "))
    }

    func refresh(
        _ session: Session, _ environment: ProviderEnvironment, _ metadata: ProviderMetadata
    ) throws(OIDCError) -> Session {
        let endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: session.key.clientID))
        try step(6, "POST \(endpoint.url.path) with the refresh token, as oidc token does when one is stale:")
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
        try step(7, "POST \(endpoint.path) with the refresh token, as oidc logout does.")
        _ = try environment.transport.perform(
            try Revocation.call(
                token, hint: .refreshToken, at: endpoint, client: Client(id: session.key.clientID),
                now: environment.now(), random: environment.random))
        let spent = TokenEndpoint(url: session.endpoints.token, client: Client(id: session.key.clientID))
        do throws(OIDCError) {
            _ = try TokenRefresh(environment: environment, tokenEndpoint: spent).request(session, for: .own)
            throw OIDCError(.failed, "the demo provider still accepts a revoked token")
        } catch {
            guard error.endsSession else { throw error }
            try line("Asked again, the provider answers \(error.oauthError ?? "no"): the session is over.")
        }
    }
}
