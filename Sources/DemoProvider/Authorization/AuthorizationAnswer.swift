import OIDCCore

extension DemoProvider {
    /// Grants the request and redirects to the client with a code.
    mutating func finish(
        _ request: AuthorizationCall, _ browser: BrowserSession, _ now: Instant
    ) throws(Refusal) -> HTTPResponse {
        guard let account = browser.account else { throw Refusal("login_required", "nobody is signed in") }
        var scope = request.scope
        if configuration.offlineAccessNeedsConsentPrompt, !request.prompt.contains("consent") {
            scope = Scope(tokens: scope.tokens.filter { $0 != "offline_access" })
        }
        let grant = state.add(
            Grant(
                client: request.client, subject: account.subject, account: account, scope: scope,
                audience: request.audience, details: request.details, nonce: request.nonce,
                authenticatedAt: browser.authenticatedAt,
                acr: browser.acr, session: browser.id))
        let code = secret()
        state.codes[code] = CodeRecord(
            request: request, grant: grant, expiresAt: now.adding(configuration.codeLifetime))
        return authorizationAnswer(request.redirect, [FormEncoding.Pair("code", code)])
    }

    func errorPairs(_ refusal: Refusal) -> [FormEncoding.Pair] {
        [
            FormEncoding.Pair("error", refusal.code),
            FormEncoding.Pair("error_description", refusal.description),
        ]
    }

    /// Returns the authorization response (RFC 6749 §4.1.2) with `iss` (RFC 9207 §2), in the requested
    /// response mode.
    func authorizationAnswer(_ target: RedirectTarget, _ pairs: [FormEncoding.Pair]) -> HTTPResponse {
        var pairs = pairs
        if let state = target.state { pairs.append(FormEncoding.Pair("state", state)) }
        pairs.append(FormEncoding.Pair("iss", issuer.text))
        if target.mode == .formPost { return formPostPage(target.address, pairs) }
        let separator = target.address.contains("?") ? "&" : "?"
        return .redirect(to: "\(target.address)\(separator)\(FormEncoding.encode(pairs))")
    }
}
