import OIDCCore
import OIDCSessions

/// The subject of a command: the provider of the settings, or the resource of a URL.
enum Target {
    case settings(ProviderContext)
    case url(ResourceOperand)

    var context: CommandContext {
        switch self {
        case .settings(let provider): provider.context
        case .url(let operand): operand.context
        }
    }

    /// Returns the same target for another command.
    func renewed(_ context: CommandContext) -> Target {
        switch self {
        case .settings(let provider): .settings(ProviderContext(provider.settings, context))
        case .url(let operand): .url(ResourceOperand(operand.url, operand.settings, context))
        }
    }

    /// The network settings of requests to the provider or resource.
    var reach: ProviderContext {
        switch self {
        case .settings(let provider): provider
        case .url(let operand): operand.reach
        }
    }

    /// The provider of the account, whose certificate bound tokens need; for a URL without a link, its network
    /// settings.
    var provider: ProviderContext {
        switch self {
        case .settings(let provider): provider
        case .url(let operand): (try? operand.linked()) ?? operand.reach
        }
    }

    /// Returns the account; its session may not exist. Searches for the server of a URL only if `mayLogIn` is true or
    /// the grant needs no user.
    func account(mayLogIn: Bool = false) throws(OIDCError) -> Account {
        switch self {
        case .settings(let provider): try Account(provider, mayKeepNothing: mayLogIn)
        case .url(let operand): try operand.account(mayLogIn: mayLogIn)
        }
    }

    /// Returns the account of a session that exists, or of a grant without a user; nil if there is none.
    func stored() throws(OIDCError) -> Account? {
        switch self {
        case .settings(let provider): try Account(provider).ifStored
        case .url(let operand): try operand.stored()
        }
    }

    /// Runs `body` with the account, and again after a sign-in if one is needed and `mayLogIn` allows it.
    func with<Value>(
        mayLogIn: Bool, _ body: (Account) throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        switch self {
        case .settings: try account(mayLogIn: mayLogIn).signingIn(mayLogIn, body)
        case .url(let operand): try operand.signingIn(mayLogIn, body)
        }
    }

    /// Starts a new sign-in with `run`. `url` is the one that the user asked to sign in to.
    func signedIn<Value>(
        _ evidence: ResourceOperand.Evidence = ResourceOperand.Evidence(), asked url: WebURL? = nil,
        _ run: (SignIn) throws(OIDCError) -> Value
    ) throws(OIDCError) -> (Value, Account) {
        switch self {
        case .settings(let provider):
            let account = try Account(provider.forSignIn(until: provider.deadline))
            var signIn = SignIn(account)
            signIn.askedURL = url
            return (try run(signIn), account)
        case .url(let operand): return try operand.signedIn(evidence, run)
        }
    }
}

extension CommandContext {
    /// Returns the session that a command with an optional URL operand is about. `mayBeProvider` is whether the URL may be
    /// that of a provider: a command that sends the token to the URL is only about a resource.
    func target(
        _ url: String?, command: String, _ options: ProviderOptions, and more: [SettingLayers.Entry] = [],
        mayBeProvider: Bool = false
    ) throws(OIDCError) -> Target {
        guard let url else { return try target(options, and: more) }
        let operand = try ResourceOperand(
            try ResourceOperand.url(url, command: command, self), options, self, and: more)
        let provider = ProviderContext(operand.settings, self)
        guard provider.lent != nil else {
            // A logout looks in every store.
            let operand = command == "logout" ? operand : try operand.inProfile()
            guard mayBeProvider, let target = try target(ofProviderAt: operand) else { return .url(operand) }
            return target
        }
        try provider.checkLent(operand.url, isResource: true)
        return .settings(provider)
    }

