/// The parameters of a token exchange (RFC 8693 §2.1).
package struct TokenExchange: Sendable {
    /// The party that acts for the subject, as a token and its type.
    package struct Actor: Sendable {
        package var token: Redacted<String>
        package var type: TokenTypeIdentifier

        package init(token: Redacted<String>, type: TokenTypeIdentifier) {
            self.token = token
            self.type = type
        }
    }

    package var subjectToken: Redacted<String>
    package var subjectTokenType: TokenTypeIdentifier
    package var actor: Actor?
    package var requestedTokenType: TokenTypeIdentifier?
    package var audiences: [String] = []
    package var resources: [String] = []
    package var scope: Scope?

    package init(
        subjectToken: Redacted<String>, subjectTokenType: TokenTypeIdentifier = .jwt, actor: Actor? = nil
    ) {
        self.subjectToken = subjectToken
        self.subjectTokenType = subjectTokenType
        self.actor = actor
    }
}

/// A kind of token (RFC 8693 §3); an open set.
package struct TokenTypeIdentifier: Hashable, Sendable {
    package let urn: String

    /// Creates an identifier from a short name of RFC 8693, or from a URI.
    package init(_ text: String) {
        urn = text.contains(":") ? text : "\(TokenTypeIdentifier.prefix)\(text)"
    }

    private static let prefix = "urn:ietf:params:oauth:token-type:"
    package static let accessToken = TokenTypeIdentifier("access_token")
    package static let refreshToken = TokenTypeIdentifier("refresh_token")
    package static let idToken = TokenTypeIdentifier("id_token")
    package static let jwt = TokenTypeIdentifier("jwt")
    /// An assertion about a user for another authorization server
    /// (draft-ietf-oauth-identity-assertion-authz-grant).
    package static let idJAG = TokenTypeIdentifier("id-jag")
    package static let saml1 = TokenTypeIdentifier("saml1")
    package static let saml2 = TokenTypeIdentifier("saml2")
}
