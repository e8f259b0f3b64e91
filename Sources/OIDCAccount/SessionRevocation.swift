package import OIDCCore

/// The revocation of a session's tokens (RFC 7009), starting with the refresh token, which at many providers
/// also ends the access tokens.
package struct SessionRevocation {
    let session: Session
    let client: Client
    let environment: OIDCContext

    package init(_ session: Session, as client: Client, _ environment: OIDCContext) {
        self.session = session
        self.client = client
        self.environment = environment
    }

    /// The result for one token.
    package enum Step {
        case revoked(TokenTypeHint)
        case accessTokensNotRevoked
        /// The provider no longer knows the access token, as the refresh token has been revoked.
        case accessTokenEnded
    }

    /// The result for all tokens.
    package struct Result {
        /// Whether the provider revokes tokens of this client.
        package var isOffered = false
        /// Whether the provider has revoked one.
        package var isRevoked = false
        package var failures: [OIDCError] = []
    }

    /// Revokes the tokens. Stops early if the provider is unreachable.
    package func run(at endpoint: WebURL, report: (Step) -> Void = { _ in }) -> Result {
        var tokens: [(Redacted<String>, TokenTypeHint)] = []
        if let refreshToken = session.tokens.refreshToken { tokens.append((refreshToken, .refreshToken)) }
        if session.hasAccessToken { tokens.append((session.tokens.access.token, .accessToken)) }
        tokens += session.derived.map { ($0.access.token, .accessToken) }
        var result = Result(isOffered: true)
        var hasEndedGrant = false
        for (token, hint) in tokens {
            do throws(OIDCError) {
                let answer = try environment.transport.perform(
                    try Revocation.call(
                        token, hint: hint, at: endpoint, client: client, now: environment.now(),
                        random: environment.random))
                guard answer == .revoked else {
                    result.isOffered = false
                    break
                }
                result.isRevoked = true
                if hint == .refreshToken { hasEndedGrant = true }
                report(.revoked(hint))
            } catch {
                if hint == .accessToken, hasEndedGrant, SessionRevocation.isUnknownToken(error) {
                    report(.accessTokenEnded)
                    continue
                }
                guard error.oauthError != "unsupported_token_type" || hint == .refreshToken else {
                    report(.accessTokensNotRevoked)
                    continue
                }
                result.failures.append(error)
                if error.kind == .unreachable || error.kind == .interrupted { break }
            }
        }
        return result
    }

    /// Returns whether the provider refuses a token that it does not know, which RFC 7009 §2.2 has as a success:
    /// better-auth answers 400 `invalid_request` ("Invalid access token") to one whose refresh token was revoked
    /// (1.7.25, 2026-11).
    private static func isUnknownToken(_ error: OIDCError) -> Bool {
        error.kind == .refused
            && ["invalid_request", "invalid_token", "invalid_grant"].contains(error.oauthError)
    }
}
