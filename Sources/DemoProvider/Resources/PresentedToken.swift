import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// Returns the valid access token in a request's header (RFC 6750 §2.1, RFC 9449 §7.1); query and body
    /// are ignored. The answer to a request without a token names the scope that is needed.
    mutating func presented(
        _ call: Call, scope: String? = nil
    ) throws(Refusal) -> (AccessRecord, Grant) {
        guard call.request.headers["Authorization"] != nil else {
            throw challenge(call, nil, "a token is needed", scope.map { [("scope", $0)] } ?? [])
        }
        guard let token = call.credentials("Bearer") ?? call.credentials("DPoP") else {
            throw challenge(call, "invalid_request", "the scheme is neither Bearer nor DPoP", status: 400)
        }
        guard let record = state.access[token], let grant = state.grants[record.grant], !grant.isRevoked,
            !record.isRevoked
        else { throw challenge(call, "invalid_token", "the access token is unknown or was revoked") }
        guard record.expiresAt > call.now else {
            throw challenge(call, "invalid_token", "the access token has expired")
        }
        try checkBinding(record.binding, token, call)
        return (record, grant)
    }

    /// Checks that a bound token is sent with its key or certificate, and that an unbound one is not sent
    /// with the DPoP scheme.
    private mutating func checkBinding(_ binding: Binding, _ token: String, _ call: Call) throws(Refusal) {
        if let expected = binding.certificateThumbprint, certificate(call)?.thumbprint != expected {
            throw challenge(call, "invalid_token", "the token is bound to another certificate")
        }
        let isProven = call.credentials("DPoP") != nil
        guard let expected = binding.keyThumbprint else {
            guard !isProven else { throw challenge(call, "invalid_token", "the token is not DPoP-bound") }
            return
        }
        guard isProven else { throw challenge(call, "invalid_token", "the token is DPoP-bound") }
        let thumbprint: String
        do {
            thumbprint = try checkedProof(call, accessToken: token, .resource)
        } catch {
            throw challenge(call, error.code, error.description)
        }
        guard thumbprint == expected else {
            throw challenge(call, "invalid_token", "the proof is signed by another key")
        }
    }

    /// Returns a challenge with the request's scheme; without credentials, it names no error (RFC 6750 §3).
    func challenge(
        _ call: Call, _ code: String? = nil, _ description: String = "a token is needed",
        _ more: [(String, String)] = [], status: Int = 401
    ) -> Refusal {
        let refusal = Refusal(code ?? "invalid_token", description, status: status)
        let isProven = call.credentials("DPoP") != nil || configuration.requiresDPoP
        var parts = isProven ? [] : ["realm=\"demo provider\""]
        if let code { parts += ["error=\"\(code)\"", "error_description=\"\(refusal.description)\""] }
        let metadata =
            call.endpoint == .protectedResource ? [("resource_metadata", resourceMetadataAddress)] : []
        parts += (more + metadata).map { "\($0.0)=\"\($0.1)\"" }
        if isProven { parts.append("algs=\"\(proofAlgorithms.joined(separator: " "))\"") }
        let value = "\(isProven ? "DPoP" : "Bearer") \(parts.joined(separator: ", "))"
        return Refusal(
            refusal.code, description, status: status, headers: [("WWW-Authenticate", value)])
    }

    func insufficientScope(_ scope: String, _ call: Call) -> Refusal {
        challenge(
            call, "insufficient_scope", "the token lacks the scope \(scope)", [("scope", scope)],
            status: 403)
    }

    func isSameSecret(_ left: String, _ right: String) -> Bool {
        equalInConstantTime(Array(left.utf8), Array(right.utf8))
    }
}
