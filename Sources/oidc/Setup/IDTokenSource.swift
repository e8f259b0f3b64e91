import OIDCCore
import OIDCSystem

/// Gives out the session's ID token, judged by its own `exp`, and refreshed when it is stale.
struct IDTokenSource {
    let access: SessionAccess
    let minimumValidity: Int64

    var scope: Scope? { (try? access.load())??.grantedScope }

    func idToken(forced: Bool) throws(OIDCError) -> IDToken {
        guard let session = try access.load() else {
            throw SessionAccess.noSession(access.key, access.setup.settings)
        }
        let stored = session.tokens.idToken.flatMap { IDToken.stored($0.revealed) }
        if !forced, let stored, isFresh(stored) { return stored }
        let demand = TokenDemand(minimumValidity: minimumValidity)
        let renewed = try access.renewed(demand, seen: session, refusing: .of(session.tokens.access))
        guard let idToken = renewed.session.tokens.idToken.flatMap({ IDToken.stored($0.revealed) }),
            isFresh(idToken), !forced || idToken.compact != stored?.compact
        else {
            throw OIDCError(
                .loginRequired,
                stored == nil
                    ? "the session has no ID token"
                    : "the ID token has expired, and a refresh brings no new one",
                hint: access.setup.settings.loginLine, stage: .idToken)
        }
        return idToken
    }

    private func isFresh(_ token: IDToken) -> Bool {
        let left = token.expiresAt.seconds(since: access.setup.context.now)
        return left > min(minimumValidity, token.expiresAt.seconds(since: token.issuedAt) / 2)
    }
}
