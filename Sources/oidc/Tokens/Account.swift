import OIDCCore
import OIDCSessions
import OIDCAccount
import Posix

/// A session that may exist, with its provider, its store, and the way to obtain its tokens.
struct Account {
    let provider: ProviderContext
    let key: SessionKey
    let store: SessionStore

    private var context: CommandContext { provider.context }

    /// Creates the account of the settings. If `mayKeepNothing` is true and no state directory
    /// is available, the session is kept in memory for one command.
    init(_ provider: ProviderContext, mayKeepNothing: Bool = false) throws(OIDCError) {
        self.provider = provider
        key = try provider.sessionKey()
        let store = try provider.store()
        guard mayKeepNothing, key.grant.needsUser, store.unavailability != nil else {
            self.store = store
            return
        }
        provider.context.console.warn("no state directory is available, so nothing will be stored")
        self.store = SessionStore.inMemory()
    }

    private init(_ provider: ProviderContext, _ key: SessionKey, _ store: SessionStore) {
        self.provider = provider
        self.key = key
        self.store = store
    }

    /// Returns the same account in another store.
    func kept(in store: SessionStore) -> Account { Account(provider, key, store) }

    var engine: AccountEngine { AccountEngine(key: key, store: store, provider) }

    /// The account if its session exists, or its grant needs no user.
    var ifStored: Account? {
        get throws(OIDCError) {
            guard key.grant.needsUser else { return self }
            return try load() == nil ? nil : self
        }
    }

    /// Loads the session; one that is lent comes without tokens. Completes a hint to sign in with the options that were
    /// given.
    func load() throws(OIDCError) -> Session? {
        if let lent = provider.lent { return try lent.terms().session(key, at: context.now) }
        do throws(OIDCError) { return try store.load(key) } catch {
            throw provider.namingResource(error.signingInAgain(by: provider.settings.scopedLoginLine))
        }
    }

    /// Returns the error of a command that needs a sign-in. If one is waiting for the user already, the hint
    /// is its page.
    private func awaiting(_ error: OIDCError) -> OIDCError {
        guard error.kind == .loginRequired, let waiting = WaitingSignIns.open(key, context) else {
            return error
        }
        var error = error
        error.hint = waiting.line(at: context.now)
        return error
    }

    /// Throws if the settings or the session do not meet the security profile. A machine's token is requested again
    /// instead.
    private func refuseForbidden(_ session: Session?) throws(OIDCError) {
        guard key.grant.needsUser else { return }
        try provider.settings.checkSecurityProfile()
        guard let session, let flaw = provider.settings.securityProfileFlaw(session) else { return }
        throw OIDCError(.loginRequired, flaw, hint: provider.settings.scopedLoginLine, stage: .token)
    }

    /// Throws if more scope is demanded than was granted. The hint is a sign-in for the requested and the
    /// wanted scope.
    private func refuseWider(_ session: Session?, _ demand: TokenDemand) throws(OIDCError) {
        try refuseForbidden(session)
        guard let session, case .wider(let wanted) = session.source(for: demand) else { return }
        let scope = (session.requestedScope ?? Scope("")).union(wanted)
        let missing =
            session.grantedScope?.missing(from: wanted).joined(separator: " ") ?? wanted.text
        throw awaiting(
            OIDCError(
                .loginRequired, "the session was not granted the scope \(DisplayText.quoted(missing))",
                hint: provider.settings.loginLine.adding("--scope", scope.text), stage: .token))
    }

    /// Throws if a token for the settings needs a sign-in first.
    func checkAvailable(_ session: Session) throws(OIDCError) {
        let demand = demand(minimumValidity: 0)
        try refuseWider(session, demand)
        if let ended = session.endedError, !isFresh(session, demand) { throw completed(ended) }
        guard !session.canRefresh else { return }
        guard let access = session.accessToken(from: session.source(for: demand)) else {
            throw OIDCError(
                .loginRequired, "there is no token for that, and the session cannot be refreshed",
                hint: noSession.hint, stage: .token)
        }
        guard access.isFresh(at: context.now, minimum: 0) else {
            throw OIDCError(
                .loginRequired, "the token has expired and cannot be refreshed", hint: noSession.hint,
                stage: .token)
        }
    }

