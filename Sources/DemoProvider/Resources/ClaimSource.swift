import OIDCCore

/// The claims that this provider treats as another issuer's, to show how clients read those (OIDC Core §5.6.2): the
/// scope `address` opens an aggregated claim, and `phone` a distributed one.
extension DemoProvider {
    /// `typ` of the tokens for `/claims`, so no other token is accepted there.
    private static let tokenType = "claims-access+jwt"

    /// Adds the names and sources of such claims to a UserInfo answer.
    func addClaimSources(
        to claims: inout JSONObject, _ grant: Grant, _ scope: Scope, _ now: Instant
    ) throws(Refusal) {
        var names = JSONObject()
        var sources = JSONObject()
        if scope.contains("address") {
            var made = sourceClaims(for: grant.client, now)
            made["address"] = ["street_address": "12 Example Street", "country": "Exampleland"]
            names["address"] = "registry"
            sources["registry"] = ["JWT": .string(try signed(made, type: "JWT"))]
        }
        if scope.contains("phone") {
            var access = sourceClaims(for: grant.client, now)
            access["sub"] = .string(grant.subject)
            names["phone_number"] = "carrier"
            sources["carrier"] = [
                "endpoint": .string(address(.claims)),
                "access_token": .string(try signed(access, type: DemoProvider.tokenType)),
            ]
        }
        guard !names.isEmpty else { return }
        claims["_claim_names"] = .object(names)
        claims["_claim_sources"] = .object(sources)
    }

    /// Returns the distributed claim to every caller with the token that came with it.
    func claimSource(_ call: Call) throws(Refusal) -> HTTPResponse {
        guard let text = call.credentials("Bearer"), let token = try? JWS(compact: text),
            token.header["typ"]?.string == DemoProvider.tokenType, let access = ownIDToken(text),
            let client = access["aud"]?.string, let expiry = access["exp"]?.integer,
            expiry > call.now.secondsSinceEpoch
        else { throw challenge(call, "invalid_token", "the token of the claim source is needed") }
        var made = sourceClaims(for: client, call.now)
        made["phone_number"] = "+1 555 0100"
        return .jwt(try signed(made, type: "JWT"))
    }

    private func sourceClaims(for client: String, _ now: Instant) -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(issuer.text)
        claims["aud"] = .string(client)
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        claims["exp"] = JSONValue(now.adding(configuration.idTokenLifetime).secondsSinceEpoch)
        return claims
    }
}
