/// The endpoint that issues tokens, and the client that requests them.
public struct TokenEndpoint: Sendable {
    /// `token_endpoint`.
    public var url: WebURL
    /// The client that requests tokens.
    public var client: OAuthClient
    /// The encoding of the parameters.
    public var format: RequestFormat
    /// Additional parameters that the provider requires.
    public var extraParameters: [FormEncoding.Pair]
    /// The key that tokens are to be bound to (RFC 9449).
    public var dpop: DPoPKey?
    /// Whether `resource` is sent (RFC 8707); Entra ID refuses it (AADSTS9010010, 2026-03).
    public var sendsResources = true
    /// Whether a refresh of the session's own token names the granted scope. Without it, Entra ID answers
    /// AADSTS90009 if the scope is that of an API of one's own (2026-11).
    public var refreshNamesScope = false
    /// The type of tokens whose `token_type` is missing or unknown: Weibo sends none, eBay `User Access
    /// Token` (2026-11). It is never assumed for tokens that must be bound to a key.
    public var assumedTokenType: TokenType?

    /// The provider's names for a refresh token that has ended, beside `invalid_grant`: for GitHub
    /// `bad_refresh_token`. The session ends as with `invalid_grant`.
    public var refreshEnds: [String] = []
    /// The seconds by which this machine's clock was ahead of the provider's; nil if unknown. Used if an
    /// answer has no `Date`.
    package var clockAhead: Int64?
    /// The provider's metadata, which say why a client may have been refused; nil if they are unknown. Called only
    /// for a refusal.
    package var offer: @Sendable () -> ProviderMetadata? = { nil }

    /// Creates an endpoint from its URL and the client.
    public init(
        url: WebURL, client: OAuthClient, format: RequestFormat = .form,
        extraParameters: [FormEncoding.Pair] = [], dpop: DPoPKey? = nil
    ) {
        self.url = url
        self.client = client
        self.format = format
        self.extraParameters = extraParameters
        self.dpop = dpop
    }

    /// Checks, before a sign-in starts, that its token request can contain the configured parameters.
    func check(resources: [String]) throws(OIDCError) {
        _ = try ExtraParameters.token.adding(
            extraParameters, to: sendsResources ? resources.map { FormEncoding.Pair("resource", $0) } : [])
    }

    /// The endpoint's answer, unless it is a failure.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Answer: Sendable {
        case tokens(TokenSet)
        /// An answer that breaks the protocol, and the tokens in it. A new refresh token is still used on a
        /// refresh; after a sign-in, both tokens are revoked.
        case faulty(OIDCError, refreshToken: Redacted<String>?, accessToken: Redacted<String>?)
        /// The provider demands a proof with this nonce (RFC 9449 §8).
        case nonceDemanded(String)
    }

    /// Returns one request with fresh proofs; the lifetime of its tokens starts at `now`.
    public func call(
        _ request: TokenRequest, now: OIDCInstant, random: (Int) -> [UInt8], dpopNonce: String? = nil
    ) throws(OIDCError) -> EndpointCall<Answer> {
        try request.check()
        // A configured scope is for requests that name none: a refresh for less names its own.
        let extra = extraParameters.filter { $0.name != "scope" || !request.isRefreshWithScope }
        let parameters = try ExtraParameters.token.adding(
            extra,
            to: [FormEncoding.Pair("grant_type", request.grantType.rawValue)]
                + request.parameters.revealed.filter { sendsResources || $0.name != "resource" })
        var draft = try client.request(to: url, parameters, format: format, now: now, random: random)
        draft.redeemsSingleUseSecret = request.redeemsSingleUseSecret
        if let dpop {
            draft.headers[DPoP.header] = try dpop.proof(
                method: .post, url: url, nonce: dpopNonce, now: now, random: random)
        }
        let message = draft
        let (isBound, client, assumedTokenType) = (dpop != nil, client, assumedTokenType)
        let secrets = { client.secrets(in: message) }
        return EndpointCall(message, stage: .token, withholding: secrets) { response throws(OIDCError) in
            if isBound, let nonce = DPoP.nonce(demandedBy: response) { return .nonceDemanded(nonce) }
            do throws(OIDCError) {
                if let failure = response.failure { throw failure }
                guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                    var error = request.failure(response, withholding: secrets(), at: self, now: now)
                    DPoP.explain(&error, isBound: isBound)
                    throw error
                }
                return .tokens(
                    try TokenResponse.tokens(
                        response, for: request, isBound: isBound, assuming: assumedTokenType, now: now,
                        withholding: secrets))
            } catch {
                let refreshToken = TokenResponse.token("refresh_token", in: response)
                let accessToken = TokenResponse.token("access_token", in: response)
                guard refreshToken != nil || accessToken != nil else { throw error }
                let issued = WithheldSecrets([refreshToken, accessToken].compactMap { $0?.revealed })
                let shown = error.withholding(secrets()).withholding(issued)
                return .faulty(shown, refreshToken: refreshToken, accessToken: accessToken)
            }
        }
    }

    /// The facts about a request that may explain its refusal.
    var sent: TokenRefusal.Sent {
        var sent = TokenRefusal.Sent(
            method: client.authentication.method, hasSecret: client.authentication.secret != nil,
            hasProof: dpop != nil, hasCertificate: client.presentsCertificate)
        switch client.authentication.kind {
        case .clientSecretJWT: sent.hasAssertion = true
        case .privateKeyJWT: (sent.hasAssertion, sent.hasPrivateKey) = (true, true)
        case .none, .clientSecretBasic, .clientSecretPost, .assertion, .tlsClientAuth,
            .selfSignedTLSClientAuth:
            break
        }
        sent.namesEndpoint = client.assertionAudience.map { $0 == url.text } ?? true
        return sent
    }

    /// The issued tokens, or the error that makes them unusable. The refresh token is worth keeping in both
    /// cases.
    public struct Issued: Sendable {
        /// The refresh token, also of an answer that cannot be used.
        public var refreshToken: Redacted<String>?
        /// The access token, also of an answer that cannot be used.
        public var accessToken: Redacted<String>?
        /// The tokens, or the error.
        public var tokens: Result<TokenSet, OIDCError>
    }

    /// Sends the request, and again with a nonce if the provider demands one; a second demand is a refusal.
    public func issue(_ request: TokenRequest, in context: OIDCContext) throws(OIDCError) -> Issued {
        var retry = RetryRule()
        while true {
            let call = try call(
                request, now: context.now(), random: context.random, dpopNonce: retry.nonce)
            switch try context.perform(call) {
            case .tokens(let tokens):
                return Issued(
                    refreshToken: tokens.refreshToken, accessToken: tokens.access.token,
                    tokens: .success(tokens))
            case .faulty(let error, let refreshToken, let accessToken):
                return Issued(
                    refreshToken: refreshToken, accessToken: accessToken, tokens: .failure(error))
            case .nonceDemanded(let nonce): try retry.prove(nonce: nonce, or: DPoP.anotherNonce(.token))
            }
        }
    }

    /// Sends the request and returns its tokens.
    public func send(_ request: TokenRequest, in context: OIDCContext) throws(OIDCError) -> TokenSet {
        try issue(request, in: context).tokens.get()
    }
}
