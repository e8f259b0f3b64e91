import OIDCCore

extension DemoProvider {
    /// Handles a sign-out: immediately with the session's own ID token, else after a confirmation (OIDC
    /// RP-Initiated Logout §2).
    mutating func endSession(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.parameters()
        let browser = browserSession(call)
        var client = parameters["client_id"]
        var isCertain = parameters["decision"] == "approve" && call.isPost
        if let hint = parameters["id_token_hint"] {
            guard let claims = ownIDToken(hint), let audience = audience(of: claims).first else {
                throw .invalidRequest("id_token_hint is no ID token of this provider")
            }
            guard client == nil || client == audience else {
                throw .invalidRequest("client_id is not the audience of id_token_hint")
            }
            client = audience
            if browser.account == nil || claims["sub"]?.string == browser.account?.subject {
                isCertain = true
            }
        }
        let target = try postLogoutTarget(parameters, client)
        guard isCertain else { return withCookie(browser, logoutPage(parameters, browser)) }
        state.browsers[browser.id]?.account = nil
        if let target { return .redirect(to: target) }
        return messagePage("You are signed out", "You can close this tab.")
    }

    /// Returns the URL to redirect to after a sign-out, which must be registered for a known client (§3).
    private func postLogoutTarget(_ parameters: Parameters, _ id: String?) throws(Refusal) -> String? {
        guard let address = parameters["post_logout_redirect_uri"] else { return nil }
        guard let id, let client = state.clients[id], client.allows(postLogoutRedirect: address) else {
            throw .invalidRequest("post_logout_redirect_uri is not registered for this client")
        }
        guard let state = parameters["state"] else { return address }
        let pairs = [FormEncoding.Pair("state", state)]
        return "\(address)\(address.contains("?") ? "&" : "?")\(FormEncoding.encode(pairs))"
    }

    private func logoutPage(_ parameters: Parameters, _ browser: BrowserSession) -> HTTPResponse {
        var hidden = parameters.pairs.filter { $0.name != "decision" }
        hidden.append(FormEncoding.Pair("decision", "approve"))
        let content = """
            <h1>Sign out?</h1>
            \(who(browser.account))
            \(Page.form(id: "approve", action: address(.endSession), hidden: hidden, button: "Sign out"))
            """
        return response(Page(title: "Sign out?", content: content))
    }
}
