import OIDCCore
import OIDCSessions

/// The request of a sign-in.
extension SignIn {
    /// The endpoints that must be known before the browser opens.
    var needed: [ProviderEndpoint] {
        let isDevice = settings.flow == .device
        let first: ProviderEndpoint = isDevice ? .deviceAuthorization : .authorization
        return [first, .token] + (needsIDToken ? [.keys] : [])
    }

    /// Returns the configured scope, or the default for users, with `offline_access` if the provider supports
    /// it.
    private func scope(_ metadata: ProviderMetadata?) -> Scope {
        if let scope = provider.settings.token.scope { return scope }
        // If a resource names no scope, its server chooses one.
        guard provider.settings.provider.issuer != nil, provider.settings.resource == nil else {
            return Scope("")
        }
        return Scope.forUsers(at: metadata, Preset.matching(provider.settings))
    }

    func login(
        _ metadata: ProviderMetadata, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> SignInFlow {
        warnOfUnknownPrompt()
        let client = try provider.client(metadata, environment)
        let scope = scope(metadata)
        try metadata.validate(for: [.token], scope: needsIDToken ? scope : Scope(""))
        let url = try metadata.require(.token, presentingCertificate: client.presentsCertificate)
        let dpop: DPoPKey? = provider.settings.token.bindsTokens ? try DPoPKey.generate() : nil
        var request = try provider.settings.authorizationRequest(client, scope, dpop)
        request.rejectsErrorsWithoutIssuer = provider.settings.resource != nil
        var tokenEndpoint = try provider.tokenEndpoint(at: url, client: client, dpop: dpop)
        // A session remembers that the provider refused the parameter.
        if provider.settings.layers[.resourceParameter] == nil, let earlier = try? store.load(key) {
            tokenEndpoint.sendsResources = earlier.sendsResources != false
        }
        var login = SignInFlow(
            environment: environment, metadata: metadata, tokenEndpoint: tokenEndpoint,
            request: request, key: key, pushing: settings.pushing,
            leeway: provider.settings.network.leeway)
        login.requiresIDToken = needsIDToken
        login.asksForName = showsName
        login.keepsRefusedTokens = { [store, key] in store.mayHaveSession(ofClientIn: key) }
        return login
    }

    /// Whether the sign-in must return an ID token. The server of a resource that lists `openid` among its
    /// scopes may issue none, such as FastMCP's.
    private var needsIDToken: Bool {
        provider.settings.resource == nil && scope(nil).contains("openid")
    }

    /// Warns about unknown prompts in a setting; they may be the provider's own.
    private func warnOfUnknownPrompt() {
        let known = Setting.prompts
        for value in (settings.prompt ?? "").split(separator: " ") where !known.contains(String(value)) {
            console.warn(
                "unknown prompt \(DisplayText.quoted(value)) (known: \(known.joined(separator: ", "))); sent as is"
            )
        }
    }
}

extension Scope {
    /// Returns the scope to request for a user if none is set: with `offline_access` if the provider lists it,
    /// unless it is known to issue refresh tokens without. At Keycloak, that scope costs the browser's single
    /// sign-on and leaves a session for a month (26.7, 2026-11).
    static func forUsers(at server: ProviderMetadata?, _ known: PresetMatch? = nil) -> Scope {
        let isOffline =
            server?.scopesSupported?.contains("offline_access") == true
            && known?.needsOfflineScope != false
        return Scope("openid profile email" + (isOffline ? " offline_access" : ""))
    }
}
