import OIDCCore
import OIDCSystem

/// Tells the provider that a session is over.
struct SignOut {
    let setup: ProviderSetup
    let session: Session

    private var console: Console { setup.context.console }

    /// RFC 7009: the refresh token first, which ends what hangs on it at many providers.
    func revoke() -> [OIDCError] {
        guard let endpoint = session.endpoints.revocation else {
            console.note("The provider offers no revocation.")
            return []
        }
        var tokens: [(Redacted<String>, TokenTypeHint)] = []
        if let refreshToken = session.tokens.refreshToken { tokens.append((refreshToken, .refreshToken)) }
        tokens.append((session.tokens.access.token, .accessToken))
        tokens += session.derived.map { ($0.access.token, .accessToken) }
        var failures: [OIDCError] = []
        do throws(OIDCError) {
            let environment = try setup.environment()
            let client = try setup.tokenEndpoint(of: session, environment).client
            for (token, hint) in tokens {
                do throws(OIDCError) {
                    try environment.transport.perform(
                        try Revocation.call(
                            token, hint: hint, at: endpoint, client: client, now: environment.now(),
                            random: environment.random))
                    console.note("Revoked the \(hint == .refreshToken ? "refresh" : "access") token.")
                } catch {
                    guard error.oauthError != "unsupported_token_type" else {
                        console.note("The provider does not revoke access tokens.")
                        continue
                    }
                    failures.append(error)
                    if error.kind == .unreachable || error.kind == .interrupted { return failures }
                }
            }
        } catch {
            failures.append(error)
        }
        return failures
    }

    /// OpenID Connect RP-Initiated Logout §2, in the browser that holds the provider's cookies.
    func endProviderSession() -> [OIDCError] {
        guard let endpoint = session.endpoints.endSession else {
            console.note("The provider offers no end_session_endpoint.")
            return []
        }
        do throws(OIDCError) {
            try SignOutInBrowser(setup: setup, session: session, endpoint: endpoint).run()
            return []
        } catch {
            return [error]
        }
    }
}
