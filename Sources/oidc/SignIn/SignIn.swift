import CurlHTTP
import OIDCCore
import OIDCSessions
import OIDCSignIn
import OIDCAccount
import Posix

/// A sign-in with the settings, by a flow that is possible on this machine.
struct SignIn {
    private(set) var provider: ProviderContext
    let account: Account
    /// Whether to open a browser; the URL is always printed.
    var opensBrowser = true
    /// Whether to show the name of the user who signed in.
    var showsName = false
    /// The URL that the user asked to sign in to; nil if none was given.
    var askedURL: WebURL?
    /// A callback for a session that cannot be saved; if nil, the sign-in fails.
    var onStoreFailure: ((OIDCError) -> Void)?

    var settings: SignInSettings { provider.settings.signIn }
    var console: Console { provider.context.console }
    private var key: SessionKey { account.key }
    private var store: SessionStore { account.store }
    /// The engine with the settings of the sign-in, which may leave out the parameter `resource`.
    var engine: AccountEngine { AccountEngine(key: key, store: store, provider) }

    /// Creates the sign-in of an account, with its settings or other ones.
    init(_ account: Account, with provider: ProviderContext? = nil) {
        self.account = account
        self.provider = provider ?? account.provider
        askedURL = self.provider.target?.operand.url
    }

    func run() throws(OIDCError) -> Session {
        let deadline = provider.deadline ?? MonotonicTime.now().adding(seconds: settings.timeout)
        return try withOrWithoutResource { (signIn) throws(OIDCError) in try signIn.signedIn(by: deadline) }
    }

    /// Runs `body`, and again without the parameter `resource` if the provider refuses that.
    func withOrWithoutResource<Value>(
        _ body: (SignIn) throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        do throws(OIDCError) {
            do throws(OIDCError) { return try body(self) } catch {
                guard error.allowsWithoutResource(chosenByResource),
                    provider.settings.token.sendsResources
                else { throw error }
                // A refused code is never presented again: the sign-in starts again.
                console.note("\(error.message); asking again without resource")
                return try body(withoutResource)
            }
        } catch {
            throw naming(error)
        }
    }

    /// The values of the requests that a resource can choose.
    private var chosenByResource: [String] {
        let settings = provider.settings
        return settings.token.resources
            + [settings.token.scope?.text, settings.signIn.acrValues, provider.target?.operand.url.text]
            .compactMap { $0 }
    }

    /// The sign-in without the parameter `resource`, which the link of a URL remembers.
    private var withoutResource: SignIn {
        let origin: SettingLayers.Origin =
            provider.target.map { .resource($0.operand.url.text) } ?? .option("the provider's answer")
        let entry = SettingLayers.Entry(setting: .resourceParameter, value: "off", origin: origin)
        var other = self
        other.provider = provider.adding([entry])
        return other
    }

