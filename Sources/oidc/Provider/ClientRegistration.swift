import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSignIn

/// The registration of a client with the redirect URLs of its sign-ins, and the settings for its profile.
struct ClientRegistration {
    /// The redirect ports if none are set. RFC 8252 §7.3 requires that any loopback port is accepted, but
    /// many providers compare redirect URLs exactly, so sign-ins use registered ports.
    ///
    /// No other service is known to use these (IANA's list, 2026-11).
    static let ports: [UInt16] = [23_761, 23_762, 23_763, 23_764]

    /// Returns the redirect ports of the document that `oidc register --client-metadata` prints.
    static func documentPorts(origin: SettingLayers.Origin) -> SettingLayers.Entry {
        SettingLayers.Entry(
            setting: .redirectPorts, value: .array(ports.map { JSONValue(Int64($0)) }), origin: origin)
    }

    /// The settings that are registered, and are therefore written into the profile wherever they were set.
    private static let registeredSettings: [Setting] = Setting.redirects + [.postLogoutRedirectURI, .scope]

    struct Outcome {
        let client: RegisteredClient
        /// The settings of the profile, without the issuer and the secret.
        let entries: [(Setting, JSONValue?)]
    }

    /// Redirect URLs that are registered together.
    private struct Redirects {
        let urls: [String]
        /// The ports to write into the profile, if they are our choice.
        var chosenPorts: [UInt16] = []
    }

    /// The client's public keys, for the method in the settings that needs them.
    var keys: RegisteredKeys?
    /// The encryption of ID tokens; nil for none.
    var encryption: RegisteredEncryption?
    /// The signed requests and answers.
    var requests: RegisteredRequests?
    /// Whether the provider may register other redirect URLs than the requested ones, with a warning.
    var acceptsOtherRedirects = true
    private let settings: Settings
    private let metadata: ProviderMetadata
    private let endpoint: WebURL
    /// Whether the endpoint is the alias for clients with a certificate (RFC 8705 §5).
    private let presentsCertificate: Bool
    private let clientName: String
    /// The redirect URLs to register, in order of preference: if the provider refuses some, the next are
    /// tried.
    private let redirects: [Redirects]
    /// The client authentication methods, also in order of preference.
    private let methods: [String]

    init(clientName: String, settings: Settings, metadata: ProviderMetadata) throws(OIDCError) {
        self.clientName = clientName
        self.settings = settings
        self.metadata = metadata
        let hasCertificate = settings.client.certificate != nil
        endpoint = try metadata.require(.registration, presentingCertificate: hasCertificate)
        presentsCertificate = hasCertificate && metadata.mtlsEndpointAliases[.registration] != nil
        redirects = try ClientRegistration.redirects(settings.signIn.redirect())
        methods = settings.client.method.map { [$0] } ?? Registration.methods(supportedBy: metadata)
    }

    func run(
        over transport: any HTTPTransport, initialAccessToken: Redacted<String>?, console: Console
    ) throws(OIDCError) -> Outcome {
        var redirects = redirects[...]
        var methods = methods[...]
        var withDeviceGrant = offersDeviceGrant
        while let current = redirects.first, let method = methods.first {
            do throws(OIDCError) {
                let client = try transport.perform(
                    registration(current, method, withDeviceGrant: withDeviceGrant).call(
                        at: endpoint, initialAccessToken: initialAccessToken,
                        presentingCertificate: presentsCertificate))
                return try outcome(client, current, method, console)
            } catch {
                switch error.oauthError {
                case "invalid_client_metadata" where withDeviceGrant: withDeviceGrant = false
                case "invalid_client_metadata" where methods.count > 1: methods.removeFirst()
                case "invalid_redirect_uri" where redirects.count > 1: redirects.removeFirst()
                default: throw error
                }
                console.trace("\(error.message); registering with less")
            }
        }
        throw OIDCError(.failed, "nothing to register")
    }

    /// Replaces the metadata of a registered client by those of the settings.
    func update(
        _ access: RegistrationAccess, clientID: String, secret: Redacted<String>?,
        over transport: any HTTPTransport, console: Console
    ) throws(OIDCError) -> Outcome {
        let (redirects, method) = (redirects[0], methods[0])
        let registration = try registration(redirects, method, withDeviceGrant: offersDeviceGrant)
        let client = try transport.perform(
            try access.update(registration, clientID: clientID, secret: secret))
        return try outcome(client, redirects, method, console)
    }

