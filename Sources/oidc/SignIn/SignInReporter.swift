import OIDCCore
import OIDCSignIn
import Posix

/// The messages about a sign-in's steps on stderr, with a live line while waiting.
final class SignInReporter {
    private let console: Console
    private let environment: Variables
    private let ownsTerminal: Bool
    private let request: AuthorizationRequest
    /// The provider's URL.
    private let provider: WebURL?
    /// The preset of the provider, if it is known.
    private let known: PresetMatch?
    /// The prompt that is sent although no setting names one.
    var defaultPrompt: String?
    /// Whether the URL to sign in at will be shown.
    var expectsURL = false
    /// Whether the settings say how the redirect reaches the listener.
    var isPassedOn = false
    /// Whether the client registered itself at an earlier sign-in, so the provider may have forgotten it.
    private let isClientRegistered: Bool
    private var statusLine: TerminalStatusLine
    private var isOpened = false
    private var reportedKinds: [String] = []
    private var awaitsBrowser = false
    private var awaitsDeviceCode = false
    private var url: WebURL?
    /// The instructions so far, which a QR code must not push off the screen.
    private var instructions = ""

    init(
        context: CommandContext, request: AuthorizationRequest, provider: WebURL?, known: PresetMatch?,
        isClientRegistered: Bool = false
    ) {
        self.isClientRegistered = isClientRegistered
        console = context.console
        self.request = request
        self.provider = provider
        self.known = known
        environment = context.environment
        ownsTerminal = context.ownsTerminal
        statusLine = TerminalStatusLine(environment: context.environment)
    }

    func end() {
        statusLine.clear()
    }

    func report(_ notice: SignInNotice) {
        if case .listening(let port) = notice { console.trace("listening on port \(port) for the redirect") }
        if case .waiting(let seconds, let pasted) = notice {
            guard !console.isQuiet, ownsTerminal else { return }
            return statusLine.show(waitingLine(seconds, pasted))
        }
        statusLine.clear()
        if console.isJSON { return reportEvent(notice) }
        switch notice {
        case .url(let url): reportURL(url)
        case .urlRequested(let url): showURL(url)
        case .urlExpires(let end, let isRenewable): reportExpiry(end, isRenewable: isRenewable)
        case .opened:
            isOpened = true
            console.note("Opening your browser…")
        case .notOpened(let reason):
            isOpened = false
            console.warn(reason)
            console.note("Open the URL yourself.")
        case .portsInUse(let ports):
            let list = ports.map(String.init).joined(separator: ", ")
            console.note("Ports \(list) are in use by other sign-ins: waiting for one of them …")
        case .listening(let port): reportPort(port)
        case .pasteOffered(let isOnlyWay): reportPaste(isOnlyWay: isOnlyWay)
        case .device(let authorization): reportDevice(authorization)
        case .noDeviceCode(let error):
            awaitsDeviceCode = false
            console.note(SignInReporter.withoutDeviceCode(error))
        case .unanswered(let url, let clientID): reportSilence(url, clientID)
        case .unreachable(let error): reportUnreachable(error)
        case .warning(let warning): console.warn(warning)
        case .strayRequest(let request): reportStrayRequest(request)
        case .answered, .waiting: break
        }
    }

    /// Prints a notice as a line of JSON, for a program that shows the page or the code itself.
    private func reportEvent(_ notice: SignInNotice) {
        var members = JSONObject()
        switch notice {
        case .url(let url), .urlRequested(let url):
            members["event"] = "authorize"
            members["url"] = .string(url.text)
        case .urlExpires(let end, _):
            members["event"] = "expiry"
            members["expires_at"] = JSONValue(end.secondsSinceEpoch)
        case .device(let authorization):
            members["event"] = "device"
            members["verification_uri"] = .string(authorization.verificationURI.text)
            members["verification_uri_complete"] = JSONValue(authorization.verificationURIComplete?.text)
            members["user_code"] = .string(authorization.userCode)
            members["expires_at"] = JSONValue(authorization.expiresAt.secondsSinceEpoch)
        case .answered: members["event"] = "callback"
        case .notOpened(let reason): return warn(Warning(reason))
        case .noDeviceCode(let error), .unreachable(let error): return warn(Warning(error.message))
        case .warning(let warning): return warn(warning)
        case .strayRequest(let request): return reportStrayRequest(request)
        case .opened, .listening, .portsInUse, .pasteOffered, .unanswered, .waiting: return
        }
        StandardError.write(JSONValue.object(members).compact + "\n")
    }

    private func warn(_ warning: Warning) {
        guard console.isJSON, console.transcript == nil else { return console.warn(warning) }
        guard !console.isQuiet else { return }
        let message = DisplayText.clean(warning.message, limit: 900)
        let line: JSONValue = ["event": "warning", "message": .string(message)]
        StandardError.write(line.compact + "\n")
    }

