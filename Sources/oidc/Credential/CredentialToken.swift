import OIDCCore
import OIDCSystem

/// A token for another program: the access token, unless it is bound to a key of the session, or the ID token.
struct CredentialToken {
    let text: Redacted<String>
    let expiresAt: Instant?

    /// Gets a fresh token, from the store if possible.
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

    /// Throws if there is no ID token for kubectl, which takes access tokens too.
    static func checkKubernetes(_ kind: TokenKind, _ key: SessionKey) throws(OIDCError) {
        guard kind == .access || key.grant.needsUser else {
            throw .noIDToken(key.grant, hint: "if the cluster accepts access tokens, give --type access")
        }
    }

    /// Returns the error for a token that is useless without its key (RFC 9449 §7.1).
    private static func refusal(of type: TokenType) -> OIDCError {
        guard type == .dpop else {
            return OIDCError(
                .refused,
                "token: token_type: expected Bearer, found "
                    + DisplayText.distinct(type.name, from: ["Bearer"], limit: 60),
                stage: .token)
        }
        return OIDCError(
            .refused, "the token is bound to a key of its session (DPoP), and useless to another program",
            hint: "sign in with --set dpop=false, or use: oidc request URL", stage: .token)
    }
}

extension OIDCError {
    /// The error that a grant without a user brings access tokens only.
    static func noIDToken(_ grant: GrantType, hint: String = "--grant authorization_code") -> OIDCError {
        OIDCError(.usage, "grant \(grant.rawValue) gives no ID token", hint: hint, stage: .idToken)
    }
}
