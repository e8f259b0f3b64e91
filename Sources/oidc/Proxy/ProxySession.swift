import OIDCCore
import OIDCSystem
import Synchronization

/// The session of a proxy's routes. All routes use the session of the settings; this is the one place where
/// a route finds its own.
struct ProxySession {
    private let provider: ProviderContext
    private let mayLogIn: Bool
    private let minimumValidity: Int64
    private let memory = Memory()

    /// What outlives one use of the session.
    private final class Memory: Sendable {
        /// The store, if a session could not be kept.
        let store = Mutex<(any SessionStoring)?>(nil)
    }

    init(_ provider: ProviderContext, mayLogIn: Bool = false, minimumValidity: Int64 = 60) {
        self.provider = provider
        self.mayLogIn = mayLogIn
        self.minimumValidity = minimumValidity
    }

    /// Returns access to the session as a command that starts now would have it.
    private func access(_ console: Console) throws(OIDCError) -> SessionAccess {
        let context = CommandContext(
            console: console, environment: provider.context.environment, common: provider.context.common)
        let access = try SessionAccess(
            ProviderContext(provider.settings, context), mayKeepNothing: mayLogIn)
        guard let store = memory.store.withLock({ $0 }) else { return access }
        return SessionAccess(access, in: store)
    }

    private func token(
        insteadOf refused: SessionTokens.Delivery?, _ console: Console
    ) throws(OIDCError) -> SessionTokens.Delivery {
        try access(console).signingIn(mayLogIn) { access throws(OIDCError) in
            if access.store is MemorySessionStore { memory.store.withLock { $0 = access.store } }
            let demand = access.demand(minimumValidity: minimumValidity)
            guard let refused else { return try access.token(demand) }
            return try access.token(demand, insteadOf: refused)
        }
    }

    /// Gets a token before the proxy starts, so that it does not start without a session. If the provider is
    /// out of reach and `toleratesOutage`, requests will try again.
    func firstToken(toleratesOutage: Bool) throws(OIDCError) -> SessionTokens.Delivery? {
        do throws(OIDCError) {
            return try token(insteadOf: nil, provider.context.console)
        } catch {
            guard toleratesOutage, error.kind == .unreachable else { throw error }
            provider.context.console.warn(error.commandLine)
            return nil
        }
    }

    /// Returns the token source of the proxy. Warnings were shown with the first token.
    func source() throws(OIDCError) -> ProxyTokenSource {
        var quiet = provider.context.common
        quiet.isQuiet = !quiet.isVerbose
        let console = Console(mayLogIn ? provider.context.common : quiet)
        var source = ProxyTokenSource(
            environment: try provider.environment(),
            token: { refused throws(OIDCError) in try token(insteadOf: refused, console) },
            ending: { ending(console) },
            onEnd: { [console = provider.context.console] error in
                console.warn("the session has ended: \(error.commandLine)")
            })
        source.minimumValidity = minimumValidity
        return source
    }

    /// Returns why the session can give no token any more.
    private func ending(_ console: Console) -> OIDCError? {
        do throws(OIDCError) {
            let access = try access(console)
            guard access.key.grant.needsUser else { return nil }
            let session = try access.session()
            let isUsable =
                session.tokens.refreshToken != nil
                || session.tokens.access.isFresh(at: Clock.now(), minimum: 0)
            guard !isUsable else { return nil }
            return OIDCError(
                .loginRequired, "the access token has expired, and there is no refresh token",
                hint: provider.settings.loginLine, stage: .token)
        } catch {
            return error.kind == .loginRequired ? error : nil
        }
    }

    func configuration(timeout: Int) throws(OIDCError) -> ProxyServer.Configuration {
        var configuration = ProxyServer.Configuration(try provider.transport().configuration)
        configuration.timeout = Int64(timeout) * 1_000
        let common = provider.context.common
        configuration.hint = { common.completing($0.commandLine) }
        return configuration
    }
}
