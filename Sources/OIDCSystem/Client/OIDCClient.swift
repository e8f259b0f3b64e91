import CurlHTTP
public import OIDCCore
import OIDCCrypto
import OIDCSessions
public import OIDCSignIn
import Posix

/// A client for other programs: one call signs in, one returns a fresh token, one calls an API. It shares its
/// sessions with the command line.
public struct OIDCClient: Sendable {
    /// The configuration of this client.
    public let configuration: ClientConfiguration
    /// Called with the events of a sign-in; by default the URL or the code is written to stderr.
    public var notice: @Sendable (SignInNotice) -> Void = { OIDCClient.write($0) }
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
    @_alwaysEmitIntoClient
    public func signIn(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try blockingSignIn(Scope(scope), onDevice: false, isCancelled)
        }
    }

    /// Signs in on another device; `notice` gets the code and the URL (RFC 8628).
    @discardableResult
    @_alwaysEmitIntoClient
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

    /// Sends a request with the session's token, and a proof if the token is bound to a key. After a 401,
    /// refreshes the token and sends the request again, once.
    @_alwaysEmitIntoClient
    public func send(_ request: HTTPRequest) async throws(OIDCError) -> HTTPResponse {
        try await blocking { (isCancelled) throws(OIDCError) in try blockingSend(request, isCancelled) }
    }

    /// The result of the revocation at the provider. The session is removed from the store in every case.
    public enum SignOutResult: Hashable, Sendable {
        case revoked
        case notOffered
        case failed(OIDCError)
    }

    /// Removes the session from the store and revokes its tokens.
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

/// The blocking functions, which the asynchronous ones run on a separate thread.
extension OIDCClient {
    var store: SessionStore {
        if let store = configuration.store { return store }
        let directory = StateDirectories(environment: ProcessEnvironment.current).state
        return directory.map { SessionStore(directory: $0) } ?? memory
    }

    @usableFromInline
    func blockingSignIn(
        _ scope: Scope, onDevice: Bool, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> Session {
        let store = store
        try store.probe(configuration.key)
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        let login = try login(scope, onDevice: onDevice, environment)
        let deadline = MonotonicTime.now().adding(seconds: configuration.timeout.components.seconds)
        let keep = { (outcome: SignInFlow.Outcome) throws(OIDCError) in
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
            var device = DeviceSignIn(flow: login, deadline: deadline, notice: notice)
            device.isCancelled = isCancelled
            return try device.run(keep: keep).session
        }
        let variables = ProcessEnvironment.current
        let choice = BrowserChoice.resolve(.current(environment: variables))
        var browser = BrowserSignIn(
            flow: login, redirect: try RedirectAddress(configuration.redirectURI), readsInput: false,
            browser: configuration.opensBrowser && choice.isAvailable ? choice : nil,
            environment: ProcessEnvironment.withoutSecrets(variables), deadline: deadline, notice: notice)
        browser.isCancelled = isCancelled
        return try browser.run(keep: keep).session
    }

    private func login(
        _ scope: Scope, onDevice: Bool, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> SignInFlow {
        let metadata = try metadata(environment)
        try metadata.validate(for: [onDevice ? .deviceAuthorization : .authorization, .token], scope: scope)
        let client = configuration.client
        let dpop = configuration.bindsTokens ? try DPoPKey.generate() : nil
        var request = AuthorizationRequest(
            client: client, redirectURI: configuration.redirectURI ?? RedirectAddress.standard, scope: scope)
        request.audience = configuration.audience
        request.resources = configuration.resources
        request.promptsForOfflineAccess = configuration.promptsForOfflineAccess
        request.dpopThumbprint = dpop?.thumbprint
        var login = SignInFlow(
            environment: environment, metadata: metadata,
            tokenEndpoint: endpoint(
                try metadata.require(.token, presentingCertificate: client.presentsCertificate), dpop),
            request: request, key: configuration.key, leeway: configuration.leeway)
        login.pin(to: try? store.load(configuration.key))
        login.keepsRefusedTokens = { [store, key = configuration.key] in
            store.mayHaveSession(ofClientIn: key)
        }
        return login
    }

    private func metadata(_ environment: ProviderEnvironment) throws(OIDCError) -> ProviderMetadata {
        try ProviderDocuments(environment: environment).metadata(
            issuer: configuration.issuer, at: configuration.metadataURL)
    }

    /// Returns the URL of a session's endpoint for a client with a certificate (RFC 8705 §5).
    private func alias(
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: ProviderEnvironment
    ) -> WebURL {
        guard configuration.client.presentsCertificate, let metadata = try? metadata(environment) else {
            return url
        }
        return metadata.alias(of: url, for: endpoint)
    }

    private func endpoint(_ url: WebURL, _ dpop: DPoPKey?) -> TokenEndpoint {
        var endpoint = TokenEndpoint(url: url, client: configuration.client, dpop: dpop)
        endpoint.sendsResources = configuration.sendsResources
        endpoint.refreshNamesScope = configuration.refreshNamesScope
        endpoint.assumedTokenType = configuration.assumedTokenType
        return endpoint
    }

    /// Returns access to the session's tokens. They are refreshed at the session's endpoint, with the
    /// client's authentication and the key that they are bound to.
    private func tokens(
        _ environment: ProviderEnvironment, _ isCancelled: @escaping @Sendable () -> Bool
    ) -> SessionTokens {
        let leeway = configuration.leeway
        return SessionTokens(
            store: store, key: configuration.key, now: environment.now,
            wait: LockWait(limit: .seconds(90), isCancelled: isCancelled)
        ) { (current, source) throws(OIDCError) in
            guard let current else { throw TokenRefresh.impossible }
            let dpop = try current.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) }
            let refresh = TokenRefresh(
                environment: environment,
                tokenEndpoint: endpoint(current.endpoints.refresh ?? current.endpoints.token, dpop),
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
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        let demand = TokenDemand(scope: scope, resources: resources)
        return try tokens(environment, isCancelled).token(demand).access
    }

    @usableFromInline
    func blockingUserInfo(_ isCancelled: @escaping @Sendable () -> Bool) throws(OIDCError) -> JSONObject {
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        return try ProtectedRequest(tokens(environment, isCancelled), environment: environment).userInfo(
            leeway: configuration.leeway, alias: { alias(of: $0, for: .userInfo, environment) }
        ) { _ throws(OIDCError) in
            try UserInfo.Signing(metadata(environment)) { configuration.client }
        }
    }

    @usableFromInline
    func blockingSend(
        _ request: HTTPRequest, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> HTTPResponse {
        let environment = configuration.environment(curl, isCancelled: isCancelled)
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
            // Sign-out removes the session in every case, even while a refresh holds the lock.
            session = try forget()
        }
        guard let session, let stored = session.endpoints.revocation else { return .notOffered }
        let environment = configuration.environment(curl, isCancelled: isCancelled)
        let endpoint = alias(of: stored, for: .revocation, environment)
        var isRevoked = false
        let failures = SessionRevocation(session, as: configuration.client, environment).run(at: endpoint) {
            if case .revoked = $0 { isRevoked = true }
        }
        return failures.first.map { .failed($0) } ?? (isRevoked ? .revoked : .notOffered)
    }
}
