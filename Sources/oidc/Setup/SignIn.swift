import OIDCCore
import OIDCSystem

/// A whole sign-in with the settings, by the flow that is possible here; told on stderr.
struct SignIn {
    let setup: ProviderSetup
    let key: SessionKey
    let store: any SessionStoring
    /// `--no-browser`: the address is printed, nothing is opened.
    var opensBrowser = true
    /// Where set, a session that cannot be kept is no failure: somebody is waiting for its token.
    var onUnkept: ((OIDCError) -> Void)?

    private var settings: Settings { setup.settings }
    private var console: Console { setup.context.console }

    init(setup: ProviderSetup, access: SessionAccess) {
        self.setup = setup
        key = access.key
        store = access.store
    }

    func run() throws(OIDCError) -> Session {
        try refuseMachine("login")
        try store.probe(key)
        let deadline = setup.deadline ?? MonotonicTime.now().adding(seconds: setup.timeout)
        let environment = try setup.environment()
        let metadata = try setup.metadata(environment, for: needed)
        let flow = try flow(metadata)
        let login = try login(metadata, environment)
        let teller = SignInTeller(context: setup.context, settings: settings)
        defer { teller.end() }
        let outcome: Login.Outcome
        switch flow {
        case .device:
            outcome = try DeviceSignIn(login: login, deadline: deadline, notice: teller.tell).run(keep: keep)
        case .browser(let browser, let readsInput):
            let redirect = try redirect()
            try refuseUnreadable(redirect)
            var signIn = BrowserSignIn(
                login: login, redirect: redirect,
                readsInput: (readsInput || redirect.loopback == nil) && !TerminalInput.isExhausted,
                browser: browser, environment: setup.childEnvironment, deadline: deadline,
                notice: teller.tell)
            signIn.words = { $0.commandLine }
            outcome = try signIn.run(keep: keep)
        }
        teller.end()
        for warning in outcome.warnings { console.warn(warning.commandLine) }
        remarkOnTokenRefresh(outcome.session, metadata)
        return outcome.session
    }

    /// The first half alone, for `authorize-url`: nobody listens at the redirect address.
    func begin() throws(OIDCError) -> (pending: PendingAuthorization, url: WebURL) {
        try refuseMachine("authorize-url")
        try refuseBinding()
        let environment = try setup.environment()
        let metadata = try setup.metadata(environment, for: needed)
        let redirect = try redirect()
        let port = settings.integer(.port).flatMap { UInt16(exactly: $0) }
        let address = port.map { redirect.text(port: $0) } ?? redirect.text
        return try login(metadata, environment).begin(redirectURI: address)
    }

    /// The second half alone, for `exchange`: the answer is read once what it needs is known to be there.
    func finish(
        _ pending: PendingAuthorization, answer: () throws(OIDCError) -> String
    ) throws(OIDCError) -> Login.Outcome {
        try refuseBinding()
        let code = try pending.acceptPasted(try answer())
        let environment = try setup.environment()
        let metadata = try setup.metadata(
            environment, for: [.token] + (pending.scope.contains("openid") ? [.keys] : []))
        let login = try login(metadata, environment)
        return try Interruption.postponedOnceRedeeming { () throws(OIDCError) in try login.finish(code) }
    }

    private func refuseMachine(_ command: String) throws(OIDCError) {
        guard !key.grant.needsPerson else { return }
        throw OIDCError.usage(
            "\(command) is for people, and grant is \(key.grant.rawValue)",
            hint: "oidc token --grant \(ShellWord.quoted(key.grant.rawValue))")
    }

    /// The key that tokens are bound to would be lost between the two halves.
    private func refuseBinding() throws(OIDCError) {
        guard settings.flag(.dpop) else { return }
        throw OIDCError.usage("dpop needs a session to keep its key in", hint: "oidc login")
    }

    private func keep(_ outcome: Login.Outcome) throws(OIDCError) {
        do {
            try save(outcome.session)
        } catch {
            guard let onUnkept, error.kind != .interrupted else { throw error }
            onUnkept(error)
        }
    }

    /// Under the session's lock: a refresh that is under way would put what it got in the place of this. A lock
    /// that cannot be had is no reason to lose a sign-in.
    private func save(_ session: Session) throws(OIDCError) {
        do {
            try store.withLock(key, setup.renewalWait) { () throws(OIDCError) in
                try store.save(session, replacingDamaged: true)
            }
        } catch {
            guard error.kind != .interrupted else { throw error }
            try store.save(session, replacingDamaged: true)
        }
    }

    /// What has to be known before the browser opens; with `openid` the keys too.
    private var needed: [ProviderEndpoint] {
        let isDevice = settings.text(.flow) == "device"
        let first: ProviderEndpoint = isDevice ? .deviceAuthorization : .authorization
        return [first, .token] + (scope(nil).contains("openid") ? [.keys] : [])
    }

    /// The default scope is for people at an issuer; `offline_access` where the provider knows it.
    private func scope(_ metadata: ProviderMetadata?) -> Scope {
        if let scope = settings.scope(.scope) { return scope }
        guard settings.text(.issuer) != nil else { return Scope("") }
        let isOffline = metadata?.scopesSupported?.contains("offline_access") == true
        return Scope("openid profile email" + (isOffline ? " offline_access" : ""))
    }