    private func signedIn(by deadline: MonotonicTime) throws(OIDCError) -> Session {
        try refuseMachine("login")
        try provider.settings.checkSecurityProfile()
        try refuseUnattended()
        try probe()
        let transport = try provider.transport()
        let environment = provider.environment(over: transport)
        let metadata = try provider.metadata(environment, for: needed)
        let flow = try flow(metadata)
        try refuseUnseen(flow)
        provider.traceFlow(metadata, opensBrowser: opensBrowser)
        var login = try login(metadata, environment)
        login.pin(to: try? store.load(key))
        let reporter = reporter(login, metadata)
        switch flow {
        case .browser: try checkMixUp(metadata)
        case .device: if let error = deviceMixUp(metadata) { throw error }
        }
        announce(metadata, login.request.scope, isDevice: settings.flow == .device)
        noteUse(issuer: metadata.issuer, tokenEndpoint: metadata.tokenEndpoint)
        defer { reporter.end() }
        let outcome: SignInFlow.Outcome
        switch flow {
        case .device:
            outcome = try engine.signIn(
                by: DeviceSignIn(flow: login, deadline: deadline, notice: reporter.report),
                onStoreFailure: onStoreFailure)
        case .browser(let browser, let readsInput, var offersDeviceCode):
            if offersDeviceCode, let error = deviceMixUp(metadata) {
                console.warn(error, "no device code is offered")
                offersDeviceCode = false
            }
            let redirect = try settings.redirect()
            if !offersDeviceCode { try refuseUnreadable(redirect) }
            var browserSignIn = BrowserSignIn(
                flow: login, redirect: redirect,
                readsInput: (readsInput || redirect.loopback == nil) && hasInput,
                browser: browser, environment: provider.childEnvironment, deadline: deadline,
                notice: reporter.report)
            browserSignIn.offersDeviceCode = offersDeviceCode
            // The user may have signed in elsewhere while this sign-in waited.
            browserSignIn.claim = { () throws(OIDCError) in try checkMixUp(metadata, isAnswered: true) }
            browserSignIn.connect = { (url) throws(OIDCError) in
                try transport.connect(to: url, stage: .authorization)
            }
            browserSignIn.lingers = true
            browserSignIn.handover = provider.context.portHandover
            reporter.isPassedOn = redirect.route != nil
            reporter.expectsURL = redirect.loopback != nil || browserSignIn.readsInput
            browserSignIn.program = "oidc"
            browserSignIn.words = \.commandLine
            do throws(OIDCError) {
                outcome = try engine.signIn(by: browserSignIn, onStoreFailure: onStoreFailure)
            } catch {
                throw explained(error, login.request.scope, redirect)
            }
        }
        reporter.end()
        return try completed(outcome, metadata)
    }

    /// Returns the reporter of a flow's steps.
    func reporter(_ login: SignInFlow, _ metadata: ProviderMetadata) -> SignInReporter {
        let target = provider.target
        let reporter = SignInReporter(
            context: provider.context, request: login.request,
            provider: WebURL.ofIssuer(metadata.issuer ?? login.tokenEndpoint.url.text),
            known: Preset.matching(provider.settings),
            isClientRegistered: target?.link.registration != nil && target?.isNewlyRegistered == false)
        reporter.defaultPrompt =
            login.request.prompt == nil ? login.request.effectivePrompt(metadata) : nil
        return reporter
    }

    /// Returns the error of a sign-in by URL with a hint that fits the provider.
    func explained(_ error: OIDCError, _ scope: Scope, _ redirect: RedirectAddress) -> OIDCError {
        withoutOfflineAccess(error, scope).namingRegistration(
            at: Preset.matching(provider.settings), redirect: redirect)
    }

    /// Reports what the provider left out, and stores the resource's link. The session is stored already.
    func completed(
        _ outcome: SignInFlow.Outcome, _ metadata: ProviderMetadata
    ) throws(OIDCError) -> Session {
        provider.traceIDToken(outcome.idToken, nonce: true)
        for warning in outcome.warnings { console.warn(warning) }
        remember()
        warnOfMissingRefreshToken(outcome.session, metadata)
        if let signal = Interruption.pending {
            var error = Interruption.error(signal: signal)
            if store.reach != .process, (try? store.load(key)) == outcome.session {
                error.message += ", after the session was stored"
            }
            throw error
        }
        return outcome.session
    }

    /// Returns the error with the scope without `offline_access` in its hint, if that is what was refused: Spring
    /// Authorization Server answers `invalid_scope` (7.1), Keycloak `not_allowed` to users without the role
    /// `offline_access` (26.7, 2026-11).
    private func withoutOfflineAccess(_ failure: OIDCError, _ scope: Scope) -> OIDCError {
        guard ["invalid_scope", "not_allowed"].contains(failure.oauthError), scope.contains("offline_access")
        else { return failure }
        var error = failure
        let rest = scope.tokens.filter { $0 != "offline_access" }.joined(separator: " ")
        error.hint = provider.settings.loginLine.adding("--scope", rest)
        return error
    }

