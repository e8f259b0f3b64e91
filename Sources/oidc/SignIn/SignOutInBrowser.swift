import OIDCCore
import OIDCCrypto
import OIDCSystem

/// Ends the provider's session in the browser. The address holds the ID token, so that the browser is started
/// with an address of ours, which leads there: no other process sees the token in its arguments. Arguments are
/// no secret, and any user can open ours: only this user's programs are led to the address with the token.
struct SignOutInBrowser {
    let provider: ProviderContext
    let session: Session
    let endpoint: WebURL

    private var console: Console { provider.context.console }

    func run() throws(OIDCError) {
        let redirect = try provider.settings.signIn.postLogoutRedirect()
        let server = try LoopbackServer(redirect?.loopback ?? LoopbackAddress(), identifiesPeers: true)
        defer { server.close() }
        let returnAddress = redirect.map { $0.loopback == nil ? $0.text : $0.text(port: server.port) }
        let logout = Logout(
            clientID: session.key.clientID, idTokenHint: session.tokens.idToken,
            postLogoutRedirectURI: returnAddress)
        let pending = try logout.begin(at: endpoint, random: Random.bytes)
        let start = "/" + Base64URL.encode(Random.bytes(16))
        let returnPath = redirect?.loopback == nil ? nil : returnAddress.flatMap(WebURL.init)?.path
        var wait = SignOutWait(
            browser: try open("\(server.origin)\(start)"), console: console,
            environment: provider.context.environment, returnAddress: returnPath == nil ? nil : returnAddress,
            clientID: session.key.clientID, deadline: .now().adding(seconds: provider.settings.signIn.timeout)
        )
        try serve(server, from: start, to: pending, returningTo: returnPath, &wait)
        console.note(
            returnPath == nil
                ? "The browser has gone to the provider's sign-out page, which may ask to confirm."
                : "The provider's session has ended in the browser.")
    }

    /// Opens our own URL, and prints it for the user to open if no browser does. A machine that has none is an
    /// error: the URL leads nowhere on another one.
    private func open(_ text: String) throws(OIDCError) -> Browser? {
        let choice = try provider.browserChoice()
        guard let url = WebURL(text) else { return nil }
        guard choice.isAvailable else {
            return try Browser.open(url, with: choice, environment: provider.childEnvironment)
        }
        console.note("To end the provider's session, open in a browser:\n\n  \(text)\n")
        do throws(OIDCError) {
            let browser = try Browser.open(url, with: choice, environment: provider.childEnvironment)
            console.note("Opening your browser…")
            return browser
        } catch {
            console.warn(error.message)
            console.note("Open the URL above yourself.")
            return nil
        }
    }

    /// Serves until the browser was sent on and, if it comes back here, until it does with our `state`.
    private func serve(
        _ server: LoopbackServer, from start: String, to pending: PendingLogout, returningTo path: String?,
        _ wait: inout SignOutWait
    ) throws(OIDCError) {
        defer { wait.end() }
        while true {
            let event = server.run(until: try wait.pause()) { request in
                guard server.isOurHost(request.host), request.method == .get else {
                    return .respond(ResultPage.stranger(status: 400))
                }
                if request.path == start, !request.peer.isStranger { return .hold }
                if path == request.path {
                    if isAccepted(request, pending) { return .hold }
                    wait.strangerCount += 1
                }
                return .respond(ResultPage.stranger(status: 404))
            }
            switch event {
            case .held(let request, let connection) where request.path == start:
                let url = request.peer == .thisUser ? pending.url : pending.urlWithoutToken
                server.answer(
                    connection,
                    HTTPResponse(
                        status: 303,
                        headers: HTTPHeaders([
                            ("Location", url.text), ("Cache-Control", "no-store"),
                            ("Referrer-Policy", "no-referrer"),
                        ])))
                guard path != nil else { return server.finish() }
                wait.isSentOn = true
            case .held(_, let connection):
                server.answer(connection, ResultPage.signedOut())
                return server.finish()
            case .interrupted(let signal): throw Interruption.error(signal: signal)
            case .readable, .deadline: continue
            }
        }
    }

    private func isAccepted(_ request: HTTPServerRequest, _ pending: PendingLogout) -> Bool {
        FormEncoding.decode(request.query ?? "").map(pending.accept) ?? false
    }
}
