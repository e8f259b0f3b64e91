import OIDCCore
import OIDCSystem

/// The revocation of a session at its provider.
struct SignOut {
    let provider: ProviderContext
    let session: Session

    private var console: Console { provider.context.console }

    func revoke() -> SessionRevocation.Result {
        if let endpoint = session.endpoints.revocation { provider.warnOfOther(.revocation, than: endpoint) }
        let result = provider.revoke(session) { step in
            switch step {
            case .revoked(.refreshToken): console.note("Revoked the refresh token.")
            case .revoked(.accessToken): console.note("Revoked the access token.")
            case .accessTokensNotRevoked: console.note("The provider does not revoke access tokens.")
            case .accessTokenEnded: console.note("The access token ended with the refresh token.")
            }
        }
        if !result.isOffered { noteNotOffered() }
        return result
    }

    private func noteNotOffered() {
        let (access, now) = (session.tokens.access, provider.context.now)
        let end = session.hasAccessToken ? access.expiresAt.flatMap { $0 > now ? $0 : nil } : nil
        console.note(
            "The provider offers no revocation to this client"
                + (end.map { "; the access token expires \(TimeWords.relative($0, to: now))." } ?? "."))
    }

    /// Ends the provider's session in the browser, which has its cookies (OpenID Connect RP-Initiated Logout
    /// §2).
    func endProviderSession() -> [OIDCError] {
        guard let endpoint = session.endpoints.endSession else {
            console.note("The provider offers no end_session_endpoint.")
            return []
        }
        provider.warnOfOther(.endSession, than: endpoint)
        do throws(OIDCError) {
            try SignOutInBrowser(provider: provider, session: session, endpoint: endpoint).run()
            return []
        } catch {
            return [error]
        }
    }
}

/// The result of a revocation, as named by `-o json`.
enum RevocationAnswer: String {
    case revoked
    case refused
    case unreachable
    case notOffered = "not_offered"

    /// Creates the result; nil for an error that is not the provider's answer, such as an unreadable file.
    init?(_ failure: OIDCError?) {
        guard let failure else {
            self = .revoked
            return
        }
        switch failure.kind {
        case _ where failure.stage != .revocation: return nil
        case .unreachable: self = .unreachable
        case .refused: self = .refused
        default: return nil
        }
    }
}