    /// Refuses a sign-in that nobody can finish: in a CI job without a terminal and a browser, it would only
    /// wait for its time limit. `--flow` and `--timeout` say that somebody reads the log.
    private func refuseUnattended() throws(OIDCError) {
        let ci = provider.context.environment["CI", default: ""]
        guard !["", "0", "false"].contains(ASCII.lowercased(ci)), !settings.isFlowChosen,
            settings.layers[.timeout] == nil,
            !(provider.context.ownsTerminal && Terminal.isTerminal(.standardInput)),
            !Terminal.isTerminal(.standardError)
        else { return }
        if opensBrowser, try provider.browserChoice().isAvailable { return }
        throw OIDCError.usage(
            "a sign-in needs a user, and this is a CI job without a terminal and a browser (CI is set)",
            hint: .words(
                "use a grant without a user, as in: ", .run("token --grant client_credentials"),
                "; or, if somebody reads the log: ", .run("login --flow device")))
    }

    /// Refuses a sign-in by a URL or a code that nobody can see.
    private func refuseUnseen(_ flow: Flow) throws(OIDCError) {
        if case .browser(.some, _, _) = flow { return }
        guard Platform.isStandardErrorClosed else { return }
        throw OIDCError.usage(
            "no browser is opened, and stderr, which would show the URL or the code, is closed",
            hint: "run it with stderr open")
    }

    /// Refuses a sign-in whose session could not be stored, unless its tokens can be used right away.
    func probe() throws(OIDCError) {
        do throws(OIDCError) {
            try store.probe(key)
            try provider.target?.probe(store)
        } catch {
            guard onStoreFailure != nil, error.isOfStore else { throw error }
        }
    }

    /// Names the server that the browser will show, if it is on another host than the URL that was asked for, the
    /// endpoints that are not used, and the scopes that a resource asks for.
    func announce(_ metadata: ProviderMetadata, _ scope: Scope, isDevice: Bool) {
        let page = isDevice ? metadata.issuer.flatMap { WebURL.ofIssuer($0) } : metadata.authorizationEndpoint
        if let askedURL, let page, page.hostAndPort != askedURL.hostAndPort {
            console.note(
                "Sign in at \(DisplayText.clean(page.hostAndPort)), which "
                    + "\(DisplayText.clean(askedURL.withoutQuery)) names")
        }
        warnOfUnusedEndpoints(metadata)
        let isOfChallenge = provider.settings.layers.entry(.scope)?.origin == .challenge
        guard provider.target != nil || isOfChallenge, !scope.isEmpty else { return }
        console.note("Scopes: \(scope.text)")
    }

    private func warnOfUnusedEndpoints(_ metadata: ProviderMetadata) {
        let unused = metadata.unusedEndpoints.filter { metadata[$0] == nil }
        let presentsCertificate = provider.settings.client.certificate != nil
        guard !unused.isEmpty, let issuer = metadata.issuer,
            let token = metadata.url(.token, presentingCertificate: presentsCertificate)
        else { return }
        // A client that is registered just now gets its profile after this, which the command would not find.
        let isNew = provider.referrer != nil && isRegistered(at: issuer)
        var wayOn = isNew ? nil : try? wayOn(metadata)
        if let referrer {
            wayOn = wayOn.map {
                referrer.naming(
                    metadata, sharing: key.clientID, isRegistered: isRegistered(at: issuer), $0)
            }
        }
        console.warn(
            Warning(
                "the token endpoint is on \(DisplayText.clean(token.hostAndPort)), so these endpoints of "
                    + "\(DisplayText.clean(issuer)) are not used: "
                    + unused.map(\.rawValue).joined(separator: ", "),
                hint: wayOn.map { .words("if both belong to the same provider: ", $0) }))
    }

    /// Returns whether the client has a redirect URL of its own for this server.
    private func isRegistered(at issuer: String) -> Bool {
        (try? MixUpDefense.isOwn(settings.redirect().text, of: issuer)) ?? false
    }

