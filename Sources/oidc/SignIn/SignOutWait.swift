import OIDCCore
import OIDCSystem

/// The wait for the browser during a sign-out: what is waited for, how long, and whether the browser failed.
struct SignOutWait {
    private var browser: Browser?
    private let console: Console
    private var statusLine: TerminalStatusLine
    private let returnAddress: String?
    private let clientID: String
    private let deadline: MonotonicTime
    /// The browser was sent to the provider's sign-out page.
    var isSentOn = false {
        didSet {
            statusLine.clear()
            console.note("Waiting for the browser to come back from the provider's sign-out page…")
        }
    }

    /// Requests for the return URL whose state was not ours.
    var strangerCount = 0

    init(
        browser: Browser?, console: Console, environment: [String: String], returnAddress: String?,
        clientID: String, deadline: MonotonicTime
    ) {
        self.browser = browser
        self.console = console
        self.returnAddress = returnAddress
        self.clientID = clientID
        self.deadline = deadline
        statusLine = TerminalStatusLine(environment: environment)
    }

    /// Reports a browser that failed, shows the time that is left, and returns when to look again.
    mutating func pause() throws(OIDCError) -> MonotonicTime {
        if !isSentOn, let failure = browser?.check() {
            statusLine.clear()
            console.warn(failure.message)
            console.note("Open the URL above yourself.")
        }
        let now = MonotonicTime.now()
        guard now < deadline else { throw timeout }
        if !console.isQuiet {
            let left = TimeWords.duration((deadline.milliseconds(from: now) + 999) / 1_000)
            statusLine.show(
                "waiting for the browser to \(isSentOn ? "come back" : "open the URL"), \(left) left")
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
        let strangers = strangerCount == 0 ? "" : "; what came back had another state or none"
        return OIDCError(
            .timedOut, "timed out: the browser did not come back from the sign-out\(strangers)",
            hint:
                "check that \(DisplayText.clean(returnAddress)) is registered as post-logout redirect URL for "
                + "the client \(DisplayText.clean(clientID)) at the provider", stage: .endSession)
    }
}
