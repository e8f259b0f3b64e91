import CurlHTTP
import OIDCCore
import OIDCProxy
import OIDCSessions
import OIDCAccount
import Posix
import Synchronization

/// A session whose token a proxy adds to requests: that of the settings, or of a resource that the user
/// signed in to.
struct ProxySession {
    private let target: Target
    private let mayLogIn: Bool
    private let minimumValidity: Int64
    private let memory = Memory()

    /// The state that is kept between uses of the session.
    private final class Memory: Sendable {
        /// The store in memory, if a session could not be saved.
        let store = Mutex<(SessionStore)?>(nil)
        /// The end of the pause after a failed sign-in. Until then, requests start no new one.
        let silence = Mutex<MonotonicTime?>(nil)
        /// Whether to use the session's own token, because a sign-in granted more scope than the settings
        /// name.
        let usesOwnToken = Mutex(false)
        /// Whether the user is asked to sign in, as the session is gone.
        let isAsking = Mutex(false)
    }

    private init(_ target: Target, mayLogIn: Bool, minimumValidity: Int64) {
        self.target = target
        self.mayLogIn = mayLogIn
        self.minimumValidity = minimumValidity
    }

    /// Returns the sessions of the routes, and the index of each route's session. A route uses the session of
    /// its resource if the user signed in to it, or if the settings name no provider.
    static func sessions(
        of routes: [ProxyRoute], _ provider: ProviderContext, mayLogIn: Bool = false,
        minimumValidity: Int64 = 60
    ) throws(OIDCError) -> (sessions: [ProxySession], indices: [Int]) {
        var sessions: [ProxySession] = []
        var indices: [Int] = []
        var own: Int?
        let isLent = provider.lent != nil
        // The lender names the provider.
        let isNamed = isLent ? provider.settings.layers.isProfileNamed : provider.settings.areNamedByUser
        // Of a lent session, the profile is its owner's: one of that name here is another one.
        let others =
            try isNamed
            ? []
            : ProfileSessions.profiles(besides: isLent ? nil : provider.settings.profile, provider.context)
        for route in routes {
            var operand = ResourceOperand(route.url, provider.settings, provider.context)
            let isOfResource = provider.context.ownResource(provider.settings) != nil
            if isLent {
                let isMeant = isNamed || provider.settings.lists(route.url)
                let isListed = others.contains { $0.settings?.lists(route.url) == true }
                let isUsedHere = isMeant ? false : isListed ? true : try operand.hasTokenOfItsOwn(others)
                try provider.checkLent(route.url, isUsedHere: isUsedHere)
            }
            // With an option, all routes get the token for that resource.
            let namesOther = provider.settings.layers.entry(.resource)?.origin.layer == .options
            var isResource = false
            if isOfResource || !namesOther, !isLent {
                operand = try operand.inProfile()
                isResource = isOfResource || !provider.namesProvider
                if !isResource {
                    // A profile whose resource the URL is says whose token it gets, unless `-p`, an option or a variable does.
                    isResource =
                        try provider.settings.lists(route.url)
                        ? operand.stored() != nil
                        : isNamed ? operand.wasSignedIn() : operand.hasTokenOfItsOwn(others)
                    if !isResource, !isNamed { try checkListed(operand, in: others) }
                }
            }
            if !isResource, !namesOther, !isNamed { try noteNeighbors(of: operand, others) }
            guard isResource || own == nil else {
                indices.append(own ?? 0)
                continue
            }
            indices.append(sessions.count)
            if !isResource { own = sessions.count }
            sessions.append(
                ProxySession(
                    isResource ? .url(operand) : .settings(provider), mayLogIn: mayLogIn,
                    minimumValidity: minimumValidity))
        }
        return (sessions, indices)
    }

    /// Throws if the route's URL is listed in other profiles only, and nothing but the default says whose token it gets.
    private static func checkListed(
        _ operand: ResourceOperand, in others: [ProfileSessions.Profile]
    ) throws(OIDCError) {
        let (settings, url) = (operand.settings, operand.url)
        guard let profile = settings.profile, !settings.lists(url),
            let other = others.first(where: { $0.settings?.lists(url) == true })
        else { return }
        throw .usage(
            "\(DisplayText.clean(url.withoutQuery)) is listed in profile \(DisplayText.clean(other.name)), not in"
                + " \(DisplayText.clean(profile))",
            hint: .words(
                "say whose token it gets: add ", .options(["-p", other.name]), " or ",
                .options(["-p", profile])))
    }

