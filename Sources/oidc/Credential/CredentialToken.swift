import OIDCCore
import OIDCSessions
import OIDCAccount

/// A token for another program: the ID token, or the access token if it is not bound to a key.
struct CredentialToken {
    let text: Redacted<String>
    let expiresAt: Instant?

    /// Creates the token: a fresh one, from the store if possible.
    init(
        _ kind: TokenKind, _ account: Account, minimumValidity: Int64 = 60
    ) throws(OIDCError) {
        switch kind {
        case .access:
            let token = try account.token(account.demand(minimumValidity: minimumValidity)).access
            guard token.type == .bearer else { throw CredentialToken.refusal(of: token.type, account) }
            text = token.token
            expiresAt = token.expiresAt
        case .id:
            let token = try account.idToken(minimumValidity: minimumValidity)
            text = Redacted(token.compact)
            expiresAt = token.expiresAt
        }
    }

    /// Returns the error for a token that is useless without its key (RFC 9449 §7.1).
    private static func refusal(of type: TokenType, _ account: Account) -> OIDCError {
        guard type == .dpop else {
            return OIDCError(
                .refused,
                "token: token_type: expected Bearer, found "
                    + DisplayText.distinct(type.name, from: ["Bearer"], limit: 60),
                stage: .token)
        }
        // A session is bound because the resource requires it, or because the settings say so.
        let isRequired = account.provider.target?.link.bindsTokens == true
        let url = isRequired ? account.provider.settings.resource?.url : nil
        return OIDCError(
            .refused, "the token is bound to a key of its session (DPoP), and useless to another program",
            hint: url.map { .run("proxy", $0) }
                ?? .words("sign in with --set dpop=false, or use: ", .run("request URL")), stage: .token)
    }
}

extension OIDCError {
    /// Returns the error for a grant without a user, which has no ID token.
    static func noIDToken(_ grant: GrantType, hint: Hint = .options(["--grant", "authorization_code"]))
        -> OIDCError
    {
        OIDCError(.usage, "grant \(grant.rawValue) gives no ID token", hint: hint, stage: .idToken)
    }
}
