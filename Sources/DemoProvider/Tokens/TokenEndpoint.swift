package import OIDCCore
import OIDCCrypto

/// A token request of a known client.
package struct TokenCall: Sendable {
    let call: Call
    package let parameters: Parameters
    package let client: DemoClient
    /// The key and certificate that the tokens will be bound to.
    let binding: Binding

    package var now: Instant { call.now }
}

extension DemoProvider {
    /// Handles a token request (RFC 6749 §3.2).
    mutating func token(_ call: Call) throws(Refusal) -> HTTPResponse {
        let parameters = try tokenParameters(call)
        let type = try parameters.required("grant_type")
        let client = try authenticatedClient(parameters, call)
        guard client.allows(grant: type) else {
            throw .unauthorizedClient("this client may not use the grant \(type)")
        }
        let binding = try tokenBinding(client, call)
        let request = TokenCall(call: call, parameters: parameters, client: client, binding: binding)
        guard let handler = grantHandlers.first(where: { $0.name == type }) else {
            throw Refusal("unsupported_grant_type", "unknown grant_type")
        }
        var response = HTTPResponse.json(.object(try handler.answer(&self, request)))
        response.headers["Pragma"] = "no-cache"
        return response
    }

    private func tokenParameters(_ call: Call) throws(Refusal) -> Parameters {
        guard call.request.url.query == nil else {
            throw .invalidRequest("token parameters belong into the body")
        }
        if configuration.requiresJSONTokenRequests {
            guard call.request.headers["Content-Type"].map({ $0.hasPrefix("application/json") }) == true
            else {
                throw .invalidRequest("this provider takes JSON token requests")
            }
        }
        return try call.body(acceptingJSON: true)
    }

    /// Redeems a code (RFC 6749 §4.1.3, RFC 7636 §4.6). A second use revokes the tokens of the first
    /// (§4.1.2).
    mutating func redeemCode(_ request: TokenCall) throws(Refusal) -> JSONObject {
        let code = try request.parameters.required("code")
        guard let record = state.codes[code], record.request.client == request.client.id else {
            throw .invalidGrant("the code is unknown")
        }
        guard !record.isRedeemed else {
            revokeGrant(record.grant)
            throw .invalidGrant("the code was used before")
        }
        state.codes[code]?.isRedeemed = true
        guard record.expiresAt > request.now else { throw .invalidGrant("the code has expired") }
        guard request.parameters["redirect_uri"] == record.request.redirect.address else {
            throw .invalidGrant("redirect_uri is not the one of the authorization request")
        }
        try checkVerifier(request.parameters["code_verifier"], record.request.codeChallenge)
        if let expected = record.request.keyThumbprint, request.binding.keyThumbprint != expected {
            throw .invalidGrant("the code is bound to another DPoP key")
        }
        guard let grant = state.grants[record.grant], !grant.isRevoked else {
            throw .invalidGrant("the grant was revoked")
        }
        let audience = try narrowedAudience(request.parameters, grant)
        return try issue(
            Issue(
                grant: record.grant, scope: grant.scope, audience: audience, binding: request.binding,
                withIDToken: grant.scope.contains("openid")), request)
    }

    private func checkVerifier(_ verifier: String?, _ challenge: String) throws(Refusal) {
        guard let verifier, (43...128).contains(verifier.utf8.count) else {
            throw .invalidGrant("code_verifier is missing or has no 43 to 128 characters")
        }
        let digest = try crypto { () throws(CryptoError) in try Digest.hash(Array(verifier.utf8), .sha256) }
        guard equalInConstantTime(Array(Base64URL.encode(digest).utf8), Array(challenge.utf8)) else {
            throw .invalidGrant("code_verifier does not match code_challenge")
        }
    }

    /// Returns the requested audiences, which must be among the granted ones (RFC 8707 §2.2).
    func narrowedAudience(_ parameters: Parameters, _ grant: Grant) throws(Refusal) -> [String] {
        let asked = try audience(parameters)
        if asked.isEmpty { return grant.audience }
        guard grant.audience.isEmpty || Set(asked).isSubset(of: grant.audience) else {
            throw .invalidTarget("the resource was not granted")
        }
        return asked
    }

    mutating func revokeGrant(_ id: Int) {
        state.grants[id]?.isRevoked = true
    }
}
