import LoopbackHTTP
import OIDCCore
import OIDCSignIn

/// The settings of sign-in and sign-out.
struct SignInSettings: Sendable {
    enum Flow: String, Sendable {
        case auto
        case browser
        case device
        case paste
    }

    /// The choice of signing requests (RFC 9101).
    enum RequestObject: String, Sendable {
        case auto
        case signed
        case off
    }

    let layers: SettingLayers

    var requestObject: RequestObject { layers.choice(.requestObject) ?? .auto }
    /// The algorithm that the client is registered for; nil if the key decides.
    var requestObjectAlgorithm: String? { layers.text(.requestObjectSigningAlg) }
    var requestObjectEncryption: KeyManagement? { layers.choice(.requestObjectEncryptionAlg) }
    /// The URL of requests by reference.
    var requestURI: String? { layers.text(.requestURI) }
    /// The file that the URL serves.
    var requestObjectFile: SettingFile? { layers.file(.requestObjectOut) }
    var flow: Flow { layers.choice(.flow) ?? .auto }
    /// Whether an option, a variable or the profile sets the flow.
    var isFlowChosen: Bool { layers[.flow] != nil }
    /// The browser's command line; empty if none is set.
    var browser: [String] { layers.texts(.browser) }
    var redirectURI: String? { layers.text(.redirectURI) }
    var port: UInt16? { layers.integer(.port).flatMap { UInt16(exactly: $0) } }
    /// The ports to try; none if a stronger layer names the only port to listen on, or a redirect URL elsewhere.
    var redirectPorts: [UInt16] {
        guard let list = layers.entry(.redirectPorts), !isReplaced(list) else { return [] }
        return layers.records(.redirectPorts).compactMap { $0.integer.flatMap { UInt16(exactly: $0) } }
    }
    var responseMode: AuthorizationRequest.ResponseMode? { layers.choice(.responseMode) }
    /// Whether a nonce is sent; false for providers whose ID tokens have no `nonce`.
    var sendsNonce: Bool { layers.text(.nonce) != "off" }
    var prompt: String? { isPromptOff ? nil : layers.text(.prompt) }
    /// Whether `prompt` is `off`: then none is sent, even for `offline_access`.
    var isPromptOff: Bool { layers.text(.prompt) == "off" }
    var maxAge: Int64? { layers.integer(.maxAge) }
    var loginHint: String? { layers.text(.loginHint) }
    var acrValues: String? { layers.text(.acrValues) }
    var uiLocales: String? { layers.text(.uiLocales) }
    var extraParameters: [FormEncoding.Pair] { layers.parameters(.extraAuthorizeParams) }
    var pushing: SignInFlow.Pushing { layers.choice(.par) ?? .auto }
    var postLogoutRedirectURI: String? { layers.text(.postLogoutRedirectURI) }
    /// The timeout of the whole sign-in in seconds.
    var timeout: Int64 { layers.integer(.timeout) ?? 300 }

    private func isReplaced(_ list: SettingLayers.Entry) -> Bool {
        func isStronger(_ setting: Setting) -> Bool {
            layers.entry(setting).map { $0.origin.layer.rawValue > list.origin.layer.rawValue } ?? false
        }
        if isStronger(.redirectURI), isElsewhere { return true }
        return isStronger(.callbackListen) && layers.entry(.callbackListen)?.namesRedirect == true
    }

    /// Whether the redirect URL is not on loopback.
    private var isElsewhere: Bool {
        redirectURI.flatMap(WebURL.init).map { LoopbackAddress.Host($0.host) == nil } ?? false
    }