    /// Whether the provider offers device codes, which a machine without a browser needs. Many issue none to a
    /// client that is not registered for them (oidc-provider 9, better-auth; 2026-11). A resource's server is not
    /// asked for more than its sign-in needs.
    private var offersDeviceGrant: Bool {
        settings.resource == nil && settings.token.grant.needsUser
            && metadata[.deviceAuthorization] != nil
            && metadata.grantTypesSupported?.contains(TokenRequest.Grant.deviceCode.rawValue) == true
    }

    private func registration(
        _ redirects: Redirects, _ method: String, withDeviceGrant: Bool = false
    ) throws(OIDCError) -> Registration {
        var registration = Registration(
            clientName: clientName, redirectURIs: redirects.urls, scope: settings.token.scope ?? Scope(""),
            at: metadata)
        registration.postLogoutRedirectURIs = settings.signIn.postLogoutRedirectURI.map { [$0] } ?? []
        registration.tokenEndpointAuthMethod = method
        if method == settings.client.method {
            registration.keys = keys?.set
            registration.tokenEndpointAuthSigningAlg = settings.client.signingAlgorithm
        }
        encryption?.add(to: &registration)
        try requests?.add(to: &registration)
        registration.addGrants(of: settings, withDeviceGrant: withDeviceGrant)
        return registration
    }

    private func outcome(
        _ client: RegisteredClient, _ redirects: Redirects, _ requestedMethod: String, _ console: Console
    ) throws(OIDCError) -> Outcome {
        let hasSecret = client.clientSecret != nil
        let method = client.tokenEndpointAuthMethod ?? (requestedMethod == "none" ? nil : requestedMethod)
        if let method, method != requestedMethod {
            guard ClientRegistration.replacedMethods.contains(method) else {
                throw refusal(
                    client, "token_endpoint_auth_method \(DisplayText.quoted(method))",
                    hint: "set client_auth to a method that the provider accepts")
            }
            console.warn(
                "client_auth: \(requestedMethod) was requested, and the provider registered "
                    + DisplayText.clean(method))
        }
        let isWritten = hasSecret || requestedMethod == settings.client.method
        var entries: [(Setting, JSONValue?)] = [
            (.clientID, .string(client.clientID)),
            (
                .clientAuth,
                method.flatMap { isWritten && ClientAuthentication.methods.contains($0) ? .string($0) : nil }
            ),
        ]
        if let keys, method == "private_key_jwt" { entries.append((.privateKeyID, .string(keys.keyID))) }
        for setting in ClientRegistration.registeredSettings {
            let isReplaced = setting == .redirectPorts && settings.signIn.redirectPorts.isEmpty
            entries.append((setting, isReplaced ? nil : settings.layers[setting]))
        }
        for setting in RegisteredRequests.answers {
            entries.append((setting, algorithm(setting, client, console)))
        }
        if !acceptsOtherRedirects {
            _ = try client.redirectURIs(of: registration(redirects, requestedMethod))
        }
        let replaced = try replacement(of: redirects, in: client)
        if let replaced {
            console.warn("redirect_uri: the provider registered \(DisplayText.clean(replaced.text))")
            // The settings of the requested redirect URL do not apply to the registered one.
            entries.removeAll { entry in Setting.redirects.contains { $0 == entry.0 } }
            entries.append((.redirectURI, .string(replaced.text)))
        }
        let ports = replaced?.ports ?? confirmed(redirects, by: client)
        if !ports.isEmpty {
            entries.removeAll { $0.0 == .redirectPorts }
            entries.append((.redirectPorts, .array(ports.map { JSONValue(Int64($0)) })))
        }
        return Outcome(client: client, entries: entries)
    }