    private func isFresh(_ session: Session, _ demand: TokenDemand) -> Bool {
        session.accessToken(from: session.source(for: demand))?.isFresh(at: context.now, minimum: 0) == true
    }

    /// Returns the demand of the settings. For a grant without a user, scope and resources are in the session
    /// key instead.
    func demand(minimumValidity: Int64 = 60) -> TokenDemand {
        guard key.grant.needsUser else { return TokenDemand(minimumValidity: minimumValidity) }
        return TokenDemand(
            scope: provider.settings.token.scope, resources: provider.settings.token.resources,
            minimumValidity: minimumValidity)
    }

    /// Returns a fresh token, from the store if possible.
    func token(_ demand: TokenDemand) throws(OIDCError) -> SessionTokens.Delivery {
        if let lent = provider.lent { return try lentToken(lent, demand) }
        let session = try load()
        if let session, !key.grant.needsUser, provider.settings.securityProfileFlaw(session) != nil {
            return try refreshed(demand, loaded: session, refusing: .of(session.tokens.access))
        }
        try refuseWider(session, demand)
        traceFreshness(session, demand)
        return try delivered(demand, session) { (tokens) throws(OIDCError) in
            try tokens.token(demand, loaded: session)
        }
    }

    /// Returns the stored token, if it is fresh and may be used; nil if the provider must be asked.
    func freshToken(_ demand: TokenDemand) throws(OIDCError) -> SessionTokens.Delivery? {
        guard let session = try load() else {
            guard !key.grant.needsUser else { throw noSession }
            return nil
        }
        guard key.grant.needsUser || provider.settings.securityProfileFlaw(session) == nil else { return nil }
        try refuseWider(session, demand)
        guard let access = session.accessToken(from: session.source(for: demand)),
            access.isFresh(at: context.now, minimum: demand.minimumValidity)
        else { return nil }
        return SessionTokens.Delivery(session: session, access: access)
    }

