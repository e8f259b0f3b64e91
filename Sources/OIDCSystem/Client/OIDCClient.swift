public import OIDCCore
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
    let memory = MemorySessionStore()

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
