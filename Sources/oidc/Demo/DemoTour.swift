import CommandLineKit
import CurlHTTP
import DemoProvider
import OIDCCore
import OIDCSessions
import OIDCSignIn
import OIDCAccount
import Posix

/// A guided tour of a sign-in that explains each step, on one or two screens.
struct DemoTour {
    let context: CommandContext
    /// The browser to open; nil to simulate one.
    let browser: BrowserChoice?

    func run() throws(OIDCError) {
        let stage = try DemoStage()
        defer { stage.end() }
        let engine = engine("demo", at: stage)
        let environment = try engine.provider.environment()
        let metadata = try discover(stage.origin, environment)
        let outcome = try signIn(
            engine, metadata, environment, stage, scope: Scope("openid profile email offline_access"))
        let session = outcome.session
        try explainTokens(session, outcome.idToken)
        try userInfo(session, environment, engine, metadata)
        try signOut(try refresh(session, engine), environment, engine)
        try signInToURL(stage, environment)
        try end()
    }

    /// Prints commands to try next, which work unchanged.
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

    /// Returns the engine of an account of the tour. Its session is kept in memory.
    func engine(_ clientID: String, at stage: DemoStage, for resource: String? = nil) -> AccountEngine {
        let key = SessionKey(
            provider: stage.origin, clientID: clientID, resources: resource.map { [$0] } ?? [])
        return AccountEngine(
            key: key, store: .inMemory(), DemoAccount(clientID: clientID, transport: transport))
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
        _ issuer: String, _ environment: OIDCContext
    ) throws(OIDCError) -> ProviderMetadata {
        let metadata = try ProviderDocuments(context: environment).metadata(issuer: issuer)
        try step(1, "A provider runs at \(issuer), with one account: alice.")
        try line("GET /.well-known/openid-configuration names it as issuer, and all its URLs.")
        return metadata
    }

    /// Signs in with the browser, to a resource if the account is for one.
    func signIn(
        _ engine: AccountEngine, _ metadata: ProviderMetadata, _ environment: OIDCContext,
        _ stage: DemoStage, scope: Scope
    ) throws(OIDCError) -> SignInFlow.Outcome {
        let resources = engine.key.resources
        let client = Client(id: engine.key.clientID)
        let login = try engine.flow(metadata, as: client, environment) { _ in
            var request = AuthorizationRequest(
                client: client, redirectURI: RedirectAddress.standard, scope: scope)
            request.resources = resources
            return request
        }
        let narrator = DemoNarrator(tour: self, stage: stage, isBrief: !resources.isEmpty)
        let signIn = BrowserSignIn(
            flow: login, redirect: try RedirectAddress(nil), readsInput: false, browser: browser,
            environment: context.environment, deadline: MonotonicTime.now().adding(seconds: 300),
            notice: narrator.narrate)
        let outcome = Result { () throws(OIDCError) in try engine.signIn(by: signIn) }
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

    private func userInfo(
        _ session: Session, _ environment: OIDCContext, _ engine: AccountEngine,
        _ metadata: ProviderMetadata
    ) throws(OIDCError) {
        guard let endpoint = session.endpoints.userInfo else { return }
        try step(5, "GET \(endpoint.path) with the access token, as oidc userinfo does:")
        let claims = try ProtectedRequest(engine.tokens(), environment: environment).userInfo {
            session throws(OIDCError) in
            try UserInfo.Signing(metadata) { Client(id: session.key.clientID) }
        }
        let shown = ["sub", "name", "email"].compactMap { name in
            claims[name]?.string.map { "\(name) \(DisplayText.clean($0))" }
        }
        try line(shown.joined(separator: ", "))
    }

    private func refresh(_ session: Session, _ engine: AccountEngine) throws(OIDCError) -> Session {
        let path = session.endpoints.token.path
        try step(6, "POST \(path) with the refresh token, as oidc token does when one is stale:")
        let refreshed = try engine.tokens().refreshed(
            TokenDemand(), loaded: session, refusing: .of(session.tokens.access)
        ).session
        let isRotated = refreshed.tokens.refreshToken != session.tokens.refreshToken
        try line(
            "a new access_token"
                + (isRotated ? ", and a new refresh_token: the old one is no longer valid" : ""))
        return refreshed
    }

    private func signOut(
        _ session: Session, _ environment: OIDCContext, _ engine: AccountEngine
    ) throws(OIDCError) {
        guard let endpoint = session.endpoints.revocation else { return }
        try step(7, "POST \(endpoint.path) with the refresh token, as oidc logout does.")
        _ = try engine.taken()
        if let failure = engine.provider.revoke(session).failures.first { throw failure }
        let spent = try engine.provider.tokenEndpoint(of: session, environment)
        do throws(OIDCError) {
            _ = try TokenRefresh(context: environment, tokenEndpoint: spent).request(session, for: .own)
            throw OIDCError(.failed, "the demo provider still accepts a revoked token")
        } catch {
            guard error.endsSession else { throw error }
            try line("Asked again, the provider answers \(error.oauthError ?? "no"): the session is over.")
        }
    }
}
