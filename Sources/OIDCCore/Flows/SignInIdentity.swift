/// The user's name and claims, and the tenant of a multi-tenant provider.
extension SignInFlow {
    /// Binds the sign-in to the tenant of the session's earlier sign-in, if that had a known user. A session
    /// never changes its tenant unnoticed.
    package mutating func pin(to earlier: @autoclosure () -> Session?) {
        guard metadata.issuer.flatMap({ IssuerTemplate($0) }) != nil, let earlier = earlier(),
            earlier.subject != nil
        else { return }
        pinnedIssuer = earlier.endpoints.issuer
    }

    /// Returns the issuer of the session; for a multi-tenant provider the tenant's, which every later ID
    /// token must name. Refuses another tenant than that of the redirect (RFC 9207) or of the earlier
    /// sign-in.
    func issuer(of idToken: IDToken?) throws(OIDCError) -> String? {
        guard let issuer = metadata.issuer, let template = IssuerTemplate(issuer) else {
            return metadata.issuer
        }
        let known = [
            (answeringIssuer, " as in the redirect", nil),
            (pinnedIssuer, " as at the first sign-in", Hint.advice(.keepTenantsApart)),
        ]
        for (expected, note, hint) in known {
            guard let expected, template.tenant(of: expected) != nil else { continue }
            guard let found = idToken?.issuer, ExactText.isSame(found, expected) else {
                throw .untrusted(
                    .idToken, "iss", expected: DisplayText.clean(expected) + note,
                    found: idToken.map { DisplayText.clean($0.issuer) } ?? "no ID token", hint: hint)
            }
        }
        return idToken?.issuer ?? issuer
    }

    /// Returns the user's name from UserInfo, for providers whose ID tokens have a `sub` and nothing else;
    /// nil if it is unavailable, which is not an error. A token for other resources is not sent there.
    func nameFromUserInfo(_ session: Session) -> String? {
        guard request.scope.contains("profile") || request.scope.contains("email"),
            request.resources.isEmpty, let claims = try? userInfo(session)
        else { return nil }
        return IDToken.displayName(in: claims)
    }

    /// Fetches the claims of the user who just signed in.
    func userInfo(_ session: Session) throws(OIDCError) -> JSONObject {
        guard let endpoint = session.endpoints.userInfo else {
            throw .notOffered(
                .userInfo, isDiscovered: metadata.isDiscovered, hint: .advice(.setUserInfoEndpoint))
        }
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: metadata.allowsInsecureHTTP)
        let rules = UserInfo.Rules(
            subject: session.subject, issuer: session.endpoints.issuer, clientID: tokenEndpoint.client.id,
            leeway: leeway
        ) { () throws(OIDCError) in try UserInfo.Signing(metadata) { tokenEndpoint.client } }
        var retry = RetryRule()
        while true {
            let proof = try tokenEndpoint.dpop.map { key throws(OIDCError) in
                try key.proof(
                    method: .get, url: endpoint, accessToken: session.tokens.access.token.revealed,
                    nonce: retry.nonce, now: environment.now(), random: environment.random)
            }
            let call = try UserInfo.call(
                endpoint: endpoint, accessToken: session.tokens.access, proof: proof,
                presentingCertificate: session.isBoundToCertificate(session.tokens.access), rules: rules,
                keys: session.endpoints.keys.map(documents.keys), now: environment.now())
            switch try environment.transport.perform(call) {
            case .claims(let claims): return claims
            case .unauthorized(_, let error): throw error
            case .nonceDemanded(let nonce): try retry.prove(nonce: nonce, or: UserInfo.nonceNotTaken)
            }
        }
    }
}
