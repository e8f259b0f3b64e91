/// A request for tokens (RFC 6749 §4, §6): a grant with its parameters, without the client's authentication.
public struct TokenRequest: Sendable {
    let grantType: Grant
    /// The parameters after `grant_type`, including codes, tokens and verifiers.
    let parameters: Redacted<[FormEncoding.Pair]>
    /// The scope that is granted if the answer names none (RFC 6749 §5.1); nil if the request names none
    /// either.
    public let scope: OAuthScope?

    private init(_ grantType: Grant, scope: Scope? = nil, _ parameters: [(String, String?)]) {
        self.grantType = grantType
        self.scope = scope.flatMap { $0.isEmpty ? nil : $0 }
        self.parameters = Redacted(
            parameters.compactMap { name, value in
                value.flatMap { $0.isEmpty ? nil : FormEncoding.Pair(name, $0) }
            })
    }

    /// The values of `grant_type`.
    package enum Grant: String {
        case authorizationCode = "authorization_code"
        case refreshToken = "refresh_token"
        case clientCredentials = "client_credentials"
        case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
        case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    }

    /// Whether the code or token in the request may be single-use.
    var redeemsSingleUseSecret: Bool {
        switch grantType {
        case .authorizationCode, .refreshToken, .deviceCode: true
        case .clientCredentials, .tokenExchange, .jwtBearer: false
        }
    }

    /// Whether it is a refresh that names a scope.
    var isRefreshWithScope: Bool {
        grantType == .refreshToken && parameters.revealed.contains { $0.name == "scope" }
    }

    /// The `requested_token_type` of a token exchange.
    var requestedTokenType: String? {
        parameters.revealed.first { $0.name == "requested_token_type" }?.value
    }

    /// Returns the request that redeems a code, with the verifier and redirect URI of its sign-in (RFC 6749
    /// §4.1.3, RFC 7636 §4.5).
    public static func authorizationCode(_ code: AuthorizationCode, resources: [String] = []) -> TokenRequest
    {
        TokenRequest(
            .authorizationCode, scope: code.pending.scope,
            [
                ("code", code.code.revealed), ("redirect_uri", code.pending.redirectURI),
                ("code_verifier", code.pending.pkce.verifier.revealed),
            ] + pairs(resources))
    }

    /// Returns the request that redeems a refresh token (RFC 6749 §6). `scope` requests less than the
    /// session's own token has; `resources` name what the token is for (RFC 8707 §2.2).
    public static func refresh(
        _ token: Redacted<String>, scope: OAuthScope? = nil, resources: [String] = [], audience: String? = nil
    ) -> TokenRequest {
        TokenRequest(
            .refreshToken, scope: scope,
            [("refresh_token", token.revealed), ("scope", scope?.text), ("audience", audience)]
                + pairs(resources))
    }

    /// Returns the request for a token for the client itself (RFC 6749 §4.4.2).
    public static func clientCredentials(
        scope: OAuthScope? = nil, audience: String? = nil, resources: [String] = [],
        authorizationDetails: JSONValue? = nil
    ) -> TokenRequest {
        TokenRequest(
            .clientCredentials, scope: scope,
            [
                ("scope", scope?.text), ("audience", audience),
                ("authorization_details", authorizationDetails?.compact),
            ] + pairs(resources))
    }

    /// Returns the request that polls for the tokens of a device code (RFC 8628 §3.4).
    public static func deviceCode(
        _ authorization: DeviceAuthorization, resources: [String] = []
    ) -> TokenRequest {
        TokenRequest(
            .deviceCode, scope: authorization.scope,
            [("device_code", authorization.deviceCode.revealed)] + pairs(resources))
    }

    /// Returns the request that exchanges a token for another (RFC 8693 §2.1).
    public static func tokenExchange(_ exchange: TokenExchange) -> TokenRequest {
        TokenRequest(
            .tokenExchange, scope: exchange.scope,
            [
                ("subject_token", exchange.subjectToken.revealed),
                ("subject_token_type", exchange.subjectTokenType.urn),
                ("actor_token", exchange.actor?.token.revealed),
                ("actor_token_type", exchange.actor?.type.urn),
                ("requested_token_type", exchange.requestedTokenType?.urn),
                ("scope", exchange.scope?.text),
            ] + exchange.audiences.map { ("audience", $0) } + pairs(exchange.resources))
    }

