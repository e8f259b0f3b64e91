package import OIDCCore

extension ProtectedRequest {
    /// Fetches the claims of the session's user. `stepUpHint` is the hint for a stronger sign-in; `signing` is called
    /// for a signed answer, which `isSigned` demands, and `alias` for the URL that takes a token bound to the client
    /// certificate.
    package func userInfo(
        leeway: Int64 = 60, allowsInsecureHTTP: Bool = false, isSigned: Bool = false,
        alias: (WebURL) -> WebURL = { $0 },
        stepUpHint: (StepUp) -> Hint? = { _ in nil },
        signing: @escaping (Session) throws(OIDCError) -> UserInfo.Signing
    ) throws(OIDCError) -> JSONObject {
        try send { attempt throws(OIDCError) in
            let call = try userInfoCall(attempt, leeway, allowsInsecureHTTP, isSigned, alias, signing)
            switch try environment.transport.perform(call) {
            case .claims(let claims): return .done(claims)
            case .unauthorized(let challenges, var error):
                let demand = RetryRule.Demand(refusal: challenges)
                guard attempt.retry.allows(demand) else {
                    let session = attempt.delivery.session
                    if let stepUp = StepUp(challenges) {
                        error.hint = stepUpHint(stepUp)
                    } else if !session.requestedResources.isEmpty {
                        // oidc-provider 9.13 refuses such a token there (2026-11).
                        error.hint = error.hint ?? .advice(.signInWithoutResource)
                    }
                    throw error
                }
                return .again(demand)
            case .nonceDemanded(let nonce):
                let demand = RetryRule.Demand.proof(nonce: nonce)
                guard attempt.retry.allows(demand) else { throw UserInfo.nonceNotTaken }
                return .again(demand)
            }
        }
    }

    private func userInfoCall(
        _ attempt: Attempt, _ leeway: Int64, _ allowsInsecureHTTP: Bool, _ isSigned: Bool,
        _ alias: (WebURL) -> WebURL,
        _ signing: @escaping (Session) throws(OIDCError) -> UserInfo.Signing
    ) throws(OIDCError) -> EndpointCall<UserInfoAnswer> {
        let session = attempt.delivery.session
        guard let stored = session.endpoints.userInfo else {
            throw OIDCError.notOffered(
                .userInfo, isDiscovered: session.endpoints.issuer != nil,
                hint: session.key.grant.needsUser ? .advice(.setUserInfoEndpoint) : nil)
        }
        let endpoint = attempt.isBoundToCertificate ? alias(stored) : stored
        let documents = ProviderDocuments(context: environment, allowsInsecureHTTP: allowsInsecureHTTP)
        var rules = UserInfo.Rules(
            subject: session.subject, issuer: session.endpoints.issuer, clientID: session.key.clientID,
            leeway: leeway, signing: { () throws(OIDCError) in try signing(session) })
        rules.isSignatureRequired = isSigned
        return try UserInfo.call(
            endpoint: endpoint, accessToken: attempt.delivery.access,
            proof: try attempt.proof(.get, endpoint), presentingCertificate: attempt.isBoundToCertificate,
            rules: rules, keys: session.endpoints.keys.map(documents.keys), now: environment.now())
    }
}
