package import OIDCCore

/// Signs a user in through a browser: binds the listener, opens the address, waits for the redirect or a
/// pasted address, redeems the code, and answers the page once it is known what came of it.
package struct BrowserSignIn {
    package let login: Login
    package let redirect: RedirectAddress
    /// Whether stdin is read for a pasted address.
    package var readsInput: Bool
    /// What to open the address with; nil leaves that to the user.
    package var browser: BrowserChoice?
    package var environment: [String: String]
    package var notice: (SignInNotice) -> Void
    package var deadline: MonotonicTime
    /// Asked every second; true ends the wait with an error of kind `interrupted`.
    package var isCancelled: () -> Bool = { false }
    /// Renders a hint for the browser's page.
    package var words: (Hint) -> String = { $0.description }

    package init(
        login: Login, redirect: RedirectAddress, readsInput: Bool, browser: BrowserChoice?,
        environment: [String: String], deadline: MonotonicTime,
        notice: @escaping (SignInNotice) -> Void
    ) {
        self.login = login
        self.redirect = redirect
        self.readsInput = readsInput
        self.browser = browser
        self.environment = environment
        self.deadline = deadline
        self.notice = notice
    }

    /// `keep` stores the session; it runs before the page says that the user is signed in.
    package func run(
        keep: (Login.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Login.Outcome {
        let server: LoopbackServer? = try redirect.loopback.map {
            (address) throws(OIDCError) in try LoopbackServer(address, identifiesPeers: true)
        }
        defer { server?.close() }
        let address = server.map { redirect.text(port: $0.port) } ?? redirect.text
        let (pending, url) = try login.begin(redirectURI: address)
        let browser = announce(url, server)
        let arrival = try receive(pending, server, browser)
        notice(.answered)
        let result = Result { () throws(OIDCError) in
            let code = try arrival.code.get()
            return try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let outcome = try login.finish(code)
                try keep(outcome)
                return outcome
            }
        }
        if let server, let connection = arrival.connection {
            server.answer(connection, page(result))
            server.finish()
        }
        return try result.get()
    }

    private func announce(_ url: WebURL, _ server: LoopbackServer?) -> Browser? {
        notice(.address(url))
        var opened: Browser?
        if let browser {
            do throws(OIDCError) {
                opened = try Browser.open(url, with: browser, environment: environment)
                notice(.opened)
            } catch {
                notice(.notOpened(reason: error.message))
            }
        }
        if let server { notice(.listening(port: server.port)) }
        if readsInput { notice(.pasteOffered(isOnlyWay: server == nil)) }
        return opened
    }

    private func receive(
        _ pending: PendingAuthorization, _ server: LoopbackServer?, _ browser: Browser?
    ) throws(OIDCError) -> RedirectReceiver.Arrival {
        var receiver = RedirectReceiver(
            pending: pending, path: redirect.path, server: server, words: words,
            warn: { notice(.warning($0)) },
            turnedAway: { notice(.turnedAway($0)) })
        var input = readsInput ? TerminalInput() : nil
        defer {
            input?.release()
            server?.answerRejection = nil
        }
        var browser = browser
        return try receiver.wait(
            until: deadline, reading: &input, isTerminal: Terminal.isTerminal(.standardInput)
        ) { (pastedCount) throws(OIDCError) in
            guard !isCancelled() else { throw OIDCError(.interrupted, "cancelled", stage: .authorization) }
            if let failure = browser?.check() { notice(.notOpened(reason: failure.message)) }
            let left = deadline.milliseconds(from: .now())
            notice(.waiting(secondsLeft: (max(0, left) + 999) / 1_000, pastedCount: pastedCount))
        }
    }

    private func page(_ result: Result<Login.Outcome, OIDCError>) -> HTTPResponse {
        switch result {
        case .success(let outcome):
            ResultPage.success(
                who: outcome.session.displayName ?? outcome.session.subject,
                provider: WebURL.ofIssuer(outcome.session.key.provider)?.host ?? outcome.session.key.provider)
        case .failure(let error): ResultPage.failure(error, words)
        }
    }
}
