import OIDCCore

extension DemoProvider {
    /// Handles the form of the login page.
    mutating func signIn(_ call: Call) throws(Refusal) -> HTTPResponse {
        let form = try call.body()
        if form["user_code"] != nil { return try signInForDevice(form, call) }
        var (interaction, browser) = try interaction(try form.required("interaction"), call)
        if form["decision"] == "deny" { return try deny(interaction, call.now) }
        let account = Account(form["username"] ?? "")
        browser = signedIn(browser, as: account, for: interaction.request, at: call.now)
        interaction = Interaction(
            id: interaction.id, browser: browser.id, request: interaction.request, signedInHere: true,
            expiresAt: interaction.expiresAt)
        state.interactions[interaction.id] = interaction
        let query = FormEncoding.encode([FormEncoding.Pair("interaction", interaction.id)])
        return withCookie(browser, .redirect(to: "\(address(.authorize))?\(query)"))
    }

    /// Handles the form of the consent page.
    mutating func decideConsent(_ call: Call) throws(Refusal) -> HTTPResponse {
        let form = try call.body()
        let (interaction, browser) = try interaction(try form.required("interaction"), call)
        guard browser.account != nil else { throw .invalidRequest("nobody is signed in") }
        guard form["decision"] == "approve" else { return try deny(interaction, call.now) }
        let request = interaction.request
        let given = state.consents[consentKey(request, browser)] ?? Scope("")
        state.consent(consentKey(request, browser), to: given.union(request.scope))
        state.interactions[interaction.id] = nil
        return try finish(request, browser, call.now)
    }

    private mutating func deny(_ interaction: Interaction, _ now: Instant) throws(Refusal) -> HTTPResponse {
        state.interactions[interaction.id] = nil
        let refusal = Refusal("access_denied", "the user said no")
        return try authorizationAnswer(interaction.request.redirect, errorPairs(refusal), now)
    }
}