    /// Returns the session of the provider that a URL names; nil if it is a resource's URL, or nobody is signed in there.
    private func target(ofProviderAt operand: ResourceOperand) throws(OIDCError) -> Target? {
        guard try !operand.hasSession(), ResourceRecords(self)?.links.damagedFile(of: operand.url) == nil
        else {
            return nil
        }
        let known = try operand.knownProvider()
        if let known, try Account(known).ifStored != nil, known.settings.token.grant.needsUser {
            return .settings(known)
        }
        let provider = ProviderContext(operand.settings, self)
        func isMeant(_ key: SessionKey?) -> Bool {
            key?.grant.needsUser == true && operand.isProvider(of: key)
        }
        var outage: OIDCError?
        let catalog = try SessionCatalog(provider)
        let items = try catalog.items { error, _ in
            if error.kind == .unreachable { outage = outage ?? error }
        }
        let sessions = items.filter { isMeant($0.key) }
        guard sessions.count < 2 else {
            throw .usage(
                "there are several sessions at \(DisplayText.clean(operand.url.withoutQuery))",
                hint: "name one of them with -p NAME, --client-id ID or --account NAME")
        }
        for item in items where outage == nil {
            outage = item.fault(at: operand.url).map { catalog.naming($0, of: item) }
        }
        // The session that is meant may be that, or in the store that is away. The URL may also be that of a resource, which
        // has nothing to do with another profile's store.
        if let outage, !operand.mayNeedNoUser, known != nil || !sessions.isEmpty || catalog.hasOneStore {
            throw outage
        }
        return try onlySession(provider, sessions)
    }

