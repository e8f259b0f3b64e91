public import OIDCCore
import OIDCCrypto

/// Signs users in for another program: one call to sign in, one for a fresh token, one for an API. Sessions are
/// those of the command line: what one signed in, the other can use.
public struct OIDCClient: Sendable {
    /// The configuration of this client.
    public let configuration: ClientConfiguration
    /// What happens during a sign-in; by default the URL or the code is written to stderr.
    public var notice: @Sendable (SignInNotice) -> Void = { OIDCClient.write($0) }
    private let memory = MemorySessionStore()

    /// Makes a client of a configuration.
    public init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
    }

    /// Makes a public client.
    public init(issuer: String, clientID: String) {
        self.init(ClientConfiguration(issuer: issuer, clientID: clientID))
    }

    /// Opens the browser and returns the session once the user has signed in.
    @discardableResult
    @_alwaysEmitIntoClient
    public func signIn(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingSignIn(Scope(scope), onDevice: false, isCancelled)
        }
    }

    /// Signs in on another device: `notice` is given the code and the URL (RFC 8628).
    @discardableResult
    @_alwaysEmitIntoClient
    public func signInOnDevice(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingSignIn(Scope(scope), onDevice: true, isCancelled)
        }
    }

    /// Returns the stored session; nil if nobody is signed in.
    public func session() throws(OIDCError) -> Session? { try store.load(configuration.key) }

    /// Returns an access token that is valid for a while; refreshed if it has to be, once for any number of
    /// processes. A narrower scope or other resources give a token of their own.
    @_alwaysEmitIntoClient
    public func accessToken(
        scope: Scope? = nil, resources: [String] = []
    ) async throws(OIDCError) -> AccessToken {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingToken(scope, resources, isCancelled)
        }
    }

    /// Fetches the claims of the user who signed in.
    @_alwaysEmitIntoClient
    public func userInfo() async throws(OIDCError) -> JSONObject {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingUserInfo(isCancelled) }
    }

    /// Sends a request with the session's token, and its proof if it is bound to a key. After a 401 the token is
    /// refreshed and the request sent again, once.
    @_alwaysEmitIntoClient
    public func send(_ request: HTTPRequest) async throws(OIDCError) -> HTTPResponse {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingSend(request, isCancelled) }
    }

    /// What a provider did about a sign-out. The session is forgotten here in every case.
    public enum SignOutResult: Hashable, Sendable {
        case revoked
        case notOffered
        case failed(OIDCError)
    }

    /// Forgets the session and revokes its tokens.
    @discardableResult
    @_alwaysEmitIntoClient
    public func signOut() async throws(OIDCError) -> SignOutResult {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingSignOut(isCancelled) }
    }

    private static func write(_ notice: SignInNotice) {
        switch notice {
        case .url(let url): StandardError.write("Sign in at:\n\n  \(url.text)\n\n")
        case .device(let device):
            let code = DisplayText.clean(device.userCode)
            StandardError.write("Open \(device.verificationURI.text) and enter \(code)\n")
        default: break
        }
    }
}

/// The same, blocking: what the calls above run on a thread of their own.
extension OIDCClient {
    private var store: any SessionStoring {
        if let store = configuration.store { return store }
        let directory = StateDirectories(environment: ProcessEnvironment.current).state
        return directory.map { FileSessionStore(directory: $0) } ?? memory
    }

