/// A grant type (RFC 6749 §4, RFC 8693, RFC 7523); an open set.
public struct GrantType: Hashable, Sendable, RawRepresentable {
    /// The name in settings.
    public let rawValue: String

    /// Creates a grant type from its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A sign-in by a user, in a browser or on another device (RFC 6749 §4.1, RFC 8628).
    public static let authorizationCode = GrantType(rawValue: "authorization_code")
    /// A token for the client itself (RFC 6749 §4.4).
    public static let clientCredentials = GrantType(rawValue: "client_credentials")
    /// A token in exchange for another token (RFC 8693).
    public static let tokenExchange = GrantType(rawValue: "token_exchange")
    /// A token for an assertion (RFC 7523).
    public static let jwtBearer = GrantType(rawValue: "jwt_bearer")
    /// A token for an assertion that the user's own provider issues for their session there
    /// (draft-ietf-oauth-identity-assertion-authz-grant).
    public static let idJAG = GrantType(rawValue: "id_jag")
    /// Every grant type that has sessions.
    public static let all: [GrantType] = [
        .authorizationCode, .clientCredentials, .tokenExchange, .jwtBearer, .idJAG,
    ]

    /// Whether the grant needs a user to sign in; the others can be repeated at any time.
    public var needsUser: Bool { self == .authorizationCode }
}

/// The identity of a session. Commands with the same key share one session, whatever their profiles are.
public struct SessionKey: Hashable, Sendable {
    /// The issuer, or the token endpoint if no issuer is known.
    public var provider: String
    /// The client that signed in.
    public var clientID: String
    /// The grant type.
    public var grant: GrantType
    /// The audience that was requested.
    public var audience: String?
    /// A name that distinguishes sessions of several users of the same client.
    public var account: String?
    /// The requested scope. Like `resources` and `subject`, it distinguishes sessions of grants without a
    /// user, and is otherwise empty.
    public var scope: OAuthScope?
    /// The resources that were requested.
    public var resources: [String]
    /// The subject of a token exchange.
    public var subject: String?

    /// Creates a key; nil and empty values do not distinguish sessions.
    public init(
        provider: String, clientID: String, grant: GrantType = .authorizationCode, audience: String? = nil,
        account: String? = nil, scope: OAuthScope? = nil, resources: [String] = [], subject: String? = nil
    ) {
        self.provider = provider
        self.clientID = clientID
        self.grant = grant
        self.audience = audience
        self.account = account
        self.scope = scope
        self.resources = resources
        self.subject = subject
    }

    /// The whole key as one line, as the session's file contains it; it is compared exactly.
    public var text: String {
        var object = JSONObject()
        object["provider"] = .string(provider)
        object["client_id"] = .string(clientID)
        object["grant"] = .string(grant.rawValue)
        object["audience"] = audience.map { .string($0) }
        object["account"] = account.map { .string($0) }
        object["scope"] = scope.map { .string(Scope.text(of: $0.tokens.sorted())) }
        object["resource"] = resources.isEmpty ? nil : .array(resources.sorted().map { .string($0) })
        object["subject"] = subject.map { .string($0) }
        return JSONValue.object(object).compact
    }

    /// A short, safe file name that depends only on the key: `<readable part>-<64-bit hash of the key>`.
    public var fileStem: String {
        FileName.of((WebURL.ofIssuer(provider)?.host ?? provider) + "-" + clientID, hashing: text)
    }
}