    /// Returns the session that a command without an operand is about:
    ///
    /// | settings | session |
    /// | --- | --- |
    /// | a profile that a sign-in to a resource wrote | that of the resource |
    /// | name a provider | that of the provider |
    /// | no profile in use, one profile is signed in | that of the profile |
    /// | no profile in use, several are signed in | an error that names them |
    /// | no profile in use, the session of one cannot be read | the error of its store |
    /// | no profile in use, one session is stored | that session |
    /// | anything else | that of the settings, which fails with what is missing |
    func target(
        _ options: ProviderOptions, and more: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> Target {
        try target(of: try provider(options, and: more), options, and: more)
    }

    /// Returns the same for settings that were loaded. A command that works without a session says which profiles
    /// `mayBeMeant`: only their sessions have to be readable.
    func target(
        of provider: ProviderContext, _ options: ProviderOptions, and more: [SettingLayers.Entry] = [],
        mayBeMeant: ((ProfileSessions.Profile) -> Bool)? = nil
    ) throws(OIDCError) -> Target {
        guard provider.lent == nil else { return .settings(provider) }
        if let url = ownResource(provider.settings) {
            return .url(ResourceOperand(url, provider.settings, self))
        }
        guard !provider.namesProvider else { return .settings(provider) }
        guard provider.settings.profile == nil else { return .settings(provider) }
        let sessions = ProfileSessions(try settingsLoader.file(), self)
        if let name = try sessions.only(mayBeMeant: mayBeMeant, where: sessions.isSignedIn) {
            return try using(profile: name).target(options, and: more)
        }
        do throws(OIDCError) {
            let items = try SessionCatalog(provider).items()
            if let session = try onlySession(provider, items) { return session }
        } catch {
            // Otherwise, the error would be that no provider is set.
            let isNeeded = mayBeMeant == nil && provider.settings.token.grant.needsUser
            if error.kind == .interrupted || isNeeded && error.kind == .unreachable { throw error }
        }
        if !["login", "logout"].contains(console.command), let waiting = WaitingSignIns.only(self) {
            throw OIDCError(
                .loginRequired, "nobody is signed in yet", hint: waiting.line(at: now), stage: .token)
        }
        return .settings(provider)
    }

    /// Returns the session of the profile that a program's line names, whose token is for what that program uses. Throws if
    /// a variable names another provider.
    func target(ofProgram options: ProviderOptions) throws(OIDCError) -> Target {
        let settings = try settings(options)
        let own = settings.layers.given.filter { $0.origin.layer == .profile }
        if settings.layers.isProfileNamed, let profile = settings.profile,
            let name = settings.variable(overriding: own)
        {
            throw .usage(
                "\(name) names another provider than profile \(DisplayText.clean(profile))",
                hint: .text("unset \(name)"))
        }
        return try target(options)
    }

    /// Returns the provider of the session that a command without an operand is about: for that of a resource, the resource's
    /// server. Throws if there was no sign-in to that resource.
    func sessionProvider(_ options: ProviderOptions) throws(OIDCError) -> ProviderContext {
        switch try target(options) {
        case .settings(let provider): return provider
        case .url(let operand):
            guard let linked = try operand.linked() else { throw operand.notSignedIn }
            return linked
        }
    }

    /// Returns the server of the resource whose profile is in use; nil for any other profile.
    func resourceServer(of provider: ProviderContext) throws(OIDCError) -> ProviderContext? {
        guard provider.lent == nil, let url = ownResource(provider.settings) else { return nil }
        let operand = ResourceOperand(url, provider.settings, self)
        guard let linked = try operand.linked() else { throw operand.notSignedIn }
        return linked
    }

    /// Returns the resource of a profile that was written by a sign-in to it; nil for any other profile. With
    /// the user's own client, such a profile names the provider too; only the resource's link distinguishes
    /// it from a provider's profile with `resource`.
    func ownResource(_ settings: Settings) -> WebURL? {
        if let url = settings.ownResource { return url }
        let layers = settings.layers
        let named: [Setting] = [.resource, .issuer, .clientID]
        guard settings.profile != nil, settings.token.resources.count == 1,
            named.allSatisfy({ layers.entry($0)?.origin.layer == .profile }),
            let url = settings.token.resources.first.flatMap({ WebURL($0) }),
            let links = try? ResourceRecords(self)?.links.links(of: url)
        else { return nil }
        return links.contains { settings.describesOwnClient(of: $0) } ? url : nil
    }

    /// Returns whether a profile is that of a resource, as a sign-in to it writes it.
    fileprivate func isOfResource(_ profile: String?) -> Bool {
        guard let profile, let settings = try? settingsLoader.file()?.settings(of: profile, home: nil) else {
            return false
        }
        return ownResource(settings) != nil
    }

    /// Returns whether a link makes a profile that of its resource.
    func isOfProfile(_ link: ResourceLink) -> Bool {
        guard let file = try? settingsLoader.file() else { return false }
        return file.profiles.contains { profile in
            guard let settings = try? file.settings(of: profile.name, home: nil) else { return false }
            return settings.describesOwnClient(of: link)
                || profile.name == link.profile && settings.token.resources == [link.resource]
        }
    }

    /// Returns whether a sign-in to the same resource as another client leaves a link: a profile names its server and client,
    /// or another profile than the one in use led to it.
    func keepsLink(_ link: ResourceLink, besides profile: String?) -> Bool {
        guard let file = try? settingsLoader.file() else { return false }
        return file.profiles.contains { other in
            guard let settings = try? file.settings(of: other.name, home: nil) else { return false }
            let isItsOwn = other.name == link.profile && settings.token.resources == [link.resource]
            return settings.describesOwnClient(of: link) || isItsOwn && other.name != profile
        }
    }

    /// Returns the only one of the sessions, if it is a user's.
    private func onlySession(
        _ provider: ProviderContext, _ sessions: [SessionCatalog.Item]
    ) throws(OIDCError) -> Target? {
        guard sessions.count == 1, let session = sessions.first?.stored.session, session.key.grant.needsUser
        else { return nil }
        let key = session.key
        if let resource = key.resources.first {
            return try WebURL(resource).map { url throws(OIDCError) in
                let operand = ResourceOperand(url, provider.settings, self)
                return .url(console.command == "logout" ? operand : try operand.inProfile())
            }
        }
        // A profile in use may name another account, or scopes of another provider.
        let ofSession: [Setting] = [.account, .audience, .resource, .scope]
        let others = provider.settings.layers.given.filter {
            $0.origin.layer != .profile || !ofSession.contains($0.setting)
        }
        let provider = ProviderContext(settings(profile: provider.settings.profile, others), self)
        let origin = SettingLayers.Origin.session
        let isEndpoint = session.endpoints.token.text == key.provider
        let values: [(Setting, String?)] = [
            (isEndpoint ? .tokenEndpoint : .issuer, key.provider), (.clientID, key.clientID),
            (.account, key.account), (.audience, key.audience), (.grant, key.grant.rawValue),
        ]
        let registered = try? ResourceRecords(self)?.registrations.client(
            key.clientID, issuer: key.provider)
        return .settings(
            provider.adding(
                values.compactMap { setting, value in
                    value.map {
                        SettingLayers.Entry(setting: setting, value: .string($0), origin: origin)
                    }
                } + (registered?.entries(origin: .resource(key.provider)) ?? [])))
    }
}

extension Settings {
    /// Returns whether these settings name the resource of a link with its server and client. The profile
    /// that the link names may be another one: the one in use at the last sign-in.
    fileprivate func describesOwnClient(of link: ResourceLink) -> Bool {
        token.grant == link.grant && token.resources == [link.resource] && client.id == link.clientID
            && provider.issuer.map { ExactText.isSame($0, link.issuer) } == true
    }

