/// How an access token is presented (RFC 6749 §7.1); compared without regard to case.
public struct TokenType: Hashable, Sendable, CustomStringConvertible {
    /// The name, in its usual spelling.
    public let name: String

    /// `bearer` and `BEARER` are Bearer: several providers write it so.
    public init(_ name: String) {
        self.name = [TokenType.bearer, .dpop].first { ASCII.isSameIgnoringCase($0.name, name) }?.name ?? name
    }

    private init(known: String) { name = known }

    /// Returns the type that a configuration assumes; nil if it cannot stand before a token in a header (RFC 9110
    /// §11.1), or is DPoP, which is never assumed.
    package static func assumable(_ text: String) -> TokenType? {
        let isToken = text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        guard isToken, !text.isEmpty, case let type = TokenType(text), type != .dpop else { return nil }
        return type
    }

    /// `Bearer` (RFC 6750).
    public static let bearer = TokenType(known: "Bearer")
    /// `DPoP` (RFC 9449).
    public static let dpop = TokenType(known: "DPoP")
    /// RFC 8693 §2.2.1: the issued token is not an access token.
    public static let notApplicable = TokenType(known: "N_A")

    /// The name, in its usual spelling.
    public var description: String { name }
}

/// An access token with what is needed to judge and use it.
public struct AccessToken: Hashable, Sendable {
    /// The token itself.
    public var token: Redacted<String>
    /// How a request shows the token.
    public var type: TokenType
    /// When the token was issued to us.
    public var obtainedAt: Instant
    /// Nil where the provider did not say: usable until it is refused.
    public var expiresAt: Instant?
    /// What was granted, where the provider said or the request implies it (RFC 6749 §5.1).
    public var scope: Scope?

    /// Makes a value of its parts.
    public init(
        token: Redacted<String>, type: TokenType, obtainedAt: Instant, expiresAt: Instant?, scope: Scope?
    ) {
        self.token = token
        self.type = type
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.scope = scope
    }

    /// Valid long enough to hand out: more than `minimum` or half the lifetime left, whichever is less. A
    /// token from the future (the clock was set back) is not trusted to be fresh beyond its lifetime.
    public func isFresh(at now: Instant, minimum: Int64) -> Bool {
        guard let expiresAt else { return true }
        let lifetime = expiresAt.seconds(since: obtainedAt)
        let left = expiresAt.seconds(since: now)
        return left > max(0, min(minimum, lifetime / 2)) && now.adding(300) >= obtainedAt
    }
}

/// What a token endpoint gave (RFC 6749 §5.1, OIDC Core §3.1.3.3).
public struct TokenSet: Hashable, Sendable {
    /// The access token.
    public var access: AccessToken
    /// The refresh token, if one was issued.
    public var refreshToken: Redacted<String>?
    /// The ID token, if one was issued.
    public var idToken: Redacted<String>?
    /// RFC 8693 §2.2.1.
    public var issuedTokenType: String?
    /// The other members of the answer, such as Salesforce's `instance_url`; none that could be a secret.
    public var extra: JSONObject

    /// Makes a value of its parts.
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
