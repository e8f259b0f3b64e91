import OIDCCore
import OIDCSystem

/// Tells a sign-in on stderr: lines for what happened, one live line for the wait.
final class SignInTeller {
    private let console: Console
    private let environment: [String: String]
    private let settings: Settings
    private var statusLine: TerminalStatusLine
    private var isOpened = false
    private var hasWarnedOfCallback = false

    init(context: CommandContext, settings: Settings) {
        console = context.console
        environment = context.environment
        self.settings = settings
        statusLine = TerminalStatusLine(environment: context.environment)
    }

    func end() {
        statusLine.clear()
    }

    func tell(_ notice: SignInNotice) {
        if case .waiting(let seconds, let pasted) = notice {
            guard !console.isQuiet else { return }
            let typed = pasted > 0 ? "; \(pasted) characters pasted, press Enter" : ""
            return statusLine.show("waiting for the sign-in, \(TimeWords.duration(seconds)) left\(typed)")
        }
        statusLine.clear()
        switch notice {
        case .address(let url): tellAddress(url)
        case .opened:
            isOpened = true
            console.note("The browser is opening it.")
        case .notOpened(let reason):
            console.warn(reason)
            console.note("Open the address above yourself.")
        case .listening(let port): tellPort(port)
        case .pasteOffered(let isOnlyWay): tellPaste(isOnlyWay: isOnlyWay)
        case .device(let authorization): tellDevice(authorization)
        case .warning(let warning): console.warn(warning.commandLine)
        case .turnedAway(let request): tellTurnedAway(request)
        case .answered, .waiting: break
        }
    }

    /// Warns of the first callback that was turned away; the error at the end counts them all.
    private func tellTurnedAway(_ request: TurnedAwayRequest) {
        console.trace(request.logLine)
        guard request.isCallback, !hasWarnedOfCallback else { return }
        hasWarnedOfCallback = true
        console.warn(request.message)
    }

    /// Always on stderr, also with `--quiet`: without it nobody could go on.
    private func tellAddress(_ url: WebURL) {
        StandardError.write("Sign in at:\n\n  \(url.text)\n\n")
    }

    private func tellPort(_ port: UInt16) {
        let isRemote = environment["SSH_CONNECTION"] != nil || environment["SSH_TTY"] != nil
        guard isRemote, !isOpened else { return }
        let host = environment["HOSTNAME"].flatMap { $0.isEmpty ? nil : $0 } ?? "THIS-HOST"
        console.note(
            "This is a remote shell. To let your browser come back here, run on your own machine:\n\n"
                + "  ssh -L \(port):127.0.0.1:\(port) \(ShellWord.quoted(host))\n")
    }

    private func tellPaste(isOnlyWay: Bool) {
        guard isOnlyWay else {
            return console.note("Or paste here the address that the browser ends on, and press Enter.")
        }
        console.note(
            """
            After signing in, the browser is sent to an address it cannot show. Paste that address here and \
            press Enter.
            To find it: open the browser's developer tools (F12), tab Network, before signing in; the last \
            request, marked as failed or redirected, has it in its Location.
            """)
    }

    private func tellDevice(_ authorization: DeviceAuthorization) {
        let complete = authorization.verificationURIComplete
        StandardError.write(
            "On any device, open:\n\n  \(authorization.verificationURI.text)\n\nand enter the code:\n\n"
                + "  \(authorization.userCode)\n\n")
        guard let complete else { return }
        StandardError.write("Or open this, which holds the code:\n\n  \(complete.text)\n\n")
        if Terminal.isTerminal(.standardError), !console.isQuiet, let code = QRCode(complete.text) {
            StandardError.write(code.terminalText + "\n")
        }
    }
}
