import OIDCCore

extension DemoProvider {
    /// Handles the device page: enter the code, sign in, decide (RFC 8628 §3.3).
    mutating func devicePage(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.parameters()
        let browser = browserSession(call)
        guard let typed = parameters["user_code"] else { return withCookie(browser, codePage()) }
        guard let (code, record) = pendingDevice(typed, call.now) else {
            return withCookie(browser, codePage(problem: "That code is unknown or has expired."))
        }
        if let decision = parameters["decision"], call.isPost {
            return try decide(decision, parameters, code, record, browser)
        }
        if call.isPost { return .redirect(to: devicePageAddress(record.userCode)) }
        guard browser.account != nil else {
            let lead = "<b>\(Page.escaped(record.client))</b> on another device wants to know who you are."
            let hidden = [FormEncoding.Pair("user_code", record.userCode)]
            return withCookie(browser, response(loginPage(lead, hint: nil, hidden: hidden)))
        }
        let ticket = secret()
        state.devices[code]?.question = (browser.id, ticket)
        return withCookie(browser, questionPage(record, browser, ticket))
    }

    /// Handles the form of the login page, for a device.
    mutating func signInForDevice(_ form: Parameters, _ call: Call) throws(Refusal) -> HTTPResponse {
        guard let id = call.cookie(DemoProvider.cookieName), let browser = state.browsers[id] else {
            throw .invalidRequest("this sign-in was started in another browser")
        }
        let userCode = try form.required("user_code")
        if form["decision"] == "deny" {
            guard let (code, _) = pendingDevice(userCode, call.now) else { return codePage() }
            return deny(code)
        }
        let session = signedIn(browser, as: Account(form["username"] ?? ""), for: nil, at: call.now)
        return withCookie(session, .redirect(to: devicePageAddress(userCode)))
    }

    private mutating func decide(
        _ decision: String, _ form: Parameters, _ code: String, _ record: DeviceRecord,
        _ browser: BrowserSession
    ) throws(Refusal) -> HTTPResponse {
        guard let question = record.question, question.browser == browser.id,
            isSameSecret(question.ticket, form["ticket"] ?? "")
        else { throw .invalidRequest("this page is out of date, or was opened in another browser") }
        guard decision == "approve" else { return deny(code) }
        let grant = grantDevice(record, browser)
        state.devices[code]?.decision = .approved(grant)
        return messagePage("Your device is signed in", "You can close this tab and go back to it.")
    }

    private mutating func deny(_ code: String) -> HTTPResponse {
        state.devices[code]?.decision = .denied
        return messagePage("Access denied", "You can close this tab.")
    }

    /// Returns the pending device of a typed code; only letters and digits count.
    private func pendingDevice(_ typed: String, _ now: Instant) -> (code: String, DeviceRecord)? {
        func letters(_ text: String) -> [UInt8] {
            ASCII.lowercased(text).utf8.filter { ASCII.isAlphanumeric($0) }
        }
        let wanted = letters(typed)
        for (code, record) in state.devices where letters(record.userCode) == wanted {
            if case .pending = record.decision, record.expiresAt > now { return (code, record) }
        }
        return nil
    }

    private func devicePageAddress(_ userCode: String) -> String {
        "\(address(.devicePage))?\(FormEncoding.encode([FormEncoding.Pair("user_code", userCode)]))"
    }

    private func codePage(problem: String? = nil) -> HTTPResponse {
        let field = """
            <label for="user_code">Code</label>
            <input class="code" id="user_code" type="text" name="user_code" autocomplete="off" \
            spellcheck="false" required maxlength="20" placeholder="ABCD-EFGH">
            """
        let note = problem.map { "<p class=\"bad\">\(Page.escaped($0))</p>\n" } ?? ""
        let content = """
            <h1>Connect a device</h1>
            <p>Enter the code that your device shows.</p>
            \(note)\(Page.form(
                id: "code", action: address(.devicePage), hidden: [], fields: field, button: "Continue"))
            """
        return response(Page(title: "Connect a device", content: content))
    }

    private func questionPage(
        _ record: DeviceRecord, _ browser: BrowserSession, _ ticket: String
    ) -> HTTPResponse {
        func form(_ id: String, _ button: String, _ style: String) -> String {
            let hidden = [
                FormEncoding.Pair("user_code", record.userCode), FormEncoding.Pair("ticket", ticket),
                FormEncoding.Pair("decision", id),
            ]
            return Page.form(
                id: id, action: address(.devicePage), hidden: hidden, button: button, style: style)
        }
        let content = """
            <h1>Allow this device?</h1>
            \(who(browser.account))
            <p>Compare the code with the one on your device:</p>
            <p class="big">\(Page.escaped(record.userCode))</p>
            <p><b>\(Page.escaped(record.client))</b> asks for:</p>
            \(scopeList(record.scope))
            \(form("approve", "Allow", "primary"))
            \(form("deny", "Deny", "quiet"))
            """
        return response(Page(title: "Allow this device?", content: content))
    }
}
