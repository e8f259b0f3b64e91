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
        return try authorizationAnswer(request.redirect, [FormEncoding.Pair("code", code)], now)
    }

    func errorPairs(_ refusal: Refusal) -> [FormEncoding.Pair] {
        [
            FormEncoding.Pair("error", refusal.code),
            FormEncoding.Pair("error_description", refusal.description),
        ]
    }

    /// Returns the authorization response (RFC 6749 §4.1.2) with `iss` (RFC 9207 §2), in the requested
    /// response mode.
    func authorizationAnswer(
        _ target: RedirectTarget, _ pairs: [FormEncoding.Pair], _ now: Instant
    ) throws(Refusal) -> HTTPResponse {
        var pairs = pairs
        if let state = target.state { pairs.append(FormEncoding.Pair("state", state)) }
        pairs.append(FormEncoding.Pair("iss", issuer.text))
        if target.mode.isSigned {
            pairs = [FormEncoding.Pair("response", try signedResponse(pairs, for: target.client, now))]
        }
        if target.mode.isPosted { return formPostPage(target.address, pairs) }
        let separator = target.address.contains("?") ? "&" : "?"
        return .redirect(to: "\(target.address)\(separator)\(FormEncoding.encode(pairs))")
    }

    /// Returns the answer as a signed token for the client (JARM §2.1), encrypted if the client is registered for that
    /// (§2.2).
    private func signedResponse(
        _ pairs: [FormEncoding.Pair], for id: String, _ now: Instant
    ) throws(Refusal) -> String {
        let client = try knownClient(id)
        var claims = JSONObject()
        for pair in pairs { claims[pair.name] = .string(pair.value) }
        claims["aud"] = .string(id)
        claims["exp"] = JSONValue(now.adding(600).secondsSinceEpoch)
        let token = try signed(claims, for: client, by: client.authorizationAlgorithm)
        return try client.encrypted(token, client.authorizationEncryption)
    }
}
