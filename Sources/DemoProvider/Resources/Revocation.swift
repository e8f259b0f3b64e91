package import OIDCCore

extension DemoProvider {
    /// Revokes a token (RFC 7009 §2). A revoked refresh token ends the whole sign-in; an unknown token is not
    /// an error.
    mutating func revoke(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.body()
        let client = try authenticatedClient(parameters, call)
        let token = try parameters.required("token")
        if let record = state.refresh[token] {
            try checkOwner(record.grant, client)
            revokeGrant(record.grant)
        } else if let record = state.access[token] {
            try checkOwner(record.grant, client)
            state.access[token]?.isRevoked = true
        }
        return HTTPResponse(status: 200, headers: HTTPHeaders([("Cache-Control", "no-store")]))
    }

    private func checkOwner(_ grant: Int, _ client: DemoClient) throws(Refusal) {
        guard state.grants[grant]?.client == client.id else {
            throw .unauthorizedClient("the token belongs to another client")
        }
    }

    /// Returns a token's claims, or only `active: false` (RFC 7662 §2).
    mutating func introspect(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.body()
        _ = try authenticatedClient(parameters, call)
        let token = try parameters.required("token")
        return .json(introspection(token, call.now).map { .object($0) } ?? ["active": false])
    }

    /// Returns the claims of an active token; those of an access token have a `token_type`.
    package func introspection(_ token: String, _ now: Instant) -> JSONObject? {
        var claims = JSONObject()
        claims["active"] = true
        if let record = state.access[token], let grant = state.grants[record.grant], !grant.isRevoked,
            !record.isRevoked, record.expiresAt > now
        {
            for member in self.claims(of: record, grant).members { claims[member.name] = member.value }
            claims["username"] = grant.account.map { .string($0.name) }
            claims["token_type"] = record.binding.keyThumbprint == nil ? "Bearer" : "DPoP"
            return claims
        }
        guard let record = state.refresh[token], let grant = state.grants[record.grant], !grant.isRevoked,
            record.usedAt == nil, record.expiresAt > now
        else { return nil }
        claims["sub"] = .string(grant.subject)
        claims["client_id"] = .string(grant.client)
        claims["scope"] = .string(grant.scope.text)
        claims["exp"] = JSONValue(record.expiresAt.secondsSinceEpoch)
        return claims
    }
}
