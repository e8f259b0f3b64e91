import OIDCCore
import OIDCSessions
import Posix

/// A URL operand, and the settings of its command line.
struct ResourceOperand: Sendable {
    let url: WebURL
    let context: CommandContext
    /// The settings as they were loaded; they may be for another provider.
    let settings: Settings
    /// The deadline of a sign-in, including the search before it.
    var deadline: MonotonicTime?
    /// The servers whose codes the URL's server may get: they were at stake when an option named it.
    var trustedServers: [String] = []

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
        var hint = Hint.run("help \(command)")
        if profiles.contains(where: { $0.name == text }) {
            hint = .run(command, "-p", text)
        } else if let meant = meantURL(text) {
            hint = .run(command, meant.text)
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
        let issuer = DisplayText.clean(link.issuer)
        let named = Hint.words(
            "if it is meant for that server, add ", .options(["--issuer", issuer]), " or set issuer beside it"
        )
        return .usage(
            "\(name) would go to \(issuer), which only \(DisplayText.clean(link.resource)) names",
            hint: link.grant.needsUser ? .words(named, ", or allow it at a terminal: ", loginLine) : named)
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
        let entries = settings.layers.entries.filter { shared.contains($0.setting) }
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

    /// Returns the operand for one search, which has a time limit as a whole: a resource may name many servers that do not
    /// answer.
    func forSearch() -> ResourceOperand {
        guard deadline == nil else { return self }
        var operand = self
        operand.deadline = .now().adding(seconds: settings.network.httpTimeout * 2 + 30)
        return operand
    }

    /// Returns the operand with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ResourceOperand {
        guard !entries.isEmpty else { return self }
        return ResourceOperand(url, settings.overridden(by: entries), context)
    }

