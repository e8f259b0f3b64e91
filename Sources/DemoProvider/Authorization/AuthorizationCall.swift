package import OIDCCore

/// A valid authorization request (RFC 6749 §4.1.1, OIDC Core §3.1.2.1).
struct AuthorizationCall: Sendable {
    let client: String
    let redirect: RedirectTarget
    let scope: Scope
    let codeChallenge: String
    let nonce: String?
    let prompt: Set<String>
    let maxAge: Int64?
    let loginHint: String?
    let acr: [String]
    let audience: [String]
    /// `authorization_details` (RFC 9396 §2).
    let details: JSONValue?
    /// The thumbprint of the only key that may redeem the code (RFC 9449 §10).
    let keyThumbprint: String?
}

/// The redirect URI and response mode of the answer to an authorization request.
struct RedirectTarget: Sendable {
    let client: String
    let address: String
    let mode: AuthorizationRequest.ResponseMode
    let state: String?
}

extension DemoProvider {
    /// Returns the client and the target of the answer. Until both are verified, nothing is sent to the
    /// redirect URI (RFC 6749 §4.1.2.1), so errors here become a page.
    func redirectTarget(_ parameters: Parameters) throws(Refusal) -> (DemoClient, RedirectTarget) {
        let id = try parameters.required("client_id")
        guard let client = state.clients[id] else {
            throw .unauthorizedClient("there is no client \(DisplayText.quoted(id, limit: 60))")
        }
        let address = try parameters.required("redirect_uri")
        guard client.allows(redirect: address) else {
            throw .invalidRequest(
                "redirect_uri \(DisplayText.quoted(address, limit: 200)) is not registered for this client")
        }
        let mode = parameters["response_mode"].flatMap { AuthorizationRequest.ResponseMode(rawValue: $0) }
        let target = RedirectTarget(
            client: id, address: address, mode: mode ?? .query, state: parameters["state"])
        return (client, target)
    }

    /// Returns the checked request; errors here are sent to the redirect URI.
    func requested(
        _ parameters: Parameters, by client: DemoClient, answering redirect: RedirectTarget
    ) throws(Refusal) -> AuthorizationCall {
        guard parameters["response_type"] == "code" else {
            throw Refusal("unsupported_response_type", "response_type must be code")
        }
        guard client.allows(grant: "authorization_code") else {
            throw .unauthorizedClient("this client may not use the authorization code flow")
        }
        let modes = AuthorizationRequest.ResponseMode.allCases.map(\.rawValue)
        guard parameters["response_mode"].map(modes.contains) ?? true else {
            throw .invalidRequest("response_mode must be one of \(modes.joined(separator: ", "))")
        }
        // FAPI 2.0 Message Signing §5.4.1
        guard configuration.profile != .fapi2MessageSigning || redirect.mode.isSigned else {
            throw .invalidRequest("response_mode must be jwt, query.jwt or form_post.jwt")
        }
        let prompt = Set((parameters["prompt"] ?? "").split(separator: " ").map(String.init))
        guard prompt.isSubset(of: ["none", "login", "consent", "select_account"]) else {
            throw .invalidRequest("prompt has an unknown value")
        }
        guard !prompt.contains("none") || prompt.count == 1 else {
            throw .invalidRequest("prompt=none cannot be combined with other values")
        }
        return AuthorizationCall(
            client: client.id, redirect: redirect, scope: try allowedScope(parameters["scope"]),
            codeChallenge: try codeChallenge(parameters), nonce: parameters["nonce"], prompt: prompt,
            maxAge: try wholeNumber(parameters["max_age"], "max_age"), loginHint: parameters["login_hint"],
            acr: (parameters["acr_values"] ?? "").split(separator: " ").map(String.init),
            audience: try audience(parameters),
            details: try authorizationDetails(parameters["authorization_details"]),
            keyThumbprint: parameters["dpop_jkt"])
    }

    /// Returns the code challenge (RFC 7636 §4.3), which every client must send, with S256 (RFC 9700 §2.1.1).
    private func codeChallenge(_ parameters: Parameters) throws(Refusal) -> String {
        guard let challenge = parameters["code_challenge"] else {
            throw .invalidRequest("code_challenge is missing: PKCE is required")
        }
        guard parameters["code_challenge_method"] == "S256" else {
            throw .invalidRequest("code_challenge_method must be S256")
        }
        guard Base64URL.decode(challenge)?.count == 32 else {
            throw .invalidRequest("code_challenge is not a base64url SHA-256 digest")
        }
        return challenge
    }

    /// Returns the requested scope, and refuses unknown tokens; an empty request grants nothing.
    package func allowedScope(_ text: String?) throws(Refusal) -> Scope {
        let scope = Scope(text ?? "")
        if let unknown = scope.tokens.first(where: { !configuration.scopes.contains($0) }) {
            throw .invalidScope("unknown scope \(DisplayText.quoted(unknown, limit: 60))")
        }
        return scope
    }

    /// Returns the requested audiences: `resource` must be an absolute URL without fragment (RFC 8707 §2),
    /// `audience` can be any name.
    package func audience(_ parameters: Parameters) throws(Refusal) -> [String] {
        let resources = parameters.values("resource")
        for resource in resources {
            let hasScheme = resource.split(separator: ":", maxSplits: 1).count == 2
            guard hasScheme, !resource.contains("#") else {
                throw .invalidTarget("resource must be an absolute URI without fragment")
            }
        }
        return resources + parameters.values("audience")
    }

    /// Returns the authorization details, an array of objects with a type (RFC 9396 §2, §5).
    private func authorizationDetails(_ text: String?) throws(Refusal) -> JSONValue? {
        guard let text else { return nil }
        guard let details = try? JSONValue(parsing: text), let items = details.array,
            items.allSatisfy({ $0["type"]?.string?.isEmpty == false })
        else {
            throw Refusal(
                "invalid_authorization_details", "authorization_details is not an array of typed objects")
        }
        return details
    }

    private func wholeNumber(_ text: String?, _ name: String) throws(Refusal) -> Int64? {
        guard let text else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw .invalidRequest("\(name) is not a whole number")
        }
        return number
    }
}
