import OIDCCore
import OIDCSessions

/// The session that a command is about: that of a provider, or that of a resource.
enum SessionTarget {
    case provider(ProviderContext)
    case resource(ResourceOperand)

    /// Returns the access to the session, which may not exist.
    func access() throws(OIDCError) -> SessionAccess {
        switch self {
        case .provider(let provider): try SessionAccess(provider)
        case .resource(let operand): try operand.access(mayLogIn: false)
        }
    }
}

extension CommandContext {
    /// Returns the session that a command with an optional URL operand is about.
    func target(
        _ url: String?, command: String, _ options: ProviderOptions, and more: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> SessionTarget {
        guard let url else { return try target(options, and: more) }
        return .resource(
            try ResourceOperand(
                try ResourceOperand.url(url, command: command, self), options, self, and: more))
    }

    /// Returns the session that a command without an operand is about:
    ///
    /// | settings | session |
    /// | --- | --- |
    /// | a profile that a sign-in to a resource wrote | that of the resource |
    /// | name a provider | that of the provider |
    /// | no profile in use, one profile is signed in | that of the profile |
    /// | no profile in use, several are signed in | an error that names them |
    /// | no profile in use, one session is stored | that session |
    /// | anything else | that of the settings, which fails with what is missing |
    func target(
        _ options: ProviderOptions, and more: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> SessionTarget {
        let provider = try provider(options, and: more)
        if let url = ownResource(provider.settings) {
            return .resource(ResourceOperand(url, provider.settings, self))
        }
        guard !provider.namesProvider else { return .provider(provider) }
        guard provider.settings.profile == nil else { return .provider(provider) }
        if let name = try signedInProfile() {
            return try using(profile: name).target(options, and: more)
        }
        return onlySession(provider) ?? .provider(provider)
    }

    /// Returns the resource of a profile that a sign-in to it wrote; nil for any other. One with the user's own
    /// client names the provider too, as that of a provider with `resource` does, but a link leads to it.
    func ownResource(_ settings: Settings) -> WebURL? {
        if let url = settings.ownResource { return url }
        let layers = settings.layers
        let named: [Setting] = [.resource, .issuer, .clientID]
        guard let profile = settings.profile, settings.token.resources.count == 1,
            named.allSatisfy({ layers.entry($0)?.origin.layer == .profile }),
            let url = settings.token.resources.first.flatMap({ WebURL($0) }),
            let links = try? ResourceRecords(self)?.links.links(of: url)
        else { return nil }
        let isLinked = links.contains { link in
            link.profile == profile && link.resource == settings.token.resources.first
                && link.issuer == settings.provider.issuer && link.clientID == settings.client.id
        }
        return isLinked ? url : nil
    }

    /// Returns whether a link makes a profile that of its resource.
    func isOfProfile(_ link: ResourceLink) -> Bool {
        guard let name = link.profile, let file = try? settingsLoader.file(),
            let settings = try? file.settings(of: name, home: nil)
        else { return false }
        return settings.token.resources == [link.resource]
    }

    /// Returns the only profile that is signed in; nil if none is. Throws if several are.
    private func signedInProfile() throws(OIDCError) -> String? {
        let sessions = ProfileSessions(try settingsLoader.file(), self)
        let names = sessions.profiles.filter { profile in
            if case .success(.some) = sessions.report(profile) { return true }
            return false
        }.map(\.name)
        guard names.count > 1 else { return names.first }
        let command = console.command.map { "oidc \($0)" } ?? "oidc token"
        let lines = names.prefix(5).map { "\(command) -p \(ShellWord.quoted($0))" }
        throw .usage(
            "several profiles are signed in, and none is the default one: "
                + DisplayText.clean(names.joined(separator: ", "), limit: 200),
            hint: .text(lines.joined(separator: ", or: ")))
    }

    /// Returns the only session of a user, if no profile describes it.
    private func onlySession(_ provider: ProviderContext) -> SessionTarget? {
        guard let sessions = try? KnownProviders(provider).sessions(), sessions.count == 1,
            let session = sessions.first?.session.session, session.key.grant.needsUser
        else { return nil }
        let key = session.key
        if let resource = key.resources.first {
            return WebURL(resource).map { .resource(ResourceOperand($0, provider.settings, self)) }
        }
        let origin = SettingLayers.Origin.option("the session")
        let isEndpoint = session.endpoints.token.text == key.provider
        let values: [(Setting, String?)] = [
            (isEndpoint ? .tokenEndpoint : .issuer, key.provider), (.clientID, key.clientID),
            (.account, key.account), (.audience, key.audience),
        ]
        return .provider(
            provider.adding(
                values.compactMap { setting, value in
                    value.map {
                        SettingLayers.Entry(setting: setting, value: .string($0), origin: origin)
                    }
                }))
    }
}

extension Settings {
    /// The resource of a profile that names no provider, as a sign-in to a URL writes it.
    var ownResource: WebURL? {
        guard provider.issuer == nil, provider.endpoint(.token) == nil,
            layers.entry(.resource)?.origin.layer == .profile, token.resources.count == 1
        else { return nil }
        return token.resources.first.flatMap { WebURL($0) }
    }
}
