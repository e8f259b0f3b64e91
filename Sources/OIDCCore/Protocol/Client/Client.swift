/// A client as it is registered with the provider (RFC 6749 §2).
public struct OAuthClient: Sendable {
    /// `client_id`.
    public var id: String
    /// The method by which the client authenticates.
    public var authentication: ClientAuthentication
    /// The `aud` of client assertions: the issuer as one string, or the token endpoint if the provider
    /// requires that. Nil means the URL of the request.
    public var assertionAudience: String?
    /// Whether a client certificate is configured. If so, the provider's mTLS endpoints are used with any
    /// method (RFC 8705 §3, §5).
    public var presentsCertificate: Bool
    /// The means to decrypt what the provider encrypts to the client; nil refuses it.
    package var decryption: TokenDecryption?

    /// Creates a client from its ID and its authentication method.
    public init(
        id: String, authentication: ClientAuthentication = .none, assertionAudience: String? = nil,
        presentsCertificate: Bool = false
    ) {
        self.id = id
        self.authentication = authentication
        self.assertionAudience = assertionAudience
        self.presentsCertificate = presentsCertificate || authentication.usesCertificate
    }

    /// Checks that the ID is visible ASCII and spaces (RFC 6749 appendix A.1) and not empty, as an empty one
    /// identifies no client.
    func check() throws(OIDCError) {
        guard !id.isEmpty else { throw .usage("client_id is not set", hint: .advice(.giveClientID)) }
        guard id.utf8.allSatisfy({ ASCII.isPrintable($0) }) else {
            throw .usage("client_id: expected ASCII text, found \(DisplayText.quoted(id))")
        }
    }
}