    /// Returns the variable that names another provider than a profile's entries; nil if none does.
    fileprivate func variable(overriding own: [SettingLayers.Entry]) -> String? {
        for setting in [Setting.issuer, .tokenEndpoint] {
            guard let own = own.first(where: { $0.setting == setting })?.value.string,
                let entry = layers.entry(setting), case .variable(let name) = entry.origin,
                !ExactText.isSame(entry.value.string ?? "", own)
            else { continue }
            return name
        }
        // The profile may name its server by the token endpoint only.
        let isWithheld = layers.withheld.contains {
            $0.setting == .tokenEndpoint && $0.origin.layer == .profile
        }
        guard isWithheld, case .variable(let name)? = layers.entry(.issuer)?.origin else { return nil }
        return name
    }

    /// The resource of a profile that names no provider, as a sign-in to a URL writes it.
    var ownResource: WebURL? {
        guard provider.issuer == nil, provider.endpoint(.token) == nil,
            layers.entry(.resource)?.origin.layer == .profile, token.resources.count == 1
        else { return nil }
        return token.resources.first.flatMap { WebURL($0) }
    }
}

/// The target of `oidc login URL`.
extension ResourceOperand {
    /// Finds out what the URL is. In this order: a provider that the settings or a profile name, an earlier
    /// sign-in, a protected resource (RFC 9728), a profile's resource, a provider by its own metadata, and a resource
    /// without metadata at its origin's server.
    ///
    /// A provider has the settings of its profile, or else the issuer as its metadata spells it and a client. A client
    /// that was registered just now has its ID as an option's value; its other settings have the URL as their origin.
    ///
    /// Nothing is sent to a host that neither the URL nor the profile names. The time limit of the sign-in
    /// starts here.
    func signInTarget() throws(OIDCError) -> (Target, Evidence) {
        if let issuer = url.issuerOfMetadata {
            throw .usage(
                "\(DisplayText.clean(url.withoutQuery)) is the URL of a provider's metadata",
                hint: .run("login", issuer))
        }
        let operand = forSignIn()
        var evidence = Evidence()
        if let known = try operand.knownProvider() { return (.settings(known), evidence) }
        evidence.asksResource = true
        if let link = try operand.link(), link.isFor(url) { return (.url(operand), evidence) }
        let notProtected: OIDCError
        do throws(OIDCError) {
            evidence.found = try ResourceResolution(operand, evidence).published()
            return (.url(operand), evidence)
        } catch {
            guard error.kind == .refused, error.stage == .discovery else { throw error }
            notProtected = error
        }
        if let known = try operand.knownProvider({ $0.isResource(url) }) {
            return (.settings(known), evidence)
        }
        if let provider = try operand.withoutProfileOfResource.publishedProvider() {
            return (.settings(provider), evidence)
        }
        evidence.found = try ResourceResolution(operand, evidence).ownServer(after: notProtected)
        guard evidence.found != nil else {
            var neither = notProtected
            neither.message += ", and no provider's metadata name the URL as their issuer"
            throw neither
        }
        return (.url(operand), evidence)
    }

    /// Returns the provider of the settings or of a profile whose issuer the URL is; nil if there is none. A profile of a
    /// resource that names the issuer, too, is for that resource.
    fileprivate func knownProvider() throws(OIDCError) -> ProviderContext? {
        guard ownership.optionIssuer.map({ url.isSame(exceptLastSlash: $0) }) ?? true else { return nil }
        return try knownProvider({ $0.isIssuer(url) }, unless: context.isOfResource)
    }

