/// What the provider says of a token (RFC 7662 §2.2).
package struct Introspection: Hashable, Sendable {
    package let isActive: Bool
    /// The whole answer, `active` included.
    package let claims: JSONObject

    package static func call(
        _ token: Redacted<String>, hint: TokenTypeHint?, at endpoint: WebURL, client: Client, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Introspection> {
        let request = try client.request(
            to: endpoint, TokenTypeHint.parameters(token, hint), now: now, random: random)
        return EndpointCall(
            request, stage: .introspection, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                throw client.failure(response, to: request, stage: .introspection)
            }
            let answer = try JSONAnswer(response, stage: .introspection)
            guard let isActive = try answer.bool("active") else { throw answer.missing("active") }
            return Introspection(isActive: isActive, claims: answer.members)
        }
    }
}