    /// Starts a sign-in for `authorize-url`, without a listener.
    func begin() throws(OIDCError) -> (pending: PendingAuthorization, url: WebURL) {
        try refuseMachine("authorize-url")
        try refuseBinding()
        let environment = try provider.environment()
        let metadata = try provider.metadata(environment, for: needed)
        let redirect = try settings.redirect()
        let uri = settings.port.map { redirect.text(port: $0) } ?? redirect.text
        try checkMixUp(metadata)
        let login = try login(metadata, environment)
        noteUse(issuer: metadata.issuer, tokenEndpoint: metadata.tokenEndpoint)
        return try login.begin(redirectURI: uri)
    }

    /// Finishes a sign-in for `exchange`. Checks the redirected URL before any request is sent.
    func finish(
        _ pending: PendingAuthorization, answer: () throws(OIDCError) -> String
    ) throws(OIDCError) -> SignInFlow.Outcome {
        try refuseBinding()
        var pending = pending
        if pending.responseMode.isSigned {
            let environment = try provider.environment()
            let metadata = try provider.metadata(environment, for: [.token, .keys])
            try login(metadata, environment).addResponseRules(to: &pending)
        }
        let code = try pending.acceptPasted(try answer())
        let environment = try provider.environment()
        let metadata = try provider.metadata(
            environment, for: [.token] + (pending.scope.contains("openid") ? [.keys] : []))
        try checkMixUp(metadata)
        let login = try login(metadata, environment)
        return try Interruption.postponedOnceRedeeming { () throws(OIDCError) in try login.finish(code) }
    }

    func refuseMachine(_ command: String) throws(OIDCError) {
        guard !key.grant.needsUser else { return }
        throw OIDCError.usage(
            "\(command) is for users, and grant is \(key.grant.rawValue)",
            hint: .run(
                "token",
                (provider.target.map { [$0.operand.url.text] } ?? []) + ["--grant", key.grant.rawValue]))
    }

    /// Refuses DPoP, whose key would be lost between the two commands.
    private func refuseBinding() throws(OIDCError) {
        guard provider.settings.token.bindsTokens else { return }
        throw OIDCError.usage("dpop needs a session to keep its key in", hint: .run("login"))
    }

    /// Records the server at which the client is used. Called before the user signs in, because the server may know the
    /// user and the client even if that fails. Nothing is recorded if the settings contain
    /// this already, or if the link does, for a client that was registered for a resource.
    func noteUse(issuer: String?, tokenEndpoint: WebURL?) {
        let origin = provider.settings.layers.entry(.issuer)?.origin
        let isNamed = origin?.layer == .options && ![.session, .pending, .found].contains(origin)
        if let issuer, referrer == nil, isNamed {
            provider.noteNamed(issuer)
        }
        let isRegistered = isRegistered(at: issuer ?? "")
        let isOfSettings =
            referrer == nil && WebURL(key.clientID) == nil && origin?.layer != .options
        let isKnownByLink = isRegistered && (provider.target != nil || referrer == nil)
        guard let tokenEndpoint, !isKnownByLink, !isOfSettings else { return }
        let use = ClientUse(
            issuer: issuer, tokenEndpoint: tokenEndpoint.text,
            origin: provider.target.flatMap { WebURL($0.link.resource)?.origin }, isRegistered: isRegistered,
            isFound: referrer != nil && !isIssuerNamed, isChosen: isSecretMeant(issuer, tokenEndpoint))
        do throws(OIDCError) {
            try ResourceRecords(provider.context)?.uses.note(use, of: key.clientID)
        } catch {
            console.warn(error, "the use of the client was not recorded")
        }
    }

