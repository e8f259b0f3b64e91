import OIDCCrypto

extension PendingAuthorization {
    /// Checks a request to the redirect URL (RFC 6749 §4.1.2, RFC 9207 §2.4), in this order: `state`, `iss`,
    /// `error`, `code`. Returns nil if it is not the answer to this sign-in, so the wait continues; an error
    /// ends the sign-in.
    public func accept(_ pairs: [FormEncoding.Pair]) throws(OIDCError) -> AuthorizationCode? {
        try code(judge(pairs))
    }

    /// Checks an encoded query or form like `accept(_:)`.
    public func accept(form: String) throws(OIDCError) -> AuthorizationCode? {
        try code(judge(form: form))
    }

    private func code(_ judgement: CallbackJudgement) throws(OIDCError) -> AuthorizationCode? {
        switch judgement {
        case .code(let code): return code
        case .end(let error): throw error
        case .stray: return nil
        }
    }

    /// Checks an encoded query or form, and returns what it means for the sign-in. A `code` or `error` beside
    /// our `state` is the answer even if it cannot be decoded, as only the provider knows the `state`.
    package func judge(form: String) -> CallbackJudgement {
        if let pairs = FormEncoding.decode(form) { return judge(pairs) }
        let parts = form.split(separator: "&")
        if let mismatch = stateMismatch(parts.flatMap { FormEncoding.decode($0) ?? [] }) {
            return .stray(mismatch)
        }
        let name = ["code", "error"].first { name in
            parts.contains { $0.hasPrefix("\(name)=") && FormEncoding.decode($0) == nil }
        }
        guard let name else { return .stray(.unreadable) }
        return .end(
            .protocolViolation(
                .authorization, name, expected: "percent-encoded UTF-8", found: "something else"))
    }

    /// Checks a pasted URL or query; a whole URL must be the redirect URL. No other answer can follow, so one
    /// that does not belong to this sign-in is an error.
    public func acceptPasted(_ text: String) throws(OIDCError) -> AuthorizationCode {
        let pasted = try PastedURL(text)
        let judgement = judge(pasted.pairs)
        if case .stray(let mismatch) = judgement { throw mismatch.error }
        // If nothing but the issuer's own redirect URL distinguishes its answers from others', that URL is
        // needed (RFC 9700 §4.4.2.2). A signed answer names its issuer.
        let namesIssuer = responseMode.isSigned || pasted.pairs.contains { $0.name == "iss" }
        if pasted.beforeQuery.isEmpty, !namesIssuer, let issuer,
            try MixUpDefense.isOwn(redirectURI, of: issuer)
        {
            throw .usage(
                "the pasted text is not a whole URL, which says whose answer it is", hint: PastedURL.hint)
        }
        guard pasted.leads(to: redirectURI) else {
            throw .untrusted(
                .authorization,
                "the pasted URL: expected \(DisplayText.clean(redirectURI)), "
                    + "found \(DisplayText.address(pasted.beforeQuery))", hint: PastedURL.hint)
        }
        switch judgement {
        case .code(let code): return code
        case .end(let error): throw error
        case .stray(let mismatch): throw mismatch.error
        }
    }

    /// Returns the mismatch of `state`; nil if there is exactly one and it is ours.
    func stateMismatch(_ pairs: [FormEncoding.Pair]) -> CallbackMismatch? {
        let states = pairs.filter { $0.name == "state" }.map(\.value)
        if states.count == 1, isOurs(states[0]) { return nil }
        return states.isEmpty ? .noState : states.count > 1 ? .repeated("state") : .otherState
    }

    /// Returns whether this is our `state`, in constant time.
    func isOurs(_ state: String) -> Bool {
        equalInConstantTime(Array(state.utf8), Array(self.state.revealed.utf8))
    }

    private func judge(_ pairs: [FormEncoding.Pair]) -> CallbackJudgement {
        responseMode.isSigned ? judgeSigned(pairs) : judgeParameters(pairs)
    }

