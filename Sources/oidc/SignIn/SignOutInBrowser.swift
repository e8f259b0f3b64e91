import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSignIn
import Posix

/// The end of the provider's session in the browser.
///
/// The URL contains the ID token, and any user can read a program's arguments. So the browser is started with
/// a URL of this program, which redirects only this user's programs to the URL with the token.
struct SignOutInBrowser {
    let provider: ProviderContext
    let session: Session
    let endpoint: WebURL

    private var console: Console { provider.context.console }

    func run() throws(OIDCError) {
        let redirect = try provider.settings.signIn.postLogoutRedirect()
        let address = redirect?.loopback ?? LoopbackAddress()
        let server = try PortHandover.bind(address, provider.context.portHandover) {
            (address) throws(OIDCError) in try LoopbackServer(address, identify: PeerOwner.identified)
        }
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
        guard try serve(server, from: start, to: pending, returningTo: returnPath, &wait) else {
            return console.warn(
                "the browser came back from the sign-out with another state or none: whether the provider's session "
                    + "has ended is not known")
        }
        console.note(
            returnPath == nil
                ? "The browser opened the provider's sign-out page, which may ask for confirmation."
                : "The provider's session has ended in the browser.")
    }

    /// Opens the URL of this program, and prints it for the user in case the browser fails. If this machine
    /// has no browser, prints the provider's URL instead, without the ID token and without a way back, and
    /// throws.
    private func open(_ text: String) throws(OIDCError) -> Browser? {
        let choice = try provider.browserChoice()
        guard let url = WebURL(text) else { return nil }
        if case .none(let reason) = choice {
            let bare = try Logout(clientID: session.key.clientID).begin(at: endpoint, random: Random.bytes)
            console.note("To end the provider's session, open in a browser:\n\n  \(bare.url.text)\n")
            throw OIDCError(
                .failed, "no browser is opened: \(reason)",
                hint: "open the URL above in any browser; the local session is gone already",
                stage: .endSession)
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

    /// Serves requests until the browser was redirected to the provider and, if there is a return URL, has come
    /// back. Returns whether it came back with our `state` (OpenID Connect RP-Initiated Logout §3); nothing depends
    /// on that, as the local session is gone already.
    private func serve(
        _ server: LoopbackServer, from start: String, to pending: PendingLogout, returningTo path: String?,
        _ wait: inout SignOutWait
    ) throws(OIDCError) -> Bool {
        defer { wait.end() }
        while true {
            let event = server.run(until: try wait.pause()) { request in
                guard server.isOurHost(request), request.method == .get else {
                    return .respond(HTTPResponse.stranger(status: 400))
                }
                if request.peer.isStranger { return .respond(HTTPResponse.stranger(status: 404)) }
                if request.path == start { return .hold }
                if request.path == path {
                    return wait.isSentOn ? .hold : .respond(ResultPage.otherSignOut(program: "oidc"))
                }
                return .respond(HTTPResponse.stranger(status: 404))
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
                guard path != nil else {
                    server.finish()
                    return true
                }
                wait.isSentOn = true
            case .held(let request, let connection):
                guard isAccepted(request, pending) else {
                    server.answer(connection, ResultPage.otherSignOut(program: "oidc"))
                    server.finish()
                    return false
                }
                guard let path else { return true }
                let location = ResultLocation(below: path)
                server.sendToResult(connection, at: location)
                server.finish(showing: ResultPage.signedOut(program: "oidc"), at: location, program: "oidc")
                return true
            case .interrupted(let signal): throw Interruption.error(signal: signal)
            case .readable, .deadline: continue
            }
        }
    }

    private func isAccepted(_ request: HTTPServerRequest, _ pending: PendingLogout) -> Bool {
        FormEncoding.decode(request.query ?? "").map(pending.accept) ?? false
    }
}

/// The wait for the browser during a sign-out.
struct SignOutWait {
    private var browser: Browser?
    private let console: Console
    private var statusLine: TerminalStatusLine
    private let returnAddress: String?
    private let clientID: String
    private let deadline: MonotonicTime
    /// Whether the browser was redirected to the provider's sign-out page.
    var isSentOn = false {
        didSet {
            statusLine.clear()
            console.note("Waiting for the browser to come back from the provider's sign-out page…")
        }
    }

    init(
        browser: Browser?, console: Console, environment: Variables, returnAddress: String?,
        clientID: String, deadline: MonotonicTime
    ) {
        self.browser = browser
        self.console = console
        self.returnAddress = returnAddress
        self.clientID = clientID
        self.deadline = deadline
        statusLine = TerminalStatusLine(environment: environment)
    }

    /// Reports a failed browser, shows the time left, and returns the time of the next check.
    mutating func pause() throws(OIDCError) -> MonotonicTime {
        if !isSentOn, let failure = browser?.check() {
            statusLine.clear()
            console.warn(failure.message)
            console.note("Open the URL above yourself.")
        }
        let now = MonotonicTime.now()
        guard now < deadline else { throw timeout }
        if !console.isQuiet {
            let left = TimeWords.countdown((deadline.milliseconds(from: now) + 999) / 1_000)
            let awaited = isSentOn ? "come back" : "open the URL"
            statusLine.show("\(left) left, waiting for the browser to \(awaited)")
        }
        return min(deadline, now.adding(milliseconds: 1_000))
    }

    mutating func end() {
        statusLine.clear()
    }

    private var timeout: OIDCError {
        guard isSentOn, let returnAddress else {
            return OIDCError(
                .timedOut, "timed out: no browser opened the URL of the sign-out",
                hint: "the provider's session goes on; sign out on its own site", stage: .endSession)
        }
        return OIDCError(
            .timedOut, "timed out: the browser did not come back from the sign-out",
            hint:
                "check that \(DisplayText.clean(returnAddress)) is registered as post-logout redirect URL for "
                + "the client \(DisplayText.clean(clientID)) at the provider", stage: .endSession)
    }
}
