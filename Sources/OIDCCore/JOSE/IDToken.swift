/// An ID token (OIDC Core §2): who signed in, at which provider, for which client.
public struct IDToken: Hashable, Sendable {
    /// The token as it was issued.
    public let compact: String
    /// All claims.
    public let claims: JSONObject
    /// The issuer (`iss`).
    public let issuer: String
    /// The user, as the issuer identifies them (`sub`).
    public let subject: String
    /// The clients that the token is for (`aud`).
    public let audience: [String]
    /// The time from which the token is not valid (`exp`).
    public let expiresAt: OIDCInstant
    /// The time of issue (`iat`).
    public let issuedAt: OIDCInstant
    /// The time of the user's authentication (`auth_time`).
    public let authenticatedAt: OIDCInstant?

    /// The user's name or email, safe to print.
    public var displayName: String? { IDToken.displayName(in: claims) }

    /// Returns the user's name or email from the claims of an ID token or UserInfo.
    package static func displayName(in claims: JSONObject) -> String? {
        ["email", "preferred_username", "name"].lazy
            .compactMap { claims[$0]?.string }
            .map { DisplayText.clean($0, limit: 120) }
            .first { !$0.isEmpty }
    }

    /// Parses a token that was validated before it was stored, without verifying it again; returns nil if it
    /// is damaged.
    public static func stored(_ compact: String) -> IDToken? {
        guard let token = try? JWS(compact: compact), let members = token.claims else { return nil }
        return try? IDToken(compact, TokenClaims(members: members, stage: .idToken))
    }

    /// Parses the claims that OIDC Core §2 requires.
    init(_ compact: String, _ claims: TokenClaims) throws(OIDCError) {
        self.compact = compact
        self.claims = claims.members
        let reader = claims.reader
        issuer = try reader.required("iss", expected: "the issuer", claims.string)
        audience = try reader.required("aud", expected: "the client", claims.texts)
        expiresAt = try reader.required("exp", expected: "seconds since 1970", claims.time)
        issuedAt = try reader.required("iat", expected: "seconds since 1970", claims.time)
        authenticatedAt = (claims.members["auth_time"]?.number?.wholePart).map(
            Instant.init(secondsSinceEpoch:))
        subject = try reader.required("sub", expected: "a string", claims.string)
        guard !subject.isEmpty, subject.utf8.count <= 255 else {
            throw claims.refusal(
                "sub", expected: "1 to 255 characters", found: "\(subject.utf8.count)")
        }
    }
}
