/// An endpoint's error answer (RFC 6749 §5.2), whatever the status; safe to print.
package struct OAuthErrorResponse: Hashable, Sendable {
    package let code: String
    package let description: String?
    package let uri: String?
    /// The description as it was received, up to 8,192 characters; it is compared and never shown.
    let words: String
    /// Whether the code is the text of `error` or of Fitbit's `errorType`. Only such a code ends a session,
    /// as a gateway may send the same word elsewhere in its answer for another reason.
    private(set) var isStandardMember = true

    package init(code: String, description: String? = nil, uri: String? = nil) {
        self.init(code: code, description: description, uri: uri, withholding: WithheldSecrets())
    }

    /// Creates an answer without the secrets of the request.
    package init(
        code: String, description: String? = nil, uri: String? = nil, withholding secrets: WithheldSecrets
    ) {
        // Escaped first: removing an invisible character could turn it into another code, such as one that
        // ends a session.
        let escaped = DisplayText.escaped(secrets.removed(fromCode: code))
        self.code = DisplayText.clean(escaped, limit: 100)
        self.description = description.flatMap {
            $0.isEmpty ? nil : DisplayText.shortened(secrets.removed(from: $0))
        }
        words = String((description ?? "").prefix(8_192))
        // Terminals turn a URL into a link.
        self.uri = uri.flatMap { WebURL($0) == nil ? nil : DisplayText.clean(secrets.removed(from: $0)) }
    }

    /// Parses JSON or a form-encoded answer; returns nil if the body names no error.
    ///
    /// GitHub and Slack answer 200 with `error`, Google and Facebook send an object in its place, Fitbit an
    /// array `errors` with `errorType`, and Twitch a `message` that is the code (their documentation,
    /// 2026-11).
    package init?(_ response: HTTPResponse) {
        self.init(response, withholding: WithheldSecrets())
    }

    init?(_ response: HTTPResponse, withholding secrets: WithheldSecrets) {
        if let members = (try? JSONValue(parsing: response.body))?.object {
            self.init(members, isRefusal: !response.isSuccess, secrets)
        } else if response.looksFormEncoded, let pairs = FormEncoding.decode(response.text) {
            self.init(pairs, secrets)
        } else {
            return nil
        }
    }

    private init?(_ members: JSONObject, isRefusal: Bool, _ secrets: WithheldSecrets) {
        switch members["error"] {
        case .string(let code) where !code.isEmpty:
            self.init(
                // Twitch names the reason in `message`.
                code: code, description: members["error_description"]?.string ?? members["message"]?.string,
                uri: members["error_uri"]?.string, withholding: secrets)
        case .object(let error):
            let code = error["code"]?.string ?? error["status"]?.string ?? error["type"]?.string
            self.init(
                code: code ?? "error", description: error["message"]?.string, uri: nil, withholding: secrets)
            isStandardMember = false
        default:
            let first = members["errors"]?.array?.first
            if isRefusal, let code = first?["errorType"]?.string, !code.isEmpty {
                self.init(code: code, description: first?["message"]?.string, withholding: secrets)
            } else if isRefusal, let code = members["message"]?.string, Self.knownCodes.contains(code) {
                self.init(code: code, withholding: secrets)
                isStandardMember = false
            } else {
                return nil
            }
        }
    }

    /// The codes of RFC 6749 §5.2 and RFC 8628 §3.5.
    static let knownCodes: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "authorization_pending", "slow_down", "access_denied", "expired_token",
    ]

    private init?(_ pairs: [FormEncoding.Pair], _ secrets: WithheldSecrets) {
        func value(_ name: String) -> String? { pairs.first { $0.name == name }?.value }
        guard let code = value("error"), !code.isEmpty else { return nil }
        self.init(
            code: code, description: value("error_description"), uri: value("error_uri"),
            withholding: secrets)
    }

    /// The error in one line, such as `invalid_scope ("no such scope", see https://…)`.
    package var text: String {
        let code = code.isEmpty ? "an error without a code" : code
        let words = description.map { $0 == WithheldSecrets.leftOut ? $0 : "\"\($0)\"" }
        let page = uri.flatMap { $0 == WithheldSecrets.leftOut ? nil : "see \($0)" }
        let details = [words, page].compactMap { $0 }
        return details.isEmpty ? code : "\(code) (\(details.joined(separator: ", ")))"
    }
}