    /// Returns the message that no device code can be used, and what to use instead. The device page's URL
    /// may still be right above it.
    static func withoutDeviceCode(_ error: OIDCError) -> String {
        let reason =
            error.code == .deviceCodeExpired
            ? "The device code has expired" : "No device code: \(error.message)"
        return "\(reason). Use the URL under \"Sign in at\"."
    }

    /// Returns the live line, as in `4:59 left, waiting for your browser or a pasted URL`. The time comes
    /// first, because a narrow terminal shows little more.
    private func waitingLine(_ seconds: Int64, _ pastedCount: Int?) -> String {
        let time = "\(TimeWords.countdown(seconds)) left"
        if let pastedCount, pastedCount > 0 {
            return "\(time), press Enter: \(pastedCount) character\(pastedCount == 1 ? "" : "s") pasted"
        }
        let awaited = [
            awaitsBrowser ? "your browser" : nil, pastedCount != nil ? "a pasted URL" : nil,
            awaitsDeviceCode ? "the device code" : nil,
        ].compactMap { $0 }
        let others = awaited.dropLast().joined(separator: ", ")
        let subject = (others.isEmpty ? "" : "\(others) or ") + (awaited.last ?? "the sign-in")
        let line = "\(time), waiting for \(subject)"
        return line.count < Terminal.width() ?? 80 ? line : "\(time), waiting"
    }

    /// Warns about the first refused callback of each kind: a harmless one, such as a preview's, must not
    /// hide a wrong state. The error at the end counts all of them.
    private func reportStrayRequest(_ request: StrayRequest) {
        console.trace(request.logLine)
        guard request.isCallback, reportedKinds.count < 8, !reportedKinds.contains(request.summary) else {
            return
        }
        reportedKinds.append(request.summary)
        warn(Warning(request.message))
    }

    /// Prints the URL on stderr, even with `--quiet`: users cannot continue without it. If a browser has
    /// opened it, one line of a terminal is enough.
    private func reportURL(_ url: WebURL) {
        self.url = url
        // Beside a command that has the terminal, the user has no other way to see all of the URL.
        guard isOpened, ownsTerminal, !console.isVerbose, Terminal.isTerminal(.standardError) else {
            return showURL(url)
        }
        let line = SignInReporter.shortLine(
            url, width: Terminal.width() ?? 80, canPress: Terminal.isTerminal(.standardInput))
        StandardError.write(
            Terminal.text(Console.style.linked(line, to: url) + "\n", environment: environment))
    }

    /// Returns the URL in one line, cut to the width, with the way to see all of it.
    static func shortLine(_ url: WebURL, width: Int, canPress: Bool) -> String {
        guard url.text.utf8.count + 2 > width else { return "  \(url.text)" }
        let ways = [
            canPress ? "oidc login -v or press u shows all of it" : "oidc login -v shows all of it",
            canPress ? "u shows all" : "-v shows all",
        ]
        // Enough of the URL to see the host.
        let way = ways.first { width >= $0.count + 35 } ?? ways[1]
        return "  \(short(url, columns: width - way.count - 6)) (\(way))"
    }

    /// Returns as much of the URL as fits into the columns.
    static func short(_ url: WebURL, columns: Int) -> String {
        guard url.text.utf8.count > columns else { return url.text }
        return "\(url.text.prefix(max(0, columns - 1)))…"
    }

    private func showURL(_ url: WebURL) {
        let text = "Sign in at:\n\n  \(url.text)\n\n"
        instructions += text
        StandardError.write(Console.style.linked(text))
    }

    /// Reports until when the URL can be opened, and what happens then.
    private func reportExpiry(_ end: Instant, isRenewable: Bool) {
        let left = TimeWords.relative(end, to: Clock.now())
        console.note(
            "The next URL expires \(left). "
                + (isRenewable ? "Press Enter for a new one." : "Then a new one follows."))
    }

    private func reportUnreachable(_ error: OIDCError) {
        let host = provider?.hostAndPort ?? "the provider"
        console.warn(
            "\(host) is not reachable from this machine (\(error.message)); your browser may be elsewhere")
    }

    private func instruct(_ text: String) {
        instructions += text + "\n"
        console.note(text)
    }

    private func reportPort(_ port: UInt16) {
        awaitsBrowser = true
        let isRemote = environment["SSH_CONNECTION"] != nil || environment["SSH_TTY"] != nil
        guard !isPassedOn, !isOpened else { return }
        if let advice = SignInReporter.advice(port, request.redirectURI, environment) {
            return instruct(advice + "\n")
        }
        guard isRemote else { return }
        instruct(
            "This is a remote shell. To let your browser reach it, run this on your own machine:\n\n"
                + "  ssh -L \(port):127.0.0.1:\(port) \(SignInReporter.remote(environment))\n")
    }

