import OIDCCore

/// The tokens to issue under a grant.
struct Issue {
    let grant: Int
    var scope: Scope
    var audience: [String] = []
    var binding = Binding()
    var withIDToken = false
    var isRefresh = false
    /// The presented refresh token, which stays valid if refresh tokens are not rotated.
    var presented: String?
}

extension DemoProvider {
    /// Issues tokens and returns the token response (RFC 6749 §5.1, OIDC Core §3.1.3.3).
    mutating func issue(_ issue: Issue, _ request: TokenCall) throws(Refusal) -> JSONObject {
        guard let grant = state.grants[issue.grant] else { throw .invalidGrant("the grant has been revoked") }
        let access = try accessToken(issue, grant, request)
        var answer = JSONObject()
        answer["access_token"] = .string(access)
        answer["token_type"] = issue.binding.keyThumbprint == nil ? "Bearer" : "DPoP"
        answer["expires_in"] = JSONValue(configuration.accessTokenLifetime)
        answer["authorization_details"] = grant.details
        answer["scope"] = .string(issue.scope.text)
        if let refresh = refreshToken(issue, grant, request) { answer["refresh_token"] = .string(refresh) }
        if issue.withIDToken {
            answer["id_token"] = .string(
                try idToken(
                    grant, request.client, accessToken: access, isRefresh: issue.isRefresh, request.now))
        }
        return answer
    }

    /// Issues an access token: opaque, or a JWT (RFC 9068). Both are remembered, so they can be revoked.
    private mutating func accessToken(
        _ issue: Issue, _ grant: Grant, _ request: TokenCall
    ) throws(Refusal) -> String {
        let record = AccessRecord(
            grant: issue.grant, scope: issue.scope,
            audience: issue.audience.isEmpty ? [address("/api")] : issue.audience, issuedAt: request.now,
            expiresAt: request.now.adding(configuration.accessTokenLifetime), binding: issue.binding)
        let token = configuration.issuesJWTAccessTokens ? try accessJWT(record, grant) : secret()
        state.access[token] = record
        return token
    }

    private func accessJWT(_ record: AccessRecord, _ grant: Grant) throws(Refusal) -> String {
        var claims = claims(of: record, grant)
        claims["jti"] = .string(secret())
        return try signed(claims, type: "at+jwt")
    }

    /// Returns an access token's claims, for JWTs (RFC 9068 §2.2) and introspection (RFC 7662 §2.2).
    func claims(of record: AccessRecord, _ grant: Grant) -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(issuer.text)
        claims["sub"] = .string(grant.subject)
        claims["aud"] =
            record.audience.count == 1
            ? .string(record.audience[0]) : .array(record.audience.map { .string($0) })
        claims["client_id"] = .string(grant.client)
        claims["scope"] = .string(record.scope.text)
        claims["iat"] = JSONValue(record.issuedAt.secondsSinceEpoch)
        claims["exp"] = JSONValue(record.expiresAt.secondsSinceEpoch)
        claims["auth_time"] = grant.authenticatedAt.map { JSONValue($0.secondsSinceEpoch) }
        claims["acr"] = grant.acr.map { .string($0) }
        claims["cnf"] = record.binding.confirmation
        claims["authorization_details"] = grant.details
        return claims
    }

    private mutating func refreshToken(_ issue: Issue, _ grant: Grant, _ request: TokenCall) -> String? {
        if let presented = issue.presented, !configuration.rotatesRefreshTokens { return presented }
        guard grant.account != nil, grant.scope.contains("offline_access"),
            request.client.allows(grant: "refresh_token")
        else { return nil }
        let token = secret()
        state.refresh[token] = RefreshRecord(
            grant: issue.grant, expiresAt: request.now.adding(30 * 86_400), binding: issue.binding)
        return token
    }
}