extension OAuthErrorResponse {
    /// Returns the hint if an authorization request was refused over `prompt=consent`: idpyoidc and
    /// pyop/SATOSA refuse `offline_access` without it (OpenID Connect Core §11), and some providers do not
    /// know it.
    func promptHint(sent prompt: String?) -> Hint? {
        guard code == "invalid_request", let words = description.map({ ASCII.lowercased($0) }),
            words.includes("consent")
        else { return nil }
        let isSent = prompt?.split(separator: " ").contains("consent") == true
        return .set(.prompt, to: isSent ? "off" : "consent")
    }

    /// Whether the provider refuses the parameter `resource`. Entra ID gives this reason only at the start of the
    /// description (2026-03): AADSTS9010010, or earlier AADSTS901002. Further on, the words may be the request's own.
    var refusesResource: Bool {
        ["AADSTS9010010", "AADSTS901002"].contains { code in
            words.hasPrefix(code) && words.utf8.dropFirst(code.utf8.count).first.map(ASCII.isDigit) != true
        }
    }

    /// Whether the redirect URL is not registered for the client. oidc-provider 9 has a code of its own for that.
    var refusesRedirect: Bool {
        guard code == "invalid_request" else { return code == "invalid_redirect_uri" }
        let words = ASCII.lowercased(description ?? "")
        return ["redirect_uri", "redirect uri", "redirect url", "redirect-uri"].contains {
            words.includes($0)
        }
    }

    /// Whether the request must be pushed (RFC 9126). Keycloak 26.7: "Pushed Authorization Request is only
    /// allowed."; oidc-provider 9.13: "Pushed Authorization Request must be used".
    var mustBePushed: Bool {
        ASCII.lowercased(description ?? "").includes("pushed authorization request")
    }

    /// Whether the error is temporary. Providers send these codes with 400 too, the usual status of an error
    /// (RFC 6749 §5.2), and with 200.
    var isTemporary: Bool { ["temporarily_unavailable", "server_error", "slow_down"].contains(code) }

    /// Returns the error for an unexpected answer: 408, 425, 429, 5xx and the codes for a temporary failure
    /// mean that a later attempt may succeed, anything else is a refusal. `hint` returns the hint for a code.
    static func failure(
        _ response: HTTPResponse, stage: Stage, url: WebURL? = nil,
        withholding secrets: WithheldSecrets = WithheldSecrets(),
        hint: (String?) -> Hint? = OAuthErrorResponse.hint
    ) -> OIDCError {
        let answer = OAuthErrorResponse(response, withholding: secrets)
        let isTemporary =
            response.isTemporaryFailure
            || !(300..<400).contains(response.status) && answer?.isTemporary == true
        // Zero is ignored: processes that wait for each other would all send the request, one after the
        // other.
        let retryAfter = isTemporary ? response.retryAfter.flatMap { $0 > 0 ? $0 : nil } : nil
        let what: String
        if let answer {
            what = isTemporary ? "\(answer.text) with status \(response.status)" : answer.text
        } else if (300..<400).contains(response.status) {
            what = "a redirect (status \(response.status)), which is not followed"
        } else if let words = response.words(withholding: secrets) {
            what =
                words == WithheldSecrets.leftOut
                ? "status \(response.status) (\(words))" : "\"\(words)\" with status \(response.status)"
        } else {
            what = secrets.tokensRemoved(from: response.summary())
        }
        // Keycloak answers a wrong or missing secret with unauthorized_client, "Invalid client or Invalid
        // client credentials" (26.4, 2026-11).
        let isClient = answer.map { $0.description?.includes("client credentials") == true } ?? true
        let code =
            isClient && response.status == 401 && url == nil ? "invalid_client" : answer?.code
        let from = url.map { "\(DisplayText.clean($0.withoutQuery)) " } ?? "the provider "
        if response.status == 421, url?.host == "localhost" {
            return OIDCError(
                .refused, "\(stage.title): \(from)answered 421: it does not serve the name localhost",
                hint: "use 127.0.0.1 in place of localhost", stage: stage)
        }
        let error = OIDCError(
            isTemporary ? .unreachable : .refused, "\(stage.title): \(from)answered \(what)",
            hint: isTemporary ? .tryAgain(seconds: retryAfter) : hint(code),
            stage: stage, oauthError: answer?.code, retryAfter: retryAfter,
            code: isTemporary ? .tryLater : nil)
        return !isTemporary && answer?.refusesResource == true ? error.aboutResource : error
    }

