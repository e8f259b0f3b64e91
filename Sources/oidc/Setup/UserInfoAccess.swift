import OIDCCore
import OIDCSystem

/// The claims of the session's person.
struct UserInfoAccess {
    let access: SessionAccess

    func claims() throws(OIDCError) -> JSONObject {
        let environment = try access.setup.environment()
        let request = ProtectedRequest(access: access, environment: environment, demand: TokenDemand())
        return try request.send { attempt throws(OIDCError) in
            switch try environment.transport.perform(try call(attempt, environment)) {
            case .claims(let claims): return .done(claims)
            case .unauthorized(let challenges, var error):
                let stepUp = StepUp(challenges)
                guard attempt.mayRenew, stepUp == nil else {
                    if let stepUp { error.hint = access.setup.loginLine(for: stepUp) }
                    throw error
                }
                return .again(.anotherToken)
            case .nonceDemanded(let nonce):
                guard attempt.mayProveAgain else {
                    throw OIDCError(
                        .refused, "userinfo: DPoP-Nonce: the nonce that was demanded was not taken",
                        stage: .userInfo)
                }
                return .again(.proof(nonce: nonce))
            }
        }
    }

    private func call(
        _ attempt: ProtectedRequest.Attempt, _ environment: LoginEnvironment
    ) throws(OIDCError) -> EndpointCall<UserInfoAnswer> {
        let session = attempt.delivery.session
        guard let endpoint = session.endpoints.userInfo else {
            throw OIDCError.usage(
                "the provider names no userinfo_endpoint", hint: "set userinfo_endpoint and sign in again")
        }
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: access.setup.allowsInsecureHTTP)
        return try UserInfo.call(
            endpoint: endpoint, accessToken: attempt.delivery.access,
            proof: try attempt.proof(.get, endpoint),
            rules: UserInfo.Rules(
                subject: session.subject, issuer: session.endpoints.issuer, clientID: session.key.clientID,
                leeway: access.setup.leeway),
            keys: session.endpoints.keys.map(documents.keys), now: environment.now())
    }
}
