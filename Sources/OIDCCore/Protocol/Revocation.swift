/// What kind of token an endpoint is shown (RFC 7009 §2.1, RFC 7662 §2.1).
package enum TokenTypeHint: String, Sendable, CaseIterable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
}

/// Informs the provider that a token is no longer needed (RFC 7009).
package enum Revocation {
    /// An invalid token is not an error (§2.2); what the body of a success says does not matter.
    package static func call(
        _ token: Redacted<String>, hint: TokenTypeHint?, at endpoint: WebURL, client: Client, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Void> {
        let request = try client.request(
            to: endpoint, TokenTypeHint.parameters(token, hint), now: now, random: random)
        return EndpointCall(request, stage: .revocation) { response throws(OIDCError) in
            guard response.isSuccess else {
                throw client.failure(response, to: request, stage: .revocation) { code in
                    code == "unsupported_token_type" && hint != .refreshToken
                        ? "revoke the refresh token instead: the provider does not revoke this kind"
                        : OAuthErrorResponse.hint(code)
                }
            }
        }
    }
}

extension TokenTypeHint {
    static func parameters(_ token: Redacted<String>, _ hint: TokenTypeHint?) -> [FormEncoding.Pair] {
        [FormEncoding.Pair("token", token.revealed)]
            + (hint.map { [FormEncoding.Pair("token_type_hint", $0.rawValue)] } ?? [])
    }
}

extension TokenEndpoint.Issued {
    /// Revokes tokens that nobody will use: the refresh token, and then the access token, which only some providers
    /// end with it (RFC 7009 §2.1). What the provider answers is not reported, since the caller has a better error. If
    /// it does not answer, it is not asked again, so the caller waits for one time-out at most.
    package func revoke(at endpoint: WebURL?, client: Client, _ environment: ProviderEnvironment) {
        guard let endpoint else { return }
        for (token, hint) in [(refreshToken, TokenTypeHint.refreshToken), (accessToken, .accessToken)] {
            guard let token else { continue }
            let call = try? Revocation.call(
                token, hint: hint, at: endpoint, client: client, now: environment.now(),
                random: environment.random)
            guard let call, (try? environment.transport.send(call.request, stage: call.stage)) != nil else {
                return
            }
        }
    }
}
