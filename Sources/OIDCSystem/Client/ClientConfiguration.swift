public import OIDCCore
import OIDCCrypto

/// What a program says about itself and its provider.
public struct ClientConfiguration: Sendable {
    /// The provider's issuer, as its metadata spells it.
    public var issuer: String
    /// `client_id`.
    public var clientID: String
    /// How the client proves who it is; `none` for a public client.
    public var authentication: ClientAuthentication = .none
    /// `audience`, which some providers read in place of resources.
    public var audience: String?
    /// Keeps sessions of several users of the same client apart.
    public var account: String?
    /// The resources that tokens are for (RFC 8707).
    public var resources: [String] = []
    /// Whether `resource` is sent; some providers refuse it.
    public var sendsResources = true
    /// The type of tokens whose `token_type` is missing or unknown; nil refuses them.
    public var assumedTokenType: TokenType?
    /// Whether `prompt=consent` is sent if `offline_access` is requested (OpenID Connect Core §11).
    public var promptsForOfflineAccess = true
    /// Nil means a free port on 127.0.0.1.
    public var redirectURI: String?
    /// Whether a sign-in opens the browser; its URL is given to `notice` in any case.
    public var opensBrowser = true
    /// Binds tokens to a key of the session (DPoP, RFC 9449).
    public var bindsTokens = false
    /// How long a sign-in may take.
    public var timeout: Duration = .seconds(300)
    /// Seconds that clocks may differ by.
    public var leeway: Int64 = 60
    /// Nil keeps sessions where the command line does, or in memory if no directory is named.
    public var store: (any SessionStoring)?
    /// Nil means libcurl, with metadata and keys cached where the command line caches them.
    public var transport: (any HTTPTransport)?

    /// Makes the configuration of a public client.
    public init(issuer: String, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }

    var key: SessionKey {
        SessionKey(provider: issuer, clientID: clientID, audience: audience, account: account)
    }

    var client: Client {
        Client(id: clientID, authentication: authentication, assertionAudience: issuer)
    }

    func environment(isCancelled: @escaping @Sendable () -> Bool) -> LoginEnvironment {
        if let transport {
            return LoginEnvironment(
                transport: transport, cache: NoCache(), now: { Clock.now() }, random: Random.bytes)
        }
        var configuration = CurlConfiguration()
        configuration.isCancelled = isCancelled
        let cache = StateDirectories(environment: ProcessEnvironment.current).cache
        return LoginEnvironment(
            transport: CurlTransport(configuration),
            cache: cache.map { MetadataCache(directory: $0) } ?? NoCache(), now: { Clock.now() },
            random: Random.bytes)
    }
}
