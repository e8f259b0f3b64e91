/// The parameters of a token exchange (RFC 8693 §2.1).
public struct TokenExchange: Sendable {
    /// The party that acts for the subject, as a token and its type.
    public struct Actor: Sendable {
        public var token: Redacted<String>
        public var type: TokenTypeIdentifier

        public init(token: Redacted<String>, type: TokenTypeIdentifier) {
            self.token = token
            self.type = type
        }
    }

    public var subjectToken: Redacted<String>
    public var subjectTokenType: TokenTypeIdentifier
    public var actor: Actor?
    public var requestedTokenType: TokenTypeIdentifier?
    public var audiences: [String] = []
    public var resources: [String] = []
    public var scope: Scope?

    public init(
        subjectToken: Redacted<String>, subjectTokenType: TokenTypeIdentifier = .jwt, actor: Actor? = nil
    ) {
        self.subjectToken = subjectToken
        self.subjectTokenType = subjectTokenType
        self.actor = actor
    }
}

/// A kind of token (RFC 8693 §3); an open set.
public struct TokenTypeIdentifier: Hashable, Sendable {
    public let urn: String

    /// Creates an identifier from a short name of RFC 8693, or from a URI.
    public init(_ text: String) {
        urn = text.contains(":") ? text : "\(TokenTypeIdentifier.prefix)\(text)"
    }

    private static let prefix = "urn:ietf:params:oauth:token-type:"
    public static let accessToken = TokenTypeIdentifier("access_token")
    public static let refreshToken = TokenTypeIdentifier("refresh_token")
    public static let idToken = TokenTypeIdentifier("id_token")
    public static let jwt = TokenTypeIdentifier("jwt")
    /// An assertion about a user for another authorization server
    /// (draft-ietf-oauth-identity-assertion-authz-grant).
    public static let idJAG = TokenTypeIdentifier("id-jag")
    public static let saml1 = TokenTypeIdentifier("saml1")
    public static let saml2 = TokenTypeIdentifier("saml2")
}