    /// Returns a token other than the one that was refused. Before the refresh token is sent, a resource's
    /// metadata is fetched again, because it may name another server now.
    func token(
        _ demand: TokenDemand, insteadOf refused: SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery {
        if let lent = provider.lent { return try lentToken(lent, demand, refused: refused) }
        let isChecked = try checkServer(after: refused)
        var delivery = try refreshed(demand, loaded: refused.session, refusing: .refused(refused.access))
        delivery.isServerChecked = isChecked
        return delivery
    }

    /// Refreshes the token under the session's lock, over the network.
    func refreshed(
        _ demand: TokenDemand, loaded: Session?, refusing refusal: SessionTokens.Refusal
    ) throws(OIDCError) -> SessionTokens.Delivery {
        if let lent = provider.lent { return try lentToken(lent, demand, isRenewed: true) }
        return try delivered(demand, loaded) { (tokens) throws(OIDCError) in
            try tokens.refreshed(demand, loaded: loaded, refusing: refusal)
        }
    }

    /// Returns a token of the engine. Prints its warnings, and completes its errors.
    private func delivered(
        _ demand: TokenDemand, _ loaded: Session?,
        _ obtain: (SessionTokens) throws(OIDCError) -> SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try refuseWider(loaded, demand)
        if loaded == nil, key.grant.needsUser { throw noSession }
        do throws(OIDCError) {
            let delivery = try obtain(engine.tokens(startedAt: context.startedAt))
            for warning in delivery.warnings { context.console.warn(warning) }
            return delivery
        } catch {
            throw completed(error)
        }
    }

    /// Returns the error with the given options in its hint to sign in.
    private func completed(_ error: OIDCError) -> OIDCError {
        if key.grant.needsUser, provider.hasLostClient(error) {
            return awaiting(
                OIDCError(
                    .loginRequired, "\(error.message): the provider no longer knows the registered client",
                    hint: provider.settings.scopedLoginLine, stage: .token, oauthError: error.oauthError))
        }
        guard error.kind != .loginRequired else {
            var error = error
            error.hint = provider.settings.scopedLoginLine
            return awaiting(error)
        }
        let line = provider.settings.scopedLoginLine
        return provider.namingResource(provider.withoutResource(error).signingInAgain(by: line))
    }

    /// Returns the session's ID token. Refreshes it if it is about to expire, or always if `forced` is true.
    func idToken(minimumValidity: Int64, forced: Bool = false) throws(OIDCError) -> IDToken {
        if let lent = provider.lent {
            return try lent.idToken(minimumValidity: minimumValidity, isRenewed: forced)
        }
        let (session, stored) = try storedIDToken()
        if !forced, let stored, isFresh(stored, minimumValidity) { return stored }
        let missing = OIDCError(
            .loginRequired, stored.map(withoutSuccessor) ?? "the session has no ID token",
            hint: provider.settings.loginLine(forIDTokenAfter: session.requestedScope), stage: .idToken)
        // Does not refresh if the ID token in the response would not be used.
        guard stored != nil || session.canRefresh && session.takesIDToken else { throw missing }
        let demand = TokenDemand(minimumValidity: minimumValidity)
        let delivery = try refreshed(demand, loaded: session, refusing: .of(session.tokens.access))
        // The provider has no better ID token than the new one, so it is returned even if it expires soon, as
        // access tokens are. The old one is returned until it expires, unless `forced` is true.
        guard let idToken = delivery.session.tokens.idToken.flatMap({ IDToken.stored($0.revealed) }),
            idToken.compact != stored?.compact || (!forced && idToken.expiresAt > context.now)
        else { throw delivery.idTokenFailure ?? missing }
        return idToken
    }

    /// Returns the session and its ID token, fresh or not.
    func storedIDToken() throws(OIDCError) -> (session: Session, token: IDToken?) {
        guard key.grant.needsUser else { throw .noIDToken(key.grant) }
        let session = try session()
        try refuseForbidden(session)
        if let ended = session.endedError, !session.hasAccessToken, !session.canRefresh {
            throw completed(ended)
        }
        return (session, session.tokens.idToken.flatMap { IDToken.stored($0.revealed) })
    }

    private func withoutSuccessor(_ token: IDToken) -> String {
        let left = token.expiresAt.seconds(since: context.now)
        let state = left > 0 ? "expires in \(TimeWords.duration(left))" : "has expired"
        return "the ID token \(state), and a refresh brings no new one"
    }

    func isFresh(_ token: IDToken, _ minimumValidity: Int64) -> Bool {
        let left = token.expiresAt.seconds(since: context.now)
        return left > min(minimumValidity, token.expiresAt.seconds(since: token.issuedAt) / 2)
    }

    /// Returns the stored session, or the error to sign in first.
    func session() throws(OIDCError) -> Session {
        guard let session = try load() else { throw noSession }
        return session
    }

    /// The error for a missing session, or the store's error if it could not read one.
    var noSession: OIDCError {
        do throws(OIDCError) {
            try store.checkKeys()
            try store.checkWaiting(key)
        } catch {
            return error
        }
        let settings = provider.settings
        let profile = settings.profile.map { " (profile \(DisplayText.clean($0)))" } ?? ""
        let isKept = !key.grant.needsUser || settings.store != "none"
        return awaiting(
            OIDCError(
                .loginRequired,
                "not signed in at \(DisplayText.clean(key.provider))\(profile)"
                    + (isKept ? "" : ", and store is none: no session is kept"),
                hint: key.grant.needsUser
                    ? isKept
                        ? settings.scopedLoginLine
                        : context.withoutStore(orElse: settings.scoped("token", "--login"))
                    : settings.line("token", and: [("--grant", .grant)]), stage: .token))
    }
}

extension CommandContext {
    /// Returns the hint where no session is kept: this command with a sign-in, as `oidc login` would leave nothing; for a
    /// command that never signs in, `other`.
    func withoutStore(orElse other: Hint) -> Hint {
        switch console.command {
        case "exec", "proxy", "request", "token", "userinfo": .options(["--login"])
        case "credential": .run("config set store=file")
        default: other
        }
    }
}

extension Account: AccessTokenSource {}

extension Account {
    /// Runs `body`, and again after a sign-in if one is needed and `mayLogIn` allows it.
    func signingIn<Value>(
        _ mayLogIn: Bool, _ body: (Account) throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        if mayLogIn { try provider.refuseIfLent("--login") }
        guard mayLogIn, key.grant.needsUser else { return try body(self) }
        let earlier = try? load()
        do { return try body(self) } catch {
            guard error.kind == .loginRequired else { throw error }
            var provider = provider
            // A sign-in for more scope also requests what the session has.
            if let earlier, case .wider(let wanted) = earlier.source(for: demand()) {
                provider = provider.requesting(
                    (earlier.requestedScope ?? Scope("")).union(wanted), from: .option("--scope"))
            }
            let account = try SignInOnDemand(provider: provider, account: self, earlier: earlier).run()
            SignInProfile.remember(account)
            return try body(account)
        }
    }
}

extension Account {
    /// Logs where the session is stored, and how long its token is valid.
    func traceFreshness(_ session: Session?, _ demand: TokenDemand) {
        guard provider.context.console.isVerbose else { return }
        let console = provider.context.console
        let now = provider.context.now
        guard let session else {
            return console.trace("no session at \(store.location(of: key))")
        }
        console.trace("session: \(store.location(of: key))")
        guard let stored = session.accessToken(from: session.source(for: demand)) else {
            return console.trace(
                session.hasAccessToken
                    ? "token: none is stored for that scope or resource" : "token: revoked")
        }
        let left = stored.expiresAt.map { $0.seconds(since: now) }
        if stored.isFresh(at: now, minimum: demand.minimumValidity) {
            return console.trace(
                left.map { "token: fresh, \($0) s left" } ?? "token: used until it is refused")
        }
        console.trace(
            left.map {
                "token: \($0) s left, at least \(demand.minimumValidity) s or half its lifetime needed"
            }
                ?? "token: another one is needed")
    }
}

/// The check that a resource still takes tokens of its account's server.
extension Account {
    /// Fetches the resource's metadata again, and returns whether that was possible. If it now names another
    /// server, or the URL now belongs to another resource, throws before the refresh token is sent: a new
    /// sign-in is needed.
    @discardableResult
    func checkServer(after refused: SessionTokens.Delivery? = nil) throws(OIDCError) -> Bool {
        guard let target = provider.target else { return false }
        let operand = target.operand
        let secrets = refused?.secrets ?? WithheldSecrets()
        let found: ResourceSearch.Found
        do throws(OIDCError) { found = try find(target, after: refused?.refusal, secrets) } catch {
            let error = error.withholding(secrets)
            guard error.kind == .refused || error.kind == .unreachable else { throw error }
            operand.context.console.trace(
                "the resource's metadata could not be fetched again: \(error.message)")
            return false
        }
        let (link, metadata) = (target.link, found.metadata)
        guard ExactText.isSame(metadata.resource, link.resource) else {
            let isOwn = ResourceIdentifier(metadata.resource)?.identifies(operand.url) == true
            throw changed(
                "\(DisplayText.clean(operand.url.withoutQuery)) is "
                    + (isOwn
                        ? "now a resource of its own"
                        : "now part of the resource \(DisplayText.clean(metadata.resource))"))
        }
        guard metadata.authorizationServers.contains(where: { IssuerSpelling.isSameServer($0, link.issuer) })
        else {
            throw changed(
                "\(DisplayText.clean(link.resource)) now takes tokens from \(metadata.serverList), "
                    + "not from \(DisplayText.clean(link.issuer))")
        }
        return true
    }

