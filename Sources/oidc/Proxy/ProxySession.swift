import CurlHTTP
import OIDCCore
import OIDCProxy
import OIDCSessions
import OIDCSystem
import Posix
import Synchronization

/// A session whose token a proxy adds to requests: that of the settings, or of a resource that the user
/// signed in to.
struct ProxySession {
    private enum Owner {
        case provider(ProviderContext)
        case resource(ResourceOperand)
    }

    private let owner: Owner
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
    }

    private init(_ owner: Owner, mayLogIn: Bool, minimumValidity: Int64) {
        self.owner = owner
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
        for route in routes {
            let operand = ResourceOperand(route.url, provider.settings, provider.context)
            let isOfResource = provider.context.ownResource(provider.settings) != nil
            let namesNoOther = provider.settings.token.resources.isEmpty || isOfResource
            let isResource =
                namesNoOther
                ? try operand.existingAccess() != nil || isOfResource || !provider.namesProvider : false
            guard isResource || own == nil else {
                indices.append(own ?? 0)
                continue
            }
            indices.append(sessions.count)
            if !isResource { own = sessions.count }
            sessions.append(
                ProxySession(
                    isResource ? .resource(operand) : .provider(provider), mayLogIn: mayLogIn,
                    minimumValidity: minimumValidity))
        }
        return (sessions, indices)
    }

    private var context: CommandContext {
        switch owner {
        case .provider(let provider): provider.context
        case .resource(let operand): operand.context
        }
    }

    /// The network settings of the session's provider or resource.
    private var reach: ProviderContext {
        switch owner {
        case .provider(let provider): provider
        case .resource(let operand): operand.reach
        }
    }

    /// The settings of the session's client, whose certificate bound tokens need.
    private var client: ProviderContext {
        switch owner {
        case .provider(let provider): provider
        case .resource(let operand): (try? operand.linked()) ?? operand.reach
        }
    }

    /// Looks up the session again, as a newly started command would.
    private func access(_ context: CommandContext) throws(OIDCError) -> SessionAccess {
        let access =
            switch owner {
            case .provider(let provider):
                try SessionAccess(ProviderContext(provider.settings, context), mayKeepNothing: mayLogIn)
            case .resource(let operand):
                try ResourceOperand(operand.url, operand.settings, context).access(mayLogIn: mayLogIn)
            }
        guard let store = memory.store.withLock({ $0 }) else { return access }
        return SessionAccess(access, in: store)
    }

    private func token(
        insteadOf refused: SessionTokens.Delivery?, _ context: CommandContext
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let maySignIn = mayLogIn && memory.silence.withLock { $0.map { $0 <= .now() } ?? true }
        var isSignedOut = false
        do throws(OIDCError) {
            return try access(context).signingIn(maySignIn) { access throws(OIDCError) in
                do throws(OIDCError) { return try token(of: access, insteadOf: refused) } catch {
                    isSignedOut = error.kind == .loginRequired
                    throw error
                }
            }
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
        of access: SessionAccess, insteadOf refused: SessionTokens.Delivery?
    ) throws(OIDCError) -> SessionTokens.Delivery {
        if access.store.reach == .process { memory.store.withLock { $0 = access.store } }
        let demand = demand(of: access)
        guard let refused else { return try access.token(demand) }
        guard let target = access.provider.target else {
            return try access.token(demand, insteadOf: refused)
        }
        return try ResourceTokens(access, target).token(demand, insteadOf: refused)
    }

    private func demand(of access: SessionAccess) -> TokenDemand {
        var demand = access.demand(minimumValidity: minimumValidity)
        if memory.usesOwnToken.withLock({ $0 }) { demand.scope = nil }
        return demand
    }

    /// Signs in as a response requires, and returns a token of the new session.
    private func steppedUp(
        _ refused: SessionTokens.Delivery, _ head: HTTPResponse, _ context: CommandContext
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let access = try access(context)
        let url = access.provider.target?.operand.url ?? refused.session.endpoints.token
        let answer = ResourceCall.Answer(head: head, delivery: refused, url: url)
        guard access.key.grant.needsUser,
            let demand = ResourceDemand(answer, of: access, nil, hasRefetched: false)
        else { return try token(insteadOf: refused, context) }
        let signedIn = try demand.nextAccess(after: access, access.provider.target?.operand)
        if signedIn.store.reach == .process { memory.store.withLock { $0 = signedIn.store } }
        memory.usesOwnToken.withLock { $0 = true }
        return try signedIn.token(self.demand(of: signedIn))
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
    /// terminal.
    ///
    /// Without `--login`, the source prints no warnings: they were shown with the first token.
    func source(ownsTerminal: Bool = true) throws(OIDCError) -> ProxyTokenSource {
        var common = context.common
        if !mayLogIn { common.isQuiet = !common.isVerbose }
        let later = CommandContext(
            console: context.console.with(common), environment: context.environment, common: context.common,
            ownsTerminal: ownsTerminal)
        var source = ProxyTokenSource(
            environment: try reach.environment(),
            token: { refused throws(OIDCError) in try token(insteadOf: refused, later.restarted) },
            ending: { ending(later) },
            onEnd: { [console = context.console] error in
                console.warn(error, "requests get no token")
            })
        source.minimumValidity = minimumValidity
        let certificate = try client.curlConfiguration()
        source.clientCertificate = certificate.clientCertificate
        source.certificateOrigins = certificate.certificateOrigins
        if mayLogIn {
            source.stepUp = { (refused, head) throws(OIDCError) in
                try steppedUp(refused, head, later.restarted)
            }
        }
        return source
    }

    /// Returns the error if the session cannot give a token any more; nil if it can.
    private func ending(_ context: CommandContext) -> OIDCError? {
        do throws(OIDCError) {
            let access = try access(context)
            guard access.key.grant.needsUser else { return nil }
            let session = try access.session()
            let isUsable =
                session.tokens.refreshToken != nil
                || session.tokens.access.isFresh(at: Clock.now(), minimum: 0)
            guard !isUsable else { return nil }
            return OIDCError(
                .loginRequired, "the access token has expired, and there is no refresh token",
                hint: access.provider.settings.loginLine, stage: .token)
        } catch {
            return error.kind == .loginRequired ? error : nil
        }
    }

    func configuration(timeout: Int) throws(OIDCError) -> ProxyServer.Configuration {
        var configuration = ProxyServer.Configuration(try reach.transport().configuration)
        configuration.timeout = Int64(timeout) * 1_000
        let completion = context.console.completion
        configuration.hint = { completion.completed($0.commandLine) }
        return configuration
    }
}
