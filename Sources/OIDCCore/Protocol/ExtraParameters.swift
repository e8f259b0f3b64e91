/// The rules for configured parameters that are added to a request. They must not replace its own.
package struct ExtraParameters: Sendable {
    /// The name of the request, for messages.
    private let request: String
    private let hint: Hint
    /// The names that the protocol reserves, whether or not this request uses them.
    let reserved: [String]

    package static let authorize = ExtraParameters(
        request: "authorization request", hint: .advice(.removeAuthorizeParameter),
        reserved: [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "code_verifier", "code", "response_mode", "max_age", "request",
            "request_uri", "dpop_jkt", "client_secret", "client_assertion", "client_assertion_type",
        ])

    package static let token = ExtraParameters(
        request: "token request", hint: .advice(.removeTokenParameter),
        reserved: [
            "grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret",
            "client_assertion", "client_assertion_type", "refresh_token", "device_code", "assertion",
            "subject_token", "subject_token_type", "actor_token", "actor_token_type",
        ])

    /// Checks that each parameter has a name and that none is reserved.
    package func check(_ extra: [FormEncoding.Pair]) throws(OIDCError) {
        for pair in extra {
            guard !pair.name.isEmpty else {
                throw .usage("\(request): an extra parameter has no name", hint: hint)
            }
            guard !reserved.contains(pair.name) else {
                throw .usage(
                    "\(request): \(pair.name) is a parameter of the protocol and cannot be replaced",
                    hint: hint)
            }
        }
    }

    func adding(
        _ extra: [FormEncoding.Pair], to pairs: [FormEncoding.Pair]
    ) throws(OIDCError) -> [FormEncoding.Pair] {
        try check(extra)
        for pair in extra {
            guard !pairs.contains(where: { $0.name == pair.name }) else {
                throw .usage(
                    "\(request): \(DisplayText.clean(pair.name)) is also set by its own setting",
                    hint: hint)
            }
        }
        return pairs + extra
    }
}
