import CommandLineKit
import OIDCCore
import OIDCSessions

struct RevokeCommand: TokenOperandCommand {
    static let name = "revoke"
    static let summary = "Revoke a token at the provider"
    static let declaration: Declaration<RevokeCommand> = tokenDeclaration(
        """
        Informs the provider (RFC 7009) that a token is no longer needed, and drops it from the session. To end a \
        session and forget it on this machine, use `oidc logout`.
        """,
        examples: [
            Example("oidc revoke - < token.txt", "any token"),
            Example("oidc revoke --refresh-token", "the session's refresh token"),
        ],
        refreshToken: "revoke a refresh token: the session's, or the one on stdin")

    var source: String?
    var isRefreshToken = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try provider(context)
        guard source == nil else {
            let (token, session) = try token(provider)
            try revoke(token, try endpoint(provider, session, context), provider, context, nil)
            return 0
        }
        try provider.refuseIfLent(Self.name)
        let account = try Account(provider)
        // For a missing session, no lock is created. The client's secret may be asked for, which no lock waits for.
        let endpoint = try endpoint(provider, try account.session(), context)
        // A running refresh would replace the token before it is revoked.
        try account.store.withLock(account.key, provider.lockWait) { () throws(OIDCError) in
            let (token, _) = try token(provider, of: account)
            try revoke(token, endpoint, provider, context, account)
        }
        return 0
    }

    private func endpoint(
        _ provider: ProviderContext, _ session: Session?, _ context: CommandContext
    ) throws(OIDCError) -> AuthenticatedEndpoint {
        try AuthenticatedEndpoint(provider: provider, endpoint: .revocation, session: session) {
            () throws(OIDCError) in try report(.notOffered, context)
        }
    }

    /// Revokes the token, and drops it from the session. `locked` is the account whose lock is held, if its token is meant.
    private func revoke(
        _ token: Redacted<String>, _ endpoint: AuthenticatedEndpoint, _ provider: ProviderContext,
        _ context: CommandContext, _ locked: Account?
    ) throws(OIDCError) {
        let holder = try holder(of: token, provider, locked)
        do throws(OIDCError) {
            let environment = endpoint.environment
            let answer = try environment.transport.perform(
                try Revocation.call(
                    token, hint: hint, at: endpoint.url, client: endpoint.client, now: environment.now(),
                    random: environment.random))
            guard answer == .revoked else {
                try report(.notOffered, context)
                throw OIDCError(
                    .refused, "revocation: the provider does not revoke tokens of public clients",
                    hint: "the token stays valid until it expires", stage: .settings)
            }
        } catch {
            if let answer = RevocationAnswer(error) { try report(answer, context) }
            throw error
        }
        context.console.note("The provider has revoked the token.")
        try report(.revoked, context)
        guard let holder else { return }
        do throws(OIDCError) {
            // It is removed under the lock, so it is not used again.
            guard locked == nil else { return try forget(token, holder) }
            try holder.store.withLock(holder.key, provider.lockWait) { () throws(OIDCError) in
                try forget(token, holder)
            }
        } catch {
            throw RevokeCommand.notForgotten(error)
        }
    }

    /// Prints the provider's answer, with `-o json`.
    private func report(_ answer: RevocationAnswer, _ context: CommandContext) throws(OIDCError) {
        guard context.console.isJSON else { return }
        try context.console.output([
            "provider": .string(answer.rawValue),
            "token_type_hint": .string(isRefreshToken ? "refresh_token" : "access_token"),
        ])
    }

    /// Returns the account whose session uses the token, or may use it, as it cannot be read now; nil if there is none.
    /// Throws if the session cannot be stored without the token: then nothing is revoked, because the session would keep
    /// using it.
    private func holder(
        of token: Redacted<String>, _ provider: ProviderContext, _ locked: Account?
    ) throws(OIDCError) -> Account? {
        guard (try? provider.sessionKey()) != nil else { return nil }
        let account = if let locked { locked } else { try Account(provider) }
        let session: Session?
        do throws(OIDCError) { session = try account.store.load(account.key) } catch {
            guard error.kind != .interrupted else { throw error }
            // A damaged session hands out no token.
            return error.code == .damagedSession ? nil : account
        }
        if session == nil, account.store.hides(account.key) { return account }
        guard let session, case let rest = session.revoking(token), rest != session else { return nil }
        if rest != nil { _ = try account.store.reserveSpace(for: account.key) }
        return account
    }

    /// Returns the error of a session that may go on using the revoked token.
    private static func notForgotten(_ error: OIDCError) -> OIDCError {
        guard error.kind != .interrupted else { return error }
        var failure = error
        failure.message =
            "the token is revoked, but the session may still have it, as it could not be updated: \(error.message)"
        let again: Hint = "run the command again later: it drops the token from the session"
        if case .tryAgain? = error.hint { failure.hint = nil }
        failure.hint = failure.hint.map { .words($0, "; then run the command again") } ?? again
        return failure
    }

    private func forget(_ token: Redacted<String>, _ account: Account) throws(OIDCError) {
        let (key, store) = (account.key, account.store)
        guard let current = try store.load(key) else {
            guard !store.hides(key) else { throw store.hiddenSession }
            return
        }
        if let rest = current.revoking(token) {
            if rest != current { _ = try store.replace(current, with: rest) }
        } else {
            try store.remove(key)
        }
    }
}
