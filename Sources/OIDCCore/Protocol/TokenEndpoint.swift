/// Where tokens come from, and as whom they are asked for.
public struct TokenEndpoint: Sendable {
    /// `token_endpoint`.
    public var url: WebURL
    /// The client that asks.
    public var client: Client
    /// How the parameters are written.
    public var format: RequestFormat
    /// Parameters of the provider's own.
    public var extraParameters: [FormEncoding.Pair]
    /// The key that tokens are to be bound to (RFC 9449).
    public var dpop: DPoPKey?

    /// Makes an endpoint of its URL and the client.
    public init(
        url: WebURL, client: Client, format: RequestFormat = .form,
        extraParameters: [FormEncoding.Pair] = [], dpop: DPoPKey? = nil
    ) {
        self.url = url
        self.client = client
        self.format = format
        self.extraParameters = extraParameters
        self.dpop = dpop
    }

    /// What a sign-in need not begin for: parameters of the configuration that its token request cannot take.
    func check(resources: [String]) throws(OIDCError) {
        _ = try ExtraParameters.token.adding(
            extraParameters, to: resources.map { FormEncoding.Pair("resource", $0) })
    }

    /// What the endpoint answered, short of a failure.
    public enum Answer: Sendable {
        case tokens(TokenSet)
        /// Success, with a fault that leaves only the refresh token to be used.
        case faulty(OIDCError, refreshToken: Redacted<String>)
        /// A proof with this nonce is asked for (RFC 9449 §8).
        case nonceDemanded(String)
    }

    /// One request with a fresh proof of each kind; `now` is when the tokens begin to count.
    public func call(
        _ request: TokenRequest, now: Instant, random: (Int) -> [UInt8], dpopNonce: String? = nil
    ) throws(OIDCError) -> EndpointCall<Answer> {
        try request.check()
        let parameters = try ExtraParameters.token.adding(
            extraParameters,
            to: [FormEncoding.Pair("grant_type", request.grantType.rawValue)] + request.parameters.revealed)
        var draft = try client.request(to: url, parameters, format: format, now: now, random: random)
        draft.redeemsSingleUseSecret = request.redeemsSingleUseSecret
        if let dpop {
            draft.headers[DPoP.header] = try dpop.proof(
                method: .post, url: url, nonce: dpopNonce, now: now, random: random)
        }
        let message = draft
        let (isBound, client) = (dpop != nil, client)
        return EndpointCall(
            message, stage: .token, withholding: { client.secrets(in: message) }
        ) { response throws(OIDCError) in
            if isBound, DPoP.isNonceDemand(tokenEndpointResponse: response),
                let nonce = DPoP.nonce(in: response)
            {
                return .nonceDemanded(nonce)
            }
            do throws(OIDCError) {
                if let failure = response.failure { throw failure }
                guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                    var error = request.failure(response, withholding: client.secrets(in: message))
                    if isBound, error.oauthError == "use_dpop_nonce" {
                        error.hint = "the provider sent no DPoP-Nonce header with it: tell its operator"
                    }
                    throw error
                }
                return .tokens(
                    try TokenResponse.tokens(response, for: request, isBound: isBound, now: now))
            } catch {
                guard let refreshToken = TokenResponse.refreshToken(in: response) else { throw error }
                return .faulty(error, refreshToken: refreshToken)
            }
        }
    }

    /// Tokens as they were issued, or why they cannot be used; the refresh token outlives that.
    package struct Issued: Sendable {
        package var refreshToken: Redacted<String>?
        package var tokens: Result<TokenSet, OIDCError>
    }

    /// Sends the request, and again with the nonce if one is demanded; a second demand is a refusal.
    package func issue(
        _ request: TokenRequest, over transport: any HTTPTransport, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> Issued {
        var answer = try transport.perform(call(request, now: now, random: random))
        if case .nonceDemanded(let nonce) = answer {
            answer = try transport.perform(call(request, now: now, random: random, dpopNonce: nonce))
        }
        switch answer {
        case .tokens(let tokens): return Issued(refreshToken: tokens.refreshToken, tokens: .success(tokens))
        case .faulty(let error, let token): return Issued(refreshToken: token, tokens: .failure(error))
        case .nonceDemanded:
            throw OIDCError(
                .refused, "token: the provider demands another DPoP nonce each time", stage: .token,
                oauthError: "use_dpop_nonce")
        }
    }

    /// Sends the request and returns its tokens.
    public func send(
        _ request: TokenRequest, over transport: any HTTPTransport, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> TokenSet {
        try issue(request, over: transport, now: now, random: random).tokens.get()
    }
}
