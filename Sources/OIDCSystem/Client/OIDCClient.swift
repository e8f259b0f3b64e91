import CurlHTTP
import OIDCAccount
public import OIDCCore
import OIDCSessions
import OIDCSignIn
import Posix

/// A client for other programs: one call signs in, one returns a fresh token, one calls an API. It shares its
/// sessions with the command line.
public struct OIDCClient: Sendable {
    /// The configuration of this client.
    public let configuration: ClientConfiguration
    /// Called with the events of a sign-in; by default the URL or the code is written to stderr.
    public var notice: @Sendable (Notice) -> Void = { OIDCClient.write($0) }
    let memory = SessionStore.inMemory()
    /// Keeps connections between calls; copies of this client share them.
    private let curl = CurlTransport()

    /// Creates a client from a configuration.
    public init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
    }

    /// Creates a public client.
    public init(issuer: String, clientID: String) {
        self.init(ClientConfiguration(issuer: issuer, clientID: clientID))
    }

    /// Opens the browser and returns the session once the user has signed in.
    @discardableResult
    public func signIn(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingSignIn(Scope(scope), onDevice: false, isCancelled)
        }
    }

    /// Signs in on another device; `notice` gets the code and the URL (RFC 8628).
    @discardableResult
    public func signInOnDevice(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingSignIn(Scope(scope), onDevice: true, isCancelled)
        }
    }

    /// Returns the stored session; nil if there is none.
    public func session() throws(OIDCError) -> Session? { try store.load(configuration.key) }

    /// Returns a fresh access token. If it has to be refreshed, any number of processes make one request in
    /// total.
    ///
    /// A token for a narrower scope or other resources is stored separately.
    public func accessToken(
        scope: OAuthScope? = nil, resources: [String] = []
    ) async throws(OIDCError) -> AccessToken {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingToken(scope, resources, isCancelled)
        }
    }

    /// Fetches the claims of the user who signed in.
    public func userInfo() async throws(OIDCError) -> JSONObject {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingUserInfo(isCancelled) }
    }

    /// Sends a request with the session's token, and a proof if the token is bound to a key. After a 401,
    /// refreshes the token and sends the request again, once.
    public func send(_ request: HTTPRequest) async throws(OIDCError) -> HTTPResponse {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingSend(request, isCancelled) }
    }

    /// The result of the revocation at the provider. The session is removed from the store in every case.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum SignOutResult: Hashable, Sendable {
        case revoked
        case notOffered
        case failed(OIDCError)
    }

    /// Removes the session from the store and revokes its tokens.
    @discardableResult
    public func signOut() async throws(OIDCError) -> SignOutResult {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingSignOut(isCancelled) }
    }

    private static func write(_ notice: Notice) {
        guard let url = notice.url else { return }
        if let code = notice.userCode {
            StandardError.write("Open \(url.text) and enter \(code)\n")
        } else {
            StandardError.write("Sign in at:\n\n  \(url.text)\n\n")
        }
    }

    private func report(_ event: SignInNotice) {
        Notice(event).map(notice)
    }
}

/// The blocking functions, which the asynchronous ones run on a separate thread.
extension OIDCClient {
    var store: SessionStore {
        if let store = configuration.store { return store }
        let directory = StateDirectories(environment: ProcessEnvironment.current).state
        return directory.map { SessionStore(directory: $0) } ?? memory
    }

    /// Returns the engine of the account. `isCancelled` ends its requests and its waits.
    private func engine(_ isCancelled: @escaping @Sendable () -> Bool) -> AccountEngine {
        AccountEngine(
            key: configuration.key, store: store,
            ConfiguredProvider(configuration, curl, isCancelled: isCancelled))
    }

