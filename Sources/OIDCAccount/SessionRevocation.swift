package import OIDCCore

/// The revocation of a session's tokens (RFC 7009), starting with the refresh token, which at many providers
/// also ends the access tokens.
package struct SessionRevocation: Sendable {
    let session: Session
    let endpoint: WebURL
    let client: Client
    let environment: OIDCContext

    /// The result for one token.
    package enum Step: Sendable {
        case revoked(TokenTypeHint)
        case accessTokensNotRevoked
        /// The provider no longer knows the access token, as the refresh token has been revoked.
        case accessTokenEnded
    }

    /// The result for all tokens.
    package struct Result: Sendable {
        /// Whether the provider revokes tokens of this client.
        package var isOffered: Bool
        /// Whether the provider has revoked one.
        package var isRevoked = false
        package var steps: [Step] = []
        package var failures: [OIDCError]

        package init(isOffered: Bool = false, failures: [OIDCError] = []) {
            self.isOffered = isOffered
            self.failures = failures
        }
    }

    /// Revokes the tokens. Stops early if the provider is unreachable.
    package func run() -> Result {
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
                result.steps.append(.revoked(hint))
            } catch {
                if hint == .accessToken, hasEndedGrant, SessionRevocation.isUnknownToken(error) {
                    result.steps.append(.accessTokenEnded)
                    continue
                }
                guard error.oauthError != "unsupported_token_type" || hint == .refreshToken else {
                    result.steps.append(.accessTokensNotRevoked)
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
