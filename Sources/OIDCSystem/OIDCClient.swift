public import OIDCCore
import OIDCCrypto

/// Signs people in for another program: one call to sign in, one for a fresh token, one for userinfo. Sessions
/// are those of the command line: what one signed in, the other can use.
public struct OIDCClient: Sendable {
    public let issuer: String
    public let clientID: String
    public var audience: String?
    public var redirectURI: String?
    /// Nil keeps sessions where the command line does, or in memory where no directory is named.
    public var store: (any SessionStoring)?
    public var timeout: Duration = .seconds(300)
    /// What happens during a sign-in; by default the address is written to stderr.
    public var notice: @Sendable (SignInNotice) -> Void = { notice in
        if case .address(let url) = notice { StandardError.write("Sign in at:\n\n  \(url.text)\n\n") }
    }
    private let memory = MemorySessionStore()

    public init(issuer: String, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }

    /// Opens the browser and returns the session once the person has signed in.
    @discardableResult
    @_alwaysEmitIntoClient
    public func signIn(scope: String = "openid profile email") async throws(OIDCError) -> Session {
        try await blocking { (isCancelled) throws(OIDCError) in
            try signIn(Scope(scope), environment(isCancelled))
        }
    }

    /// An access token that is valid for a while; refreshed if it has to be, once for any number of processes.
    @_alwaysEmitIntoClient
    public func accessToken() async throws(OIDCError) -> AccessToken {
        try await blocking { (isCancelled) throws(OIDCError) in
            try delivery(environment(isCancelled), isCancelled).access
        }
    }

    /// The claims of the person who signed in.
    @_alwaysEmitIntoClient
    public func userInfo() async throws(OIDCError) -> JSONObject {
        try await blocking { (isCancelled) throws(OIDCError) in
            try userInfo(environment(isCancelled), isCancelled)
        }
    }

    private var key: SessionKey {
        SessionKey(provider: issuer, clientID: clientID, audience: audience)
    }

    private var sessions: any SessionStoring {
        if let store { return store }
        let directory = StateDirectories(environment: ProcessEnvironment.current).state
        return directory.map { FileSessionStore(directory: $0) } ?? memory
    }

    @usableFromInline
    func environment(_ isCancelled: @escaping @Sendable () -> Bool) -> LoginEnvironment {
        var configuration = CurlConfiguration()
        configuration.isCancelled = isCancelled
        let cache = StateDirectories(environment: ProcessEnvironment.current).cache
        return LoginEnvironment(
            transport: CurlTransport(configuration),
            cache: cache.map { MetadataCache(directory: $0) } ?? NoCache(), now: { Clock.now() },
            random: Random.bytes)
    }

    @usableFromInline
    func signIn(_ scope: Scope, _ environment: LoginEnvironment) throws(OIDCError) -> Session {
        let store = sessions
        try store.probe(key)
        let metadata = try ProviderDocuments(environment: environment).metadata(issuer: issuer)
        try metadata.validate(for: [.authorization, .token], scope: scope)
        let client = Client(id: clientID)
        var request = AuthorizationRequest(
            client: client, redirectURI: redirectURI ?? RedirectAddress.standard, scope: scope)
        request.audience = audience
        let login = Login(
            environment: environment, metadata: metadata,
            tokenEndpoint: TokenEndpoint(url: try metadata.require(.token), client: client),
            request: request, key: key)
        let variables = ProcessEnvironment.current
        let choice = BrowserChoice.resolve(.current(environment: variables))
        let outcome = try BrowserSignIn(
            login: login, redirect: try RedirectAddress(redirectURI), readsInput: false,
            browser: choice.isAvailable ? choice : nil, environment: variables,
            deadline: MonotonicTime.now().adding(seconds: timeout.components.seconds), notice: notice
        ).run { (outcome) throws(OIDCError) in
            try store.save(outcome.session, replacingDamaged: true)
        }
        return outcome.session
    }

    @usableFromInline
    func delivery(
        _ environment: LoginEnvironment, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let store = sessions
        guard let session = try store.load(key) else {
            throw OIDCError(.loginRequired, "not signed in at \(DisplayText.clean(issuer))", stage: .token)
        }
        let demand = TokenDemand()
        if let access = try SessionTokens.fresh(in: session, for: demand, at: Clock.now()) {
            return SessionTokens.Delivery(session: session, access: access)
        }
        let endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: clientID))
        let source = SessionTokens(
            store: store, key: key, now: { Clock.now() },
            wait: LockWait(limit: .seconds(60), isCancelled: isCancelled))
        return try source.refreshed(demand, seen: session, refusing: .none) {
            (current, source) throws(OIDCError) in
            let refresh = TokenRefresh(environment: environment, tokenEndpoint: endpoint)
            let answer = try refresh.request(current ?? session, for: source)
            return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
                try refresh.check(answer)
            }
        }
    }

    @usableFromInline
    func userInfo(
        _ environment: LoginEnvironment, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> JSONObject {
        let delivery = try delivery(environment, isCancelled)
        let session = delivery.session
        guard let endpoint = session.endpoints.userInfo else {
            throw OIDCError(.refused, "the provider names no userinfo_endpoint", stage: .userInfo)
        }
        let call = try UserInfo.call(
            endpoint: endpoint, accessToken: delivery.access,
            rules: UserInfo.Rules(
                subject: session.subject, issuer: session.endpoints.issuer, clientID: clientID),
            keys: session.endpoints.keys.map(ProviderDocuments(environment: environment).keys),
            now: environment.now())
        switch try environment.transport.perform(call) {
        case .claims(let claims): return claims
        case .unauthorized(_, let error): throw error
        case .nonceDemanded:
            throw OIDCError(.refused, "userinfo: the provider demands DPoP proofs", stage: .userInfo)
        }
    }
}