    /// Returns the algorithm of signed answers for the profile: the provider's, which may be another one than requested,
    /// or none (RFC 7591 §3.2.1). One that is not in the settings is only written if it is HMAC, which is not accepted
    /// otherwise.
    private func algorithm(
        _ setting: Setting, _ client: RegisteredClient, _ console: Console
    ) -> JSONValue? {
        let given = settings.layers[setting]
        let requested = requests?.algorithm(setting)
        let answer = client.signedResponseAlgorithms[setting.name]
        let found = answer.flatMap(setting.kind.normalized).flatMap { $0 == "none" ? nil : $0 }
        if let requested, requested != found {
            let words = [requested, answer ?? "none"].map { DisplayText.clean($0.string ?? $0.typeName) }
            console.warn(
                "\(setting.name): \(words[0]) was requested, and the provider registered \(words[1])")
        }
        if given == "none" { return given }
        if let name = found?.string, SignatureAlgorithm.areSymmetric([name]) { return found }
        return given == nil || requested == nil ? given : found
    }

    /// The methods that the provider may choose instead of the requested one (RFC 7591 §3.2.1); others need a
    /// key or a certificate.
    private static let replacedMethods = [
        "none", "client_secret_basic", "client_secret_post", "client_secret_jwt",
    ]

    private func refusal(_ client: RegisteredClient, _ found: String, hint: Hint?) -> OIDCError {
        OIDCError(
            .refused,
            "registration: the provider registered \(DisplayText.quoted(client.clientID)) with \(found), "
                + "which cannot be used here",
            hint: hint, stage: .registration)
    }

    /// Returns the redirect URL to use if the provider registered none of the requested ones (RFC 7591
    /// §3.2.1), and its ports if there are several. Refuses URLs that no sign-in can receive.
    private func replacement(
        of redirects: Redirects, in client: RegisteredClient
    ) throws(OIDCError) -> (text: String, ports: [UInt16])? {
        guard let registered = client.redirectURIs, !registered.isEmpty else { return nil }
        let redirect = try settings.signIn.redirect()
        let isOurs = registered.contains {
            redirects.urls.contains($0) || redirect.loopback != nil && $0 == redirect.text
        }
        guard !isOurs else { return nil }
        let usable = registered.filter { (try? RedirectAddress($0))?.loopback != nil }
        guard let first = usable.first else {
            let urls = registered.prefix(5).map { DisplayText.quoted($0) }.joined(separator: ", ")
            throw refusal(client, "redirect_uris \(urls)", hint: .advice(.checkRedirectURI))
        }
        guard let port = WebURL(first)?.port else { return (first, []) }
        let base = first.parts(around: ":\(port)").map { String($0.before + $0.after) } ?? first
        guard usable.count > 1, let address = try? RedirectAddress(base) else { return (first, []) }
        let ports = usable.compactMap { url in
            WebURL(url)?.port.flatMap { UInt16(exactly: $0) }.flatMap {
                address.text(port: $0) == url ? $0 : nil
            }
        }
        return ports.count > 1 ? (base, ports) : (first, [])
    }

    /// Returns our ports that the provider registered; all of them if the response names none.
    private func confirmed(_ redirects: Redirects, by client: RegisteredClient) -> [UInt16] {
        guard let registered = client.redirectURIs else { return redirects.chosenPorts }
        let known = zip(redirects.chosenPorts, redirects.urls).filter { registered.contains($0.1) }.map(\.0)
        return known.isEmpty ? redirects.chosenPorts : known
    }

    /// Returns every redirect URL that a sign-in may use.
    static func urls(_ redirect: RedirectAddress) -> [String] {
        var urls: [String] = []
        for url in redirects(redirect).reversed().flatMap(\.urls) where !urls.contains(url) {
            urls.append(url)
        }
        return urls
    }

    private static func redirects(_ redirect: RedirectAddress) -> [Redirects] {
        switch redirect.loopback?.ports {
        case nil: return [Redirects(urls: [redirect.text])]
        case .fixed(let port): return [Redirects(urls: [redirect.text(port: port)])]
        case .firstFree(let ports): return [Redirects(urls: ports.map { redirect.text(port: $0) })]
        case .any:
            let urls = ports.map { redirect.text(port: $0) }
            return [
                Redirects(urls: urls, chosenPorts: ports),
                Redirects(urls: [urls[0]], chosenPorts: [ports[0]]), Redirects(urls: [redirect.text]),
            ]
        }
    }
}

extension Registration {
    /// Adds the device grant if the provider offers it, or the settings choose the device flow.
    mutating func addGrants(of settings: Settings, withDeviceGrant: Bool = false) {
        if withDeviceGrant || settings.signIn.flow == .device {
            grantTypes.append(TokenRequest.Grant.deviceCode.rawValue)
        }
    }
}
