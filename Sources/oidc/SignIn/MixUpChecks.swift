import OIDCCore
import OIDCSignIn

/// The checks that a server which only a URL leads to gets no code of another provider (RFC 9700 §4.4).
extension SignIn {
    /// The URL that led to the server: that of a resource, or one whose own metadata name the server. Nil if the user
    /// named it.
    var finder: ResourceOperand? { provider.target?.operand ?? provider.finder }

    /// Whether the user has named the issuer, too.
    var isIssuerNamed: Bool { provider.target?.isIssuerNamed ?? false }

    /// Checks that the answer to a sign-in cannot come from another provider. A registered client has a redirect URL of its
    /// own for each issuer; with another client, the server has to tell its answers from others', unless the settings name
    /// the authorization endpoint.
    func checkMixUp(_ metadata: ProviderMetadata) throws(OIDCError) {
        guard let finder, let issuer = metadata.issuer else { return }
        let isRegistered = try MixUpDefense.isOwn(settings.redirect().text, of: issuer)
        if !metadata.authorizationResponseIssParameterSupported, !isIssuerNamed {
            let wayOn = try wayOn(metadata)
            if let fault = finder.fault(
                ofClient: account.key.clientID, isRegistered: isRegistered, at: metadata, wayOn)
            {
                throw fault
            }
            // The server may have registered the client, with its redirect URL, at the provider whose page it names.
            if isRegistered, let page = metadata.authorizationEndpoint,
                let fault = finder.fault(
                    of: page, named: "authorization_endpoint", by: metadata, wayOn)
            {
                throw fault
            }
        }
        guard !isRegistered, provider.settings.provider.endpoint(.authorization) == nil else { return }
        do throws(OIDCError) { try metadata.checkAnswersAreItsOwn() } catch {
            var error = error
            error.hint = metadata.authorizationEndpoint.map {
                endpointHint("authorization_endpoint", $0, metadata)
            }
            throw error
        }
    }

    /// Returns why no device code may be used; nil if one may. The code is redeemed where it is polled: a server that only
    /// a URL leads to could show the page of another provider, and poll for its tokens.
    func deviceMixUp(_ metadata: ProviderMetadata) -> OIDCError? {
        guard finder != nil, provider.settings.provider.endpoint(.deviceAuthorization) == nil,
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

    /// The command by which the user names the issuer.
    func wayOn(_ metadata: ProviderMetadata) throws(OIDCError) -> Hint {
        let issuer = DisplayText.clean(metadata.issuer ?? "")
        guard provider.target == nil else { return provider.settings.loginLine.adding("--issuer", issuer) }
        guard try MixUpDefense.isOwn(settings.redirect().text, of: issuer) else {
            return .run("login", "--issuer", issuer, "--client-id", account.key.clientID)
        }
        return .run("register", "--issuer", issuer)
    }
}

extension ResourceOperand {
    /// Returns the error for a server that does not promise `iss` and shares its redirect URL or its client with another
    /// one, of the user or of a resource: its own authorization endpoint can forward the browser to that one's, and so get
    /// the code and the verifier of an answer there (RFC 9700 §4.4.1). Only the user's word for the issuer allows it.
    func fault(
        ofClient id: String, isRegistered: Bool, at server: ProviderMetadata, _ wayOn: Hint
    ) -> OIDCError? {
        guard !server.authorizationResponseIssParameterSupported,
            let other = KnownClients(self).other(than: server, sharing: id, isRegistered: isRegistered)
        else { return nil }
        let shown = DisplayText.clean(other)
        let shared = isRegistered ? "client" : "redirect URL"
        return .untrusted(
            .discovery, "authorization_response_iss_parameter_supported",
            expected: "true, as a sign-in at \(shown) has the same \(shared)", found: "none",
            hint: .words("if you trust it as much as \(shown): ", wayOn))
    }

    /// Returns the error for a page of another server at which the user signs in: the server that only this URL leads to
    /// would redeem the code that the user gets or approves there (RFC 8628 §5.4).
    func fault(
        of page: WebURL, named member: String, by metadata: ProviderMetadata, _ wayOn: Hint
    ) -> OIDCError? {
        let own = metadata.ownOrigins
        guard !own.contains(page.origin), let other = KnownClients(self).server(on: page.origin) else {
            return nil
        }
        let shown = DisplayText.clean(other)
        return .untrusted(
            .discovery, member, expected: "a page of \(DisplayText.clean(own.first ?? ""))",
            found: "\(DisplayText.clean(page.withoutQuery)), of \(shown)",
            hint: .words("if you trust it as much as \(shown): ", wayOn))
    }

    /// Returns whether the user names an issuer in these settings. A profile that a sign-in to a resource wrote only repeats
    /// what the resource named; the link knows whether the user named it then.
    func names(issuer: String, _ entries: [SettingLayers.Entry]) -> Bool {
        let file = try? context.settingsLoader.file()
        let named = entries.filter { entry in
            guard entry.setting == .issuer, case .profile(let name) = entry.origin else { return true }
            guard let settings = try? file?.settings(of: name, home: nil) else { return true }
            return context.ownResource(settings) == nil
        }
        return ResourceOwnership(entries: named).names(issuer: issuer)
    }
}
