package import OIDCCore

extension DemoProvider {
    /// Issues a token for the client itself, which must be confidential (RFC 6749 §4.4).
    mutating func clientCredentials(_ request: TokenCall) throws(Refusal) -> JSONObject {
        guard !request.client.isPublic else {
            throw .unauthorizedClient("client_credentials needs a client that authenticates")
        }
        let personal: Set = ["openid", "offline_access"]
        let scope = try allowedScope(request.parameters["scope"])
        guard personal.isDisjoint(with: scope.tokens) else {
            throw .invalidScope("openid and offline_access need a user")
        }
        let audience = try audience(request.parameters)
        return try issueAlone(request, subject: request.client.id, scope: scope, audience: audience)
    }

    /// Issues a token for an assertion of a trusted issuer (RFC 7523 §2.1).
    package mutating func redeemAssertion(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let assertion = try request.parameters.required("assertion")
        let claims: JSONObject
        do {
            claims = try trustedToken(assertion, from: configuration.trustedIssuers, at: request.now)
        } catch {
            throw .invalidGrant("assertion: \(error.description)")
        }
        let scope = try allowedScope(request.parameters["scope"])
        let audience = try audience(request.parameters)
        return try issueAlone(
            request, subject: claims["sub"]?.string ?? "", scope: scope, audience: audience)
    }

    /// Issues an access token without a refresh token.
    package mutating func issueAlone(
        _ request: TokenCall, subject: String, scope: Scope, audience: [String]
    ) throws(Refusal) -> JSONObject {
        let grant = Grant(client: request.client.id, subject: subject, scope: scope, audience: audience)
        return try issue(
            Issue(grant: state.add(grant), scope: scope, audience: audience, binding: request.binding),
            request)
    }
}
