/// The kind of token that is sent to an endpoint (RFC 7009 §2.1, RFC 7662 §2.1).
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum TokenTypeHint: String, Sendable, CaseIterable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
}

/// The revocation of a token that is no longer needed (RFC 7009).
public enum Revocation {
    /// The provider's answer.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Answer: Hashable, Sendable {
        case revoked
        /// The provider revokes no tokens of public clients.
        case notOffered
    }

    /// Returns the request that revokes a token. An invalid token is not an error (§2.2), and the body of a
    /// success is ignored. A public client that is not accepted has nothing to correct: Spring Authorization Server
    /// (7.1) and glewlwyd revoke for confidential clients alone (2026-11).
    public static func call(
        _ token: Redacted<String>, hint: TokenTypeHint?, at endpoint: WebURL, client: OAuthClient,
        now: OIDCInstant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Answer> {
        let request = try client.request(
            to: endpoint, TokenTypeHint.parameters(token, hint), now: now, random: random)
        return EndpointCall(request, stage: .revocation) { response throws(OIDCError) in
            if case .none = client.authentication.kind, isOfClient(response) { return .notOffered }
            guard response.isSuccess else {
                throw client.failure(response, to: request, stage: .revocation) { code in
                    code == "unsupported_token_type" && hint != .refreshToken
                        ? "revoke the refresh token instead: the provider does not revoke this kind"
                        : OAuthErrorResponse.hint(code)
                }
            }
            return .revoked
        }
    }

    /// Returns whether an answer refuses the client.
    private static func isOfClient(_ response: HTTPResponse) -> Bool {
        if let code = OAuthErrorResponse(response)?.code {
            return ["invalid_client", "unauthorized_client"].contains(code)
        }
        // Spring Authorization Server (7.1) answers 401 and glewlwyd 403 with an empty body. A page is from
        // another server.
        return [401, 403].contains(response.status) && response.body.isEmpty
    }
}

extension TokenTypeHint {
    static func parameters(_ token: Redacted<String>, _ hint: TokenTypeHint?) -> [FormEncoding.Pair] {
        [FormEncoding.Pair("token", token.revealed)]
            + (hint.map { [FormEncoding.Pair("token_type_hint", $0.rawValue)] } ?? [])
    }
}

extension TokenEndpoint.Issued {
    /// Revokes tokens that are not used: the refresh token, and then the access token, which only some
    /// providers end with it (RFC 7009 §2.1).
    ///
    /// The provider's answer is not reported, as the caller has a better error. If there is no answer, no
    /// second request is sent, so the caller waits for one time-out at most.
    package func revoke(at endpoint: WebURL?, client: Client, _ context: OIDCContext) {
        guard let endpoint else { return }
        for (token, hint) in [(refreshToken, TokenTypeHint.refreshToken), (accessToken, .accessToken)] {
            guard let token else { continue }
            let call = try? Revocation.call(
                token, hint: hint, at: endpoint, client: client, now: context.now(),
                random: context.random)
            guard let call, (try? context.transport.send(call.request, stage: call.stage)) != nil else {
                return
            }
        }
    }
}
