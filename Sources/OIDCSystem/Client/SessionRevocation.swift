package import OIDCCore

/// The revocation of a session's tokens (RFC 7009), starting with the refresh token, which at many providers
/// also ends the access tokens.
package struct SessionRevocation {
    let session: Session
    let client: Client
    let environment: ProviderEnvironment

    package init(_ session: Session, as client: Client, _ environment: ProviderEnvironment) {
        self.session = session
        self.client = client
        self.environment = environment
    }

    /// The result for one token.
    package enum Step {
        case revoked(TokenTypeHint)
        case accessTokensNotRevoked
    }

    /// Revokes the tokens and returns the errors. Stops early if the provider is unreachable.
    package func run(at endpoint: WebURL, report: (Step) -> Void = { _ in }) -> [OIDCError] {
        var tokens: [(Redacted<String>, TokenTypeHint)] = []
        if let refreshToken = session.tokens.refreshToken { tokens.append((refreshToken, .refreshToken)) }
        if session.hasAccessToken { tokens.append((session.tokens.access.token, .accessToken)) }
        tokens += session.derived.map { ($0.access.token, .accessToken) }
        var failures: [OIDCError] = []
        for (token, hint) in tokens {
            do throws(OIDCError) {
                try environment.transport.perform(
                    try Revocation.call(
                        token, hint: hint, at: endpoint, client: client, now: environment.now(),
                        random: environment.random))
                report(.revoked(hint))
            } catch {
                guard error.oauthError != "unsupported_token_type" || hint == .refreshToken else {
                    report(.accessTokensNotRevoked)
                    continue
                }
                failures.append(error)
                if error.kind == .unreachable || error.kind == .interrupted { break }
            }
        }
        return failures
    }
}
