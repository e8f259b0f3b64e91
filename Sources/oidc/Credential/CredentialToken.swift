import OIDCCore
import OIDCSystem

/// A token as another program is given it: the access token, unless it is bound to a key that stays with us,
/// or the ID token.
struct CredentialToken {
    let text: Redacted<String>
    let expiresAt: Instant?

    /// Fresh, from the store if it can be.
    init(
        _ kind: TokenKind, _ access: SessionAccess, minimumValidity: Int64 = 60
    ) throws(OIDCError) {
        switch kind {
        case .access:
            let token = try access.token(access.demand(minimumValidity: minimumValidity)).access
            guard token.type == .bearer else { throw CredentialToken.refusal(of: token.type) }
            text = token.token
            expiresAt = token.expiresAt
        case .id:
            let token = try access.idToken(minimumValidity: minimumValidity)
            text = Redacted(token.compact)
            expiresAt = token.expiresAt
        }
    }

    /// RFC 9449 §7.1: without its key a bound token opens nothing.
    private static func refusal(of type: TokenType) -> OIDCError {
        guard type == .dpop else {
            return OIDCError(
                .refused,
                "token: token_type: expected Bearer, found "
                    + DisplayText.distinct(type.name, from: ["Bearer"], limit: 60),
                stage: .token)
        }
        return OIDCError(
            .refused, "the token is bound to a key of its session (DPoP), and no use to another program",
            hint: "oidc request URL, or sign in with --set dpop=false", stage: .token)
    }
}
