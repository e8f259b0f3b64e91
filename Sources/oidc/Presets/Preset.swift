import CommandLineKit
import OIDCCore

/// A provider known by name: the settings to sign in there, and what to register.
struct Preset: Sendable {
    /// Values in the syntax of `--set`. `{name}` stands for the value of a parameter and `{client_id}` for
    /// the client ID.
    typealias Templates = KeyValuePairs<Setting, String>

    let name: String
    /// The provider's usual name.
    let title: String
    var parameters: [PresetParameter] = []
    let settings: Templates
    /// The type of application to register, as the provider calls it.
    let application: String
    /// The type of application to register for a grant without a user, as the provider calls it.
    var machineApplication: String?
    /// The URL or the path in the provider's console to register it at; a template, like the settings.
    let registrationPage: String
    var redirect = Redirect.anyPort
    let secret: Secret
    var flows: [SignInSettings.Flow] = [.browser, .paste]
    /// The settings that are required for a refresh token.
    var refreshNeeds: Templates = [:]
    /// The option of the registration that enables refresh tokens.
    var refreshSwitch: String?
    /// The days that a session with `offline_access` lasts without use, if refresh tokens are issued without
    /// that scope, too.
    var offlineDays: Int?
    /// Whether a refresh must name the granted scope.
    var refreshNamesScope = false
    /// The provider's codes for a refresh token that has ended, if it does not answer `invalid_grant`.
    var refreshEnds: [String] = []
    /// Other advice for the user, in one line.
    var note: String?
    /// The documents that this preset is based on.
    let source: String
    /// The month in which the documents were read.
    var date = "2026-11"

    /// The provider's rule for redirect URLs.
    enum Redirect: String, Sendable {
        /// Nothing is registered: every URL of this machine is allowed.
        case unregistered
        /// The URL is registered without a port.
        case anyPort = "any_port"
        /// The URL is registered with its port.
        case exactPort = "exact_port"
        /// No URL of this machine is allowed: the user pastes the URL that the browser was redirected to.
        case pasted
    }

    enum Secret: String, Sendable {
        case none
        case optional
        case required
    }

    static let all = identityServices + services + servers

    static func named(_ name: String) -> Preset? {
        all.first { $0.name == name }
    }

    /// Checks the setting `preset`.
    static func check(_ name: String?) throws(OIDCError) {
        guard let name, named(name) == nil else { return }
        let names = all.map(\.name)
        let nearest = Nearest.match(ASCII.lowercased(name), among: names)
        throw .usage(
            "preset: unknown provider \"\(DisplayText.distinct(name, from: names, limit: 80))\""
                + (nearest.map { ", did you mean \($0)?" } ?? ""), hint: .run("help providers"))
    }

    /// Returns the error for an unknown provider name.
    static func unknown(_ name: String, line: ([String]) -> Hint) -> OIDCError {
        let names = all.map(\.name)
        let nearest = Nearest.match(ASCII.lowercased(name), among: names)
        let url = WebURL(name) ?? (name.includes(".") || name.includes(":") ? WebURL.completing(name) : nil)
        if nearest == nil, let url {
            return .usage(
                "expected the name of a provider, found the URL \(DisplayText.address(name, limit: 80))",
                hint: line(["--issuer", DisplayText.clean(url.text)]))
        }
        let shown = "unknown provider \"\(DisplayText.distinct(name, from: names, limit: 80))\""
        if let meant = nearest ?? meant(by: ASCII.lowercased(name)) {
            return .usage("\(shown), did you mean \(meant)?", hint: .run("help", meant))
        }
        return .usage(
            "\(shown); any other works by its URL (oidc help providers lists the known ones)",
            hint: line(["--issuer", "URL"]))
    }

    /// Returns the provider whose title has the word, or that is known by it.
    static func meant(by word: String) -> String? {
        let others = [
            "azure": "entra", "azuread": "entra", "aad": "entra", "aws": "cognito", "gmail": "google",
        ]
        if let other = others[word] { return other }
        guard word.utf8.count > 2 else { return nil }
        return all.first { ASCII.lowercased($0.title).pieces(between: " ").contains(word[...]) }?.name
    }
}