    /// Returns advice on how the redirect reaches a remote workspace; nil if this is not one.
    static func advice(_ port: UInt16, _ redirectURI: String, _ environment: Variables) -> String? {
        guard let workspace = RemoteWorkspace.current(environment) else { return nil }
        let forward = workspace.advice(
            port: port, machine: SignInReporter.remote(environment), environment)
        let path = WebURL(redirectURI)?.path ?? ""
        guard let url = RemoteWorkspace.proxyURL(port: port, path: path, environment) else { return forward }
        return forward
            + "\n\nOr register the redirect URL \(url), and sign in with:\n\n"
            + "  --set redirect_uri=\(ShellWord.quoted(url)) --set callback_listen=127.0.0.1:\(port) "
            + "--set callback_path=\(ShellWord.quoted(path.isEmpty ? "/" : path))"
    }

    /// Returns this machine as an argument of `ssh`: the address and port that the user's machine reached
    /// (`SSH_CONNECTION`), with the user.
    static func remote(_ environment: Variables) -> String {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let words = value("SSH_CONNECTION")?.split(separator: " ").map(String.init) ?? []
        let isComplete = words.count == 4
        let host = (isComplete ? words[2] : nil) ?? value("HOSTNAME") ?? "THIS-HOST"
        let user = value("USER") ?? value("LOGNAME")
        let target = ShellWord.quoted(user.map { "\($0)@\(host)" } ?? host)
        return isComplete && words[3] != "22" ? "-p \(ShellWord.quoted(words[3])) \(target)" : target
    }

    private func reportPaste(isOnlyWay: Bool) {
        guard isOnlyWay else {
            return instruct(
                "Or paste the URL that your browser was redirected to, and press Enter.\nIt is not shown.\n")
        }
        instruct(
            """
            After signing in, your browser is redirected to a URL that it cannot show. Paste that URL here and \
            press Enter. It is not shown.
            To find it: open the developer tools (F12), tab Network, before signing in; the last request, marked \
            as failed or redirected, has it in its Location header.

            """)
    }

    private func reportDevice(_ authorization: DeviceAuthorization) {
        let isTerminal = Terminal.isTerminal(.standardError) && !console.isQuiet
        let text = DeviceCodeText(
            authorization: authorization,
            size: isTerminal ? (Terminal.width() ?? 80, Terminal.height() ?? 24) : nil,
            usesColor: Terminal.usesColor(environment: environment),
            usesUnicode: Terminal.usesUnicode(environment: environment), instructions: instructions,
            rowsBelow: expectsURL && url == nil ? SignInReporter.rowsOfURL : 0,
            origin: DeviceCodeText.Origin(
                clientID: request.client.id, machine: Platform.hostName, provider: provider))
        awaitsDeviceCode = true
        StandardError.write(Console.style.linked(text.text))
    }

    /// The rows of a URL to sign in at and of the instructions with it, at most.
    private static let rowsOfURL = 14

    /// Reports that no response has arrived. A provider that refuses the request shows an error page and
    /// never redirects; which of its reasons it was is on that page only.
    private func reportSilence(_ redirectURL: String, _ clientID: String) {
        guard !isClientRegistered else {
            return console.note(
                "No answer yet. If your browser shows an error, the server may have forgotten the client "
                    + "\(DisplayText.clean(clientID)): press Ctrl-C, and sign in again to register another one."
            )
        }
        let url = known?.preset.redirect == .anyPort ? request.redirectURI : redirectURL
        console.note(
            SignInReporter.silence(
                .checkRegistration(redirectURL: url, clientID: clientID), page: known?.registrationPage,
                prompt: defaultPrompt, login: console.line.text(.run("login --prompt off"))))
        if isOpened, !isPassedOn, let port = WebURL(redirectURL)?.port.flatMap({ UInt16(exactly: $0) }),
            let advice = SignInReporter.advice(port, request.redirectURI, environment)
        {
            console.note(advice)
        }
        if isOpened, Platform.isWSL(environment) { console.note(SignInReporter.windowsNote(redirectURL)) }
    }

    /// Returns the note for a browser on Windows that cannot connect to the listener in WSL.
    static func windowsNote(_ redirectURL: String) -> String {
        "If your browser cannot connect to \(redirectURL), Windows does not forward its localhost to WSL: set "
            + "localhostForwarding=true or networkingMode=mirrored in .wslconfig, or sign in with oidc login --flow paste."
    }

    /// Returns the note about the missing answer. It names a prompt that nobody asked for: doorkeeper answers
    /// `prompt=consent` with an error page (status 500) if the user is not signed in there (2026-11).
    static func silence(_ hint: Hint, page: String?, prompt: String?, login: String) -> String {
        let page = page.map { " (\($0))" } ?? ""
        let start = "No answer yet: \(hint.commandLine)\(page)"
        // A period after the command would be pasted with it.
        return prompt.map { "\(start); or it does not accept prompt=\($0): \(login)" } ?? "\(start)."
    }
}
