import CurlHTTP
public import OIDCCore
import OIDCCrypto
public import OIDCSessions
import Posix

/// The configuration of a client: its registration, its provider and its defaults.
public struct ClientConfiguration: Sendable {
    /// The provider's issuer, spelled as in its metadata.
    public var issuer: String
    /// The URL of the metadata; nil means the issuer's well-known URLs.
    public var metadataURL: WebURL?
    /// `client_id`.
    public var clientID: String
    /// The client authentication; `none` for a public client.
    public var authentication: ClientAuthentication = .none
    /// The `audience` parameter, which Auth0 uses instead of `resource`.
    public var audience: String?
    /// A name that distinguishes sessions of several users of the same client.
    public var account: String?
    /// The resources that tokens are for (RFC 8707).
    public var resources: [String] = []
    /// Whether `resource` is sent; a provider may refuse it.
    public var sendsResources = true
    /// Whether a refresh names the granted scope, which Entra ID needs for an API of one's own.
    public var refreshNamesScope = false
    /// The type of tokens whose `token_type` is missing or unknown; nil refuses them.
    public var assumedTokenType: TokenType?
    /// Whether `prompt=consent` is sent if `offline_access` is requested (OpenID Connect Core §11).
    public var promptsForOfflineAccess = true
    /// The redirect URI; nil means a free port on 127.0.0.1.
    public var redirectURI: String?
    /// The address to listen on, such as `0.0.0.0:8484`, if a reverse proxy or a published port passes the redirect
    /// on; nil means loopback.
    public var callbackListen: String?
    /// The path at which the redirect then arrives; nil means that of the redirect URI.
    public var callbackPath: String?
    /// Whether a sign-in opens the browser; `notice` gets its URL in any case.
    public var opensBrowser = true
    /// Whether tokens are bound to a key of the session (DPoP, RFC 9449).
    public var bindsTokens = false
    /// The time limit of a sign-in.
    public var timeout: Duration = .seconds(300)
    /// The accepted difference between clocks.
    public var leeway: Duration = .seconds(60)
    /// The session store; nil means the command line's directory, or memory if no home directory is known.
    public var store: SessionStore?
    /// The HTTP client, such as an ``AsyncTransport``; nil means libcurl, with the command line's cache of metadata and keys.
    public var transport: (any HTTPTransport)?

    /// Creates the configuration of a public client.
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

    /// Returns the environment of a call; `curl` is used unless the program has a transport of its own.
    func environment(
        _ curl: CurlTransport, isCancelled: @escaping @Sendable () -> Bool
    ) -> OIDCContext {
        if let transport { return OIDCContext(transport: transport).cancelled(if: isCancelled) }
        let cache = StateDirectories(environment: ProcessEnvironment.current).cache
        return OIDCContext(
            transport: curl.cancelled(if: isCancelled),
            cache: cache.map { MetadataCache(directory: $0) } ?? NoCache(), now: { Clock.now() },
            random: Random.bytes)
    }
}
