import OIDCCore

extension DemoProvider {
    /// Returns the claims that the token's scope permits, as JSON or signed (OIDC Core §5.3).
    mutating func userInfo(_ call: Call) throws(Refusal) -> HTTPResponse {
        let (record, grant) = try presented(call)
        guard record.scope.contains("openid") else { throw insufficientScope("openid", call) }
        var claims = JSONObject()
        claims["sub"] = .string(grant.subject)
        for member in profile(grant, record.scope).members { claims[member.name] = member.value }
        guard configuration.signsUserInfo, let client = state.clients[grant.client] else {
            return .json(.object(claims))
        }
        claims["iss"] = .string(issuer.text)
        claims["aud"] = .string(grant.client)
        claims["iat"] = JSONValue(call.now.secondsSinceEpoch)
        let token = try signed(claims, for: client)
        return HTTPResponse(
            status: 200,
            headers: HTTPHeaders([("Content-Type", "application/jwt"), ("Cache-Control", "no-store")]),
            body: Array(token.utf8))
    }
}
