import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// The access token that a resource request carries, valid now (RFC 6750 §2.1); never from the query
    /// or the body.
    mutating func presented(_ call: Call) throws(Refusal) -> (AccessRecord, Grant) {
        guard let header = call.request.headers["Authorization"] else { throw challenge(call) }
        guard let token = call.credentials("Bearer") ?? call.credentials("DPoP") else {
            throw challenge(call, "invalid_request", "unknown scheme \(header.prefix(16))")
        }
        guard let record = state.access[token], let grant = state.grants[record.grant], !grant.isRevoked,
            !record.isRevoked
        else { throw challenge(call, "invalid_token", "the access token is unknown or was revoked") }
        guard record.expiresAt > call.now else {
            throw challenge(call, "invalid_token", "the access token has expired")
        }
        return (record, grant)
    }

    /// RFC 6750 §3: without credentials no error is named.
    func challenge(
        _ call: Call, _ code: String? = nil, _ description: String = "a token is needed",
        _ more: [(String, String)] = [], status: Int = 401
    ) -> Refusal {
        var parts = ["realm=\"demo provider\""]
        if let code { parts += ["error=\"\(code)\"", "error_description=\"\(description)\""] }
        parts += more.map { "\($0.0)=\"\($0.1)\"" }
        let value = "Bearer \(parts.joined(separator: ", "))"
        return Refusal(
            code ?? "invalid_token", description, status: status, headers: [("WWW-Authenticate", value)])
    }

    func insufficientScope(_ scope: String, _ call: Call) -> Refusal {
        challenge(
            call, "insufficient_scope", "the token lacks the scope \(scope)", [("scope", scope)], status: 403)
    }

    func isSameSecret(_ left: String, _ right: String) -> Bool {
        equalInConstantTime(Array(left.utf8), Array(right.utf8))
    }
}
