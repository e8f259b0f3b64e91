import OIDCCore
import OIDCSystem

/// The error for a response other than 2xx, with a hint.
struct ResourceRefusal {
    let provider: ProviderContext
    let method: HTTPMethod
    let url: WebURL
    let body: RequestData
    let answer: ResourceCall.Answer

    private var head: HTTPResponse { answer.head }

    var error: OIDCError {
        let secrets = WithheldSecrets([answer.delivery.access.token.revealed])
        let challenge = head.challenges.first { $0.error != nil }
        let refusal = challenge.flatMap { challenge in
            challenge.error.map {
                OAuthErrorResponse(
                    code: $0, description: challenge.errorDescription, withholding: secrets)
            }
        }
        return OIDCError(
            head.status == 429 || head.status >= 500 ? .unreachable : .refused,
            "resource: \(url.hostAndPort) answered \(head.status)"
                + (refusal.map { " \($0.text)" } ?? "") + redirect,
            hint: hint(challenge), stage: .resource, oauthError: refusal?.code,
            retryAfter: head.retryAfter
        ).withholding(secrets)
    }

    private var target: WebURL? {
        guard (300..<400).contains(head.status) else { return nil }
        return head.headers["Location"].flatMap { url.resolving($0) }
    }

    private var redirect: String {
        guard let target else { return "" }
        if target.origin != url.origin {
            return ": a redirect to another origin, \(target.origin), where the token is not sent"
        }
        let isFollowed = (method == .get || method == HTTPMethod("HEAD")) && body.isEmpty
        return isFollowed
            ? ": more redirects than are followed"
            : ": a redirect, which is not followed for \(method)\(body.isEmpty ? "" : " with a body")"
    }

    private func hint(_ challenge: AuthenticationChallenge?) -> String? {
        if let stepUp = StepUp(head.challenges) { return provider.settings.loginLine(for: stepUp) }
        if challenge?.error == "insufficient_scope", let needed = challenge?.scope, needed.isWellFormed {
            let wanted = (answer.delivery.session.grantedScope ?? Scope("")).union(needed)
            return "\(provider.settings.loginLine) --scope \(ShellWord.quoted(wanted.text))"
        }
        switch head.status {
        case 401 where !body.isRepeatable: return "give the body as @FILE, so it can be sent again"
        case 401: return "see what the token is for: oidc inspect --type access"
        case 300..<400: return target.map { "use that URL, if it is the right one: \($0.withoutQuery)" }
        case 429, 500...: return head.retryAfter.map { "try again in \(TimeWords.duration(Int64($0)))" }
        default: return nil
        }
    }
}
