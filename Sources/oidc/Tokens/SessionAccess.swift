import OIDCCore
import OIDCSessions
import OIDCSystem
import Posix

/// The session of the settings, and its tokens.
struct SessionAccess {
    let provider: ProviderContext
    let key: SessionKey
    let store: SessionStore

    private var context: CommandContext { provider.context }

    /// Creates the access to the session of the settings. If `mayKeepNothing` is true and no state directory
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

    /// Creates the access to the same session in another store.
    init(_ other: SessionAccess, in store: SessionStore) {
        provider = other.provider
        key = other.key
        self.store = store
    }

    /// Loads the session. Completes a hint to sign in with the options that were given.
    func load() throws(OIDCError) -> Session? {
        do throws(OIDCError) { return try store.load(key) } catch {
            throw provider.namingResource(error.signingInAgain(by: provider.settings.scopedLoginLine))
        }
    }

    /// Throws if more scope is demanded than was granted. The hint is a sign-in for the requested and the
    /// wanted scope.
    private func refuseWider(_ session: Session?, _ demand: TokenDemand) throws(OIDCError) {
        guard let session, case .wider(let wanted) = session.source(for: demand) else { return }
        let scope = (session.requestedScope ?? Scope("")).union(wanted)
        let missing =
            session.grantedScope?.missing(from: wanted).joined(separator: " ") ?? wanted.text
        throw OIDCError(
            .loginRequired, "the session was not granted the scope \(DisplayText.quoted(missing))",
            hint: "\(provider.settings.loginLine) --scope \(ShellWord.quoted(scope.text))", stage: .token)
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
        let session = try load()
        try refuseWider(session, demand)
        traceFreshness(session, demand)
        return try delivered(demand, session) { (tokens) throws(OIDCError) in
            try tokens.token(demand, loaded: session)
        }
    }

    /// Returns a token other than the one that was refused.
    func token(
        _ demand: TokenDemand, insteadOf refused: SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try refreshed(demand, loaded: refused.session, refusing: .refused(refused.access))
    }

    /// Refreshes the token under the session's lock, over the network.
    func refreshed(
        _ demand: TokenDemand, loaded: Session?, refusing refusal: SessionTokens.Refusal
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try delivered(demand, loaded) { (tokens) throws(OIDCError) in
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
        let engine = AccountEngine(key: key, store: store, provider)
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
            return OIDCError(
                .loginRequired, "\(error.message): the provider no longer knows the registered client",
                hint: provider.settings.scopedLoginLine, stage: .token, oauthError: error.oauthError)
        }
        guard error.kind != .loginRequired else {
            var error = error
            error.hint = .text(provider.settings.scopedLoginLine)
            return error
        }
        let line = provider.settings.scopedLoginLine
        return provider.namingResource(provider.withoutResource(error).signingInAgain(by: line))
    }

    /// Returns the session's ID token. Refreshes it if it is about to expire, or always if `forced` is true.
    func idToken(minimumValidity: Int64, forced: Bool = false) throws(OIDCError) -> IDToken {
        guard key.grant.needsUser else { throw .noIDToken(key.grant) }
        let session = try session()
        if let ended = session.endedError, !session.hasAccessToken, !session.canRefresh {
            throw completed(ended)
        }
        let stored = session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }
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

    private func withoutSuccessor(_ token: IDToken) -> String {
        let left = token.expiresAt.seconds(since: context.now)
        let state = left > 0 ? "expires in \(TimeWords.duration(left))" : "has expired"
        return "the ID token \(state), and a refresh brings no new one"
    }

    private func isFresh(_ token: IDToken, _ minimumValidity: Int64) -> Bool {
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
        } catch {
            return error
        }
        let settings = provider.settings
        let profile = settings.profile.map { " (profile \(DisplayText.clean($0)))" } ?? ""
        let isKept = !key.grant.needsUser || settings.store != "none"
        return OIDCError(
            .loginRequired,
            "not signed in at \(DisplayText.clean(key.provider))\(profile)"
                + (isKept ? "" : ", and store is none: no session is kept"),
            hint: key.grant.needsUser
                ? isKept ? settings.scopedLoginLine : loginLineWithoutStore
                : settings.line("oidc token", and: [("--grant", .grant)]), stage: .token)
    }

    /// The command that signs in itself, because `oidc login` would not keep a session.
    private var loginLineWithoutStore: String {
        switch context.console.command {
        case "exec": "--login"
        // `oidc credential` never signs in.
        case "credential": "oidc config set store=file"
        case "userinfo": provider.settings.scoped("oidc userinfo --login")
        default: provider.settings.scoped("oidc token --login")
        }
    }
}

extension SessionAccess: AccessTokenSource {}

extension ProviderContext: AccountProvider {
    var leeway: Int64 { settings.network.leeway }
    var idTokenAlgorithms: [String]? { settings.client.idTokenAlgorithms }
    var bindsTokens: Bool { settings.token.bindsTokens }

    func granted(_ key: SessionKey) throws(OIDCError) -> TokenRefresh.Outcome {
        try MachineGrant(provider: self, key: key).outcome()
    }

    func refreshes(_ session: Session) {
        warnOfOther(.token, than: session.endpoints.token)
        warnOfOther(.refresh, than: session.endpoints.refresh)
    }

    func hasRefreshed(_ session: Session, _ outcome: TokenRefresh.Outcome) {
        guard let idToken = outcome.session.tokens.idToken, idToken != session.tokens.idToken else { return }
        traceIDToken(IDToken.stored(idToken.revealed), nonce: false)
    }

    /// The wait for the session's lock, whose holder may be using the network.
    var lockWait: LockWait {
        let console = context.console
        let limit = (settings.network.httpTimeout * 2 + 30) * 1_000
        let left = deadline.map { max(0, $0.milliseconds(from: .now())) } ?? limit
        return LockWait(
            limit: .milliseconds(min(limit, left)),
            onWaiting: { console.noteWaiting("waiting for another oidc process that is getting a token …") })
    }
}