    /// Fetches the metadata that the resource's last response leads to, or else the stored metadata URL.
    private func find(
        _ target: ResourceTarget, after head: HTTPResponse?, _ secrets: WithheldSecrets
    ) throws(OIDCError) -> ResourceSearch.Found {
        let reach = target.operand.reach
        let search = try ResourceSearch(
            target.operand.url, context: try reach.environment(),
            allowsInsecureHTTP: reach.allowsInsecureHTTP)
        if head == nil, let url = target.link.metadataURL.flatMap({ WebURL($0) }) {
            return try search.find(at: url, refetching: true)
        }
        return try search.find(after: head?.withoutFields(repeating: secrets), refetching: true)
    }

    private func changed(_ message: String) -> OIDCError {
        OIDCError(.loginRequired, message, hint: provider.settings.loginLine, stage: .resource)
    }
}

/// A session that is still in a file, plain or sealed, because the setting `store` was changed after the
/// sign-in.
extension Account {
    /// The same account in the store of before, without using a keychain; nil if it has no session there.
    var earlier: Account? {
        guard let choice = try? SessionStoreChoice(setting: provider.settings.store),
            let directory = StateDirectories(environment: context.environment).state,
            FilePath.isPossible(directory)
        else { return nil }
        let setting: String
        let other: SessionStore
        let file = SessionStore(directory: directory)
        if choice != .file, let session = try? file.load(key), session.key == key {
            other = file
            setting = "file"
        } else if let keeper = otherKeeper,
            let sealed = try? provider.store(SessionStoreChoice(setting: keeper))
        {
            other = sealed
            setting = keeper
        } else {
            return nil
        }
        // It may be the session of another profile.
        guard (try? SessionCatalog(provider))?.isInUse(setting, for: key) != true else { return nil }
        return kept(in: other)
    }

