import OIDCCore

extension DemoProvider {
    /// Refreshes tokens (RFC 6749 §6) with rotation. A refresh token that is used twice was stolen or copied,
    /// and ends the whole sign-in (RFC 9700 §4.14.2).
    mutating func refresh(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let token = try request.parameters.required("refresh_token")
        guard let record = state.refresh[token], let grant = state.grants[record.grant],
            grant.client == request.client.id
        else { throw .invalidGrant("the refresh token is unknown") }
        guard !grant.isRevoked else { throw .invalidGrant("the refresh token was revoked") }
        guard record.expiresAt > request.now else { throw .invalidGrant("the refresh token has expired") }
        if let usedAt = record.usedAt,
            request.now.seconds(since: usedAt) >= configuration.refreshReuseGrace
        {
            revokeGrant(record.grant)
            throw .invalidGrant("the refresh token was used before; the sign-in is revoked")
        }
        try checkBinding(record.binding, request)
        let scope = try narrowedScope(request.parameters["scope"], grant)
        let audience = try narrowedAudience(request.parameters, grant)
        if configuration.rotatesRefreshTokens, record.usedAt == nil {
            state.refresh[token]?.usedAt = request.now
        }
        return try issue(
            Issue(
                grant: record.grant, scope: scope, audience: audience, binding: request.binding,
                withIDToken: grant.scope.contains("openid") && configuration.refreshReturnsIDToken,
                isRefresh: true, presented: token), request)
    }

    /// Checks that a public client's refresh token comes with its key (RFC 9449 §5); a confidential client
    /// has authenticated otherwise.
    private func checkBinding(_ expected: Binding, _ request: TokenCall) throws(Refusal) {
        guard request.client.isPublic, let thumbprint = expected.keyThumbprint else { return }
        guard request.binding.keyThumbprint == thumbprint else {
            throw .invalidGrant("the refresh token is bound to another DPoP key")
        }
    }

    /// Returns the requested scope, which must not exceed the granted one (RFC 6749 §6).
    private func narrowedScope(_ text: String?, _ grant: Grant) throws(Refusal) -> Scope {
        guard let text else { return grant.scope }
        let scope = Scope(text)
        guard scope.isSubset(of: grant.scope) else {
            throw .invalidScope("the scope is wider than what was granted")
        }
        return scope
    }
}