    /// Returns whether the user chose to send a variable's secret or certificate to this server: an option names the client
    /// for the server's URL, and no other server knows that client.
    private func isSecretMeant(_ issuer: String?, _ tokenEndpoint: WebURL) -> Bool {
        let secrets = Setting.identifying(by: provider.settings.token.grant)
        guard let referrer = provider.referrer,
            referrer.settings.layers.entry(.clientID)?.origin.layer == .options,
            provider.settings.layers.entries.contains(where: {
                secrets.contains($0.setting) && $0.origin.layer == .variables
            })
        else { return false }
        let server = ProviderMetadata(issuer: issuer, endpoints: [.token: tokenEndpoint])
        return KnownClients(referrer).others(than: server, sharing: key.clientID, isRegistered: true).isEmpty
    }

    /// Stores the resource's link, and ends the session that this one replaces.
    private func remember() {
        guard let target = provider.target else { return }
        let superseded = target.superseded(by: key)
        target.remember(provider)
        guard let superseded, let stored = try? store.load(key), stored.key == key else { return }
        target.end(superseded, in: store, provider)
    }

    /// Whether the settings request consent, by `prompt` or by default for `offline_access`.
    private var sendsConsent: Bool {
        guard let prompt = settings.prompt else { return !settings.isPromptOff }
        return prompt.split(separator: " ").contains("consent")
    }

    private func warnOfMissingRefreshToken(_ session: Session, _ metadata: ProviderMetadata) {
        let known = Preset.matching(provider.settings)
        if let warning = known?.refreshWarning(for: session, provider.settings) {
            return console.warn(warning)
        }
        guard session.tokens.refreshToken == nil,
            session.requestedScope?.contains("offline_access") == true
        else { return }
        let line = console.line.text(.run("login --prompt consent"))
        console.note(
            "note: no refresh token was issued, although offline_access was requested"
                + (sendsConsent ? "" : "; some providers issue one only with: \(line)"))
    }
}

/// The choice of the flow.
extension SignIn {
    /// Whether a URL can be pasted.
    var hasInput: Bool { provider.context.ownsTerminal && !TerminalInput.isExhausted }

    /// Refuses a redirect URL that must be pasted if nothing can be pasted.
    private func refuseUnreadable(_ redirect: RedirectAddress) throws(OIDCError) {
        guard redirect.loopback == nil, !hasInput else { return }
        let text = "redirect_uri \(DisplayText.clean(redirect.text)) can only be pasted, and stdin "
        guard provider.context.ownsTerminal else {
            throw OIDCError.usage(text + "belongs to the command", hint: provider.settings.loginLine)
        }
        throw OIDCError.usage(
            text + "has ended", hint: "run it on a terminal, or pipe the redirected URL into it")
    }

    enum Flow {
        case device
        /// A URL to open on this or another device; `offersDeviceCode` offers a code as well.
        case browser(BrowserChoice?, readsInput: Bool, offersDeviceCode: Bool = false)
    }

    /// Chooses the flow. `auto` opens a browser if this machine can show one, or else prints the URL, with a
    /// device code if the provider supports it.
    ///
    /// `--no-browser` alone prints the URL without a code, so a script does not poll. On a terminal, the
    /// redirected URL can be pasted.
    func flow(_ metadata: ProviderMetadata) throws(OIDCError) -> Flow {
        let isTerminal = provider.context.ownsTerminal && Terminal.isForeground(.standardInput)
        switch settings.flow {
        case .device: return .device
        case .paste: return .browser(nil, readsInput: true)
        case .auto, .browser:
            let browser =
                opensBrowser ? try provider.browserChoice() : BrowserChoice.none(reason: "--no-browser")
            let usable = browser.isAvailable ? browser : nil
            guard settings.flow == .auto, opensBrowser || settings.isFlowChosen else {
                return .browser(usable, readsInput: isTerminal)
            }
            let isPasteOnly = try settings.redirect().loopback == nil
            if opensBrowser, !console.isJSON, case .none(let reason) = browser {
                console.note("No browser is opened: \(reason).")
            }
            return .browser(
                usable, readsInput: isTerminal || isPasteOnly,
                offersDeviceCode: usable == nil && metadata.deviceAuthorizationEndpoint != nil)
        }
    }
}

