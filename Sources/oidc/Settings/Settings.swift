import OIDCCore

/// The effective settings: options over variables over the profile, and where each came from.
struct Settings: Sendable {
    enum Origin: Hashable, Sendable {
        case option(String)
        case variable(String)
        case profile(String)

        var text: String {
            switch self {
            case .option(let name): name
            case .variable(let name): name
            case .profile(let name): "profile \(name)"
            }
        }
    }

    struct Entry: Sendable {
        let setting: Setting
        let value: JSONValue
        let origin: Origin
    }

    /// The profile's name, where one is used.
    let profile: String?
    /// One entry a setting, the strongest.
    private(set) var entries: [Entry]

    /// `entries` from the strongest to the weakest. What belongs to a provider or client is left out of a
    /// profile when an option or variable names another one: a secret goes to whom it was configured for.
    init(profile: String?, entries: [Entry]) {
        self.profile = profile
        self.entries = []
        var strongest: [Entry] = []
        var isOtherProvider = false
        var isOtherClient = false
        for entry in entries {
            guard let winner = strongest.first(where: { $0.setting == entry.setting }) else {
                strongest.append(entry)
                continue
            }
            guard case .profile = entry.origin, winner.value != entry.value else { continue }
            isOtherProvider = isOtherProvider || entry.setting == .issuer
            isOtherClient = isOtherClient || entry.setting == .issuer || entry.setting == .clientID
        }
        self.entries = strongest.filter { entry in
            guard case .profile = entry.origin else { return true }
            switch entry.setting.owner {
            case .anyone: return true
            case .provider: return !isOtherProvider
            case .client: return !isOtherClient
            }
        }
    }

    subscript(setting: Setting) -> JSONValue? {
        entries.first { $0.setting == setting }?.value
    }

    func text(_ setting: Setting) -> String? { self[setting]?.string }
    func integer(_ setting: Setting) -> Int64? { self[setting]?.integer }
    func flag(_ setting: Setting) -> Bool { self[setting]?.bool ?? false }
    func url(_ setting: Setting) -> WebURL? { text(setting).flatMap(WebURL.init) }
    func texts(_ setting: Setting) -> [String] { self[setting]?.array?.compactMap(\.string) ?? [] }
    func scope(_ setting: Setting) -> Scope? { text(setting).map { Scope($0) } }

    func parameters(_ setting: Setting) -> [FormEncoding.Pair] {
        self[setting]?.object?.members.map { FormEncoding.Pair($0.name, $0.value.string ?? "") } ?? []
    }

    /// The text of a setting that cannot be done without.
    func required(_ setting: Setting, option: String) throws(OIDCError) -> String {
        if let text = text(setting) { return text }
        throw OIDCError.usage(
            "\(setting.name) is not set",
            hint: "give \(option), set \(setting.variable), or choose a profile with -p (oidc config show)")
    }
}
