/// An authorization request that the provider has taken in beforehand (RFC 9126): nothing of it stands in the
/// address but a reference.
public struct PushedAuthorization: Hashable, Sendable {
    public let requestURI: String
    public let expiresAt: Instant?
    /// The address to open: `client_id` and `request_uri` only (RFC 9126 §4).
    public let url: WebURL

    /// RFC 9126 §2.1: the parameters of the request as a form, with the client's proof.
    public static func call(
        _ pending: PendingAuthorization, at endpoint: WebURL, client: Client, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<PushedAuthorization> {
        let request = try client.request(to: endpoint, pending.parameters, now: now, random: random)
        return EndpointCall(
            request, stage: .pushedAuthorization, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                throw client.failure(response, to: request, stage: .pushedAuthorization)
            }
            let answer = try JSONAnswer(response, stage: .pushedAuthorization)
            let requestURI = try answer.requiredString("request_uri")
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