    /// Refuses a list of ports that is not for the listener of a route.
    private func checkPorts(_ route: CallbackRoute?) throws(OIDCError) {
        // A port in a loopback URL replaces the list.
        let isWritten = !isElsewhere && redirectURI.flatMap(WebURL.init)?.port != nil
        guard let route, port == nil, !isWritten, let first = redirectPorts.first else { return }
        let list = redirectPorts.map(String.init).joined(separator: ", ")
        let fit = "callback_listen=\(route.host.text):\(first)"
        if let own = route.port {
            guard !redirectPorts.contains(own) else { return }
            // The ports of a client that registered itself cannot be changed.
            let isOurs = layers.entry(.redirectPorts)?.origin.layer == .resource
            throw .usage(
                "callback_listen: port \(own) is not one of redirect_ports (\(list))",
                hint: .text("set \(fit)" + (isOurs ? "" : ", or redirect_ports=[\(own)]")))
        }
        guard isElsewhere else { return }
        throw .usage(
            "redirect_ports: \(list) are for a redirect on loopback, and redirect_uri is not",
            hint: .text("set \(fit)"))
    }

    /// Returns the route of the redirect to the listener; nil if the listener is at the redirect URL itself.
    func callbackRoute() throws(OIDCError) -> CallbackRoute? {
        try layers.checking(layers[.callbackListen] == nil ? .callbackPath : .callbackListen) {
            () throws(OIDCError) in
            try CallbackRoute(listen: layers.text(.callbackListen), path: layers.text(.callbackPath))
        }
    }

    /// Returns the certificate files of the listener; nil if it does not use TLS.
    func callbackFiles() throws(OIDCError) -> TLSFiles? {
        let (certificate, key) = (layers.file(.callbackCertificate), layers.file(.callbackKey))
        guard certificate != nil || key != nil else { return nil }
        guard let certificate, let key else {
            throw .usage(
                "callback_certificate and callback_key are needed together",
                hint: .run("login --make-certificate"))
        }
        return TLSFiles(certificate: certificate.path, key: key.path)
    }

    func redirect() throws(OIDCError) -> RedirectAddress {
        let (route, files) = (try callbackRoute(), try callbackFiles())
        try layers.checking(.redirectPorts) { () throws(OIDCError) in try checkPorts(route) }
        return try layers.checking(.redirectURI) { () throws(OIDCError) in
            try RedirectAddress(
                redirectURI, port: port, ports: redirectPorts, route: route, files: files)
        }
    }

    /// Returns the redirect URL of a request that was made, with its port.
    func redirect(bound text: String) throws(OIDCError) -> RedirectAddress {
        try RedirectAddress(text, port: port, route: callbackRoute(), files: callbackFiles())
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
            throw .usage("browser: \(problem)", hint: .run(#"config set browser=["firefox","%s"]"#))
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
        let (route, files) = (try callbackRoute(), try callbackFiles())
        try layers.checking(.redirectPorts) { () throws(OIDCError) in try checkPorts(route) }
        _ = try layers.checking(.redirectURI) { () throws(OIDCError) in
            try RedirectAddress(
                redirectURI, port: port, ports: route == nil ? [] : redirectPorts, route: route,
                files: files)
        }
        _ = try checkedBrowser()
        guard let postLogoutRedirectURI else { return }
        try layers.checking(.postLogoutRedirectURI) { () throws(OIDCError) in
            try RedirectURI.check(postLogoutRedirectURI, setting: Setting.postLogoutRedirectURI.name)
        }
    }
}

extension SettingLayers.Entry {
    /// Whether it names the redirect URL or its port, which the listener's usually is.
    var namesRedirect: Bool {
        guard setting == .callbackListen else { return Setting.redirectURLs.contains(setting) }
        return (try? CallbackRoute(listen: value.string, path: nil))?.port != nil
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
        request.maxAge = signIn.maxAge.map { .seconds($0) }
        request.loginHint = signIn.loginHint
        request.acrValues = signIn.acrValues
        request.uiLocales = signIn.uiLocales
        request.authorizationDetails = token.authorizationDetails
        request.dpopThumbprint = dpop?.thumbprint
        request.extraParameters = try signIn.checkedExtraParameters()
        return request
    }
}