    /// Returns the request that presents an assertion (RFC 7523 §2.1).
    public static func jwtBearer(
        assertion: Redacted<String>, scope: OAuthScope? = nil, audience: String? = nil,
        resources: [String] = []
    ) -> TokenRequest {
        TokenRequest(
            .jwtBearer, scope: scope,
            [("assertion", assertion.revealed), ("scope", scope?.text), ("audience", audience)]
                + pairs(resources))
    }

    private static func pairs(_ resources: [String]) -> [(String, String?)] {
        resources.map { ("resource", $0) }
    }

    /// The parameters that must not be omitted because a file or variable is empty.
    private static let needed: [Grant: String] = [
        .refreshToken: "refresh_token", .tokenExchange: "subject_token", .jwtBearer: "assertion",
    ]

    /// Checks the configured values before anything is sent.
    func check() throws(OIDCError) {
        if let name = TokenRequest.needed[grantType],
            !parameters.revealed.contains(where: { $0.name == name })
        {
            throw .usage("\(name) is empty")
        }
        try scope?.check()
        for pair in parameters.revealed where pair.name == "resource" {
            try ResourceIndicator.check(pair.value)
        }
    }
}

extension TokenRequest {
    /// Returns the error for a refusal of this grant, as the table of `TokenVerdict` decides. An answer with
    /// new tokens contradicts itself and is left to the caller, which keeps them.
    func failure(
        _ response: HTTPResponse, withholding secrets: WithheldSecrets, at endpoint: TokenEndpoint? = nil,
        now: Instant? = nil
    ) -> OIDCError {
        var error = OAuthErrorResponse.failure(response, stage: .token, withholding: secrets) { hint($0) }
        guard error.kind == .refused, error.code == nil else { return error }
        let answer = OAuthErrorResponse(response, withholding: secrets)
        guard !hasNewTokens(response), !(300..<400).contains(response.status),
            let verdict = TokenVerdict.of(refusal(response, endpoint, now))
        else { return error }
        error.code = verdict.code
        error.kind = verdict.kind
        error.hint = verdict.hint
        if verdict.kind == .loginRequired { error.oauthDescription = answer?.description }
        if verdict.code == .sessionEnded, let answer { error.message = OIDCError.ended(answer.text) }
        return error
    }

    /// Returns the facts about a refusal.
    private func refusal(
        _ response: HTTPResponse, _ endpoint: TokenEndpoint?, _ now: Instant?
    ) -> TokenRefusal {
        let answer = OAuthErrorResponse(response)
        let words = answer?.words ?? response.words ?? ""
        var refusal = TokenRefusal(
            grant: grantType, status: response.status, error: answer?.code,
            words: ASCII.lowercased(words), isStandard: answer?.isStandardMember == true,
            sent: endpoint?.sent ?? TokenRefusal.Sent(), scope: scope)
        guard let endpoint else { return refusal }
        refusal.refreshEnds = endpoint.refreshEnds
        refusal.offer = endpoint.offer
        let ours = response.receivedAt ?? now
        let theirs = response.headers["Date"].flatMap(HTTPDate.instant)
        refusal.clockAhead =
            theirs.flatMap { theirs in ours.map { $0.seconds(since: theirs) } } ?? endpoint.clockAhead
        return refusal
    }

    private func hasNewTokens(_ response: HTTPResponse) -> Bool {
        let presented = parameters.revealed.map(\.value)
        return ["refresh_token", "access_token"].contains { name in
            TokenResponse.token(name, in: response).map { !presented.contains($0.revealed) } ?? false
        }
    }

    private func hint(_ code: String?) -> Hint? {
        let hint =
            grantType == .deviceCode ? OAuthErrorResponse.deviceHint(code) : OAuthErrorResponse.hint(code)
        if grantType == .refreshToken { return hint.map { .orSignIn($0) } ?? .signIn }
        // GitHub and Slack have names of their own for a code that is wrong or used (their documentation,
        // 2026-11).
        let ofCodes = ["invalid_grant", "bad_verification_code", "invalid_code", "code_already_used"]
        guard let code, ofCodes.contains(code) else { return hint }
        return switch grantType {
        case .authorizationCode, .deviceCode: .advice(.signInForNewCode)
        case .tokenExchange: "check the subject token: its lifetime, audience and type"
        case .jwtBearer: "check the assertion: its lifetime, issuer and audience"
        case .clientCredentials, .refreshToken: hint
        }
    }
}
