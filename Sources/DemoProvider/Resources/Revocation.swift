package import OIDCCore
import OIDCCrypto

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

    /// Returns a token's claims, or only `active: false` (RFC 7662 §2); signed if the client asks for that (RFC 9701
    /// §5).
    mutating func introspect(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try call.body()
        let client = try authenticatedClient(parameters, call)
        let token = try parameters.required("token")
        let answer = introspection(token, call.now).map { JSONValue.object($0) } ?? ["active": false]
        let type = "application/\(SignedIntrospection.type)"
        guard call.request.headers.values("Accept").contains(where: { $0.includes(type) }) else {
            return .json(answer)
        }
        var claims = JSONObject()
        claims["iss"] = .string(issuer.text)
        claims["aud"] = .string(client.id)
        claims["iat"] = JSONValue(call.now.secondsSinceEpoch)
        claims["token_introspection"] = answer
        let signed = try signed(
            claims, type: SignedIntrospection.type, for: client, by: introspectionAlgorithm(client))
        return .jwt(try client.encrypted(signed, client.introspectionEncryption), type: type)
    }

    /// Returns the algorithm of a client's signed answers. The default is RS256 (RFC 9701 §6), if there is a key for it.
    private func introspectionAlgorithm(_ client: DemoClient) -> SignatureAlgorithm? {
        if let algorithm = client.introspectionAlgorithm { return algorithm }
        return configuration.allows(.rs256) && signingKey(for: .rs256) != nil ? .rs256 : nil
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
