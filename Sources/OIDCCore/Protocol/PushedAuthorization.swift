/// A pushed authorization request (RFC 9126): the provider has its parameters already, and the URL contains only
/// a reference to them.
package struct PushedAuthorization: Hashable, Sendable {
    package let requestURI: String
    package let expiresAt: Instant?
    /// The URL to open, with `client_id` and `request_uri` only (RFC 9126 §4).
    package let url: WebURL

    /// The provider's reference stands in a URL that a browser opens.
    static let maximumByteCount = 8_192

    /// RFC 9126 §2.1: the parameters of the request as a form, with the client's proof.
    package static func call(
        _ pending: PendingAuthorization, at endpoint: WebURL, client: Client, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<PushedAuthorization> {
        let request = try client.request(to: endpoint, pending.parameters, now: now, random: random)
        return EndpointCall(
            request, stage: .pushedAuthorization, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                var error = client.failure(response, to: request, stage: .pushedAuthorization)
                // No proof is sent here; `dpop_jkt` binds the code (RFC 9449 §10.1).
                let isBound = pending.parameters.contains { $0.name == "dpop_jkt" }
                if isBound, error.oauthError == "use_dpop_nonce" {
                    error.hint = .set(.pushedAuthorization, to: "off")
                }
                error.hint =
                    OAuthErrorResponse(response)?.promptHint(sent: pending.prompt) ?? error.hint
                throw error
            }
            let answer = try JSONAnswer(response, stage: .pushedAuthorization)
            let requestURI = try answer.requiredString("request_uri")
            let count = requestURI.utf8.count
            guard count <= maximumByteCount else {
                throw .protocolViolation(
                    .pushedAuthorization, "request_uri", expected: "at most \(maximumByteCount) characters",
                    found: "\(count)")
            }
            return PushedAuthorization(
                requestURI: requestURI, expiresAt: answer.seconds("expires_in").map { now.adding($0) },
                url: try AuthorizationRequest.url(
                    pending.endpoint,
                    [
                        FormEncoding.Pair("client_id", pending.clientID),
                        FormEncoding.Pair("request_uri", requestURI),
                    ]))
        }
    }
}
