import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// OIDC Core §5.3: the claims that the token's scope opens, as JSON or signed.
    mutating func userInfo(_ call: Call) throws(Refusal) -> HTTPResponse {
        let (record, grant) = try presented(call)
        guard record.scope.contains("openid") else { throw insufficientScope("openid", call) }
        var claims = JSONObject()
        claims["sub"] = .string(grant.subject)
        for member in profile(grant, record.scope).members { claims[member.name] = member.value }
        guard configuration.signsUserInfo, let client = state.clients[grant.client] else {
            applyUserInfoFaults(to: &claims)
            return .json(.object(claims))
        }
        claims["iss"] = .string(issuer.text)
        claims["aud"] = .string(grant.client)
        claims["iat"] = JSONValue(call.now.secondsSinceEpoch)
        applyUserInfoFaults(to: &claims)
        let algorithm = client.idTokenAlgorithm ?? configuration.signingAlgorithms.first ?? .rs256
        let token = try crypto { () throws(CryptoError) in
            var draft = try draft(claims, for: client, algorithm)
            if has(.userInfo(.unsigned)) {
                draft.header["alg"] = "none"
                draft.signer = .nobody
            }
            return try draft.serialized()
        }
        let signed = has(.userInfo(.signatureInvalid)) ? TokenDamage.flippedSignature(token) : token
        return HTTPResponse(
            status: 200,
            headers: HTTPHeaders([("Content-Type", "application/jwt"), ("Cache-Control", "no-store")]),
            body: Array(signed.utf8))
    }
}
