import OIDCCore

extension DemoProvider {
    static let cookieName = "oidc_demo_session"

    /// The levels of a sign-in. The user grants the stronger one to every client that requests it.
    static let basicACR = "urn:demo:acr:basic"
    static let strongACR = "urn:demo:acr:strong"

    /// Handles an authorization request (RFC 6749 §3.1): lets the user sign in and consent if needed, then
    /// redirects.
    mutating func authorize(_ call: Call) throws(Refusal) -> HTTPResponse {
        var parameters = try call.parameters()
        if let id = parameters["interaction"] { return try resume(id, call) }
        let wasPushed = parameters["request_uri"]?.hasPrefix(DemoProvider.requestURIPrefix) ?? false
        parameters =
            wasPushed
            ? try pushedParameters(parameters, call) : try requestParameters(parameters, call.now)
        let (client, redirect) = try redirectTarget(parameters)
        do throws(Refusal) {
            guard wasPushed || !configuration.requiresPushedAuthorization else {
                throw .invalidRequest("this provider demands pushed authorization requests")
            }
            let request = try requested(parameters, by: client, answering: redirect)
            return try begin(request, call)
        } catch {
            return try authorizationAnswer(redirect, errorPairs(error), call.now)
        }
    }

    private mutating func begin(
        _ request: AuthorizationCall, _ call: Call
    ) throws(Refusal) -> HTTPResponse {
        var browser = browserSession(call)
        switch configuration.user {
        case .denies:
            throw Refusal("access_denied", "the user said no")
        case .approves(let name) where !request.prompt.contains("none"):
            if needsSignIn(request, browser, call.now) {
                browser = signedIn(browser, as: Account(name), for: request, at: call.now)
            }
            return withCookie(browser, try finish(request, browser, call.now))
        default: break
        }
        if request.prompt.contains("none") {
            if needsSignIn(request, browser, call.now) {
                throw Refusal("login_required", "nobody is signed in")
            }
            if needsConsent(request, browser) {
                throw Refusal("consent_required", "the user has not agreed yet")
            }
        }
        let interaction = Interaction(
            id: secret(), browser: browser.id, request: request, expiresAt: call.now.adding(600))
        state.interactions[interaction.id] = interaction
        return withCookie(browser, try proceed(interaction, browser, call.now))
    }

    /// Returns the next page, or the answer if no further page is needed.
    mutating func proceed(
        _ interaction: Interaction, _ browser: BrowserSession, _ now: Instant
    ) throws(Refusal) -> HTTPResponse {
        let request = interaction.request
        if !interaction.signedInHere, needsSignIn(request, browser, now) {
            return loginPage(interaction, browser)
        }
        if needsConsent(request, browser) { return consentPage(interaction, browser) }
        state.interactions[interaction.id] = nil
        return try finish(request, browser, now)
    }

    private mutating func resume(_ id: String, _ call: Call) throws(Refusal) -> HTTPResponse {
        let (interaction, browser) = try interaction(id, call)
        return try proceed(interaction, browser, call.now)
    }

    /// Returns an interaction and the session of its browser. Only the browser that started the interaction
    /// may continue it, or another site could sign users in (CSRF).
    func interaction(_ id: String, _ call: Call) throws(Refusal) -> (Interaction, BrowserSession) {
        guard let interaction = state.interactions[id], interaction.expiresAt > call.now,
            let browser = state.browsers[interaction.browser],
            call.cookie(DemoProvider.cookieName) == browser.id
        else { throw .invalidRequest("this sign-in has ended, or was started in another browser") }
        return (interaction, browser)
    }

    /// Returns the browser's session, or a new one.
    mutating func browserSession(_ call: Call) -> BrowserSession {
        if let id = call.cookie(DemoProvider.cookieName), var known = state.browsers[id] {
            known.lastSeen = call.now
            state.browsers[id] = known
            return known
        }
        let session = BrowserSession(id: secret(), lastSeen: call.now)
        state.browsers[session.id] = session
        return session
    }

    /// Signs a user in and starts a new session, as an attacker could have planted the old one (session
    /// fixation).
    mutating func signedIn(
        _ browser: BrowserSession, as account: Account, for request: AuthorizationCall?, at now: Instant
    ) -> BrowserSession {
        let isStrong = request?.acr.contains(DemoProvider.strongACR) == true
        let session = BrowserSession(
            id: secret(), account: account, authenticatedAt: now,
            acr: isStrong ? DemoProvider.strongACR : DemoProvider.basicACR, lastSeen: now)
        state.browsers[browser.id] = nil
        state.browsers[session.id] = session
        return session
    }

    func withCookie(_ browser: BrowserSession, _ response: HTTPResponse) -> HTTPResponse {
        var response = response
        let path = basePath.isEmpty ? "/" : basePath
        let secure = issuer.isSecure ? "; Secure" : ""
        response.headers.append(
            "Set-Cookie",
            "\(DemoProvider.cookieName)=\(browser.id); Path=\(path); HttpOnly; SameSite=Lax\(secure)")
        return response
    }

    private func needsSignIn(
        _ request: AuthorizationCall, _ browser: BrowserSession, _ now: Instant
    ) -> Bool {
        guard browser.account != nil, let since = browser.authenticatedAt else { return true }
        if !request.prompt.isDisjoint(with: ["login", "select_account"]) { return true }
        if let maxAge = request.maxAge, now.seconds(since: since) > maxAge { return true }
        return request.acr.contains(DemoProvider.strongACR) && browser.acr != DemoProvider.strongACR
    }

    private func needsConsent(_ request: AuthorizationCall, _ browser: BrowserSession) -> Bool {
        if request.prompt.contains("consent") { return true }
        guard let given = state.consents[consentKey(request, browser)] else { return true }
        return !request.scope.isSubset(of: given)
    }

    func consentKey(_ request: AuthorizationCall, _ browser: BrowserSession) -> String {
        "\(request.client) \(browser.account?.subject ?? "")"
    }
}
