import DemoProvider
import OIDCCore

/// Identity assertion authorization grants (ID-JAG): the user's provider vouches for the user to the server
/// of a resource, which issues an access token for it.
extension DemoProvider {
    private static let identityAssertionType = "oauth-id-jag+jwt"

    /// Adds the grants that only the tests need.
    mutating func addTestGrants() {
        grantHandlers.append(.exchange)
        guard let index = grantHandlers.firstIndex(where: { $0.name.hasSuffix(":jwt-bearer") }) else {
            return
        }
        grantHandlers[index] = GrantHandler(grantHandlers[index].name) { demo, call throws(Refusal) in
            let assertion = try call.parameters.required("assertion")
            let type = (try? JWS(compact: assertion))?.header["typ"]?.string
            guard type == DemoProvider.identityAssertionType else { return try demo.redeemAssertion(call) }
            return try demo.redeemIdentityAssertion(assertion, call)
        }
    }

    /// Issues an assertion for the server that `audience` names, and for `resource` there.
    func identityAssertion(
        for subject: String, _ scope: Scope, _ request: TokenCall
    ) throws(Refusal) -> JSONObject {
        let audiences = request.parameters.values("audience")
        guard audiences.count == 1, let audience = audiences.first else {
            throw .invalidRequest("audience must be the issuer of the resource's server")
        }
        _ = try self.audience(request.parameters)
        let lifetime: Int64 = 300
        var claims = JSONObject()
        claims["iss"] = .string(issuer.text)
        claims["sub"] = .string(subject)
        claims["aud"] = .string(audience)
        claims["client_id"] = .string(request.client.id)
        claims["resource"] = request.parameters["resource"].map { .string($0) }
        if !scope.isEmpty { claims["scope"] = .string(scope.text) }
        claims["jti"] = .string(secret())
        claims["iat"] = JSONValue(request.now.secondsSinceEpoch)
        claims["exp"] = JSONValue(request.now.adding(lifetime).secondsSinceEpoch)
        // The token is in access_token, although it is none (RFC 8693 §2.2.1).
        var answer = JSONObject()
        answer["access_token"] = .string(try signed(claims, type: DemoProvider.identityAssertionType))
        answer["issued_token_type"] = .string(ExchangeType.identityAssertion.rawValue)
        answer["token_type"] = "N_A"
        answer["expires_in"] = JSONValue(lifetime)
        return answer
    }

    /// Issues an access token for an assertion, for the resource and at most the scope that it names. The
    /// assertion must name this server and this client, and is single-use.
    private mutating func redeemIdentityAssertion(
        _ assertion: String, _ request: TokenCall
    ) throws(Refusal) -> JSONObject {
        let claims = try identityClaims(assertion, request)
        let granted = try allowedScope(claims["scope"]?.string)
        let scope =
            request.parameters["scope"] == nil ? granted : try allowedScope(request.parameters["scope"])
        guard scope.isSubset(of: granted) else {
            throw .invalidScope("the scope is wider than the assertion's")
        }
        let audience = [claims["resource"]?.string].compactMap { $0 }
        guard Set(try self.audience(request.parameters)).isSubset(of: audience) else {
            throw .invalidTarget("the resource was not granted")
        }
        return try issueAlone(
            request, subject: claims["sub"]?.string ?? "", scope: scope, audience: audience)
    }

    private mutating func identityClaims(
        _ assertion: String, _ request: TokenCall
    ) throws(Refusal) -> JSONObject {
        let claims: JSONObject
        do throws(Refusal) {
            let own = TrustedIssuer(issuer: issuer.text, keys: publishedKeys)
            claims = try trustedToken(
                assertion, from: configuration.trustedIssuers + [own], at: request.now)
            guard claims["aud"]?.string == issuer.text else { throw .invalidGrant("aud is another server") }
            guard claims["client_id"]?.string == request.client.id else {
                throw .invalidGrant("client_id is another client")
            }
            guard let identifier = claims["jti"]?.string,
                remember(
                    "id-jag \(claims["iss"]?.string ?? "") \(identifier)", until: request.now.adding(3_700))
            else { throw .invalidGrant("jti is missing, or was used before") }
        } catch {
            throw .invalidGrant("assertion: \(error.description)")
        }
        return claims
    }
}
