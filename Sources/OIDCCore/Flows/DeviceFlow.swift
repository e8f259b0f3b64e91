/// The device grant (RFC 8628): the user signs in elsewhere, while the token endpoint is polled.
extension SignInFlow {
    /// Requests a code for the user to enter.
    public func requestDeviceCode() throws(OIDCError) -> DeviceAuthorization {
        try tokenEndpoint.check(resources: request.resources)
        let client = tokenEndpoint.client
        let endpoint = try metadata.require(
            .deviceAuthorization, presentingCertificate: client.presentsCertificate)
        var device = DeviceAuthorization.Request(scope: request.scope)
        device.audience = request.audience
        device.resources = tokenEndpoint.sendsResources ? request.resources : []
        device.acrValues = request.acrValues
        device.authorizationDetails = request.authorizationDetails
        device.extraParameters = request.extraParameters
        let authorization = try DeviceAuthorization.request(
            device, from: endpoint, client: client, dpop: tokenEndpoint.dpop,
            allowsInsecureHTTP: metadata.allowsInsecureHTTP, context)
        if let fault = pageFault(authorization.verificationURI) { throw fault }
        return authorization
    }

    /// Polls once; `DevicePolling` decides what an error means.
    public func poll(_ authorization: DeviceAuthorization) throws(OIDCError) -> TokenEndpoint.Issued {
        try tokenEndpoint.issue(
            .deviceCode(authorization, resources: request.resources), in: context)
    }

    /// Checks the tokens and makes a session of them. There was no authorization request, so there is no
    /// nonce.
    ///
    /// RFC 8628 defines no ID token, and django-allauth and django-oauth-toolkit send none (tried 2026-11);
    /// UserInfo then identifies the user.
    public func outcome(of issued: TokenEndpoint.Issued) throws(OIDCError) -> Outcome {
        try accepted(issued) { (tokens) throws(OIDCError) in
            let lacksIDToken = tokens.idToken == nil && request.scope.contains("openid")
            guard lacksIDToken, request.maxAge == nil, metadata.issuer != nil, metadata.jwksURI != nil else {
                return try outcome(tokens, nonce: nil, maxAge: request.maxAge)
            }
            var outcome = try outcome(tokens, nonce: nil, maxAge: nil, requiresIDToken: false)
            identify(&outcome)
            return outcome
        }
    }

    /// Sets the user's identity from UserInfo. A failure does not end the sign-in, as the user has approved
    /// it.
    private func identify(_ outcome: inout Outcome) {
        let reason: String
        do throws(OIDCError) {
            guard request.resources.isEmpty else {
                throw OIDCError(.refused, "the token is for other resources than UserInfo", stage: .userInfo)
            }
            let claims = try userInfo(outcome.session)
            if let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) {
                outcome.session.subject = subject
                outcome.session.displayName = IDToken.displayName(in: claims)
                outcome.warnings.append("the provider sent no ID token; UserInfo says who signed in")
                return
            }
            reason = "UserInfo has no sub"
        } catch {
            reason = error.message
        }
        outcome.warnings.append("the provider sent no ID token, and who signed in is unknown: \(reason)")
    }
}
