import CommandLineKit
import OIDCCore

/// What is known of a provider by name: the settings that sign in there, and what to register.
struct Preset: Sendable {
    /// Values as `--set` takes them, with `{name}` for the value of a parameter and `{client_id}` for the client's.
    typealias Templates = KeyValuePairs<Setting, String>

    let name: String
    /// The provider as people call it.
    let title: String
    var parameters: [PresetParameter] = []
    let settings: Templates
    /// The type of application to register, as the provider calls it.
    let application: String
    /// Where it is registered: a URL or a path in the provider's console. A template, as the settings are.
    let registrationPlace: String
    var redirect = Redirect.anyPort
    let secret: Secret
    var flows: [SignInSettings.Flow] = [.browser, .paste]
    /// Settings without which no refresh token is issued.
    var refreshNeeds: Templates = [:]
    /// What is switched on at the registration for refresh tokens.
    var refreshSwitch: String?
    /// What else a user should know, in one line.
    var note: String?
    /// The documents that the row was taken from.
    let source: String
    /// The month in which they were read.
    var date = "2026-11"

    /// How the provider compares the redirect URL.
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

    /// The error for a name that no preset has.
    static func unknown(_ name: String, line: (String) -> String) -> OIDCError {
        let names = all.map(\.name)
        let nearest = Nearest.match(ASCII.lowercased(name), among: names)
        let url = WebURL(name) ?? (name.includes(".") || name.includes(":") ? WebURL.completing(name) : nil)
        if nearest == nil, let url {
            return .usage(
                "expected the name of a provider, found the URL \(DisplayText.address(name, limit: 80))",
                hint: line("--issuer \(ShellWord.quoted(DisplayText.clean(url.text)))"))
        }
        return .usage(
            "unknown provider \"\(DisplayText.distinct(name, from: names, limit: 80))\""
                + (nearest.map { ", did you mean \($0)?" } ?? ""),
            hint: "oidc help providers")
    }
}