    /// Returns the operand as if `--account` named an account.
    func forAccount(_ account: String) -> ResourceOperand {
        adding([
            SettingLayers.Entry(setting: .account, value: .string(account), origin: .option("--account"))
        ])
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

/// The stored link from a URL operand to its session, found without the network.
extension ResourceOperand {
    /// Returns the link from the URL to a session; nil if there is none that fits the settings.
    func link() throws(OIDCError) -> ResourceLink? {
        guard let records = ResourceRecords(context) else { return nil }
        let ownership = ownership
        let links = try records.links.links(of: url).filter { $0.covers(url) && fits($0, ownership) }
        // Of several clients, that of the URL's own profile in use is meant, or else the last one.
        let isOwnProfile = namedProfile != nil || settings.hasResource(at: url)
        func isPreferred(_ link: ResourceLink) -> Bool {
            isOwnProfile && link.profile != nil && link.profile == settings.profile
                || isOwnProfile && ownership.isOwned(.profile, by: [link.issuer])
                    && ownership.text(.clientID, in: [.profile]) == link.clientID
        }
        let reach = links.map(\.reach.utf8.count).max()
        let nearest = links.filter { $0.reach.utf8.count == reach }
        return (nearest.first(where: isPreferred) ?? nearest.first).map(current)
    }

    /// Returns a link without its profile if that is no longer in the file, as `oidc config rm` would have left it.
    private func current(_ link: ResourceLink) -> ResourceLink {
        guard let profile = link.profile, profile != settings.profile,
            context.settingsLoader.lacks(profile: profile)
        else { return link }
        var link = link
        link.profile = nil
        return link
    }

    /// Returns whether a link has the requested grant, account, issuer and client.
    func fits(_ link: ResourceLink, _ ownership: ResourceOwnership) -> Bool {
        func isNamed(_ setting: Setting, _ value: String?, in layers: Set<SettingLayers.Layer>) -> Bool {
            ownership.text(setting, in: layers).map { $0 == value } ?? true
        }
        // For id_jag, the issuer and client of options may be those of the user's own provider.
        let isForOwnProvider = link.grant == .idJAG && !ownership.isOwned(.options, by: [link.issuer])
        guard
            isForOwnProvider
                || isNamed(.issuer, link.issuer, in: [.options])
                    && isNamed(.clientID, link.clientID, in: [.options])
        else { return false }
        guard
            link.grant.needsUser || isForOwnProvider || !ownership.isOwned(.variables, by: [link.issuer])
                || isNamed(.clientID, link.clientID, in: [.options, .variables])
        else { return false }
        let isOwned = ownership.isOwned(.profile, by: [link.issuer])
        let own: Set<SettingLayers.Layer> =
            isOwned ? [.options, .variables, .profile] : [.options, .variables]
        let grant = ownership.text(.grant, in: own).map { GrantType(rawValue: $0) } ?? .authorizationCode
        guard link.grant == grant, ownership.text(.account, in: own) == link.account else { return false }
        guard let namedProfile else { return true }
        // To another server than the one that the URL's own profile names, only a sign-in with that profile led.
        guard isOwned || ownership.text(.issuer, in: [.profile]) == nil || !settings.hasResource(at: url)
        else {
            return link.profile == namedProfile
        }
        guard isOwned, let clientID = ownership.text(.clientID, in: [.profile]) else { return true }
        return link.clientID == clientID
    }

    /// Returns whether the user has ever signed in to the URL. If so, it gets no other session's token.
    func wasSignedIn() throws(OIDCError) -> Bool { try ResourceRecords(context)?.links.wereFor(url) ?? false }

    /// Returns whether tokens of its own are for the URL: the user has ever signed in to it, with any account, or has started
    /// to, or one of the profiles names it as its resource.
    func hasTokenOfItsOwn(_ profiles: [ProfileSessions.Profile]) throws(OIDCError) -> Bool {
        if try wasSignedIn() || WaitingSignIns.open(at: url, context) != nil { return true }
        return profiles.contains { $0.settings?.hasResource(at: url) == true }
    }

    /// Returns the provider of the URL's link; nil if there is no link. Uses no network.
    func linked() throws(OIDCError) -> ProviderContext? {
        guard let link = try link() else { return nil }
        context.console.trace("resource: \(link.resource), of \(link.issuer) as \(link.clientID)")
        return try provider(link)
    }

    /// Returns the provider of a link for exactly this URL; nil if there is none. Throws if only a link for a
    /// URL above it exists: the user did not name that one.
    func linkedExactly() throws(OIDCError) -> ProviderContext? {
        guard let link = try link() else {
            // A link may cover only a part of its resource, below this URL.
            let ownership = ownership
            return try ResourceRecords(context)?.links.links(of: url).first {
                ResourceIdentifier($0.resource)?.identifies(url) == true && fits($0, ownership)
            }.map { link throws(OIDCError) in try provider(link) }
        }
        guard link.isFor(url) else {
            let reach = DisplayText.clean(link.reach)
            throw .usage(
                "there is no session for exactly \(DisplayText.clean(url.withoutQuery)): it is part of \(reach)",
                hint: .run("logout", link.reach))
        }
        return try provider(link)
    }

    /// Returns the provider of a link, with the settings that belong to it.
    func provider(_ link: ResourceLink) throws(OIDCError) -> ProviderContext {
        let link = current(link)
        return provider(ResourceTarget(operand: self, link: link), nil, try entries(of: link.profile))
    }

    /// Returns the entries of the settings. If another profile is named, its entries replace those of the
    /// profile in use. Variables for a server or client are used only for the one that they, the profile in
    /// use or an option name; other variables apply to any profile.
    func entries(of profile: String?) throws(OIDCError) -> [SettingLayers.Entry] {
        guard let profile, profile != settings.profile else { return settings.layers.given }
        var loader = context.settingsLoader
        loader.profileName = profile
        let loaded = try loader.load().layers.given.filter { $0.origin.layer == .profile }
        let isNamed = ownership.optionIssuer != nil
        let others = settings.layers.given.filter { $0.origin.layer != .profile }.map { entry in
            var entry = entry
            guard entry.origin.layer == .variables else { return entry }
            if !entry.setting.isForOneServer {
                entry.belonging = nil
            } else if !isNamed, entry.belonging?.issuer == nil {
                entry.belonging?.isExact = true
            }
            return entry
        }
        return others + loaded
    }

    /// Returns the provider of a target, with its own settings and the findings of the search.
    func provider(
        _ target: ResourceTarget, _ registered: RegisteredRecord?, _ entries: [SettingLayers.Entry],
        scope: Scope? = nil
    ) -> ProviderContext {
        let link = target.link
        var target = target
        target.isIssuerOption = isNamedByOption(link.issuer)
        target.isIssuerNamed = link.isIssuerNamed || names(issuer: link.issuer, entries)
        var layers = LinkLayers(link, origin: .resource(url.text), metadataURL: settings.client.metadataURL)
        layers.addLink(scope: scope)
        if let registered { layers.add(registered) }
        let isRegistered =
            registered != nil || link.registration != nil || link.clientID == settings.client.metadataURL
        layers.setOwn(
            ResourceOwnership(entries: entries).entries(
                for: link.issuer, isRegistered: isRegistered,
                elsewhere: link.isElsewhere ? link.resource : nil))
        layers.addLinkScope(unless: scope)
        layers.addSettingsOfLink()
        // The URL is enough to name the session, so the profile of the resource is not named.
        let isOfResource = entries.contains { entry in
            entry.setting == .resource && entry.value == [.string(link.resource)]
                && link.profile.map { entry.origin == .profile($0) } == true
        }
        let isOwnProfile =
            settings.ownResource == nil && ownership.isOwned(.profile, by: [link.issuer])
        let usual = isOfResource ? nil : link.profile ?? (isOwnProfile ? settings.profile : nil)
        let profile = namedProfile ?? usual
        return ProviderContext(
            context.settings(profile: profile, layers.found + layers.own), context, target: target)
    }
}

/// The settings of a link's provider: those that the link and the client's registration contain, and those
/// that were given and belong to this server and client. Each step uses what the earlier ones have added.
private struct LinkLayers {
    let link: ResourceLink
    let origin: SettingLayers.Origin
    /// The client metadata document that the settings name.
    let metadataURL: String?
    private(set) var found: [SettingLayers.Entry] = []
    private(set) var own: [SettingLayers.Entry] = []

    init(_ link: ResourceLink, origin: SettingLayers.Origin, metadataURL: String?) {
        self.link = link
        self.origin = origin
        self.metadataURL = metadataURL
    }

    private mutating func add(_ setting: Setting, _ value: JSONValue?) {
        guard let value else { return }
        found.append(SettingLayers.Entry(setting: setting, value: value, origin: origin))
    }

    mutating func addLink(scope: Scope?) {
        add(.issuer, .string(link.issuer))
        add(.clientID, .string(link.clientID))
        add(.resource, .array([.string(link.resource)]))
        add(.grant, .string(link.grant.rawValue))
        add(.account, link.account.map { .string($0) })
        add(.scope, scope.map { .string($0.text) })
        if link.bindsTokens { add(.dpop, true) }
    }

    mutating func add(_ registered: RegisteredRecord) {
        found += registered.entries(origin: origin)
    }

    mutating func setOwn(_ entries: [SettingLayers.Entry]) {
        let clientID = entries.first { $0.setting == .clientID && $0.origin.layer == .profile }?.value.string
        own = entries.filter { entry in
            if clientID != nil, clientID != link.clientID, entry.origin.layer == .profile,
                Setting.redirects.contains(entry.setting)
            {
                return false
            }
            // The scope of a profile or variable was for the sign-in; for a token it would request a narrower
            // one.
            return entry.setting != .scope || entry.origin.layer == .options
        }
    }

    /// Adds the link's scope for a grant without a user, unless a scope is requested or an option names one.
    mutating func addLinkScope(unless requested: Scope?) {
        guard requested == nil, !link.grant.needsUser, !own.contains(where: { $0.setting == .scope }) else {
            return
        }
        add(.scope, link.scope.flatMap { $0.isEmpty ? nil : .string($0.text) })
    }

    /// Adds the settings that the link keeps from its sign-in, which options replace. Its redirect URL also
    /// replaces that of a profile or variable.
    mutating func addSettingsOfLink() {
        func isRedirect(_ entry: SettingLayers.Entry) -> Bool { Setting.redirects.contains(entry.setting) }
        let given = own.filter { $0.origin.layer == .options }
        let keepsRedirect =
            link.profile == nil && !(found + given).contains(where: isRedirect)
            && Setting.redirects.contains { link.settings[$0.name] != nil }
        if keepsRedirect { own.removeAll(where: isRedirect) }
        for member in link.settings.members {
            guard let setting = Setting.named(member.name),
                Setting.redirects.contains(setting)
                    ? keepsRedirect : !given.contains(where: { $0.setting == setting })
            else { continue }
            add(setting, member.value)
        }
        if link.clientID == metadataURL, !(found + own).contains(where: \.namesRedirect) {
            found.append(ClientRegistration.documentPorts(origin: origin))
        }
    }
}

extension RegisteredRecord {
    /// Returns the settings that the registration gave the client, with its secret.
    func entries(origin: SettingLayers.Origin) -> [SettingLayers.Entry] {
        var entries = settings.members.compactMap { member in
            Setting.named(member.name).map {
                SettingLayers.Entry(setting: $0, value: member.value, origin: origin)
            }
        }
        if let clientSecret {
            entries.append(
                SettingLayers.Entry(
                    setting: .clientSecret, value: .string(clientSecret.revealed), origin: origin))
        }
        return entries
    }
}

/// Sign-ins and sessions of a URL operand.
extension ResourceOperand {
    /// Starts a new sign-in with `run`. If the server no longer knows the registered client, registers another one.
    func signedIn<Value>(
        _ evidence: Evidence = Evidence(), _ run: (SignIn) throws(OIDCError) -> Value
    ) throws(OIDCError) -> (Value, Account) {
        var evidence = evidence
        evidence.asksResource = evidence.response == nil && evidence.found == nil
        let search = forSignIn()
        for _ in 0..<2 {
            let provider = try search.resolved(evidence)
            do throws(OIDCError) { return try signedIn(provider, search.deadline, run) } catch {
                guard let next = evidence.next(after: error, of: provider) else {
                    throw provider.registeringAgain(error)
                }
                evidence = next
            }
        }
        return try signedIn(try search.resolved(evidence), search.deadline, run)
    }

    private func signedIn<Value>(
        _ provider: ProviderContext, _ deadline: MonotonicTime?, _ run: (SignIn) throws(OIDCError) -> Value
    ) throws(OIDCError) -> (Value, Account) {
        let account = try Account(provider.forSignIn(until: deadline))
        do throws(OIDCError) { return (try run(SignIn(account)), account) } catch {
            throw provider.naming(error)
        }
    }

    /// Signs in for a command with `--login`, once for all waiting processes. `earlier` is the session whose
    /// token was refused, and `key` is its key.
    func signedInOnDemand(
        _ evidence: Evidence, replacing earlier: Session?, key: SessionKey?
    ) throws(OIDCError) -> Account {
        var evidence = evidence
        evidence.asksResource = evidence.response == nil
        evidence.mayKeepNothing = true
        for _ in 0..<5 {
            // Another process may have signed in meanwhile, for another scope.
            if let scope = evidence.scope, let session = try? stored()?.load() {
                evidence.scope = scope.union(session.knownScope)
            }
            let provider = try forSignIn().resolved(evidence)
            let account = try Account(provider, mayKeepNothing: true)
            // At another server, or as another client, any session is a new one.
            var signIn = SignInOnDemand(
                provider: provider, account: account, earlier: account.key == key ? earlier : nil)
            signIn.takesAny = true
            signIn.needed = evidence.scope
            do throws(OIDCError) {
                let account = try signIn.run()
                SignInProfile.remember(account)
                return account
            } catch {
                guard let next = evidence.next(after: error, of: provider) else {
                    throw provider.registeringAgain(provider.naming(error))
                }
                evidence = next
            }
        }
        throw notSignedIn
    }

    /// Returns the account of the URL's session, or of a token that needs no user; nil if there is no session.
    func stored() throws(OIDCError) -> Account? {
        guard let provider = try linked() else { return nil }
        return try Account(provider).ifStored
    }

    /// Returns the operand for the profile that has the URL's session, as if `-p` named it. It is the operand itself if `-p`
    /// names a profile already, or if none has a session. Throws if that cannot be known: only its profile may name the
    /// store of a session. Beside a profile in use, only the URL's own profiles count, if only one has a session.
    func inProfile() throws(OIDCError) -> ResourceOperand {
        guard namedProfile == nil, !mayNeedNoUser, try wasSignedIn() else { return self }
        var asked: Set<String> = []
        func isSignedIn(_ operand: ResourceOperand) throws(OIDCError) -> Bool {
            guard let link = try operand.link() else { return false }
            let account = try Account(try operand.provider(link))
            // Several profiles may share one session.
            guard account.key.grant.needsUser,
                asked.insert(account.store.location(of: account.key)).inserted
            else { return false }
            return try account.load() != nil || account.store.hides(account.key)
        }
        // One whose key another store has is unreadable here.
        let isUnreadable: Bool
        do throws(OIDCError) {
            guard try !isSignedIn(self) else { return self }
            isUnreadable = false
        } catch {
            guard error.code == .damagedSession else { return self }
            isUnreadable = true
        }
        let sessions = ProfileSessions(try context.settingsLoader.file(), context)
        var count = 0
        let name: String?
        do throws(OIDCError) {
            name = try sessions.only(at: url) { profile throws(OIDCError) in
                guard settings.profile == nil && !isUnreadable || isOwn(profile) else { return false }
                if let problem = profile.problem { throw problem }
                guard LentSocket.path(inSetting: profile.store) == nil,
                    try isSignedIn(try using(profile: profile.name))
                else { return false }
                count += 1
                return true
            }
        } catch {
            let isDoubtful = isUnreadable || settings.profile != nil && count > 1
            guard isDoubtful, error.kind != .interrupted else { throw error }
            name = nil
        }
        return try name.map { name throws(OIDCError) in try using(profile: name) } ?? self
    }

    /// Returns whether a profile is that of the URL's resource alone, for the account that is meant.
    private func isOwn(_ profile: ProfileSessions.Profile) -> Bool {
        // The account of the profile in use is one at its own provider.
        let account = ownership.text(.account, in: [.options, .variables])
        guard let own = profile.settings, own.token.grant.needsUser, own.token.account == account,
            own.token.resources.count == 1
        else { return false }
        return ResourceIdentifier(own.token.resources[0])?.covers(url) == true
    }

    private func using(profile: String) throws(OIDCError) -> ResourceOperand {
        let context = context.using(profile: profile)
        let options = settings.layers.given.filter { $0.origin.layer == .options }
        return ResourceOperand(url, try context.settingsLoader.load(options), context)
    }

    /// Returns whether the URL has a session of its own, which may be unreadable.
    func hasSession() throws(OIDCError) -> Bool {
        guard let provider = try linked() else { return false }
        do throws(OIDCError) { return try Account(provider).ifStored != nil } catch { return true }
    }

    /// Runs `body` with the URL's session, and again after a sign-in if one is needed and `mayLogIn` allows
    /// it.
    func signingIn<Value>(
        _ mayLogIn: Bool, _ body: (Account) throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        var earlier: Session?
        var key: SessionKey?
        let known = try link()
        if known != nil || !mayLogIn || mayNeedNoUser {
            do throws(OIDCError) {
                let account = try account(mayLogIn: false)
                guard mayLogIn, account.key.grant.needsUser else { return try body(account) }
                (earlier, key) = (try? account.load(), account.key)
                return try body(account)
            } catch {
                guard mayLogIn, error.kind == .loginRequired else { throw error }
            }
        }
        return try body(try signedInOnDemand(Evidence(), replacing: earlier, key: key))
    }

    /// Returns the account of the URL, whose session may not exist yet. Searches for the server only if
    /// `mayLogIn` is true or the grant needs no user.
    func account(mayLogIn: Bool) throws(OIDCError) -> Account {
        if let provider = try linked() { return try Account(provider, mayKeepNothing: mayLogIn) }
        guard mayLogIn || mayNeedNoUser else { throw notSignedIn }
        return try Account(try resolved(mayLogIn: mayLogIn), mayKeepNothing: mayLogIn)
    }

    /// The error for a URL without a session.
    var notSignedIn: OIDCError {
        do throws(OIDCError) {
            try RequestOptions.checkScheme(
                url, allowsInsecureHTTP: settings.provider.allowsInsecureHTTP)
        } catch {
            return error
        }
        let damaged = ResourceRecords(context)?.links.damagedFile(of: url).map {
            ": the record that leads to its session is damaged or of a later version, \(DisplayText.clean($0))"
        }
        let isKept = settings.store != "none" || mayNeedNoUser
        return OIDCError(
            .loginRequired,
            "not signed in to \(DisplayText.clean(url.withoutQuery))"
                + (damaged ?? (isKept ? "" : ", and store is none: no session is kept")),
            hint: WaitingSignIns.open(at: url, context)?.line(at: context.now)
                ?? (isKept
                    ? loginLine : context.withoutStore(orElse: .run("token", ["--login"] + lineArguments))),
            stage: .token)
    }

    /// The command line that signs in to the URL with the options that were given.
    var loginLine: Hint { .run("login", lineArguments) }

    private var lineArguments: [String] {
        let profile = namedProfile.map { ["-p", $0] } ?? []
        return [url.text] + profile + settings.givenOptions(and: [("--scope", .scope)])
    }

    /// Returns the option that limits a sign-in to these scopes, unless one was given. A line that names the server and the
    /// client is the user's consent, also to whatever else the resource asks for by then.
    func scopeOption(_ scope: Scope) -> [String] {
        settings.isScopeAnOption || scope.isEmpty ? [] : ["--scope", scope.text]
    }
}

extension Settings {
    /// Returns whether `resource`, `resources` or `proxy_routes` name a URL, or one above it.
    func lists(_ url: WebURL) -> Bool {
        let records = [Setting.resources, .proxyRoutes].flatMap { layers.records($0) }
        return (records.compactMap { $0["url"]?.string } + token.resources).contains {
            ResourceIdentifier($0)?.covers(url) == true
        }
    }

    /// Returns whether `resource` names a URL, or one above it.
    func hasResource(at url: WebURL) -> Bool {
        token.resources.contains { ResourceIdentifier($0)?.covers(url) == true }
    }

    /// Whether an option names the scope.
    var isScopeAnOption: Bool {
        layers.entry(.scope)?.origin.layer == .options
    }

    /// Refuses a server that asks for more than the scopes that an option named.
    func checkScope(_ scope: Scope) throws(OIDCError) {
        guard isScopeAnOption, let allowed = token.scope, !scope.isSubset(of: allowed) else { return }
        throw OIDCError(
            .refused, "the server asks for more than the scopes that --scope names", stage: .resource)
    }
}

/// The sessions of one resource, which may be at several servers and of several clients.
extension ResourceOperand {
    /// Returns whether a session is of the linked resource, or of exactly this URL, and fits the settings.
    func isOwn(_ key: SessionKey, _ link: ResourceLink?) -> Bool {
        guard let resource = key.resources.first, key.resources.count == 1 else { return false }
        // A link to a part of a resource covers only its own session, not all sessions of the resource.
        let isLinked =
            link.map { link in
                resource == link.resource
                    && (link.prefix == nil || key.provider == link.issuer && key.clientID == link.clientID)
                    || link.wasIdentified(by: key)
            } ?? false
        return (isLinked || ResourceIdentifier(resource)?.identifies(url) == true)
            && fits(self.link(of: key, resource), ownership)
    }

    /// Returns whether a sign-in that waits is to this URL, and fits the settings.
    func isOwn(_ signIn: WaitingSignIn) -> Bool {
        guard signIn.askedURL == url else { return false }
        guard let key = SessionKey(text: signIn.key), let resource = key.resources.first else { return true }
        return fits(link(of: key, resource), ownership)
    }

    /// Returns whether a session is of the provider that this URL names, and fits the options and variables, and a profile
    /// that is named. The default profile does not say which sessions are meant.
    func isProvider(of key: SessionKey?) -> Bool {
        guard let key, key.resources.isEmpty, url.isSame(exceptLastSlash: key.provider) else { return false }
        guard namedProfile == nil else { return fits(link(of: key, url.text), ownership) }
        func isNamed(_ setting: Setting, _ value: String?, in layers: Set<SettingLayers.Layer>) -> Bool {
            ownership.text(setting, in: layers).map { $0 == value } ?? true
        }
        return isNamed(.clientID, key.clientID, in: [.options])
            && isNamed(.account, key.account, in: [.options, .variables])
            && isNamed(.audience, key.audience, in: [.options, .variables])
            && isNamed(.grant, key.grant.rawValue, in: [.options, .variables])
    }

    /// Returns the link that would lead to a session.
    private func link(of key: SessionKey, _ resource: String) -> ResourceLink {
        ResourceLink(
            resource: resource, issuer: key.provider, clientID: key.clientID, grant: key.grant,
            account: key.account)
    }
}
