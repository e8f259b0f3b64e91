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
        try UserInfo.claims(
            of: session, at: metadata, client: tokenEndpoint.client, leeway: leeway, in: context)
    }
}

extension UserInfo {
    /// Fetches the claims of a session's user with the session's token, and a proof if the token is bound to a key.
    /// The answer must be about the session's subject (OpenID Connect Core §5.3.2).
    public static func claims(
        of session: Session, at metadata: ProviderMetadata, client: OAuthClient,
        leeway: Duration = .seconds(60),
        in context: OIDCContext
    ) throws(OIDCError) -> JSONObject {
        guard let endpoint = session.endpoints.userInfo else {
            throw .notOffered(
                .userInfo, isDiscovered: metadata.isDiscovered, hint: .advice(.setUserInfoEndpoint))
        }
        let access = session.tokens.access
        let documents = ProviderDocuments(context: context, allowsInsecureHTTP: metadata.allowsInsecureHTTP)
        var rules = UserInfo.Rules(
            subject: session.subject, issuer: session.endpoints.issuer, clientID: client.id,
            leeway: leeway.components.seconds
        ) { () throws(OIDCError) in try UserInfo.Signing(metadata) { client } }
        rules.isSignatureRequired = metadata.signsUserInfo
        let dpop = try session.dpopKey(of: access)
        var retry = RetryRule()
        while true {
            let proof = try dpop.map { key throws(OIDCError) in
                try key.proof(
                    method: .get, url: endpoint, accessToken: access.token.revealed, nonce: retry.nonce,
                    now: context.now(), random: context.random)
            }
            let call = try UserInfo.call(
                endpoint: endpoint, accessToken: access, proof: proof,
                presentingCertificate: session.isBoundToCertificate(access), rules: rules,
                keys: session.endpoints.keys.map(documents.keys), now: context.now())
            switch try context.perform(call) {
            case .claims(let claims): return claims
            case .unauthorized(_, let error): throw error
            case .nonceDemanded(let nonce): try retry.prove(nonce: nonce, or: UserInfo.nonceNotTaken)
            }
        }
    }
}

extension Session {
    /// Returns the key that a token is bound to; nil for a bearer token.
    package func dpopKey(of access: AccessToken) throws(OIDCError) -> DPoPKey? {
        guard access.type == .dpop else { return nil }
        guard let dpopKey else {
            throw OIDCError(
                key.grant.needsUser ? .loginRequired : .failed,
                "the session has lost the key that its token is bound to",
                hint: key.grant.needsUser ? .signIn : nil, stage: .store)
        }
        return try DPoPKey(pem: dpopKey)
    }
}