/// The request of a sign-in.
extension SignIn {
    /// The endpoints that must be known before the browser opens.
    var needed: [ProviderEndpoint] {
        let isDevice = settings.flow == .device
        let first: ProviderEndpoint = isDevice ? .deviceAuthorization : .authorization
        return [first, .token] + (needsIDToken ? [.keys] : [])
    }

    /// Returns the configured scope, or the default for users, with `offline_access` if the provider supports
    /// it.
    private func scope(_ metadata: ProviderMetadata?) -> Scope {
        if let scope = provider.settings.token.scope { return scope }
        // If a resource names no scope, its server chooses one.
        guard provider.settings.provider.issuer != nil, provider.settings.resource == nil else {
            return Scope("")
        }
        return Scope.forUsers(at: metadata, Preset.matching(provider.settings))
    }

    /// Returns the flow. `dpop` is the key that another process generated when it started the sign-in.
    func login(
        _ metadata: ProviderMetadata, _ environment: OIDCContext, dpop began: DPoPKey? = nil
    ) throws(OIDCError) -> SignInFlow {
        warnOfUnknownPrompt()
        try provider.checkSecurityProfile(metadata)
        let client = try provider.client(metadata, environment)
        let scope = scope(metadata)
        try metadata.validate(for: [.token], scope: needsIDToken ? scope : Scope(""))
        var login = try engine.flow(metadata, as: client, environment, pushing: settings.pushing) {
            (dpop) throws(OIDCError) in
            try provider.settings.authorizationRequest(client, scope, dpop)
        }
        if let began {
            login.tokenEndpoint.dpop = began
            login.request = try provider.settings.authorizationRequest(client, scope, began)
        }
        login.request.rejectsErrorsWithoutIssuer = provider.settings.resource != nil
        login.request.signing = try provider.requestSigning(metadata)
        // A session remembers that the provider refused the parameter.
        if provider.settings.layers[.resourceParameter] == nil, let earlier = try? store.load(key) {
            login.tokenEndpoint.sendsResources = earlier.sendsResources != false
        }
        if let referrer = suspect, !isIssuerOption {
            let wayOn = try wayOn(metadata)
            login.pageFault = { page in
                referrer.fault(of: page, named: "verification_uri", by: metadata, wayOn)
            }
        }
        login.requiresIDToken = needsIDToken
        login.asksForName = showsName
        return login
    }

    /// Whether the sign-in must return an ID token. The server of a resource that lists `openid` among its
    /// scopes may issue none, such as FastMCP's.
    private var needsIDToken: Bool {
        provider.settings.resource == nil && scope(nil).contains("openid")
    }

    /// Warns about unknown prompts in a setting; they may be the provider's own.
    private func warnOfUnknownPrompt() {
        let known = Setting.prompts
        for value in (settings.prompt ?? "").split(separator: " ") where !known.contains(String(value)) {
            console.warn(
                "unknown prompt \(DisplayText.quoted(value)) (known: \(known.joined(separator: ", "))); sent as is"
            )
        }
    }
}

extension CommandContext {
    /// The handover of a fixed port from one sign-in to the next; nil if no cache directory is available.
    var portHandover: PortHandover? {
        PortHandover(cache: StateDirectories(environment: environment).cache)
    }
}

extension Scope {
    /// Returns the scope to request for a user if none is set: with `offline_access` if the provider lists it,
    /// unless it is known to issue refresh tokens without. At Keycloak, that scope costs the browser's single
    /// sign-on and leaves a session for a month (26.7, 2026-11).
    static func forUsers(at server: ProviderMetadata?, _ known: PresetMatch? = nil) -> Scope {
        let isOffline =
            server?.scopesSupported?.contains("offline_access") == true
            && known?.needsOfflineScope != false
        return Scope("openid profile email" + (isOffline ? " offline_access" : ""))
    }
}