    /// The operand without the settings of the profile in use, if that is a resource's.
    private var withoutProfileOfResource: ResourceOperand {
        guard namedProfile == nil, context.isOfResource(settings.profile) else { return self }
        let others = settings.layers.given.filter { $0.origin.layer != .profile }
        var operand = ResourceOperand(url, context.settings(profile: nil, others), context)
        operand.deadline = deadline
        return operand
    }

    /// Returns the provider of the settings, or else of the first profile that `isMeant` accepts; nil if there
    /// is none. A profile that `isOther` accepts is left out, and one that is named leaves the others out.
    private func knownProvider(
        _ isMeant: (ResourceOwnership) -> Bool, unless isOther: (_ profile: String?) -> Bool = { _ in false }
    ) throws(OIDCError) -> ProviderContext? {
        if isMeant(ResourceOwnership(entries: settings.layers.entries)), !isOther(settings.profile) {
            return ProviderContext(settings, context, until: deadline)
        }
        guard namedProfile == nil else { return nil }
        let options = settings.layers.given.filter { $0.origin.layer == .options }
        for case .success(let profile) in try context.settingsLoader.profiles()
        where isMeant(ResourceOwnership(entries: profile.own)) && !isOther(profile.profile) {
            var loader = context.settingsLoader
            loader.profileName = profile.profile
            let settings = try loader.load(options)
            try refuseOverride(of: profile, by: settings)
            return ProviderContext(withoutVariablesOfOthers(settings), context, until: deadline)
        }
        return nil
    }

    /// Returns the settings of a profile that a sign-in to this URL wrote with the variables that the sign-in used: those of
    /// the profile in use, or of no provider, are not for a server to which only the URL led. A secret is refused later.
    private func withoutVariablesOfOthers(_ settings: Settings) -> Settings {
        guard context.isFound(settings), let issuer = settings.provider.issuer, !context.isChosen(settings)
        else { return settings }
        let usable = Set(ownership.entries(for: issuer).map(\.setting))
            .union(Setting.presented(by: settings.token.grant))
        let kept = settings.layers.given.filter {
            $0.origin.layer != .variables || usable.contains($0.setting)
        }
        return context.settings(profile: settings.profile, kept)
    }

    /// Throws if a variable names another provider than the profile: the URL is that of the profile's.
    private func refuseOverride(
        of profile: (profile: String, own: [SettingLayers.Entry]), by settings: Settings
    ) throws(OIDCError) {
        guard let name = settings.variable(overriding: profile.own) else { return }
        throw .usage(
            "\(DisplayText.clean(url.text)) is the provider of profile \(DisplayText.clean(profile.profile)), "
                + "and \(name) names another one",
            hint: .text("unset \(name)"))
    }

    /// Returns the provider whose own metadata name the URL as their issuer, with a client; nil if the URL has
    /// no such metadata.
    private func publishedProvider() throws(OIDCError) -> ProviderContext? {
        let environment = try reach.environment()
        let documents = ProviderDocuments(
            context: environment, allowsInsecureHTTP: settings.provider.allowsInsecureHTTP)
        let metadata: ProviderMetadata
        do throws(OIDCError) { metadata = try documents.metadata(ofTyped: url) } catch {
            guard error.kind != .refused, error.kind != .usage else { return nil }
            var error = error
            error.hint = error.hint?.usingIssuer { .run("login", DisplayText.clean($0)) }
            throw error
        }
        guard let issuer = metadata.issuer else { return nil }
        try metadata.checkReach(from: url)
        if let named = ownership.optionIssuer, !ExactText.isSame(named, issuer) {
            throw .usage(
                "\(DisplayText.clean(url.withoutQuery)) is a provider, and --issuer names another one",
                hint: "leave out the one that is not meant")
        }
        context.console.trace("provider: \(DisplayText.clean(issuer)), by its own metadata")
        // As at a resource's server, settings for another provider, or for an unknown issuer, are not used.
        let given = SettingLayers.Entry(setting: .issuer, value: .string(issuer), origin: .found)
        func own(isRegistered: Bool = false) -> ResourceOperand {
            let entries = ownership.entries(for: issuer, isRegistered: isRegistered)
            var operand = ResourceOperand(
                url, context.settings(profile: settings.profile, [given] + entries), context)
            operand.deadline = deadline
            return operand
        }
        var operand = own()
        guard operand.settings.client.id == nil else {
            try operand.checkSecrets(for: metadata)
            return ProviderContext(operand.settings, context, until: deadline, referrer: self)
        }
        let client = try ResourceClient(
            operand: operand, environment: environment, resource: nil, server: metadata,
            scope: operand.settings.token.scope ?? Scope.forUsers(at: metadata)
        ).choiceOfProvider()
        context.console.trace("client: \(DisplayText.clean(client.clientID)) (\(client.reason))")
        let origin = SettingLayers.Origin.resource(url.text)
        var entries = [
            SettingLayers.Entry(
                setting: .clientID, value: .string(client.clientID), origin: .option("--client-id"))
        ]
        if let registered = client.registered {
            // Secret, key and certificate are those of another client.
            operand = own(isRegistered: true)
            entries += registered.entries(origin: origin)
        } else {
            try operand.checkSecrets(for: metadata)
            entries.append(ClientRegistration.documentPorts(origin: origin))
        }
        return ProviderContext(
            operand.adding(entries).settings, context, until: deadline, referrer: self)
    }