    private func login(
        _ metadata: ProviderMetadata, _ environment: LoginEnvironment
    ) throws(OIDCError) -> Login {
        remarkOnPrompt()
        let client = try setup.client(metadata, environment)
        let scope = scope(metadata)
        try metadata.validate(for: [.token], scope: scope)
        let url = try metadata.require(.token, presentingCertificate: client.presentsCertificate)
        let dpop: DPoPKey? = settings.flag(.dpop) ? try DPoPKey.generate() : nil
        return Login(
            environment: environment, metadata: metadata,
            tokenEndpoint: try setup.tokenEndpoint(at: url, client: client, dpop: dpop),
            request: request(client, scope, dpop), key: key,
            pushing: settings.text(.par).flatMap(Login.Pushing.init) ?? .auto, leeway: setup.leeway)
    }

    private func request(_ client: Client, _ scope: Scope, _ dpop: DPoPKey?) -> AuthorizationRequest {
        var request = AuthorizationRequest(
            client: client, redirectURI: settings.text(.redirectURI) ?? RedirectAddress.standard, scope: scope
        )
        request.audience = settings.text(.audience)
        request.resources = settings.texts(.resource)
        request.responseMode = settings.text(.responseMode).flatMap(
            AuthorizationRequest.ResponseMode.init)
        request.prompt = settings.text(.prompt)
        request.maxAge = settings.integer(.maxAge)
        request.loginHint = settings.text(.loginHint)
        request.acrValues = settings.text(.acrValues)
        request.uiLocales = settings.text(.uiLocales)
        request.authorizationDetails = settings[.authorizationDetails]
        request.dpopThumbprint = dpop?.thumbprint
        request.extraParameters = settings.parameters(.extraAuthorizeParams)
        return request
    }

    private func redirect() throws(OIDCError) -> RedirectAddress {
        try RedirectAddress(
            settings.text(.redirectURI),
            port: settings.integer(.port).flatMap { UInt16(exactly: $0) },
            ports: settings[.redirectPorts]?.array?.compactMap { $0.integer.flatMap { UInt16(exactly: $0) } }
                ?? [])
    }

    /// A redirect that only a person can bring needs a person at stdin.
    private func refuseUnreadable(_ redirect: RedirectAddress) throws(OIDCError) {
        guard redirect.loopback == nil, TerminalInput.isExhausted else { return }
        throw OIDCError.usage(
            "redirect_uri \(DisplayText.clean(redirect.text)) can only be pasted, and stdin is at its end",
            hint: "run it on a terminal, or pipe the redirected address into it")
    }

    private enum Flow {
        case device
        case browser(BrowserChoice?, readsInput: Bool)
    }

    /// `auto`: a browser if this machine can show one, else a device code if the provider has them, else the
    /// address to open elsewhere and a place to paste what comes back.
    private func flow(_ metadata: ProviderMetadata) throws(OIDCError) -> Flow {
        let isTerminal = Terminal.isTerminal(.standardInput)
        let choice = settings.text(.flow) ?? "auto"
        switch choice {
        case "device": return .device
        case "paste": return .browser(nil, readsInput: true)
        default:
            guard opensBrowser else { return .browser(nil, readsInput: isTerminal) }
            let browser = try setup.browserChoice()
            let usable = browser.isAvailable ? browser : nil
            guard choice == "auto" else { return .browser(usable, readsInput: isTerminal) }
            let isPasteOnly = try redirect().loopback == nil
            if usable != nil || isPasteOnly {
                return .browser(usable, readsInput: isTerminal || isPasteOnly)
            }
            if case .none(let reason) = browser { console.note("No browser is opened: \(reason).") }
            if metadata.deviceAuthorizationEndpoint != nil { return .device }
            return .browser(nil, readsInput: true)
        }
    }

    /// OpenID Connect Core §3.1.2.1 and Initiating User Registration §4; providers have values of their own.
    private func remarkOnPrompt() {
        let known = ["none", "login", "consent", "select_account", "create"]
        for value in (settings.text(.prompt) ?? "").split(separator: " ") where !known.contains(String(value))
        {
            console.warn(
                "prompt: \(DisplayText.quoted(value)) is none of \(known.joined(separator: ", ")), "
                    + "and is sent as it is")
        }
    }

    private func remarkOnTokenRefresh(_ session: Session, _ metadata: ProviderMetadata) {
        guard session.tokens.refreshToken == nil,
            session.requestedScope?.contains("offline_access") == true
        else { return }
        console.note(
            "note: no refresh token was given, although offline_access was asked for; "
                + "some providers give one only with: oidc login --prompt consent")
    }
}

extension ProviderSetup {
    /// Returns the browser to open. A setting that would let a shell read the URL is refused, as an entry of
    /// `$BROWSER` is passed over.
    func browserChoice() throws(OIDCError) -> BrowserChoice {
        let command = settings.texts(.browser)
        if let problem = BrowserCommand.problem(command) {
            throw .usage("browser: \(problem)", hint: #"set browser to a program, as in ["firefox", "%s"]"#)
        }
        return BrowserChoice.resolve(
            setting: command, .current(environment: context.environment),
            remark: { [console = context.console] in console.warn($0) })
    }
}