    func judgeParameters(_ pairs: [FormEncoding.Pair]) -> CallbackJudgement {
        func values(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }
        if let mismatch = stateMismatch(pairs) { return .stray(mismatch) }
        for name in ["code", "iss", "error"] where values(name).count > 1 {
            return .stray(.repeated(name))
        }
        let (code, error, iss) = (values("code").first, values("error").first, values("iss").first)
        if let issuer, let iss, !ExactText.isSame(iss, issuer), IssuerTemplate(issuer)?.tenant(of: iss) == nil
        {
            let mismatch = CallbackMismatch.otherIssuer(expected: issuer, found: iss)
            return error != nil && code == nil ? .stray(mismatch) : .end(mismatch.error)
        }
        let isIssuerMissing = isIssuerPromised && iss == nil
        if isIssuerMissing, error != nil, rejectsErrorsWithoutIssuer { return .end(missingIssuer) }
        if let error {
            return .end(
                refusal(
                    OAuthErrorResponse(
                        code: error, description: values("error_description").first,
                        uri: values("error_uri").first),
                    isWithCode: code != nil, isIssuerMissing: isIssuerMissing))
        }
        let judgement = judge(code: code, from: iss, among: pairs)
        // A code is refused without the promised `iss`; an answer without a code is useless anyway.
        if isIssuerMissing, case .code = judgement { return .end(missingIssuer) }
        return judgement
    }

    private var missingIssuer: OIDCError {
        let expected = DisplayText.clean(issuer ?? "an issuer")
        return .untrusted(.authorization, "iss", expected: expected, found: "none")
    }

    /// Checks that the code is printable ASCII (RFC 6749 appendix A.11), and that the answer to
    /// `response_type=code` has no token.
    private func judge(code: String?, from issuer: String?, among pairs: [FormEncoding.Pair])
        -> CallbackJudgement
    {
        let tokens = ["access_token", "id_token", "refresh_token"]
        if let token = pairs.first(where: { tokens.contains($0.name) }) {
            return .end(
                .protocolViolation(
                    .authorization, token.name, expected: "code alone", found: "a token in the URL"))
        }
        guard let code else {
            return .end(
                OIDCError(
                    .refused, "authorize: the answer contains neither code nor error", stage: .authorization))
        }
        guard (1...8_192).contains(code.utf8.count), code.utf8.allSatisfy({ ASCII.isPrintable($0) })
        else {
            let found =
                code.isEmpty
                ? "an empty one" : code.utf8.count > 8_192 ? "\(code.utf8.count)" : "other characters"
            return .end(
                .protocolViolation(
                    .authorization, "code", expected: "up to 8192 ASCII characters", found: found))
        }
        return .code(
            AuthorizationCode(
                code: code, pending: self, issuer: issuer, extra: ExtraMembers.redirect(pairs)))
    }

    private func refusal(
        _ answer: OAuthErrorResponse, isWithCode: Bool, isIssuerMissing: Bool
    ) -> OIDCError {
        var message = "authorize: the provider answered \(answer.text)"
        if isWithCode { message += "; the code beside it was not used" }
        if isIssuerMissing { message += "; the answer lacks iss, which the provider promises" }
        let error = OIDCError(
            answer.isTemporary && !isWithCode ? .unreachable : .refused, message,
            hint: answer.promptHint(sent: prompt)
                ?? (answer.mustBePushed ? .set(.pushedAuthorization, to: "require") : hint(answer.code)),
            stage: .authorization, oauthError: answer.code.isEmpty ? nil : answer.code,
            code: answer.code == "invalid_request" && answer.mustBePushed ? .needsPAR : nil)
        return answer.refusesResource ? error.aboutResource : error
    }

    private func hint(_ code: String) -> Hint? {
        switch code {
        case "login_required", "consent_required", "interaction_required", "account_selection_required":
            prompt == "none" ? "sign in without prompt=none" : .signIn
        case "access_denied": .advice(.signInAndAllow)
        case "temporarily_unavailable", "server_error": .tryAgain(seconds: nil)
        case "unauthorized_client": "register the client for the authorization code grant"
        case "unmet_authentication_requirements": .advice(.checkACRValues)
        default: OAuthErrorResponse.hint(code)
        }
    }
}