    /// Throws if the provider would get a secret or certificate that the settings do not assign to a provider, as the
    /// user may take the URL for a resource's. An option that names the client for the URL confirms the secret,
    /// unless that client is known at another provider, too.
    private func checkSecrets(for server: ProviderMetadata) throws(OIDCError) {
        let layers = settings.layers
        // Unlike for a resource elsewhere, the user is not asked here, so the certificate counts, too.
        let secrets = Setting.identifying(by: settings.token.grant)
        guard let secret = secrets.lazy.compactMap({ layers.entry($0) }).first,
            secret.origin.layer != .options
        else { return }
        if let client = layers.entry(.clientID), client.origin.layer == .options,
            KnownClients(self).others(than: server, sharing: client.value.string ?? "", isRegistered: true)
                .isEmpty
        {
            return
        }
        throw .usage(
            "\(DisplayText.clean(url.withoutQuery)) is a provider that no setting names, and would get "
                + "\(secret.setting.name) of \(secret.origin.text)",
            hint: naming(
                server, sharing: settings.client.id ?? "",
                if: "if it is the provider that you sign in to: ",
                .run("login", "--issuer", DisplayText.clean(server.issuer ?? ""))))
    }
}

extension ResourceOwnership {
    /// Returns whether a URL is the issuer of the settings; a slash at the end makes no difference.
    fileprivate func isIssuer(_ url: WebURL) -> Bool {
        issuers.first.map { url.isSame(exceptLastSlash: $0) } ?? false
    }

    /// Returns whether a URL is the only resource of the settings, which name its provider.
    fileprivate func isResource(_ url: WebURL) -> Bool {
        guard entries.contains(where: { [.issuer, .tokenEndpoint].contains($0.setting) }) else {
            return false
        }
        let resources = entries.first { $0.setting == .resource }?.value.array ?? []
        guard resources.count == 1, let resource = resources.first?.string else { return false }
        return url.isSame(exceptLastSlash: resource)
    }
}

extension WebURL {
    /// The issuer whose metadata are at this URL (OpenID Connect Discovery §4, RFC 8414 §3); nil if the URL is not one
    /// of the well-known places.
    fileprivate var issuerOfMetadata: String? {
        if path.hasSuffix("/.well-known/openid-configuration") {
            return origin + path.dropLast("/.well-known/openid-configuration".utf8.count)
        }
        for name in ["oauth-authorization-server", "openid-configuration"] {
            let start = "/.well-known/\(name)"
            if path == start || path.hasPrefix("\(start)/") {
                return origin + path.dropFirst(start.utf8.count)
            }
        }
        return nil
    }

    func isSame(exceptLastSlash other: String) -> Bool {
        func trimmed(_ text: String) -> String { text.hasSuffix("/") ? String(text.dropLast()) : text }
        return ExactText.isSame(trimmed(text), trimmed(other))
    }
}
