@testable import OIDCCore
@testable import OIDCCrypto

private let client = Client(id: "client", authentication: .clientSecretPost(Redacted(secret)))
private let exchange = TokenExchange(subjectToken: Redacted(secret))

/// What the token endpoint says, to every kind of request, with and without a key to bind to.
@Sendable func fuzzToken(_ bytes: [UInt8]) {
    let answer = response(bytes)
    let requests: [TokenRequest] = [
        .clientCredentials(scope: Scope("openid")), .refresh(Redacted(secret)), .tokenExchange(exchange),
    ]
    guard let url = WebURL("\(issuer)/token") else { return }
    for request in requests {
        let endpoint = TokenEndpoint(url: url, client: client)
        let call = outcome(hiding: secret) { () throws(OIDCError) in
            try endpoint.call(request, now: now, random: zeros)
        }
        do throws(OIDCError) {
            guard case .tokens(let tokens)? = try call?.read(answer) else { continue }
            require(answer.isSuccess && OAuthErrorResponse(answer) == nil, "tokens beside a refusal")
            requireSound(tokens, request.grantType == .tokenExchange ? [.bearer, .notApplicable] : [.bearer])
        } catch {
            requireFit(error, hiding: secret)
            let ends = request.grantType == .refreshToken && error.oauthError == "invalid_grant"
            require(error.kind != .loginRequired || ends, "a session ended without invalid_grant")
        }
        let bound = outcome(hiding: secret) { () throws(OIDCError) in
            try TokenResponse.tokens(answer, for: request, isBound: true, assuming: nil, now: now)
        }
        let isExchange = request.grantType == .tokenExchange
        if let bound { requireSound(bound, isExchange ? [.dpop, .notApplicable] : [.dpop]) }
    }
    require(DPoP.nonce(demandedBy: answer) == nil || !answer.isSuccess, "a demand in a success")
    if let nonce = DPoP.nonce(in: answer) { require(isVisibleASCII(nonce), "a nonce that is none") }
}

private func requireSound(_ tokens: TokenSet, _ types: [TokenType]) {
    require(isVisibleASCII(tokens.access.token.revealed), "an access token that is none")
    require(types.contains(tokens.access.type), "a token of another type")
    require(tokens.access.scope?.isWellFormed != false, "a scope that is none")
    for token in [tokens.refreshToken, tokens.idToken].compactMap({ $0 }) {
        require(isVisibleASCII(token.revealed), "a token that is none")
    }
    let lifetime = tokens.access.expiresAt?.seconds(since: now) ?? 0
    require((0...Int64(Int32.max)).contains(lifetime), "a lifetime that is none")
}

@Sendable func fuzzUserInfo(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/userinfo") else { return }
    let token = AccessToken(
        token: Redacted(secret), type: .bearer, obtainedAt: now, expiresAt: nil, scope: nil)
    let rules = UserInfo.Rules(subject: "alice", issuer: issuer, clientID: "client")
    let answer = response(bytes)
    let read = outcome(hiding: secret) { () throws(OIDCError) in
        try UserInfo.call(
            endpoint: url, accessToken: token, rules: rules, keys: FixedKeys(JWKSet(keys: [])), now: now
        ).read(answer)
    }
    switch read {
    case .claims(let claims):
        require(claims["sub"]?.string == "alice", "claims of somebody else")
        require(answer.isSuccess && answer.mediaType != "application/jwt", "claims that nobody signed")
    case .unauthorized(_, let error):
        require(answer.status == 401 || error.oauthError == "invalid_token", "no refusal of the token")
        requireFit(error, hiding: secret)
    case .nonceDemanded(let nonce): require(answer.status == 401 && isVisibleASCII(nonce), "no demand")
    case nil: break
    }
}