    /// The setting `store` with which a sealed session was saved, if that is another one than now.
    var otherKeeper: String? {
        guard let directory = StateDirectories(environment: context.environment).state,
            let keeper = KeychainSeal.keeper(of: key, in: directory)
        else { return nil }
        return keeper == provider.settings.store ? nil : keeper
    }

    private var location: String { DisplayText.clean(store.location(of: key)) }

    /// The warning that the session of an earlier store is not used.
    var leftoverWarning: Warning {
        Warning(
            "a session is still in \(location), from before store was changed",
            hint: provider.settings.store == "none"
                ? .words(.run("logout"), " forgets it")
                : .words(.run("login"), " replaces it, ", .run("logout"), " forgets it"))
    }

    /// Removes the session of an earlier store after a new sign-in, and reports it.
    func removeLeftover() {
        do throws(OIDCError) {
            try store.withLock(key, provider.lockWait) { () throws(OIDCError) in try store.remove(key) }
            context.console.note("Removed the earlier session from \(location).")
        } catch {
            context.console.warn(
                "the earlier session in \(location) could not be removed: \(error.message)")
        }
    }
}

extension SessionTokens.Delivery {
    /// The token, which a resource may repeat in its response.
    var secrets: WithheldSecrets { WithheldSecrets([access.token.revealed]) }
}

extension HTTPResponse {
    /// Returns the response without the header fields that repeat a token: otherwise a URL in a challenge
    /// would be requested and shown with the token in it.
    func withoutFields(repeating secrets: WithheldSecrets) -> HTTPResponse {
        var copy = self
        copy.headers = HTTPHeaders(
            headers.fields.filter { secrets.removed(from: $0.value) == $0.value }.map { ($0.name, $0.value) })
        return copy
    }
}
