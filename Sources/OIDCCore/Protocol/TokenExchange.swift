/// The parameters of a token exchange (RFC 8693 §2.1).
public struct TokenExchange: Sendable {
    /// The party that acts for the subject, as a token and its type.
    public struct Actor: Sendable {
        /// `actor_token`.
        public var token: Redacted<String>
        /// `actor_token_type`.
        public var type: TokenTypeIdentifier

        /// Creates an actor from its token.
        public init(token: Redacted<String>, type: TokenTypeIdentifier) {
            self.token = token
            self.type = type
        }
    }

    /// `subject_token`: the party on behalf of whom the request is made.
    public var subjectToken: Redacted<String>
    /// `subject_token_type`.
    public var subjectTokenType: TokenTypeIdentifier
    /// The acting party; nil if it is the subject itself.
    public var actor: Actor?
    /// `requested_token_type`; nil leaves the choice to the provider.
    public var requestedTokenType: TokenTypeIdentifier?
    /// The logical names of the services that the token is for.
    public var audiences: [String] = []
    /// The resources that the token is for (RFC 8707).
    public var resources: [String] = []
    /// The requested scope.
    public var scope: OAuthScope?

    /// Creates an exchange of a token.
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
    /// The URI of the kind.
    public let urn: String

    /// Creates an identifier from a short name of RFC 8693, or from a URI.
    public init(_ text: String) {
        urn = text.contains(":") ? text : "\(TokenTypeIdentifier.prefix)\(text)"
    }

    private static let prefix = "urn:ietf:params:oauth:token-type:"
    /// An access token.
    public static let accessToken = TokenTypeIdentifier("access_token")
    /// A refresh token.
    public static let refreshToken = TokenTypeIdentifier("refresh_token")
    /// An ID token.
    public static let idToken = TokenTypeIdentifier("id_token")
    /// A JWT of any use.
    public static let jwt = TokenTypeIdentifier("jwt")
    /// An assertion about a user for another authorization server
    /// (draft-ietf-oauth-identity-assertion-authz-grant).
    public static let idJAG = TokenTypeIdentifier("id-jag")
    /// A SAML 1.1 assertion.
    public static let saml1 = TokenTypeIdentifier("saml1")
    /// A SAML 2.0 assertion.
    public static let saml2 = TokenTypeIdentifier("saml2")
}
