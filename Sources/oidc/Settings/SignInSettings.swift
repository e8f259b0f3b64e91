import OIDCCore
import OIDCSystem

/// The settings of sign-in and sign-out.
struct SignInSettings: Sendable {
    enum Flow: String, Sendable {
        case auto
        case browser
        case device
        case paste
    }

    let flow: Flow
    /// Whether an option, a variable or the profile sets the flow.
    let isFlowChosen: Bool
    /// The browser's command line; empty if none is set.
    let browser: [String]
    let redirectURI: String?
    let port: UInt16?
    let redirectPorts: [UInt16]
    let responseMode: AuthorizationRequest.ResponseMode?
    /// Whether a nonce is sent; false for providers whose ID tokens have no `nonce`.
    let sendsNonce: Bool
    let prompt: String?
    /// Whether `prompt` is `off`: then none is sent, even for `offline_access`.
    let isPromptOff: Bool
    let maxAge: Int64?
    let loginHint: String?
    let acrValues: String?
    let uiLocales: String?
    let extraParameters: [FormEncoding.Pair]
    let pushing: SignInFlow.Pushing
    let postLogoutRedirectURI: String?
    /// The timeout of the whole sign-in in seconds.
    let timeout: Int64
    private let layers: SettingLayers

    init(_ layers: SettingLayers) {
        self.layers = layers
        flow = layers.choice(.flow) ?? .auto
        isFlowChosen = layers[.flow] != nil
        browser = layers.texts(.browser)
        redirectURI = layers.text(.redirectURI)
        port = layers.integer(.port).flatMap { UInt16(exactly: $0) }
        redirectPorts = layers.ports(.redirectPorts)
        responseMode = layers.choice(.responseMode)
        sendsNonce = layers.text(.nonce) != "off"
        let prompt = layers.text(.prompt)
        isPromptOff = prompt == "off"
        self.prompt = isPromptOff ? nil : prompt
        maxAge = layers.integer(.maxAge)
        loginHint = layers.text(.loginHint)
        acrValues = layers.text(.acrValues)
        uiLocales = layers.text(.uiLocales)
        extraParameters = layers.parameters(.extraAuthorizeParams)
        pushing = layers.choice(.par) ?? .auto
        postLogoutRedirectURI = layers.text(.postLogoutRedirectURI)
        timeout = layers.integer(.timeout) ?? 300
    }

    func redirect() throws(OIDCError) -> RedirectAddress {
        try layers.checking(.redirectURI) { () throws(OIDCError) in
            try RedirectAddress(redirectURI, port: port, ports: redirectPorts)
        }
    }

    func postLogoutRedirect() throws(OIDCError) -> RedirectAddress? {
        guard let postLogoutRedirectURI else { return nil }
        return try layers.checking(.postLogoutRedirectURI) { () throws(OIDCError) in
            try RedirectAddress(
                postLogoutRedirectURI, port: port, setting: Setting.postLogoutRedirectURI.name)
        }
    }

    /// Returns the browser's command line. Refuses one that passes the URL to a shell.
    func checkedBrowser() throws(OIDCError) -> [String] {
        guard let problem = BrowserCommand.problem(browser) else { return browser }
        return try layers.checking(.browser) { () throws(OIDCError) in
            throw .usage("browser: \(problem)", hint: #"oidc config set 'browser=["firefox","%s"]'"#)
        }
    }

    func checkedExtraParameters() throws(OIDCError) -> [FormEncoding.Pair] {
        try layers.checking(.extraAuthorizeParams) { () throws(OIDCError) in
            try ExtraParameters.authorize.check(extraParameters)
        }
        return extraParameters
    }

    func check() throws(OIDCError) {
        _ = try checkedExtraParameters()
        _ = try layers.checking(.redirectURI) { () throws(OIDCError) in
            try RedirectAddress(redirectURI, port: port)
        }
        _ = try checkedBrowser()
        guard let postLogoutRedirectURI else { return }
        try layers.checking(.postLogoutRedirectURI) { () throws(OIDCError) in
            try RedirectURI.check(postLogoutRedirectURI, setting: Setting.postLogoutRedirectURI.name)
        }
    }
}

extension Settings {
    func authorizationRequest(
        _ client: Client, _ scope: Scope, _ dpop: DPoPKey?
    ) throws(OIDCError) -> AuthorizationRequest {
        var request = AuthorizationRequest(
            client: client, redirectURI: signIn.redirectURI ?? RedirectAddress.standard, scope: scope)
        request.audience = token.audience
        request.resources = try token.checkedResources()
        request.responseMode = signIn.responseMode
        request.sendsNonce = signIn.sendsNonce
        request.prompt = signIn.prompt
        request.promptsForOfflineAccess = !signIn.isPromptOff
        request.maxAge = signIn.maxAge
        request.loginHint = signIn.loginHint
        request.acrValues = signIn.acrValues
        request.uiLocales = signIn.uiLocales
        request.authorizationDetails = token.authorizationDetails
        request.dpopThumbprint = dpop?.thumbprint
        request.extraParameters = try signIn.checkedExtraParameters()
        return request
    }
}
