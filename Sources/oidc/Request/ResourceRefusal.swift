import CurlHTTP
import OIDCCore

/// The error for a response other than 2xx, with a hint.
struct ResourceRefusal {
    let provider: ProviderContext
    let call: ResourceCall
    let answer: ResourceCall.Answer
    /// The demand that a sign-in could meet; nil if none would help.
    var demand: ResourceDemand?
    /// The command that signs in at the resource's own server, if the demand is for that.
    var loginLine: Hint?
    /// The number of sign-ins for this request.
    var rounds = 0

    private var head: HTTPResponse { answer.head }
    private var method: HTTPMethod { call.method }
    private var body: RequestData { call.body }
    private var url: WebURL { answer.url }

    var error: OIDCError {
        let secrets = answer.delivery?.secrets ?? WithheldSecrets()
        let challenge = head.challenges.first { $0.error != nil }
        let refusal = challenge.flatMap { challenge in
            challenge.error.map {
                OAuthErrorResponse(
                    code: $0, description: challenge.errorDescription, withholding: secrets)
            }
        }
        return OIDCError(
            kind,
            "resource: \(url.hostAndPort) answered \(head.status)"
                + (refusal.map { " \($0.text)" } ?? "") + withoutScope + redirect + afterRounds,
            hint: hint(challenge), stage: .resource, oauthError: refusal?.code,
            retryAfter: head.retryAfter
        ).withholding(secrets)
    }

    /// The remark that no scope to sign in for is known.
    private var withoutScope: String {
        guard let challenge = try? ResourceChallenge(head), challenge.isScopeInsufficient, demand == nil
        else { return "" }
        guard let scope = challenge.scope, !scope.isEmpty else {
            return "; the API does not say which scope"
        }
        return "; the session has the scope that it asks for"
    }

    private var kind: OIDCError.Kind {
        if head.isTemporaryFailure { return .unreachable }
        return demand != nil && rounds == 0 && provider.settings.token.grant.needsUser
            ? .loginRequired : .refused
    }

    private var afterRounds: String {
        switch rounds {
        case 0: ""
        case 1: ", also after a sign-in"
        default: ", also after \(rounds) sign-ins"
        }
    }

    private var target: WebURL? {
        // 304 is about the caller's copy and is not a redirect (RFC 9110 §15.4.5).
        guard (300..<400).contains(head.status), head.status != 304 else { return nil }
        return head.headers["Location"].flatMap { url.resolving($0) }
    }

    private var redirect: String {
        guard let target else { return "" }
        if target.origin != url.origin {
            return ": a redirect to another origin, \(target.origin), where the token is not sent"
        }
        let isFollowed = (method == .get || method == HTTPMethod("HEAD")) && body.isEmpty
        if isFollowed, let resource = provider.target, !resource.covers(target) {
            return ": a redirect to \(target.withoutQuery), outside the resource, where the token is not sent"
        }
        return isFollowed
            ? ": more redirects than are followed"
            : ": a redirect, which is not followed for \(method)\(body.isEmpty ? "" : " with a body")"
    }

    private func hint(_ challenge: AuthenticationChallenge?) -> Hint? {
        if let demand, rounds == 0, provider.settings.token.grant.needsUser {
            if let stepUp = demand.stepUp { return provider.settings.loginLine(for: stepUp) }
            if let loginLine { return loginLine }
            return provider.settings.loginLine.adding(demand.scope.map { ["--scope", $0.text] } ?? [])
        }
        switch head.status {
        case 401 where !body.isRepeatable: return "give the body as @FILE, so it can be sent again"
        case 401 where DPoP.isNonceDemand(resourceResponse: head):
            return "it asks again for the nonce that it was sent: report it to the operator of the resource"
        case 401 where provider.target != nil:
            return
                "the resource refuses the tokens of its own server: report it to the operator of the resource"
        case 401: return .words("see what the token is for: ", .run("inspect --type access"))
        case 300..<400: return target.map { "use that URL, if it is the right one: \($0.withoutQuery)" }
        case _ where head.isTemporaryFailure:
            return head.retryAfter.map { "try again in \(TimeWords.duration(Int64($0)))" }
        default: return nil
        }
    }
}