    /// Warns if a route gets the token of a profile that the user has not named, and resources on its origin have sessions
    /// of their own, or other profiles.
    private static func noteNeighbors(
        of operand: ResourceOperand, _ others: [ProfileSessions.Profile]
    ) throws(OIDCError) {
        let settings = operand.settings
        guard let profile = settings.profile, !settings.lists(operand.url) else { return }
        let links = try ResourceRecords(operand.context)?.links.links(of: operand.url) ?? []
        let named = others.flatMap { $0.settings?.token.resources ?? [] }
            .filter { WebURL($0)?.origin == operand.url.origin }
        let resources = Set(links.map(\.resource) + named).sorted().joined(separator: ", ")
        guard !resources.isEmpty else { return }
        operand.context.console.warn(
            "\(DisplayText.clean(operand.url.text)) gets the token of profile \(DisplayText.clean(profile)), and has "
                + "resources with sessions or profiles of their own: \(DisplayText.clean(resources, limit: 300))"
        )
    }

    private var context: CommandContext { target.context }

    /// Looks up the account again, as a newly started command would.
    private func account(_ context: CommandContext) throws(OIDCError) -> Account {
        let account = try target.renewed(context).account(mayLogIn: mayLogIn)
        return memory.store.withLock({ $0 }).map { account.kept(in: $0) } ?? account
    }

    /// Returns a token. If `replacesBySignIn` is false, no sign-in replaces a refused token of a session that
    /// still works, as other requests would wait for it.
    private func token(
        insteadOf refused: SessionTokens.Delivery?, _ context: CommandContext, replacesBySignIn: Bool = false
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let maySignIn = mayLogIn && memory.silence.withLock { $0.map { $0 <= .now() } ?? true }
        var isSignedOut = false
        var isAsking = false
        if maySignIn, let refused, !replacesBySignIn {
            do throws(OIDCError) { return try token(of: try account(context), insteadOf: refused) } catch {
                guard error.kind == .loginRequired, error.code != .noRefreshToken else { throw error }
            }
            isAsking = true
            memory.isAsking.withLock { $0 = true }
        }
        // Reset only by the call that set it, as a step-up may run at the same time.
        defer { if isAsking { memory.isAsking.withLock { $0 = false } } }
        var attempts = 0
        do throws(OIDCError) {
            var delivery = try account(context).signingIn(maySignIn) { account throws(OIDCError) in
                attempts += 1
                do throws(OIDCError) { return try token(of: account, insteadOf: refused) } catch {
                    isSignedOut = error.kind == .loginRequired
                    throw error
                }
            }
            delivery.isSignedIn = attempts > 1
            return delivery
        } catch {
            if maySignIn, isSignedOut {
                memory.silence.withLock { $0 = .now().adding(seconds: Self.silence) }
            }
            throw error
        }
    }

    /// The length of the pause after a failed sign-in, in seconds.
    private static let silence: Int64 = 60

    private func token(
        of account: Account, insteadOf refused: SessionTokens.Delivery?
    ) throws(OIDCError) -> SessionTokens.Delivery {
        if account.store.reach == .process { memory.store.withLock { $0 = account.store } }
        let demand = demand(of: account)
        guard let refused else { return try account.token(demand) }
        var delivery = try account.token(demand, insteadOf: refused)
        // The token is used for many requests, and the resource may move to another server before any of
        // them.
        delivery.isServerChecked = false
        return delivery
    }

    private func demand(of account: Account) -> TokenDemand {
        var demand = account.demand(minimumValidity: minimumValidity)
        if memory.usesOwnToken.withLock({ $0 }) { demand.scope = nil }
        return demand
    }

