import OIDCCore
import OIDCSystem

/// Reports the steps of a sign-in on stderr, with a live line while waiting.
final class SignInReporter {
    private let console: Console
    private let environment: [String: String]
    private var statusLine: TerminalStatusLine
    private var isOpened = false
    private var hasWarnedOfCallback = false

    init(context: CommandContext) {
        console = context.console
        environment = context.environment
        statusLine = TerminalStatusLine(environment: context.environment)
    }

    func end() {
        statusLine.clear()
    }

    func report(_ notice: SignInNotice) {
        if case .listening(let port) = notice { console.trace("listening on port \(port) for the redirect") }
        if case .waiting(let seconds, let pasted) = notice {
            guard !console.isQuiet else { return }
            let typed = pasted > 0 ? "; \(pasted) characters pasted, press Enter" : ""
            return statusLine.show("waiting for the sign-in, \(TimeWords.duration(seconds)) left\(typed)")
        }
        statusLine.clear()
        switch notice {
        case .address(let url): reportURL(url)
        case .opened:
            isOpened = true
            console.note("Opening your browser…")
        case .notOpened(let reason):
            console.warn(reason)
            console.note("Open the URL above yourself.")
        case .listening(let port): reportPort(port)
        case .pasteOffered(let isOnlyWay): reportPaste(isOnlyWay: isOnlyWay)
        case .device(let authorization): reportDevice(authorization)
        case .warning(let warning): console.warn(warning.commandLine)
        case .turnedAway(let request): reportTurnedAway(request)
        case .answered, .waiting: break
        }
    }

    /// Warns of the first callback that was turned away. The error at the end counts them all.
    private func reportTurnedAway(_ request: TurnedAwayRequest) {
        console.trace(request.logLine)
        guard request.isCallback, !hasWarnedOfCallback else { return }
        hasWarnedOfCallback = true
        console.warn(request.message)
    }

    /// Prints the URL on stderr, also with `--quiet`: users cannot continue without it.
    private func reportURL(_ url: WebURL) {
        StandardError.write("Sign in at:\n\n  \(url.text)\n\n")
    }

    private func reportPort(_ port: UInt16) {
        let isRemote = environment["SSH_CONNECTION"] != nil || environment["SSH_TTY"] != nil
        guard isRemote, !isOpened else { return }
        let host = environment["HOSTNAME"].flatMap { $0.isEmpty ? nil : $0 } ?? "THIS-HOST"
        console.note(
            "This is a remote shell. To let your browser come back here, run on your own machine:\n\n"
                + "  ssh -L \(port):127.0.0.1:\(port) \(ShellWord.quoted(host))\n")
    }

    private func reportPaste(isOnlyWay: Bool) {
        guard isOnlyWay else {
            return console.note("Or paste here the URL that your browser was redirected to, and press Enter.")
        }
        console.note(
            """
            After signing in, your browser is redirected to a URL that it cannot show. Paste that URL here and \
            press Enter.
            To find it: open the developer tools (F12), tab Network, before signing in; the last request, marked \
            as failed or redirected, has it in its Location header.
            """)
    }

    private func reportDevice(_ authorization: DeviceAuthorization) {
        let complete = authorization.verificationURIComplete
        StandardError.write(
            "On any device, open:\n\n  \(authorization.verificationURI.text)\n\nand enter the code:\n\n"
                + "  \(authorization.userCode)\n\n")
        guard let complete else { return }
        StandardError.write("Or open this URL, which includes the code:\n\n  \(complete.text)\n\n")
        if Terminal.isTerminal(.standardError), !console.isQuiet, let code = QRCode(complete.text) {
            StandardError.write(code.terminalText + "\n")
        }
    }
}