@Sendable func fuzzDevice(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/device") else { return }
    let call = outcome(hiding: secret) { () throws(OIDCError) in
        try DeviceAuthorization.call(
            DeviceAuthorization.Request(scope: Scope("openid")), at: url, client: client, now: now,
            random: zeros)
    }
    guard let call,
        case .issued(let device)? = outcome(
            hiding: secret, { () throws(OIDCError) in try call.read(response(bytes)) })
    else {
        return
    }
    require(
        !device.userCode.isEmpty && !device.userCode.unicodeScalars.contains(where: DisplayText.isInvisible),
        "a code that cannot be read")
    require((1...300).contains(device.interval.components.seconds), "an interval that is none")
    var polling = DevicePolling(device)
    var time = now
    for turn in 0..<40 {
        let error = OIDCError(
            turn % 3 == 0 ? .unreachable : .refused, "", oauthError: turn % 2 == 0 ? "slow_down" : nil)
        guard case .wait(let wait) = polling.next(after: error, now: time) else { return }
        require(wait > .zero && time.adding(wait) <= device.expiresAt, "a wait beyond the end")
        time = time.adding(wait)
    }
}

@Sendable func fuzzMetadata(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/.well-known/openid-configuration") else { return }
    let read = outcome { () throws(OIDCError) in
        try ProviderMetadata.call(url, expectedIssuer: issuer).read(response(bytes))
    }
    guard case .some(.some(let metadata)) = read else { return }
    require(metadata.issuer == issuer, "metadata of another issuer")
    for endpoint in [metadata.tokenEndpoint, metadata.jwksURI] {
        require(endpoint?.isSecure != false, "a plain address of a provider elsewhere")
    }
}

/// The endpoints that are asked more seldom.
@Sendable func fuzzAnswers(_ bytes: [UInt8]) {
    guard let url = WebURL("\(issuer)/endpoint"), let pending else { return }
    let answer = response(bytes)
    let read = outcome(hiding: secret) { () throws(OIDCError) in
        try Introspection.call(
            Redacted(secret), hint: nil, at: url, client: client, now: now, random: zeros
        ).read(answer)
    }
    if let read {
        require(read.isActive == read.claims["active"]?.bool && answer.isSuccess, "active by itself")
    }
    _ = outcome(hiding: secret) { () throws(OIDCError) in
        try Revocation.call(
            Redacted(secret), hint: .refreshToken, at: url, client: client, now: now, random: zeros
        ).read(answer)
    }
    let pushed = outcome(hiding: secret) { () throws(OIDCError) in
        try PushedAuthorization.call(pending, at: url, client: client, now: now, random: zeros).read(answer)
    }
    if case .pushed(let pushed)? = pushed {
        let pairs = FormEncoding.decode(pushed.url.query ?? "")
        require(pairs?.map(\.name) == ["client_id", "request_uri"], "more in the address than a reference")
        require(pairs?.last?.value == pushed.requestURI, "another reference")
    }
    let registered = outcome(hiding: secret) { () throws(OIDCError) in
        try Registration(clientName: "name").call(at: url, initialAccessToken: Redacted(secret)).read(answer)
    }
    if let registered { require(!registered.clientID.isEmpty, "a client without a name") }
    _ = outcome { () throws(OIDCError) in try JWKSet.call(url).read(answer) }
}

/// One `WWW-Authenticate` field: what was read of it is written and read again.
@Sendable func fuzzChallenge(_ bytes: [UInt8]) {
    let read = { (value: String) in
        HTTPResponse(status: 401, headers: HTTPHeaders([("WWW-Authenticate", value)])).challenges
    }
    let challenges = read(text(bytes))
    require(challenges.count <= 32, "too many challenges")
    for challenge in challenges {
        _ = (challenge.error, challenge.scope, challenge.maxAge)
        require(isVisibleASCII(challenge.scheme), "a scheme that is none")
        require(challenge.parameters.allSatisfy { isVisibleASCII($0.name) }, "a name that is none")
    }
    let written = challenges.map { challenge in
        let parameters = challenge.parameters.map { parameter in
            let escaped = parameter.value.utf8.flatMap { [0x22, 0x5C].contains($0) ? [0x5C, $0] : [$0] }
            return "\(parameter.name)=\"\(text(escaped))\""
        }
        return "\(challenge.scheme) \(parameters.joined(separator: ", "))"
    }.joined(separator: ", ")
    guard written.utf8.count <= 16_384 else { return }
    require(read(written) == challenges, "read otherwise when written again")
}
