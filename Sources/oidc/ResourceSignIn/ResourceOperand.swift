import OIDCCore
import OIDCSessions
import Posix

/// A URL operand, and the settings that were given with it.
struct ResourceOperand: Sendable {
    let url: WebURL
    let context: CommandContext
    /// The settings as they were loaded; they may be for another provider.
    let settings: Settings
    /// The deadline of a sign-in, including the search before it.
    var deadline: MonotonicTime?

    init(
        _ url: WebURL, _ options: ProviderOptions, _ context: CommandContext,
        and more: [SettingLayers.Entry] = []
    )
        throws(OIDCError)
    {
        guard options.resource.isEmpty else {
            throw .usage(
                "--resource and a URL cannot be used together: the URL's metadata names the resource",
                hint: "leave --resource out")
        }
        self.init(url, try context.settings(options, and: more), context)
    }

    init(_ url: WebURL, _ settings: Settings, _ context: CommandContext) {
        self.url = url
        self.context = context
        self.settings = settings
    }

    /// Parses the operand of a command. The hint of an error names the profile or the URL that was probably
    /// meant.
    static func url(_ text: String, command: String, _ context: CommandContext) throws(OIDCError) -> WebURL {
        if let url = WebURL(text), url.fragment == nil { return url }
        let profiles = (try? context.settingsLoader.file())?.profiles ?? []
        var hint = "oidc help \(command)"
        if profiles.contains(where: { $0.name == text }) {
            hint = "oidc \(command) -p \(ShellWord.quoted(text))"
        } else if let meant = meantURL(text) {
            hint = "oidc \(command) \(ShellWord.quoted(meant.text))"
        }
        throw .usage(fault(of: text), hint: hint)
    }

    /// Returns why a string is not the URL of a resource, without a password in it.
    static func fault(of text: String) -> String {
        guard let parts = text.parts(around: "://") else {
            return "\(DisplayText.quoted(DisplayText.address(text), limit: 100)) is not a URL"
        }
        let authority = parts.after.prefix { !"/?#".contains($0) }
        let shown = DisplayText.quoted(DisplayText.address(text), limit: 100)
        guard ["http", "https"].contains(ASCII.lowercased(parts.before)) else {
            return "\(shown) is not an http or https URL"
        }
        if authority.contains("@") { return "\(shown) contains a user name or a password" }
        let end = authority.lastIndex(of: ":").map { authority[authority.index(after: $0)...] } ?? ""
        if let port = Int(end), !(1...65_535).contains(port) {
            return "\(shown) has no port between 1 and 65535"
        }
        if text.contains("#") { return "\(shown) has a fragment, which no resource has" }
        if authority.utf8.contains(where: { $0 >= 0x80 }) {
            return "\(shown) has a host in other letters than ASCII: write it as DNS does, with xn--"
        }
        return "\(shown) is not a URL"
    }

    /// Guesses the intended URL: removes user information and fragment, or adds the scheme.
    static func meantURL(_ text: String) -> WebURL? {
        let text = String(text.prefix { $0 != "#" })
        guard let parts = text.parts(around: "://") else {
            let isURL = text.includes(".") || text.includes(":") || text.includes("/") || text == "localhost"
            return isURL ? WebURL.completing(text) : nil
        }
        let authority = parts.after.prefix { !"/?".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return WebURL("\(parts.before)://\(host)\(parts.after.dropFirst(authority.count))")
    }

    /// Returns the error for a secret that would go to a server that only the resource names.
    func unnamedIssuer(_ secrets: [Setting], of link: ResourceLink) -> OIDCError {
        let name = settings.layers.entries.first { secrets.contains($0.setting) }?.setting.name ?? "a secret"
        let issuer = DisplayText.clean(link.issuer, limit: 200)
        return .usage(
            "\(name) would go to \(issuer), which only \(DisplayText.clean(link.resource)) names",
            hint: .text(
                "if it is meant for that server, add --issuer \(ShellWord.quoted(issuer)) "
                    + "or set issuer beside it"))
    }

    var ownership: ResourceOwnership { ResourceOwnership(entries: settings.layers.given) }

    /// The profile that `-p` or OIDC_PROFILE names.
    var namedProfile: String? { context.settingsLoader.profileName }

    /// Whether the command gets the URL's own token without a user. It does for the grant id_jag, if an
    /// option names such a grant or the issuer for it, or if the settings name such a grant and no provider
    /// whose session could be meant.
    var isForMachine: Bool {
        let provider = ProviderContext(settings, context)
        if let option = ownership.text(.grant, in: [.options]) {
            return !GrantType(rawValue: option).needsUser
        }
        if ownership.optionIssuer != nil, !settings.token.grant.needsUser { return true }
        return settings.token.grant == .idJAG || !provider.namesProvider && !grant.needsUser
    }

    /// The network settings for requests to the resource itself, without those of a provider, such as its client
    /// certificate, unless `tls_client_certificate_for` names the resource's origin.
    var reach: ProviderContext {
        let isNamed = settings.client.certificateOrigins.contains(url.origin)
        let shared = NetworkSettings.shared + (isNamed ? Setting.certificates : [])
        let entries = settings.layers.given.filter { shared.contains($0.setting) }
        return ProviderContext(
            context.settings(profile: nil, entries), context, until: deadline)
    }

    /// Returns the operand for a sign-in, whose `timeout` starts now unless it has started already.
    func forSignIn() -> ResourceOperand {
        guard deadline == nil else { return self }
        var operand = self
        operand.deadline = .now().adding(seconds: settings.signIn.timeout)
        return operand
    }

    /// Returns the operand with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ResourceOperand {
        guard !entries.isEmpty else { return self }
        return ResourceOperand(url, settings.overridden(by: entries), context)
    }

    /// Whether the settings name a grant without a user. A profile's grant applies only to its own provider,
    /// which the search finds.
    var mayNeedNoUser: Bool {
        ownership.text(.grant, in: [.options, .variables, .profile])
            .map { !GrantType(rawValue: $0).needsUser } ?? false
    }

    /// The grant of the settings. A profile's grant applies only if the profile names no provider.
    var grant: GrantType {
        let isProviderless = ownership.isOwned(.profile, by: [])
        let text = ownership.text(
            .grant, in: isProviderless ? [.options, .variables, .profile] : [.options, .variables])
        return text.map { GrantType(rawValue: $0) } ?? .authorizationCode
    }
}
