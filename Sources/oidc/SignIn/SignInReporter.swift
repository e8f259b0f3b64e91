import OIDCCore
import OIDCSystem

/// The messages about a sign-in's steps on stderr, with a live line while waiting.
final class SignInReporter {
    private let console: Console
    private let environment: Variables
    private let ownsTerminal: Bool
    /// The provider's console page for clients, if it is known.
    private let registrationPage: String?
    /// Whether the client registered itself at an earlier sign-in, so the provider may have forgotten it.
    private let isClientRegistered: Bool
    private var statusLine: TerminalStatusLine
    private var isOpened = false
    private var reportedKinds: [String] = []
    /// The events that can finish the sign-in, as the live line names them.
    private var awaited: [String] = []
    /// The instructions so far, which a QR code must not push off the screen.
    private var instructions = ""

    init(context: CommandContext, registrationPage: String? = nil, isClientRegistered: Bool = false) {
        self.isClientRegistered = isClientRegistered
        console = context.console
        self.registrationPage = registrationPage
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
        switch notice {
        case .url(let url): reportURL(url)
        case .opened:
            isOpened = true
            console.note("Opening your browser…")
        case .notOpened(let reason):
            console.warn(reason)
            console.note("Open the URL above yourself.")
        case .portsInUse(let ports):
            let list = ports.map(String.init).joined(separator: ", ")
            console.note("Ports \(list) are in use by other sign-ins: waiting for one of them …")
        case .listening(let port): reportPort(port)
        case .pasteOffered(let isOnlyWay): reportPaste(isOnlyWay: isOnlyWay)
        case .device(let authorization): reportDevice(authorization)
        case .noDeviceCode(let error):
            awaited.removeAll { $0 == SignInReporter.deviceCode }
            console.note(SignInReporter.withoutDeviceCode(error))
        case .unanswered(let url, let clientID): reportSilence(url, clientID)
        case .warning(let warning): console.warn(warning.commandLine)
        case .strayRequest(let request): reportStrayRequest(request)
        case .answered, .waiting: break
        }
    }

    /// Returns the message that no device code can be used, and what to use instead. The device page's URL
    /// may still be right above it.
    static func withoutDeviceCode(_ error: OIDCError) -> String {
        let reason =
            error.oauthError == "expired_token"
            ? "The device code has expired" : "No device code: \(error.message)"
        return "\(reason). Use the URL under \"Sign in at\"."
    }

    private static let deviceCode = "the device code"
    private static let pastedURL = "a pasted URL"

    /// Returns the live line, as in `4:59 left, waiting for your browser or a pasted URL`. The time comes
    /// first, because a narrow terminal shows little more.
    private func waitingLine(_ seconds: Int64, _ pastedCount: Int?) -> String {
        let time = "\(TimeWords.countdown(seconds)) left"
        if let pastedCount, pastedCount > 0 {
            return "\(time), press Enter: \(pastedCount) character\(pastedCount == 1 ? "" : "s") pasted"
        }
        let awaited = awaited.filter { pastedCount != nil || $0 != SignInReporter.pastedURL }
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
        console.warn(request.message)
    }

    /// Prints the URL on stderr, even with `--quiet`: users cannot continue without it.
    private func reportURL(_ url: WebURL) {
        let text = "Sign in at:\n\n  \(url.text)\n\n"
        instructions += text
        StandardError.write(Console.style.linked(text))
    }

    private func instruct(_ text: String) {
        instructions += text + "\n"
        console.note(text)
    }

    private func reportPort(_ port: UInt16) {
        awaited.append("your browser")
        let isRemote = environment["SSH_CONNECTION"] != nil || environment["SSH_TTY"] != nil
        guard isRemote, !isOpened else { return }
        let host = environment["HOSTNAME"].flatMap { $0.isEmpty ? nil : $0 } ?? "THIS-HOST"
        instruct(
            "This is a remote shell. To let your browser reach it, run this on your own machine:\n\n"
                + "  ssh -L \(port):127.0.0.1:\(port) \(ShellWord.quoted(host))\n")
    }

    private func reportPaste(isOnlyWay: Bool) {
        awaited.append(SignInReporter.pastedURL)
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
            usesUnicode: Terminal.usesUnicode(environment: environment), instructions: instructions)
        awaited.append(SignInReporter.deviceCode)
        StandardError.write(Console.style.linked(text.text))
    }

    /// Reports that no response has arrived. A provider that does not know the redirect URL or the client
    /// shows an error page and never redirects.
    private func reportSilence(_ redirectURL: String, _ clientID: String) {
        guard !isClientRegistered else {
            return console.note(
                "No answer yet. If your browser shows an error, the server may have forgotten the client "
                    + "\(DisplayText.clean(clientID)): press Ctrl-C, and sign in again to register another one."
            )
        }
        let hint = Hint.checkRegistration(redirectURL: redirectURL, clientID: clientID)
        console.note(
            "No answer yet. If your browser shows an error, \(hint.commandLine(registrationPage: registrationPage))."
        )
    }
}