    /// Signs in, as an answer requires if there is one, and returns a token of the new session.
    private func steppedUp(
        _ refused: SessionTokens.Delivery, _ answer: ProxyTokenSource.Answer?, _ context: CommandContext
    ) throws(OIDCError) -> SessionTokens.Delivery {
        guard let answer else { return try token(insteadOf: refused, context, replacesBySignIn: true) }
        let account = try account(context)
        let refusal = ResourceCall.Answer(head: answer.head, delivery: refused, url: answer.url)
        guard account.key.grant.needsUser,
            let demand = ResourceDemand(refusal, of: account, nil)
        else { return try token(insteadOf: refused, context, replacesBySignIn: true) }
        if let scope = demand.scope { try account.provider.settings.checkScope(scope) }
        let signedIn = try demand.nextAccount(after: account, account.provider.target?.operand)
        if signedIn.store.reach == .process { memory.store.withLock { $0 = signedIn.store } }
        memory.usesOwnToken.withLock { $0 = true }
        return try signedIn.token(self.demand(of: signedIn))
    }

    /// Runs the commands that print the secrets of the session's clients, so their output is kept.
    func keepSecrets() throws(OIDCError) {
        let provider = try account(context).provider
        try provider.keepSecret()
        if provider.settings.token.grant == .idJAG { try OwnProvider(provider).keepSecret() }
    }

    /// Obtains a token before the proxy starts. Without a session, this fails; if the provider is unreachable
    /// and `toleratesOutage` is true, requests will try again.
    func firstToken(toleratesOutage: Bool) throws(OIDCError) -> SessionTokens.Delivery? {
        do throws(OIDCError) {
            return try token(insteadOf: nil, context)
        } catch {
            guard toleratesOutage, error.kind == .unreachable else { throw error }
            context.console.warn(error)
            return nil
        }
    }

    /// Returns the token source of the proxy. `ownsTerminal` is false beside a command that uses the
    /// terminal, and `mayOpenBrowser` beside an isolated one.
    ///
    /// Without `--login`, the source prints no warnings: they were shown with the first token.
    func source(
        ownsTerminal: Bool = true, mayOpenBrowser: Bool = true
    ) throws(OIDCError) -> ProxyTokenSource {
        var common = context.common
        if !mayLogIn { common.isQuiet = !common.isVerbose }
        let later = CommandContext(
            console: context.console.with(common), environment: context.environment, common: context.common,
            ownsTerminal: ownsTerminal, mayOpenBrowser: mayOpenBrowser)
        var source = ProxyTokenSource(
            environment: try target.reach.environment(),
            token: { refused throws(OIDCError) in try token(insteadOf: refused, later.restarted) },
            ending: { ending(later) },
            onEnd: { [console = context.console] error in
                console.warn(error, "requests get no token")
            })
        source.minimumValidity = minimumValidity
        source.isAsking = { memory.isAsking.withLock { $0 } }
        let certificate = try target.provider.curlConfiguration()
        source.clientCertificate = certificate.clientCertificate
        source.certificateOrigins = certificate.certificateOrigins
        if mayLogIn {
            source.stepUp = { (refused, answer) throws(OIDCError) in
                try steppedUp(refused, answer, later.restarted)
            }
        }
        return source
    }

    /// Returns the error if the session cannot give a token any more; nil if it can.
    private func ending(_ context: CommandContext) -> OIDCError? {
        do throws(OIDCError) {
            let account = try account(context)
            guard account.key.grant.needsUser else { return nil }
            let session = try account.session()
            guard account.provider.lent == nil else { return nil }
            let isUsable =
                session.tokens.refreshToken != nil
                || session.tokens.access.isFresh(at: Clock.now(), minimum: 0)
            guard !isUsable else { return nil }
            return OIDCError(
                .loginRequired, "the access token has expired, and there is no refresh token",
                hint: account.provider.settings.loginLine, stage: .token)
        } catch {
            return error.kind == .loginRequired ? error : nil
        }
    }

    func configuration(timeout: Int) throws(OIDCError) -> ProxyServer.Configuration {
        var configuration = ProxyServer.Configuration(try target.reach.transport().configuration)
        configuration.timeout = Int64(timeout) * 1_000
        configuration.hint = context.console.line.text
        configuration.warn = context.console.warn
        return configuration
    }
}

extension Settings {
    /// Whether `-p`, an option or a variable says which profile or provider is meant.
    fileprivate var areNamedByUser: Bool {
        layers.isProfileNamed
            || [Setting.issuer, .tokenEndpoint].contains {
                [.options, .variables].contains(layers.entry($0)?.origin.layer)
            }
    }
}
