/// The provider's description of a token (RFC 7662 §2.2).
public struct Introspection: Hashable, Sendable {
    /// Whether the token is valid.
    public let isActive: Bool
    /// The whole answer, `active` included.
    public let claims: JSONObject

    /// Returns the request that asks about a token (§2.1).
    public static func call(
        _ token: Redacted<String>, hint: TokenTypeHint?, at endpoint: WebURL, client: OAuthClient,
        now: OIDCInstant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Introspection> {
        let request = try client.request(
            to: endpoint, TokenTypeHint.parameters(token, hint), now: now, random: random)
        return EndpointCall(
            request, stage: .introspection, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                throw refusal(response, to: request, of: client)
            }
            let answer = try JSONAnswer(response, stage: .introspection)
            return Introspection(isActive: try answer.required("active", answer.bool), claims: answer.members)
        }
    }

    /// Returns the error for a refusal. The endpoint requires authentication (RFC 7662 §2.1), so a public
    /// client is refused whatever the code is; `unauthorized_client` and 403 mean that a confidential client
    /// may not introspect.
    private static func refusal(
        _ response: HTTPResponse, to request: HTTPRequest, of client: Client
    ) -> OIDCError {
        var error = client.failure(response, to: request, stage: .introspection)
        let isPublic = client.authentication.method == "none"
        if error.kind == .refused,
            isPublic || error.oauthError == "unauthorized_client" || response.status == 403
        {
            error.hint = .advice(.introspectAsOtherClient)
        }
        return error
    }
}
