import OIDCCore

extension DemoProvider {
    func response(_ page: Page) -> HTTPResponse { page.response(nonce: Base64URL.encode(random(12))) }

    func loginPage(_ interaction: Interaction, _ browser: BrowserSession) -> HTTPResponse {
        let hint = interaction.request.loginHint ?? browser.account?.name
        let lead = "<b>\(Page.escaped(interaction.request.client))</b> wants to know who you are."
        return response(
            loginPage(lead, hint: hint, hidden: [FormEncoding.Pair("interaction", interaction.id)]))
    }

    /// Returns the login page: one click for the suggested account, a field for any other name.
    func loginPage(_ lead: String, hint: String?, hidden: [FormEncoding.Pair]) -> Page {
        let account = Account(hint ?? "")
        let action = address(.login)
        let field = """
            <label for="username">Name</label>
            <input id="username" type="text" name="username" autocomplete="username" \
            autocapitalize="none" spellcheck="false" required maxlength="64">
            """
        let content = """
            <h1>Sign in</h1>
            <p>\(lead)</p>
            \(Page.form(
                id: "approve", action: action, hidden: hidden + [FormEncoding.Pair("username", account.name)],
                button: "Sign in as \(account.name)"))
            \(Page.form(
                id: "deny", action: action, hidden: hidden + [FormEncoding.Pair("decision", "deny")],
                button: "Cancel", style: "quiet"))
            <details><summary>Use another name</summary>
            \(Page.form(
                id: "other", action: action, hidden: hidden, fields: field, button: "Sign in", style: "quiet"))
            </details>
            """
        return Page(title: "Sign in", content: content)
    }

    func consentPage(_ interaction: Interaction, _ browser: BrowserSession) -> HTTPResponse {
        let request = interaction.request
        let client = Page.escaped(request.client)
        let hidden = [FormEncoding.Pair("interaction", interaction.id)]
        let content = """
            <h1>Allow access?</h1>
            \(who(browser.account))
            <p><b>\(client)</b> asks for:</p>
            \(scopeList(request.scope))
            \(Page.form(
                id: "approve", action: address(.consent),
                hidden: hidden + [FormEncoding.Pair("decision", "approve")], button: "Allow"))
            \(Page.form(
                id: "deny", action: address(.consent),
                hidden: hidden + [FormEncoding.Pair("decision", "deny")], button: "Deny", style: "quiet"))
            """
        return response(Page(title: "Allow access?", content: content))
    }

    /// Returns a page with a form that submits itself, or by its button if scripts are off (OAuth 2.0 Form
    /// Post Response Mode §2).
    func formPostPage(_ address: String, _ pairs: [FormEncoding.Pair]) -> HTTPResponse {
        let form = Page.form(id: "answer", action: address, hidden: pairs, button: "Continue")
        return response(
            Page(
                title: "One moment", content: "<h1>One moment</h1>\n<p>Taking you back.</p>\n\(form)",
                script: "document.getElementById('answer').submit()"))
    }

    func errorPage(_ refusal: Refusal) -> HTTPResponse {
        let content = """
            <h1 class="bad">That did not work</h1>
            <p>\(Page.escaped(DisplayText.clean(refusal.description)))</p>
            <p><code>\(Page.escaped(refusal.code))</code></p>
            """
        return response(Page(title: "That did not work", content: content, status: refusal.status))
    }

    /// Returns the answer to a request that no endpoint accepts: a page for a browser, a line for a program.
    func missingPage(_ line: String, status: Int, _ call: Call) -> HTTPResponse {
        guard call.request.headers["Accept"]?.includes("text/html") == true else {
            return .text(line, status: status)
        }
        let content = """
            <h1 class="bad">Page not found</h1>
            <p>Open the URL that your terminal shows. What this provider offers is listed at:</p>
            <p><code>\(Page.escaped(address("/")))</code></p>
            """
        return response(Page(title: line, content: content, status: status))
    }

    func messagePage(_ title: String, _ text: String) -> HTTPResponse {
        response(Page(title: title, content: "<h1>\(Page.escaped(title))</h1>\n<p>\(Page.escaped(text))</p>"))
    }

    func homePage() -> HTTPResponse {
        let clients = state.clients.keys.sorted().prefix(8).joined(separator: ", ")
        let rows = [
            ("Issuer", issuer.text), ("Metadata", address(.discovery)),
            ("Resource", address(.protectedResource)),
            ("Clients", clients),
        ]
        let list = rows.map { "<li>\($0.0)<small>\(Page.escaped($0.1))</small></li>" }
        let content = """
            <h1>It is running</h1>
            <p>An OpenID provider to try a login with: any name is an account.</p>
            <ul>\(list.joined(separator: "\n"))</ul>
            """
        return response(Page(title: "Demo provider", content: content))
    }

    func who(_ account: Account?) -> String {
        guard let account else { return "" }
        let initial = Page.escaped(account.givenName.prefix(1))
        return "<p class=\"who\"><span>\(initial)</span><b>\(Page.escaped(account.name))</b></p>"
    }

    func scopeList(_ scope: Scope) -> String {
        let items = scope.tokens.map { token in
            let meaning = DemoProvider.meanings[token] ?? "A permission of its own"
            return "<li>\(Page.escaped(meaning))<small>\(Page.escaped(token))</small></li>"
        }
        return items.isEmpty ? "<ul><li>Nothing in particular</li></ul>" : "<ul>\(items.joined())</ul>"
    }

    private static let meanings = [
        "openid": "Know who you are", "profile": "Your name", "email": "Your email address",
        "address": "Your address", "phone": "Your phone number",
        "offline_access": "Stay signed in when you are away", "api:read": "Read your items",
        "api:write": "Change your items", "api:admin": "Administer the sample API",
    ]
}
