import OIDCCore
import OIDCSystem

/// Tells the sign-in of the tour, and plays the browser where there is none.
final class DemoNarrator {
    private let tour: DemoTour
    private let stage: DemoStage
    private var url: WebURL?
    private var player: BackgroundThread?
    private(set) var failure: OIDCError?

    init(tour: DemoTour, stage: DemoStage) {
        self.tour = tour
        self.stage = stage
    }

    func end() {
        player?.join()
    }

    func tell(_ notice: SignInNotice) {
        do throws(OIDCError) { try narrate(notice) } catch { failure = failure ?? error }
    }

    private func narrate(_ notice: SignInNotice) throws(OIDCError) {
        switch notice {
        case .address(let url):
            self.url = url
            try tellAddress(url)
            if tour.browser == nil { try play("There is no browser here, so the tour plays it itself") }
        case .opened:
            try tour.say("The browser is opening it: sign in as alice there, and allow the access.")
        case .notOpened(let reason):
            guard player == nil else { return }
            try play("\(DisplayText.clean(reason)); the tour plays the browser itself")
        case .listening(let port): try tour.line("(oidc listens on 127.0.0.1:\(port) for the way back)")
        case .answered:
            try tour.say("The browser is back: `state` and `iss` are those of this sign-in; `code` is taken.")
            try tour.say("POST \(stage.origin)/token redeems the code, once:")
            for (name, meaning) in DemoNarrator.exchange { try tour.line("\(name): \(meaning)") }
        case .device, .pasteOffered, .warning, .turnedAway, .waiting: break
        }
    }

    private func play(_ reason: String) throws(OIDCError) {
        guard let url else { return }
        try tour.say("\(reason): alice signs in and allows the access.")
        player = try stage.playBrowser(url, tour.transport)
    }

    private func tellAddress(_ url: WebURL) throws(OIDCError) {
        try tour.say("The authorize URL, to be opened in a browser:")
        try tour.line(url.text)
        for pair in FormEncoding.decode(url.query ?? "") ?? [] {
            let meaning = DemoNarrator.meanings[pair.name].map { " — \($0)" } ?? ""
            try tour.line("\(pair.name)=\(DisplayText.clean(pair.value, limit: 60))\(meaning)")
        }
    }

    private static let meanings = [
        "response_type": "a code, never a token in an address",
        "client_id": "who asks", "redirect_uri": "where the browser comes back to: this program",
        "scope": "what is asked for; offline_access wants a refresh token",
        "state": "random; an answer without it is somebody else's",
        "nonce": "random; comes back inside the ID token",
        "code_challenge": "the SHA-256 of a secret that stays here (PKCE)",
        "code_challenge_method": "SHA-256, always",
    ]

    private static let exchange = [
        ("grant_type", "authorization_code"), ("code", "the one that came back"),
        ("redirect_uri", "the same as before"), ("client_id", "demo"),
        ("code_verifier", "the secret behind code_challenge: the code is no use to a thief"),
    ]
}