    func blockingSignIn(
        _ scope: Scope, onDevice: Bool, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> Session {
        try store.probe(configuration.key)
        // Once there are tokens, they are saved, even if the task is canceled.
        let engine = engine { false }
        let flow = try flow(
            engine, scope, onDevice: onDevice, configuration.environment(curl, isCancelled: isCancelled))
        let deadline = MonotonicTime.now().adding(seconds: configuration.timeout.components.seconds)
        guard !onDevice else {
            var device = DeviceSignIn(flow: flow, deadline: deadline, notice: report)
            device.isCancelled = isCancelled
            return try engine.signIn(by: device).session
        }
        let variables = ProcessEnvironment.current
        let choice = BrowserChoice.resolve(.current(environment: variables))
        let route = try CallbackRoute(listen: configuration.callbackListen, path: configuration.callbackPath)
        var browser = BrowserSignIn(
            flow: flow, redirect: try RedirectAddress(configuration.redirectURI, route: route),
            readsInput: false,
            browser: configuration.opensBrowser && choice.isAvailable ? choice : nil,
            environment: ProcessEnvironment.withoutSecrets(variables), deadline: deadline, notice: report)
        browser.isCancelled = isCancelled
        return try engine.signIn(by: browser).session
    }

    private func flow(
        _ engine: AccountEngine, _ scope: Scope, onDevice: Bool, _ environment: OIDCContext
    ) throws(OIDCError) -> SignInFlow {
        let metadata = try configuration.metadata(environment)
        try metadata.validate(for: [onDevice ? .deviceAuthorization : .authorization, .token], scope: scope)
        let client = configuration.client
        var flow = try engine.flow(metadata, as: client, environment) { dpop in
            var request = AuthorizationRequest(
                client: client, redirectURI: configuration.redirectURI ?? RedirectAddress.standard,
                scope: scope)
            request.audience = configuration.audience
            request.resources = configuration.resources
            request.promptsForOfflineAccess = configuration.promptsForOfflineAccess
            request.dpopThumbprint = dpop?.thumbprint
            return request
        }
        flow.pin(to: try? store.load(configuration.key))
        return flow
    }

    func blockingToken(
        _ scope: Scope?, _ resources: [String], _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> AccessToken {
        try engine(isCancelled).tokens().token(TokenDemand(scope: scope, resources: resources)).access
    }

    func blockingUserInfo(_ isCancelled: @escaping @Sendable () -> Bool) throws(OIDCError) -> JSONObject {
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        return try ProtectedRequest(engine(isCancelled).tokens(), environment: environment).userInfo(
            leeway: configuration.leeway.components.seconds,
            alias: { configuration.alias(of: $0, for: .userInfo, environment) }
        ) { _ throws(OIDCError) in
            try UserInfo.Signing(configuration.metadata(environment)) { configuration.client }
        }
    }

    func blockingSend(
        _ request: HTTPRequest, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> HTTPResponse {
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        let protected = ProtectedRequest(engine(isCancelled).tokens(), environment: environment)
        return try protected.send { attempt throws(OIDCError) in
            var authorized = request
            try attempt.authorize(&authorized)
            let response = try environment.transport.send(authorized, stage: .resource)
            return attempt.next(after: response).map { .again($0) } ?? .done(response)
        }
    }

    func blockingSignOut(
        _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> SignOutResult {
        let engine = engine(isCancelled)
        let removal: SessionRemoval
        do throws(OIDCError) { removal = try engine.taken() } catch {
            // Sign-out removes the session in every case, even if it may no longer wait for a refresh.
            guard error.kind == .interrupted else { throw error }
            removal = engine.removed()
        }
        // If the session could not be removed, its tokens must not be revoked.
        let stays = removal.failure.map { $0.kind != .unreachable && !engine.isEmpty } ?? false
        let result = stays ? nil : removal.session.map { engine.provider.revoke($0) }
        if let failure = removal.failure { throw failure }
        guard let result else { return .notOffered }
        return result.failures.first.map { .failed($0) } ?? (result.isRevoked ? .revoked : .notOffered)
    }
}
