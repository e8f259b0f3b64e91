import OIDCCore
import OIDCSystem

/// A URL operand, and the settings that were given with it.
struct ResourceOperand: Sendable {
    let url: WebURL
    let context: CommandContext
    /// The settings as they were loaded, for whatever provider.
    let asked: Settings

    init(
        _ url: WebURL, _ options: ProviderOptions, _ context: CommandContext,
        and more: [SettingLayers.Entry] = []
    )
        throws(OIDCError)
    {
        guard options.resource.isEmpty else {
            throw .usage(
                "--resource and a URL exclude each other: the URL's metadata names the resource",
                hint: "leave --resource out")
        }
        self.init(url, try context.settings(options, and: more), context)
    }

    init(_ url: WebURL, _ asked: Settings, _ context: CommandContext) {
        self.url = url
        self.context = context
        self.asked = asked
    }

    /// Parses the operand of a command. A hint guesses what was meant: a profile, or a URL without its scheme.
    static func url(_ text: String, command: String, _ context: CommandContext) throws(OIDCError) -> WebURL {
        if let url = WebURL(text), url.fragment == nil { return url }
        let profiles = (try? context.settingsLoader.file())?.profiles ?? []
        var hint = "oidc help \(command)"
        if profiles.contains(where: { $0.name == text }) {
            hint = "oidc \(command) -p \(ShellWord.quoted(text))"
        } else if text.includes("."), let meant = WebURL("https://\(text)"), meant.fragment == nil {
            hint = "oidc \(command) \(ShellWord.quoted(meant.text))"
        }
        throw .usage("\(DisplayText.quoted(text, limit: 100)) is not a URL", hint: hint)
    }

    var ownership: ResourceOwnership { ResourceOwnership(entries: asked.layers.given) }

    /// The profile that `-p` or OIDC_PROFILE names.
    var namedProfile: String? { context.settingsLoader.profileName }

    /// Whether a command gets the URL's own token by a grant without a user: an option names that grant, or the
    /// settings do and name no provider whose token could be meant, or it is for resources only.
    var isForMachine: Bool {
        let settings = ProviderContext(asked, context)
        if let option = ownership.text(.grant, in: [.options]) {
            return !GrantType(rawValue: option).needsUser
        }
        return asked.token.grant == .idJAG || !settings.namesProvider && !grant.needsUser
    }

    /// What the resource itself is reached with: nothing of a provider's, such as its client certificate.
    var reach: ProviderContext {
        let entries = asked.layers.given.filter { NetworkSettings.shared.contains($0.setting) }
        return ProviderContext(context.settings(SettingLayers(profile: nil, entries: entries)), context)
    }

    /// Returns the operand with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ResourceOperand {
        guard !entries.isEmpty else { return self }
        let layers = SettingLayers(profile: asked.profile, entries: entries + asked.layers.given)
        return ResourceOperand(url, context.settings(layers), context)
    }

    /// The grant of the settings; a profile's only if the profile names no provider.
    var grant: GrantType {
        let isProviderless = ownership.isOwned(.profile, by: [])
        let text = ownership.text(
            .grant, in: isProviderless ? [.options, .variables, .profile] : [.options, .variables])
        return text.map { GrantType(rawValue: $0) } ?? .authorizationCode
    }
}