    /// Returns the hint for an error code; nil if there is none, or if it depends on the step.
    static func hint(_ code: String?) -> Hint? {
        switch code {
        // The other names are GitHub's and Slack's (their documentation, 2026-11).
        case "invalid_client", "incorrect_client_credentials", "bad_client_secret", "invalid_client_id":
            .advice(.checkClient)
        case "redirect_uri_mismatch", "bad_redirect_uri": .advice(.checkRedirectURI)
        case "unauthorized_client", "device_flow_disabled":
            .advice(.allowGrant)
        case "unsupported_grant_type": .advice(.chooseGrant)
        case "invalid_scope": .advice(.checkScope)
        case "invalid_target": .advice(.checkTarget)
        case "use_dpop_nonce": .set(.dpop, to: "true")
        case "invalid_dpop_proof": .advice(.checkClock)
        case "invalid_authorization_details": "check authorization_details"
        default: nil
        }
    }

    /// Returns the hint for an error code of the device grant. Many providers switch the grant on for each
    /// client; Google answers `invalid_client` ("Invalid client type") to a desktop client.
    ///
    /// Spring Authorization Server 7.1 and zitadel's example refuse `openid` in the device grant (2026-11).
    static func deviceHint(_ code: String?, sendsOpenID: Bool = false) -> Hint? {
        switch code {
        case "invalid_scope" where sendsOpenID: .advice(.leaveOutOpenIDForDevice)
        case "invalid_client": .advice(.checkClientOrDeviceGrant)
        case "unauthorized_client", "unsupported_grant_type": .advice(.allowDeviceGrant)
        default: hint(code)
        }
    }
}

extension HTTPResponse {
    /// Returns the message of an error body that has no member `error`, as Twitch and Fitbit send; safe to
    /// print.
    func words(withholding secrets: WithheldSecrets) -> String? {
        words.map { DisplayText.shortened(secrets.removed(from: $0)) }
    }

    /// The message of an error body that has no member `error`, as it was received.
    var words: String? {
        guard !isSuccess, let body = (try? JSONValue(parsing: body))?.object else { return nil }
        let names = ["error_description", "message", "detail", "title"]
        let first = body["errors"]?.array?.first
        let text =
            names.lazy.compactMap { body[$0]?.string }.first { !$0.isEmpty }
            ?? first?.string
            ?? ["message", "detail", "title", "errorType"].lazy.compactMap { first?[$0]?.string }.first
        return text.flatMap { $0.isEmpty ? nil : String($0.prefix(8_192)) }
    }

    /// Whether the body may be a form. Some providers send forms as plain text or without a type.
    var looksFormEncoded: Bool {
        switch mediaType {
        case "application/x-www-form-urlencoded", "text/plain", nil: body.contains(0x3D)
        default: false
        }
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

extension OIDCError {
    /// The error with the code and hint of a refusal that a request without `resource` avoids.
    var aboutResource: OIDCError {
        var error = self
        error.code = .resourceRefused
        error.hint = .set(.resourceParameter, to: "off")
        return error
    }

    /// Returns whether the request may be repeated without `resource`. Not if one of the `values` that a resource
    /// can choose contains a code of Entra ID's: another server's answer may only repeat that.
    package func allowsWithoutResource(_ values: [String]) -> Bool {
        code == .resourceRefused && !values.contains { ASCII.lowercased($0).includes("aadsts") }
    }
}
