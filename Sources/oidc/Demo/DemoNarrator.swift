import OIDCCore
import OIDCSignIn
import Posix

/// The explanations of the tour's sign-in, and the simulated browser if there is none.
final class DemoNarrator {
    private let tour: DemoTour
    private let stage: DemoStage
    /// Whether to explain only what differs from the first sign-in.
    private let isBrief: Bool
    private var isOpened = false
    private var isExplained = false
    /// The reason why no browser was opened.
    private var problem: String?
    private var player: BackgroundThread?
    private(set) var failure: OIDCError?

    init(tour: DemoTour, stage: DemoStage, isBrief: Bool = false) {
        self.tour = tour
        self.stage = stage
        self.isBrief = isBrief
    }

    func end() {
        player?.join()
    }

    func narrate(_ notice: SignInNotice) {
        do throws(OIDCError) { try explain(notice) } catch { failure = failure ?? error }
    }

    private func explain(_ notice: SignInNotice) throws(OIDCError) {
        switch notice {
        case .opened: isOpened = true
        case .notOpened(let reason):
            guard player == nil else { return }
            // The URL follows.
            isOpened = false
            problem = DisplayText.clean(reason)
        case .url(let url):
            try explainURL(url)
            if !isOpened { try play(url) }
        case .answered where !isBrief:
            try tour.step(3, "The browser was redirected back: state and iss match this sign-in.")
            try tour.line("POST /token redeems the code, once, with the secret behind code_challenge:")
            try tour.line("a stolen code is useless without it.")
        case .answered, .device, .listening, .noDeviceCode, .pasteOffered, .portsInUse, .unanswered,
            .unreachable, .urlExpires, .urlRequested, .warning, .strayRequest, .waiting:
            break
        }
    }

    private func play(_ url: WebURL) throws(OIDCError) {
        guard player == nil else { return }
        player = try stage.playBrowser(url, tour.transport)
    }

    private func explainURL(_ url: WebURL) throws(OIDCError) {
        if let problem { try tour.line("\(problem): the tour simulates the browser.") }
        guard !isExplained else { return }
        isExplained = true
        if isBrief {
            try tour.line(isOpened ? "Your browser opens again." : "The browser of alice is simulated again.")
        } else {
            try tour.step(
                2,
                isOpened
                    ? "Your browser opens: sign in as alice there, and allow access."
                    : "No browser is opened: the tour simulates that of alice, who allows access.")
            let columns = (Terminal.width(.standardOutput) ?? 80) - 3
            try tour.line(isOpened ? url.text : SignInReporter.short(url, columns: columns))
        }
        let names = Set((FormEncoding.decode(url.query ?? "") ?? []).map(\.name))
        for (name, meaning) in isBrief ? DemoNarrator.ofResource : DemoNarrator.meanings {
            guard names.contains(name) else { continue }
            try tour.line(name, meaning)
        }
    }

    private static let meanings = [
        ("response_type", "a code, never a token in a URL"),
        ("redirect_uri", "where the browser is redirected to: this program"),
        ("scope", "what is requested; offline_access requests a refresh token"),
        ("state", "random; a response without it is refused"),
        ("nonce", "random; returned in the ID token"),
        ("code_challenge", "the SHA-256 of a secret that stays here (PKCE)"),
    ]
    private static let ofResource = [("resource", "what the token will be for, and for nothing else")]
}
