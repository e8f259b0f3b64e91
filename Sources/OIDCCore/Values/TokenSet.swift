/// The type of an access token (RFC 6749 §7.1); compared without regard to case.
public struct TokenType: Hashable, Sendable, CustomStringConvertible {
    /// The name, in its usual spelling.
    public let name: String

    /// Creates a type. `bearer` and `BEARER` mean Bearer, as the name is case-insensitive (RFC 6749 §5.1).
    public init(_ name: String) {
        self.name = [TokenType.bearer, .dpop].first { ASCII.isSameIgnoringCase($0.name, name) }?.name ?? name
    }

    private init(known: String) { name = known }

    /// Returns the type that a configuration assumes; nil if it is not valid in a header (RFC 9110 §11.1), or
    /// is DPoP, which is never assumed.
    package static func assumable(_ text: String) -> TokenType? {
        let isToken = text.utf8.allSatisfy { ASCII.isTokenCharacter($0) }
        guard isToken, !text.isEmpty, case let type = TokenType(text), type != .dpop else { return nil }
        return type
    }

    /// `Bearer` (RFC 6750).
    public static let bearer = TokenType(known: "Bearer")
    /// `DPoP` (RFC 9449).
    public static let dpop = TokenType(known: "DPoP")
    /// `N_A`: the issued token is not an access token (RFC 8693 §2.2.1).
    public static let notApplicable = TokenType(known: "N_A")

    /// Whether the name is a registered or drafted one that means something else than Bearer and DPoP.
    var hasOtherMeaning: Bool {
        ["mac", "pop", "n_a"].contains { ASCII.isSameIgnoringCase($0, name) }
    }

    /// The name, in its usual spelling.
    public var description: String { name }
}

/// An access token, with its type, lifetime and scope.
public struct AccessToken: Hashable, Sendable {
    /// The token itself.
    public var token: Redacted<String>
    /// The type, which decides how requests present the token.
    public var type: TokenType
    /// The time when the token was issued to us.
    public var obtainedAt: OIDCInstant
    /// The time of expiry; nil if the provider named none, and then the token is used until it is refused.
    public var expiresAt: OIDCInstant?
    /// The granted scope, if the provider named it or the request implies it (RFC 6749 §5.1).
    public var scope: OAuthScope?
    /// Members of the stored form that this version does not know; they are written back as long as the token
    /// is kept.
    var unknownMembers = JSONObject()

    /// Creates an access token from its parts.
    public init(
        token: Redacted<String>, type: TokenType, obtainedAt: OIDCInstant, expiresAt: OIDCInstant?,
        scope: OAuthScope?
    ) {
        self.token = token
        self.type = type
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.scope = scope
    }

    /// Returns the value of an `Authorization` header with this token (RFC 6750 §2.1, RFC 9449 §7.1). Throws
    /// if a header cannot contain it, or if it is not an access token: a token exchange may issue a refresh
    /// token or an assertion, which must not be sent to a resource (RFC 8693 §2.2.1).
    public func credentials(_ stage: OIDCError.Stage = .resource) throws(OIDCError) -> String {
        guard !token.revealed.isEmpty, token.revealed.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
            throw OIDCError(
                .refused, "\(stage.title): access_token: expected printable ASCII characters", stage: stage)
        }
        guard type != .notApplicable else {
            throw .protocolViolation(
                stage, "token_type", expected: "an access token's, such as Bearer", found: type.name,
                hint: "the exchange issued another kind of token, which can be printed but not sent")
        }
        return "\(type) \(token.revealed)"
    }

    /// Returns whether more than `minimum` or half the lifetime is left, whichever is less. If the clock was set back, a
    /// token does not stay fresh beyond its lifetime.
    public func isFresh(at now: OIDCInstant, minimum: Duration = .seconds(60)) -> Bool {
        isFresh(at: now, minimum: minimum.components.seconds)
    }

    /// Returns whether more than `minimum` seconds or half the lifetime is left, whichever is less. If the
    /// clock was set back, a token does not stay fresh beyond its lifetime.
    package func isFresh(at now: Instant, minimum: Int64) -> Bool {
        guard let expiresAt else { return true }
        let lifetime = expiresAt.seconds(since: obtainedAt)
        let left = expiresAt.seconds(since: now)
        return left > max(0, min(minimum, lifetime / 2)) && now.adding(60) >= obtainedAt
    }
}

/// The tokens of a token endpoint's answer (RFC 6749 §5.1, OIDC Core §3.1.3.3).
public struct TokenSet: Hashable, Sendable {
    /// The access token.
    public var access: AccessToken
    /// The refresh token, if one was issued.
    public var refreshToken: Redacted<String>?
    /// The reason why the answer's refresh token cannot be used and is left out. A session never has it.
    package var refreshTokenFlaw: OIDCError.Cause?
    /// The ID token, if one was issued.
    public var idToken: Redacted<String>?
    /// `issued_token_type` (RFC 8693 §2.2.1).
    public var issuedTokenType: String?
    /// The other members of the answer, such as Salesforce's `instance_url`, except possible secrets.
    public var extra: JSONObject

    /// Creates a set from its tokens.
    public init(
        access: AccessToken, refreshToken: Redacted<String>? = nil, idToken: Redacted<String>? = nil,
        issuedTokenType: String? = nil, extra: JSONObject = JSONObject()
    ) {
        self.access = access
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.issuedTokenType = issuedTokenType
        self.extra = extra
    }
}
