import OIDCCore
import OIDCSignIn

/// The checks that a server which only a resource names gets no code of another provider (RFC 9700 §4.4).
extension SignIn {
    /// Checks that the answer to a sign-in for a resource's server cannot come from another provider. A registered client
    /// has a redirect URL of its own for each issuer; with another client, the server has to tell its answers from
    /// others', unless the settings name the authorization endpoint.
    func checkMixUp(_ metadata: ProviderMetadata) throws(OIDCError) {
        guard let target = provider.target, let issuer = metadata.issuer else { return }
        guard try !MixUpDefense.isOwn(settings.redirect().text, of: issuer) else {
            return try checkPage(metadata, target)
        }
        // An endpoint of the settings says where the user signs in, but not that this server may have the code.
        try checkOthers(metadata, issuer, target)
        guard provider.settings.provider.endpoint(.authorization) == nil else { return }
        do throws(OIDCError) { try metadata.checkAnswersAreItsOwn() } catch {
            var error = error
            error.hint = metadata.authorizationEndpoint.map {
                endpointHint("authorization_endpoint", $0, metadata)
            }
            throw error
        }
    }

    /// Returns why no device code may be used; nil if one may. The code is redeemed where it is polled: a server that only
    /// a resource names could show the page of another provider, and poll for its tokens.
    func deviceMixUp(_ metadata: ProviderMetadata) -> OIDCError? {
        guard provider.target != nil, provider.settings.provider.endpoint(.deviceAuthorization) == nil,
            let device = metadata.deviceAuthorizationEndpoint, let token = metadata.tokenEndpoint,
            device.origin != token.origin
        else { return nil }
        return .untrusted(
            .discovery, "device_authorization_endpoint",
            expected: "a URL of \(DisplayText.clean(token.origin)), where the code is redeemed",
            found: DisplayText.clean(device.withoutQuery),
            hint: endpointHint("device_authorization_endpoint", device, metadata))
    }

    /// The way on where one server has the page, and another one the code.
    private func endpointHint(_ setting: String, _ page: WebURL, _ metadata: ProviderMetadata) -> Hint {
        let redeemer = metadata.tokenEndpoint.map { DisplayText.clean($0.hostAndPort) } ?? "the server"
        return .words(
            "only if you sign in at \(DisplayText.clean(page.hostAndPort)) for it, and ",
            "\(redeemer), which redeems the code, may have all that this grants: ",
            provider.settings.loginLine.adding("--set", "\(setting)=\(page.text)"))
    }

    /// Checks a server that does not promise `iss` and shares its redirect URL with another one, of the user or of a
    /// resource: its own authorization endpoint can forward the browser to that one's, and so get the code and the
    /// verifier of an answer there (RFC 9700 §4.4.1). Only the user's word for the issuer allows it.
    private func checkOthers(
        _ metadata: ProviderMetadata, _ issuer: String, _ target: ResourceTarget
    ) throws(OIDCError) {
        guard !metadata.authorizationResponseIssParameterSupported, !target.isIssuerNamed,
            let other = target.operand.serverSharingRedirect(with: metadata, of: account.key.clientID)
        else { return }
        let shown = DisplayText.clean(other, limit: 200)
        throw .untrusted(
            .discovery, "authorization_response_iss_parameter_supported",
            expected: "true, as a sign-in at \(shown) has the same redirect URL", found: "none",
            hint: .words(
                "if you trust it as much as \(shown): ",
                provider.settings.loginLine.adding("--issuer", DisplayText.clean(issuer))))
    }

    /// Checks the page of a server that does not promise `iss`, for a client with a redirect URL of its own: the server may
    /// have registered the client, with that URL, at the provider whose page it is.
    private func checkPage(_ metadata: ProviderMetadata, _ target: ResourceTarget) throws(OIDCError) {
        guard !metadata.authorizationResponseIssParameterSupported, !target.isIssuerNamed,
            let page = metadata.authorizationEndpoint,
            let fault = target.fault(of: page, named: "authorization_endpoint", by: metadata)
        else { return }
        throw fault
    }
}

extension ResourceTarget {
    /// Returns the error for a page of another server at which the user signs in: the server that only a resource names
    /// would redeem the code that the user gets or approves there (RFC 8628 §5.4).
    func fault(of page: WebURL, named member: String, by metadata: ProviderMetadata) -> OIDCError? {
        let own = metadata.ownOrigins
        guard !own.contains(page.origin), let other = KnownClients(operand).server(on: page.origin) else {
            return nil
        }
        let shown = DisplayText.clean(other, limit: 200)
        return .untrusted(
            .discovery, member, expected: "a page of \(DisplayText.clean(own.first ?? ""))",
            found: "\(DisplayText.clean(page.withoutQuery)), of \(shown)",
            hint: .words(
                "if you trust it as much as \(shown): ",
                operand.loginLine.adding("--issuer", DisplayText.clean(metadata.issuer ?? ""))))
    }
}
