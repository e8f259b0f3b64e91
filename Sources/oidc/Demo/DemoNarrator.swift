import OIDCCore
import OIDCSystem

/// The explanations of the tour's sign-in, and the simulated browser if there is none.
final class DemoNarrator {
    private let tour: DemoTour
    private let stage: DemoStage
    /// Whether to explain only what differs from the first sign-in.
    private let isBrief: Bool
    private var url: WebURL?
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
        case .url(let url):
            self.url = url
            try explainURL(url)
            if let problem {
                try play("\(problem); the tour simulates the browser")
            } else if tour.browser == nil {
                try play("No browser is opened, so the tour simulates one")
            }
        case .opened:
            try tour.say("Opening your browser: sign in as alice there, and allow access.")
        case .notOpened(let reason):
            guard player == nil else { return }
            // The URL follows.
            problem = DisplayText.clean(reason)
        case .listening(let port) where !isBrief:
            try tour.line("(oidc listens on 127.0.0.1:\(port) for the redirect)")
        case .answered where !isBrief:
            try tour.say(
                "The browser was redirected back: `state` and `iss` match this sign-in; `code` is accepted.")
            try tour.say("POST \(stage.origin)/token redeems the code, once:")
            for (name, meaning) in DemoNarrator.exchange { try tour.line("\(name): \(meaning)") }
        case .listening, .answered: break
        case .device, .noDeviceCode, .pasteOffered, .portsInUse, .unanswered, .unreachable, .urlExpires,
            .urlRequested,
            .warning, .strayRequest, .waiting:
            break
        }
    }

    private func play(_ reason: String) throws(OIDCError) {
        guard let url, player == nil else { return }
        try tour.say("\(reason): alice signs in and allows access.")
        player = try stage.playBrowser(url, tour.transport)
    }

    private func explainURL(_ url: WebURL) throws(OIDCError) {
        try tour.say("The authorization URL, to open in a browser\(isBrief ? ", with new values of" : ""):")
        if !isBrief { try tour.line(url.text) }
        for pair in FormEncoding.decode(url.query ?? "") ?? [] {
            guard !isBrief || DemoNarrator.ofResource.contains(pair.name) else { continue }
            let meaning = DemoNarrator.meanings[pair.name].map { " — \($0)" } ?? ""
            try tour.line("\(pair.name)=\(DisplayText.clean(pair.value, limit: 60))\(meaning)")
        }
    }

    private static let meanings = [
        "response_type": "a code, never a token in a URL",
        "client_id": "this client", "redirect_uri": "where the browser is redirected to: this program",
        "scope": "what is requested; offline_access requests a refresh token",
        "state": "random; a response without it is refused",
        "nonce": "random; returned in the ID token",
        "code_challenge": "the SHA-256 of a secret that stays here (PKCE)",
        "code_challenge_method": "SHA-256, always",
        "resource": "what the token will be for, and for nothing else",
    ]
    private static let ofResource: Set = ["client_id", "scope", "resource"]

    private static let exchange = [
        ("grant_type", "authorization_code"), ("code", "the one just received"),
        ("redirect_uri", "the same as before"), ("client_id", "demo"),
        ("code_verifier", "the secret behind code_challenge: a stolen code is useless without it"),
    ]
}
