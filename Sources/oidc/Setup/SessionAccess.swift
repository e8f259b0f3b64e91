import OIDCCore
import OIDCSystem

/// The session that the settings mean, and how its tokens are come by.
struct SessionAccess {
    let setup: ProviderSetup
    let key: SessionKey
    let store: any SessionStoring

    private var context: CommandContext { setup.context }

    /// `mayKeepNothing`: where no directory is named, a session that is made for one command lives in memory.
    init(_ setup: ProviderSetup, mayKeepNothing: Bool = false) throws(OIDCError) {
        self.setup = setup
        key = try setup.sessionKey()
        let store = try setup.store()
        guard mayKeepNothing, key.grant.needsPerson, store is NowhereStore else {
            self.store = store
            return
        }
        setup.context.console.warn("there is no place for sessions, so that nothing will be kept")
        self.store = MemorySessionStore()
    }

    /// The same session, kept elsewhere.
    init(_ other: SessionAccess, in store: any SessionStoring) {
        setup = other.setup
        key = other.key
        self.store = store
    }

    /// A store's hint to sign in becomes the command line that does so with these settings.
    func load() throws(OIDCError) -> Session? {
        do throws(OIDCError) { return try store.load(key) } catch {
            var error = error
            if error.hint == .signIn { error.hint = .text(setup.loginLine) }
            throw error
        }
    }

    /// More than was granted takes a new sign-in, for all that the session has and what is wanted besides.
    private func refuseWider(_ session: Session?, _ demand: TokenDemand) throws(OIDCError) {
        guard let session, case .wider(let wanted) = session.source(for: demand) else { return }
        let scope = (session.requestedScope ?? Scope("")).union(wanted)
        throw OIDCError(
            .loginRequired, "the session was not granted the scope \(DisplayText.quoted(wanted.text))",
            hint: "\(setup.loginLine) --scope \(ShellWord.quoted(scope.text))", stage: .token)
    }

    /// The demand of the settings. What a grant without a person asks for stands in its key.
    func demand(minimumValidity: Int64 = 60) -> TokenDemand {
        guard key.grant.needsPerson else { return TokenDemand(minimumValidity: minimumValidity) }
        return TokenDemand(
            scope: setup.settings.scope(.scope), resources: setup.settings.texts(.resource),
            minimumValidity: minimumValidity)
    }

    /// A token that is fresh, from the store if it can be.
    func token(_ demand: TokenDemand) throws(OIDCError) -> SessionTokens.Delivery {
        let session = try load()
        try refuseWider(session, demand)
        if let session, let access = try SessionTokens.fresh(in: session, for: demand, at: context.now) {
            return SessionTokens.Delivery(session: session, access: access)
        }
        return try renewed(demand, seen: session, refusing: .none)
    }

    /// A token other than the one that was refused.
    func token(
        _ demand: TokenDemand, insteadOf refused: SessionTokens.Delivery
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try renewed(demand, seen: refused.session, refusing: .of(refused.access))
    }

    /// The slow way: under the lock, over the network, told about.
    func renewed(
        _ demand: TokenDemand, seen: Session?, refusing refusal: SessionTokens.Refusal
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try refuseWider(seen, demand)
        if seen == nil, key.grant.needsPerson { throw SessionAccess.noSession(key, setup.settings) }
        let tokens = SessionTokens(
            store: store, key: key, now: { Clock.now() }, wait: setup.renewalWait,
            request: { (current, source) throws(OIDCError) in try request(current, source) })
        let delivery: SessionTokens.Delivery
        do throws(OIDCError) {
            delivery = try tokens.refreshed(demand, seen: seen, refusing: refusal)
        } catch {
            throw completed(error)
        }
        for warning in delivery.warnings { context.console.warn(warning.commandLine) }
        return delivery
    }

    private func request(
        _ current: Session?, _ source: TokenSource
    ) throws(OIDCError) -> SessionTokens.Answer {
        guard key.grant.needsPerson else {
            let outcome = try MachineGrant(setup: setup, key: key).outcome()
            return SessionTokens.Answer { () throws(OIDCError) in outcome }
        }
        guard let current else { throw SessionAccess.noSession(key, setup.settings) }
        let environment = try setup.environment()
        let refresh = TokenRefresh(
            environment: environment, tokenEndpoint: try setup.tokenEndpoint(of: current, environment),
            leeway: setup.leeway, allowedAlgorithms: setup.idTokenAlgorithms)
        let answer = try refresh.request(current, for: source)
        return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
            try refresh.check(answer)
        }
    }

    /// The hint to sign in is completed to the command line that does so with these settings.
    private func completed(_ error: OIDCError) -> OIDCError {
        guard error.kind == .loginRequired || error.hint == .signIn else { return error }
        var error = error
        error.hint = .text(setup.loginLine)
        return error
    }

    static func noSession(_ key: SessionKey, _ settings: Settings) -> OIDCError {
        let profile = settings.profile.map { " (profile \(DisplayText.clean($0)))" } ?? ""
        return OIDCError(
            .loginRequired, "not signed in at \(DisplayText.clean(key.provider))\(profile)",
            hint: ProviderSetup.loginLine(settings), stage: .token)
    }
}

extension SessionAccess: AccessTokenSource {
    func canRefresh(_ session: Session) -> Bool {
        session.tokens.refreshToken != nil || !key.grant.needsPerson
    }
}

extension ProviderSetup {
    /// The sign-in that a resource asks for, being stronger or more recent (RFC 9470 §3).
    func loginLine(for stepUp: StepUp) -> String {
        var line = loginLine
        if let values = stepUp.acrValues { line += " --set \(ShellWord.quoted("acr_values=\(values)"))" }
        if let age = stepUp.maxAge { line += " --set max_age=\(age)" }
        return stepUp.acrValues == nil && stepUp.maxAge == nil ? "\(line) --prompt login" : line
    }
}

extension ProviderSetup {
    /// The command line that signs in with these settings.
    var loginLine: String { ProviderSetup.loginLine(settings) }

    /// How long the lock of a session is waited for: its holder may be at the network.
    var renewalWait: LockWait {
        let console = context.console
        let limit = ((settings.integer(.httpTimeout) ?? 30) * 2 + 30) * 1_000
        let left = deadline.map { max(0, $0.milliseconds(from: .now())) } ?? limit
        return LockWait(
            limit: .milliseconds(min(limit, left)),
            onWaiting: { console.note("waiting for another oidc process that is getting a token …") })
    }

    static func loginLine(_ settings: Settings) -> String {
        var words = ["oidc login"]
        if let profile = settings.profile, profile != "default" {
            words += ["-p", ShellWord.quoted(profile)]
        }
        let options: [(Setting, String)] = [
            (.issuer, "--issuer"), (.clientID, "--client-id"), (.audience, "--audience"),
        ]
        for (setting, option) in options {
            guard let entry = settings.entries.first(where: { $0.setting == setting }),
                case .option = entry.origin, let text = entry.value.string
            else { continue }
            words += [option, ShellWord.quoted(text)]
        }
        if let account = settings.text(.account),
            case .option? = settings.entries.first(where: { $0.setting == .account })?.origin
        {
            words += ["--set", ShellWord.quoted("account=\(account)")]
        }
        return words.joined(separator: " ")
    }
}
