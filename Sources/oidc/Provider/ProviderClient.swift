import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix

/// The client of the settings: its authentication and its token endpoint.
extension ProviderContext {
    /// Returns the client. Its authentication method is the configured one, else the session's, else one that
    /// the metadata supports.
    func client(
        _ metadata: ProviderMetadata?, method: String? = nil, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> Client {
        var credentials = try credentials(environment)
        // The secret of a client that was registered at this server is in the resource's layer.
        let hasOwnSecret = settings.layers.entries.contains {
            Setting.clientSecrets.contains($0.setting) && $0.origin.layer != .resource
        }
        var configured = settings.client.method
        // A registered client's secret is read only now, because a fresh token does not need it.
        if credentials.secret == nil, let registered = try target?.registered(context) {
            credentials.secret = registered.clientSecret
            configured = configured ?? registered.settings[Setting.clientAuth.name]?.string
        }
        if credentials.isEmpty { warnOfWithheldSecret(configured ?? method) }
        let authentication = try ClientAuthentication.choose(
            method: configured ?? method, credentials, metadata)
        switch authentication {
        case .clientSecretBasic, .clientSecretPost, .clientSecretJWT:
            if hasOwnSecret { try checkIssuer(isNamedFor: Setting.clientSecrets) }
        case .assertion: try checkIssuer(isNamedFor: [.clientAssertionSource])
        // These send no secret, and a signed assertion is valid only for the server it names.
        case .none, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth: break
        }
        let issuer = metadata?.issuer ?? settings.provider.issuer
        // A template is not an issuer, so the token endpoint is the audience (RFC 7523 §3).
        let isTemplate = issuer.map { IssuerTemplate($0) != nil } ?? false
        let audience: String? =
            settings.client.assertionAudience == .tokenEndpoint || isTemplate
            ? metadata?.tokenEndpoint?.text : issuer
        return Client(
            id: try settings.client.requiredID(), authentication: authentication, assertionAudience: audience,
            presentsCertificate: credentials.hasCertificate)
    }

    /// Refuses to send a secret, or a token of the machine's identity, to a server that only a resource names:
    /// otherwise the resource's operator could choose who gets it. The settings name the server, or the user has
    /// agreed to it.
    func checkIssuer(isNamedFor secrets: [Setting]) throws(OIDCError) {
        guard let target, !target.isIssuerNamed, target.link.agreedScope == nil else { return }
        throw target.operand.unnamedIssuer(secrets, of: target.link)
    }

    private func credentials(_ environment: ProviderEnvironment) throws(OIDCError) -> ClientCredentials {
        let settings = settings.client
        var credentials = ClientCredentials(secret: try secrets.value(settings.secret))
        credentials.signingAlgorithm = settings.signingAlgorithm
        credentials.hasEmptySecret = hasEmptySecret
        if let pem = try secrets.text(settings.privateKey) {
            credentials.privateKey = try privateKey(pem)
            credentials.privateKeyID = settings.privateKeyID
        }
        if let source = settings.assertionSource {
            let subject = SubjectToken(self)
            credentials.assertion = { () throws(OIDCError) in
                try subject.token(
                    from: source, role: Setting.clientAssertionSource.name, environment.transport)
            }
        }
        credentials.hasCertificate = settings.certificate != nil
        return credentials
    }

    /// Whether the settings choose HTTP Basic and no secret is set anywhere, not even by an empty variable, which
    /// CI systems leave for a secret that is missing.
    private var hasEmptySecret: Bool {
        settings.client.method == "client_secret_basic"
            && !settings.layers.given.contains { Setting.clientSecrets.contains($0.setting) }
            && Setting.clientSecrets.allSatisfy { context.environment[$0.variable] == nil }
    }

    func privateKey(
        _ pem: Redacted<String>, of setting: Setting = .privateKeyFile
    ) throws(OIDCError) -> PrivateKey {
        let name = setting.name
        let passphrase = try secrets.text(settings.client.privateKeyPassphrase)
        do throws(CryptoError) {
            return try PrivateKey(
                pem: Array(pem.revealed.utf8), passphrase: passphrase.map { Array($0.revealed.utf8) })
        } catch {
            switch error {
            case .passphraseNeeded:
                throw OIDCError.usage(
                    "\(name): the key is encrypted", hint: "set private_key_passphrase_file")
            case .wrongPassphrase:
                throw OIDCError.usage(
                    "\(name): the passphrase of private_key_passphrase_file does not open the key",
                    hint: "check private_key_passphrase_file")
            case .invalidKey(let reason), .unsupported(let reason):
                throw OIDCError.usage(
                    "\(name): \(DisplayText.clean(reason))",
                    hint: "use a PEM file with an RSA (2048 bits or more), EC or Ed25519 private key")
            case .unavailable, .outOfDescriptors, .failed: throw OIDCError(error)
            }
        }
    }

    func tokenEndpoint(
        at url: WebURL, client: Client, dpop: DPoPKey?
    ) throws(OIDCError) -> TokenEndpoint {
        var endpoint = TokenEndpoint(
            url: url, client: client, format: settings.token.format,
            extraParameters: try settings.token.checkedExtraParameters(), dpop: dpop)
        endpoint.sendsResources = settings.token.sendsResources
        endpoint.assumedTokenType = try settings.token.checkedAssumedType()
        return endpoint
    }

    /// Returns the endpoint that refreshes a session. Its URL is the session's, even if the settings have
    /// changed.
    func tokenEndpoint(
        of session: Session, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> TokenEndpoint {
        // Signing needs the algorithms that the provider accepts; the metadata is usually cached.
        let signs = ["private_key_jwt", "client_secret_jwt"].contains(session.clientAuthentication)
        let metadata = signs ? try? metadata(environment, for: [.token]) : nil
        var endpoint = try tokenEndpoint(
            at: session.endpoints.refresh ?? session.endpoints.token,
            client: try client(metadata, method: session.clientAuthentication, environment),
            dpop: try session.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) })
        let preset = Preset.matching(settings)?.preset
        endpoint.refreshNamesScope = preset?.refreshNamesScope == true
        endpoint.refreshEnds = preset?.refreshEnds ?? []
        endpoint.clockAhead = session.clockAhead
        endpoint.offer = { try? self.metadata(environment, for: [.token]) }
        return endpoint
    }
}

