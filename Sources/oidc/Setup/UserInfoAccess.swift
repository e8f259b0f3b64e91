import OIDCCore
import OIDCSystem

/// The claims of the session's person: one refresh on 401, one more proof where a nonce is demanded.
struct UserInfoAccess {
    let access: SessionAccess

    func claims() throws(OIDCError) -> JSONObject {
        let demand = TokenDemand()
        let first = try access.token(demand)
        let environment = try access.setup.environment()
        switch try answer(first, environment) {
        case .success(let claims): return claims
        case .failure(let refusal):
            guard first.session.tokens.refreshToken != nil else { throw refusal }
            let second = try access.token(demand, insteadOf: first)
            return try answer(second, environment).get()
        }
    }

    /// A failure is the provider's 401.
    private func answer(
        _ delivery: AccessTokenSource.Delivery, _ environment: LoginEnvironment
    ) throws(OIDCError) -> Result<JSONObject, OIDCError> {
        var nonce: String?
        for _ in 0..<2 {
            switch try environment.transport.perform(try call(delivery, environment, nonce: nonce)) {
            case .claims(let claims): return .success(claims)
            case .unauthorized(let challenges, let error):
                return .failure(StepUp.explained(error, challenges, access.setup))
            case .nonceDemanded(let demanded): nonce = demanded
            }
        }
        throw OIDCError(
            .refused, "userinfo: DPoP-Nonce: the nonce that was demanded was not taken", stage: .userInfo)
    }

    private func call(
        _ delivery: AccessTokenSource.Delivery, _ environment: LoginEnvironment, nonce: String?
    ) throws(OIDCError) -> EndpointCall<UserInfoAnswer> {
        let session = delivery.session
        guard let endpoint = session.endpoints.userInfo else {
            throw OIDCError.usage(
                "the provider names no userinfo_endpoint", hint: "set userinfo_endpoint and sign in again")
        }
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: access.setup.allowsInsecureHTTP)
        return try UserInfo.call(
            endpoint: endpoint, accessToken: delivery.access,
            proof: try session.proof(.get, endpoint, delivery.access, nonce: nonce, environment),
            rules: UserInfo.Rules(
                subject: session.subject, issuer: session.endpoints.issuer, clientID: session.key.clientID,
                leeway: access.setup.leeway),
            keys: session.endpoints.keys.map(documents.keys), now: environment.now())
    }
}

extension Session {
    /// The proof that a token bound to a key needs (RFC 9449 §7.1); nil for a bearer token.
    func proof(
        _ method: HTTPMethod, _ url: WebURL, _ access: AccessToken, nonce: String?,
        _ environment: LoginEnvironment
    ) throws(OIDCError) -> String? {
        guard access.type == .dpop else { return nil }
        guard let dpopKey else {
            throw OIDCError(
                .failed, "the session has lost the key that its token is bound to", hint: "oidc login",
                stage: .store)
        }
        return try DPoPKey(pem: dpopKey).proof(
            method: method, url: url, accessToken: access.token.revealed, nonce: nonce,
            now: environment.now(), random: environment.random)
    }
}

/// What a resource asks for when the sign-in was not strong or recent enough (RFC 9470 §3).
enum StepUp {
    static func explained(
        _ error: OIDCError, _ challenges: [AuthenticationChallenge], _ setup: ProviderSetup
    ) -> OIDCError {
        guard let challenge = challenges.first(where: { $0.error == "insufficient_user_authentication" })
        else { return error }
        var error = error
        var line = setup.loginLine
        if let values = challenge["acr_values"] {
            line += " --set \(ShellWord.quoted("acr_values=\(values)"))"
        }
        if let age = challenge["max_age"] { line += " --set \(ShellWord.quoted("max_age=\(age)"))" }
        error.hint = line
        return error
    }
}