    @usableFromInline
    func blockingSignIn(
        _ scope: Scope, onDevice: Bool, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> Session {
        let store = store
        try store.probe(configuration.key)
        let environment = configuration.environment(isCancelled: isCancelled)
        let login = try login(scope, onDevice: onDevice, environment)
        let deadline = MonotonicTime.now().adding(seconds: configuration.timeout.components.seconds)
        let keep = { (outcome: Login.Outcome) throws(OIDCError) in
            let wait = LockWait(limit: .seconds(90), isCancelled: { false })
            do throws(OIDCError) {
                try store.withLock(configuration.key, wait) { () throws(OIDCError) in
                    try store.save(outcome.session, replacingDamaged: true)
                }
            } catch {
                try store.save(outcome.session, replacingDamaged: true)
            }
        }
        guard !onDevice else {
            var device = DeviceSignIn(login: login, deadline: deadline, notice: notice)
            device.isCancelled = isCancelled
            return try device.run(keep: keep).session
        }
        let variables = ProcessEnvironment.current
        let choice = BrowserChoice.resolve(.current(environment: variables))
        var browser = BrowserSignIn(
            login: login, redirect: try RedirectAddress(configuration.redirectURI), readsInput: false,
            browser: configuration.opensBrowser && choice.isAvailable ? choice : nil,
            environment: ProcessEnvironment.withoutSecrets(variables), deadline: deadline, notice: notice)
        browser.isCancelled = isCancelled
        return try browser.run(keep: keep).session
    }

    private func login(
        _ scope: Scope, onDevice: Bool, _ environment: LoginEnvironment
    ) throws(OIDCError) -> Login {
        let metadata = try ProviderDocuments(environment: environment).metadata(issuer: configuration.issuer)
        try metadata.validate(for: [onDevice ? .deviceAuthorization : .authorization, .token], scope: scope)
        let client = configuration.client
        let dpop = configuration.bindsTokens ? try DPoPKey.generate() : nil
        var request = AuthorizationRequest(
            client: client, redirectURI: configuration.redirectURI ?? RedirectAddress.standard, scope: scope)
        request.audience = configuration.audience
        request.resources = configuration.resources
        request.dpopThumbprint = dpop?.thumbprint
        return Login(
            environment: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(
                url: try metadata.require(.token, presentingCertificate: client.presentsCertificate),
                client: client, dpop: dpop),
            request: request, key: configuration.key, leeway: configuration.leeway)
    }

    /// The session's tokens, refreshed as the session was made: at its endpoint, by the client's proof, with the
    /// key that they are bound to.
    private func tokens(
        _ environment: LoginEnvironment, _ isCancelled: @escaping @Sendable () -> Bool
    ) -> SessionTokens {
        let (client, leeway) = (configuration.client, configuration.leeway)
        return SessionTokens(
            store: store, key: configuration.key, now: environment.now,
            wait: LockWait(limit: .seconds(90), isCancelled: isCancelled)
        ) { (current, source) throws(OIDCError) in
            guard let current else { throw TokenRefresh.impossible }
            let dpop = try current.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) }
            let refresh = TokenRefresh(
                environment: environment,
                tokenEndpoint: TokenEndpoint(url: current.endpoints.token, client: client, dpop: dpop),
                leeway: leeway)
            let answer = try refresh.request(current, for: source)
            return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
                try refresh.check(answer)
            }
        }
    }

    @usableFromInline
    func blockingToken(
        _ scope: Scope?, _ resources: [String], _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> AccessToken {
        let environment = configuration.environment(isCancelled: isCancelled)
        let demand = TokenDemand(scope: scope, resources: resources)
        return try tokens(environment, isCancelled).token(demand).access
    }

    @usableFromInline
    func blockingUserInfo(_ isCancelled: @escaping @Sendable () -> Bool) throws(OIDCError) -> JSONObject {
        let environment = configuration.environment(isCancelled: isCancelled)
        return try ProtectedRequest(tokens(environment, isCancelled), environment: environment).userInfo(
            leeway: configuration.leeway)
    }

    @usableFromInline
    func blockingSend(
        _ request: HTTPRequest, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> HTTPResponse {
        let environment = configuration.environment(isCancelled: isCancelled)
        let protected = ProtectedRequest(tokens(environment, isCancelled), environment: environment)
        return try protected.send { attempt throws(OIDCError) in
            var authorized = request
            try attempt.authorize(&authorized)
            let response = try environment.transport.send(authorized, stage: .resource)
            return attempt.next(after: response).map { .again($0) } ?? .done(response)
        }
    }

    @usableFromInline
    func blockingSignOut(
        _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> SignOutResult {
        let (store, key) = (store, configuration.key)
        let forget = { () throws(OIDCError) -> Session? in
            let session = try? store.load(key)
            try store.remove(key)
            return session
        }
        let session: Session?
        do throws(OIDCError) {
            session = try store.withLock(key, LockWait(limit: .seconds(90), isCancelled: isCancelled), forget)
        } catch {
            // Signing out forgets the session in every case, also if a refresh holds the lock.
            session = try forget()
        }
        guard let session, let endpoint = session.endpoints.revocation else { return .notOffered }
        let environment = configuration.environment(isCancelled: isCancelled)
        var isRevoked = false
        let failures = SessionRevocation(session, as: configuration.client, environment).run(at: endpoint) {
            if case .revoked = $0 { isRevoked = true }
        }
        return failures.first.map { .failed($0) } ?? (isRevoked ? .revoked : .notOffered)
    }
}