extension ProviderContext {
    /// Returns the URL of a session's endpoint for this client: with a certificate the alias, also if the session
    /// has the plain URL (RFC 8705 §5).
    func alias(
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: ProviderEnvironment
    ) -> WebURL {
        guard settings.client.certificate != nil,
            let metadata = try? metadata(environment, for: [endpoint])
        else { return url }
        return metadata.alias(of: url, for: endpoint)
    }

    /// Warns if an option or a variable sets another endpoint than the session's. The session's is used, because
    /// its provider issued the tokens.
    func warnOfOther(_ endpoint: ProviderEndpoint, than url: @autoclosure () -> WebURL?) {
        guard let setting = Setting.named(endpoint.rawValue), let entry = settings.layers.entry(setting),
            entry.origin.layer == .options || entry.origin.layer == .variables,
            entry.value.string != url()?.text
        else { return }
        context.console.warn(
            "\(setting.name) (\(entry.origin.text)) is not used: the session keeps the endpoints of its sign-in; "
                + "sign in again to change them")
    }

    /// Warns that a variable's secret is for another client, if this client needs one.
    private func warnOfWithheldSecret(_ method: String?) {
        guard settings.token.grant == .clientCredentials || method?.hasPrefix("client_secret") == true else {
            return
        }
        for entry in settings.layers.withheld where Setting.clientSecrets.contains(entry.setting) {
            guard case .variable(let name) = entry.origin else { continue }
            context.console.warn(
                "\(name) is not used: it belongs to another client; set this client's secret with "
                    + "--set client_secret_file=FILE")
        }
    }
}

/// An endpoint where the client authenticates: the session's, or else the provider's.
struct AuthenticatedEndpoint {
    let url: WebURL
    let client: Client
    let environment: ProviderEnvironment

    /// Creates the endpoint. Calls `onNotOffered` before the error for a provider without such an endpoint.
    init(
        provider: ProviderContext, endpoint: ProviderEndpoint, session: Session?,
        onNotOffered: () throws(OIDCError) -> Void = {}
    ) throws(OIDCError) {
        environment = try provider.environment()
        let kept = endpoint == .revocation ? session?.endpoints.revocation : session?.endpoints.introspection
        if let session, let kept {
            provider.warnOfOther(endpoint, than: kept)
            url = provider.alias(of: kept, for: endpoint, environment)
            client = try provider.client(nil, method: session.clientAuthentication, environment)
            return
        }
        guard session == nil else {
            try onNotOffered()
            let isDiscovered = session?.endpoints.issuer != nil
            throw OIDCError.notOffered(
                endpoint, isDiscovered: isDiscovered,
                hint: endpoint == .revocation && isDiscovered
                    ? "oidc logout"
                    : .text("set \(endpoint.rawValue), and sign in again"))
        }
        let metadata = try provider.metadata(environment, for: [endpoint])
        if metadata.url(endpoint, presentingCertificate: true) == nil {
            try onNotOffered()
            _ = try metadata.require(endpoint)
        }
        client = try provider.client(metadata, environment)
        url = try metadata.require(endpoint, presentingCertificate: client.presentsCertificate)
    }
}
