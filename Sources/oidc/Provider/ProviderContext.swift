import CurlHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import OIDCShared
import OIDCSignIn
import OIDCAccount
import Posix

/// The provider of the settings, with the network, client and store that a command uses for it.
///
/// A class, because dozens of values hold it, and each would need its own code to copy the members.
final class ProviderContext: Sendable {
    let settings: Settings
    let context: CommandContext
    /// The end of the whole sign-in. It limits every wait for the network, a program or another process.
    let deadline: MonotonicTime?
    /// The resource that the URL operand names, and the link to store after a sign-in.
    let target: ResourceTarget?
    /// The URL that led to the provider, whose metadata name it; nil if the user or a resource does.
    let referrer: ResourceOperand?

    init(
        _ settings: Settings, _ context: CommandContext, until deadline: MonotonicTime? = nil,
        target: ResourceTarget? = nil, referrer: ResourceOperand? = nil
    ) {
        self.settings = settings
        self.context = context
        self.deadline = deadline
        self.target = target
        self.referrer = referrer
    }

    /// Returns the context of a sign-in. If there is no deadline yet, `timeout` starts now.
    func forSignIn(until deadline: MonotonicTime? = nil) -> ProviderContext {
        ProviderContext(
            settings, context, until: deadline ?? .now().adding(seconds: settings.signIn.timeout),
            target: target, referrer: referrer)
    }

    var secrets: SecretReader {
        SecretReader(
            environment: { [settings, context] in settings.childEnvironment(context.environment) },
            deadline: deadline,
            warn: { [console = context.console] in console.warn($0) })
    }

    var allowsInsecureHTTP: Bool { settings.provider.allowsInsecureHTTP }

    /// The environment of child processes.
    var childEnvironment: Variables { settings.childEnvironment(context.environment) }

    /// Returns the metadata: discovered, or only the configured endpoints if no issuer is set or nothing else
    /// is needed.
    func metadata(
        _ environment: OIDCContext, for needed: [ProviderEndpoint]
    ) throws(OIDCError) -> ProviderMetadata {
        let explicit = try settings.provider.checkedEndpoints()
        let configured = ProviderMetadata(
            issuer: settings.provider.issuer, endpoints: explicit, allowsInsecureHTTP: allowsInsecureHTTP)
        guard let issuer = settings.provider.issuer else {
            guard !explicit.isEmpty else {
                throw noIssuer
            }
            return registered(configured)
        }
        if needed.allSatisfy({ explicit[$0] != nil }) {
            try settings.provider.checkIssuer()
            return registered(configured)
        }
        return registered(try discovered(issuer, environment).merging(explicit: explicit))
    }

    /// Returns the metadata from the well-known URLs or `metadata_url`.
    func discovered(
        _ issuer: String, _ environment: OIDCContext
    ) throws(OIDCError) -> ProviderMetadata {
        if let target {
            let metadata = try ResourceSearch(
                target.operand.url, context: environment, allowsInsecureHTTP: allowsInsecureHTTP
            ).authorizationServer(
                issuer: issuer, configured: settings.provider.endpoints,
                forSignIn: settings.token.grant.needsUser
            )
            return target.isIssuerNamed ? metadata : sendingTokensBack(metadata)
        }
        let metadata = try documents(environment).metadata(
            issuer: issuer, at: try settings.provider.checkedMetadataURL())
        guard let referrer = referrer ?? earlierReferrer else { return metadata }
        try metadata.checkReach(from: referrer.url)
        return sendingTokensBack(metadata)
    }

    private func sendingTokensBack(_ metadata: ProviderMetadata) -> ProviderMetadata {
        metadata.sendingTokensBack(presentingCertificate: settings.client.certificate != nil)
    }

    /// Returns the obstacles to getting a token with these settings at a provider with this metadata.
    func obstacles(_ metadata: ProviderMetadata) -> [ProviderMetadata.Obstacle] {
        guard settings.token.grant.needsUser else {
            return metadata.obstacles(to: [.token], scope: Scope(""))
        }
        let first: ProviderEndpoint =
            settings.signIn.flow == .device ? .deviceAuthorization : .authorization
        return metadata.obstacles(
            to: [first, .token], scope: settings.token.scope ?? Scope(target == nil ? "openid" : ""),
            signsRequests: settings.signIn.requestObject != .off && settings.client.privateKey != nil)
    }

    /// Returns the metadata with the algorithms registered for this client's ID tokens and UserInfo answers, if any
    /// are set, and with what the security profile allows.
    private func registered(_ metadata: ProviderMetadata) -> ProviderMetadata {
        var metadata = settings.allowed(metadata)
        if let algorithm = settings.layers.text(.idTokenSignedResponseAlg) {
            metadata.idTokenSigningAlgValuesSupported = [algorithm]
        }
        if let algorithm = settings.client.userInfoAlgorithm {
            metadata.userInfoSigningAlgValuesSupported = [algorithm]
            metadata.signsUserInfo = true
        }
        return metadata
    }

    /// Refuses settings or a provider that the security profile forbids, before anything is sent to it.
    func checkSecurityProfile(_ metadata: ProviderMetadata) throws(OIDCError) {
        try settings.checkSecurityProfile()
        if let obstacle = settings.securityProfileObstacles(metadata).first { throw obstacle }
    }

    /// Returns the provider's name in session keys: the issuer, or the token endpoint if no issuer is set.
    func identifier() throws(OIDCError) -> String {
        if let issuer = settings.provider.issuer {
            try settings.provider.checkIssuer()
            return issuer
        }
        if let endpoint = settings.provider.endpoint(.token) { return endpoint }
        throw noIssuer
    }

    /// Whether the settings name a provider.
    var namesProvider: Bool {
        settings.provider.issuer != nil || settings.provider.endpoint(.token) != nil
    }

    /// The hint to choose a profile; nil if one is in use, or the file has none.
    var profileChoice: String? {
        let profiles = settings.profile == nil ? (try? context.settingsLoader.file())?.profiles ?? [] : []
        let names = DisplayText.clean(profiles.map(\.name).joined(separator: ", "), limit: 200)
        return profiles.isEmpty ? nil : "choose a profile with -p: \(names)"
    }

    /// The error for a missing issuer, which lists the profiles if none was chosen.
    private var noIssuer: OIDCError {
        if let choice = profileChoice {
            return .usage("issuer is not set", hint: "\(choice) (or give --issuer URL)")
        }
        // There may be sessions of sign-ins without a profile. Only files are fast to list.
        let sessions = settings.store == "file" ? try? SessionCatalog(self).items() : nil
        // With a resource, only its own are meant: the options of another one would name the wrong session.
        let resources = settings.token.resources.compactMap { ResourceIdentifier($0) }
        let keys = (sessions ?? []).compactMap(\.key).filter { key in
            settings.token.resources.isEmpty
                || key.resources.contains { url in
                    WebURL(url).map { url in resources.contains { $0.identifies(url) } } ?? false
                }
        }
        let uses = ResourceRecords(context)?.uses
        // An option would name a server for the user that only a URL led to.
        let named = keys.filter { key in
            guard key.grant.needsUser else { return true }
            return key.resources.isEmpty
                && uses?.isFound(issuer: key.provider, clientID: key.clientID) != true
        }
        let listed = Hint.alternatives(named.prefix(3).map { .options($0.options) }, ", or ")
        return .usage(
            keys.isEmpty ? "issuer is not set" : "issuer is not set, and no profile names one",
            hint: named.isEmpty ? setUpLine : .words("name an existing session: ", listed))
    }

    /// The command that sets a provider, in a new profile or in the profile in use.
    var setUpLine: Hint {
        guard let profile = settings.profile else {
            return .run(
                settings.token.grant.needsUser ? "login" : "config init --issuer URL --client-id ID")
        }
        // The server of a resource's profile is found by a sign-in.
        if let url = settings.ownResource { return .run("login", url.text) }
        return .run("config set", "-p", profile, "issuer=URL")
            .adding(settings.client.id == nil ? ["client_id=ID"] : [])
    }

    /// Returns the key of the settings' session.
    func sessionKey() throws(OIDCError) -> SessionKey {
        var key = SessionKey(
            provider: try identifier(), clientID: try settings.client.requiredID(),
            grant: settings.token.grant,
            audience: settings.token.audience, account: settings.token.account)
        if let resource = settings.resource { key.resources = [resource.identifier] }
        guard !key.grant.needsUser else { return key }
        key.scope = settings.token.scope
        key.resources = settings.token.resources
        key.subject =
            key.grant == .idJAG ? try OwnProvider(self).identity() : try SubjectToken(self).identity()
        return key
    }

    /// Runs the command that prints the client's secret, if one does, so its output is kept.
    func keepSecret() throws(OIDCError) {
        guard case .command? = settings.client.secret else { return }
        _ = try secrets.value(settings.client.secret)
    }

    /// Returns the browser to open. Refuses a setting that passes the URL to a shell, and skips such an entry
    /// of `$BROWSER`.
    func browserChoice() throws(OIDCError) -> BrowserChoice {
        guard context.mayOpenBrowser else { return .none(reason: "--isolate") }
        return BrowserChoice.resolve(
            setting: try settings.signIn.checkedBrowser(), .current(environment: context.environment),
            warn: { [console = context.console] in console.warn($0) })
    }
}

/// The connection to the provider.
extension ProviderContext {
    /// Returns the environment of requests, with the transport and cache of the settings.
    func environment() throws(OIDCError) -> OIDCContext { environment(over: try transport()) }

    func environment(over transport: any HTTPTransport) -> OIDCContext {
        OIDCContext(transport: transport, cache: cache, now: { Clock.now() }, random: Random.bytes)
    }

    func documents(_ environment: OIDCContext) -> ProviderDocuments {
        ProviderDocuments(context: environment, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    private var cache: any DocumentCache {
        guard let directory = StateDirectories(environment: context.environment).cache else {
            return NoCache()
        }
        let cache = MetadataCache(directory: directory)
        return context.console.isVerbose ? CacheTrace(cache, context.console) : cache
    }

    func transport() throws(OIDCError) -> CurlTransport {
        if allowsInsecureHTTP {
            context.console.warn("allow_insecure_http is set: tokens may cross the network in the open")
        }
        return CurlTransport(try curlConfiguration())
    }

    func curlConfiguration() throws(OIDCError) -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(settings.network.httpTimeout)
        configuration.deadline = deadline
        configuration.allowInsecureHTTP = allowsInsecureHTTP
        configuration.userAgent = "oidc/\(Version.number)"
        if context.ownsTerminal {
            configuration.onPostponedSignal = { [console = context.console] in console.noteFinishing() }
        }
        if let authorities = settings.network.authorities {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: authorities.path, name: authorities.name)
        } else if let path = context.environment["SSL_CERT_FILE"], !path.isEmpty {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: path, name: "SSL_CERT_FILE")
        }
        configuration.clientCertificate = try clientCertificate()
        configuration.certificateOrigins = settings.client.certificateOrigins
        if context.console.isVerbose {
            let console = context.console
            configuration.trace = { console.trace($0.line) }
        }
        return configuration
    }

    private func clientCertificate() throws(OIDCError) -> CurlConfiguration.ClientCertificate? {
        switch (settings.client.certificate, settings.client.certificateKey) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            let secrets = secrets
            if let file = try UserFile.read(key.path, limit: 1 << 20, named: key.name) {
                try secrets.check(file, key)
            }
            return CurlConfiguration.ClientCertificate(
                certificatePath: certificate.path, certificateName: certificate.name, keyPath: key.path,
                keyName: key.name,
                passphrase: try secrets.text(settings.client.privateKeyPassphrase))
        case (nil, _?): throw OIDCError.usage("tls_client_key is set, tls_client_certificate is not")
        case (_?, nil): throw OIDCError.usage("tls_client_certificate is set, tls_client_key is not")
        }
    }
}

/// The store of the sessions.
extension ProviderContext {
    /// Returns the store. If no state directory is available, nothing is stored and saving fails.
    func store() throws(OIDCError) -> SessionStore {
        try store(try settings.storeChoice())
    }

    func store(_ choice: SessionStoreChoice) throws(OIDCError) -> SessionStore {
        let directory = StateDirectories(environment: context.environment).state
            .flatMap { FilePath.isPossible($0) ? $0 : nil }
        switch (choice, directory) {
        case (.none, _): return SessionStore.inMemory()
        case (.lent(let path), _): return SessionStore(records: LentRecords(path: path))
        case (.file, let directory?): return SessionStore(directory: directory)
        case (.helper(let name), let directory?):
            return SessionStore(
                helper: name, directory: directory,
                environment: childEnvironment, deadline: deadline,
                onWaiting: { [console = context.console] text in
                    console.noteWaiting(text)
                })
        case (.keychain, let directory?):
            // Only a sign-in has a deadline, and only a sign-in may prompt.
            return SessionStore(
                keychainOf: context.environment, directory: directory, mayPrompt: deadline != nil,
                deadline: deadline)
        case (.shared(let url), let directory):
            return try sharedStore(url, state: directory)
        case (_, nil): return SessionStore.unavailable(context.environment)
        }
    }

    /// Returns the store on a server. The key is read only when a session is.
    private func sharedStore(
        _ url: SharedStoreURL, state directory: String?
    ) throws(OIDCError) -> SessionStore {
        try settings.sharedStore.check(.shared(url))
        // Whoever can move what this machine has noted brings a session back that was signed out of.
        if let directory { try PrivateDirectory.checkTrusted(directory) }
        if url.isOpen, url.password != nil {
            context.console.warn("store: the password is sent to \(url.server) without encryption")
        }
        var configuration = try curlConfiguration()
        // Plain http is allowed: records are sealed, and the URL determines whether the connection is
        // encrypted.
        configuration.allowInsecureHTTP = true
        configuration.proxy = .none
        // No deadline, so the tokens of a sign-in are stored even if it ends in the last second. Shorter
        // timeouts keep a server that does not answer from delaying the end much longer.
        configuration.deadline = nil
        let left = deadline.map { max(5_000, $0.milliseconds(from: .now())) }
        if let left { configuration.httpTimeout = min(configuration.httpTimeout, .milliseconds(left)) }
        configuration.connectTimeout = min(configuration.connectTimeout, .seconds(5))
        let (secrets, shared) = (secrets, settings.sharedStore)
        // Longer than a request takes, shorter than other machines wait for the lease.
        let presenting = settings.network.httpTimeout + 30
        return SessionStore(
            url.connect(configuration), keepsCopies: shared.keepsCopies, state: directory,
            times: LeaseTimes(presenting: .seconds(presenting)), versions: .ofProcess
        ) { () throws(OIDCError) in try secrets.storeKeys(shared) }
    }
}

/// The client of the settings: its authentication and its token endpoint.
extension ProviderContext {
    /// Returns the client. Its authentication method is the configured one, else the session's, else one that
    /// the metadata supports.
    func client(
        _ metadata: ProviderMetadata?, method: String? = nil, _ environment: OIDCContext
    ) throws(OIDCError) -> Client {
        var credentials = try credentials(environment)
        // The secret of a client that was registered at this server is in the resource's layer.
        let hasOwnSecret = settings.layers.entries.contains {
            Setting.clientSecrets.contains($0.setting) && $0.origin.layer != .resource
        }
        var configured = settings.client.method
        // A registered client's secret is read only now, because a fresh token does not need it.
        if credentials.secret == nil, let registered = try target?.registered() {
            credentials.secret = registered.clientSecret
            configured = configured ?? registered.settings[Setting.clientAuth.name]?.string
        }
        if credentials.isEmpty { warnOfWithheldSecret(configured ?? method) }
        let authentication = try ClientAuthentication.choose(
            method: configured ?? method, credentials, metadata)
        switch authentication.kind {
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
        var client = Client(
            id: try settings.client.requiredID(), authentication: authentication, assertionAudience: audience,
            presentsCertificate: credentials.hasCertificate)
        client.decryption = try decryption(secret: credentials.secret)
        return client
    }

    /// Refuses to send a secret, or a token of the machine's identity, to a server that only a resource names:
    /// otherwise the resource's operator could choose who gets it. The settings name the server, or the user has
    /// agreed to it.
    func checkIssuer(isNamedFor secrets: [Setting]) throws(OIDCError) {
        let secret = settings.layers.entries.first { secrets.contains($0.setting) }
        if target == nil, let secret, ![.profile, .options].contains(secret.origin.layer),
            let earlierReferrer, !context.isChosen(settings)
        {
            let issuer = DisplayText.clean(settings.provider.issuer ?? "")
            let server = ProviderMetadata(issuer: settings.provider.issuer, endpoints: [:])
            throw .usage(
                "\(issuer) is known by its URL only, and would get a secret",
                hint: earlierReferrer.naming(
                    server, sharing: settings.client.id ?? "", if: "if you trust it with that: ",
                    .run("login", "--issuer", issuer)))
        }
        guard let target, !target.isIssuerNamed, !target.link.isSecretAgreed else { return }
        throw target.operand.unnamedIssuer(secrets, of: target.link)
    }

    private func credentials(_ environment: OIDCContext) throws(OIDCError) -> ClientCredentials {
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
        of session: Session, _ environment: OIDCContext
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
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext
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

/// Logs settings and sign-ins with `--verbose`, without secrets.
extension ProviderContext {
    /// Logs which flow a sign-in uses, and why.
    func traceFlow(_ metadata: ProviderMetadata, opensBrowser: Bool) {
        guard context.console.isVerbose else { return }
        let chosen = settings.signIn.flow
        let device = metadata.deviceAuthorizationEndpoint == nil ? "does not offer" : "offers"
        var reasons = ["the provider \(device) device codes"]
        if chosen == .auto || chosen == .browser {
            switch opensBrowser ? try? browserChoice() : BrowserChoice.none(reason: "--no-browser") {
            case .commands(let commands)?:
                reasons.append("browsers to try: \(commands.compactMap(\.first).joined(separator: ", "))")
            case .none(let reason)?: reasons.append("no browser: \(reason)")
            case nil: break
            }
        }
        let origin = settings.layers.entry(.flow)?.origin.text ?? "the default"
        context.console.trace("flow \(chosen.rawValue) (\(origin)); \(reasons.joined(separator: "; "))")
    }

    /// Logs the checks of an accepted ID token.
    func traceIDToken(_ token: IDToken?, nonce: Bool) {
        guard context.console.isVerbose, let token else { return }
        let now = context.now
        var checks = [
            "iss is \(token.issuer)", "aud contains \(settings.client.id ?? "the client")",
            "sub is \(token.subject)",
            "exp \(token.expiresAt) (\(TimeWords.relative(token.expiresAt, to: now)))",
            "iat \(token.issuedAt) (\(TimeWords.relative(token.issuedAt, to: now)))",
        ]
        if token.claims["azp"] != nil { checks.append("azp is the client") }
        if token.claims["nbf"] != nil { checks.append("nbf has passed") }
        if nonce, token.claims["nonce"] != nil { checks.append("nonce is the one sent") }
        if token.claims["at_hash"] != nil { checks.append("at_hash fits the access token") }
        if let time = token.authenticatedAt, settings.signIn.maxAge != nil {
            checks.append("auth_time \(time) is within max_age")
        }
        if let header = (try? JWS(compact: token.compact))?.header {
            let key = header["kid"]?.string.map { " by key \(DisplayText.clean($0, limit: 80))" } ?? ""
            checks.append("signature \(header["alg"]?.string ?? "") is valid\(key)")
        }
        for check in checks { context.console.trace("ID token: \(DisplayText.clean(check))") }
    }
}

extension ProviderContext {
    /// Returns the provider with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ProviderContext {
        guard !entries.isEmpty else { return self }
        return ProviderContext(
            settings.overridden(by: entries), context, until: deadline, target: target, referrer: referrer)
    }

    /// Returns the provider with a wider scope for the sign-in.
    func requesting(_ scope: Scope, from origin: SettingLayers.Origin) -> ProviderContext {
        let origin = target.map { .resource($0.operand.url.text) } ?? origin
        let entry = SettingLayers.Entry(setting: .scope, value: .string(scope.text), origin: origin)
        var target = target
        target?.link.scope = scope
        return ProviderContext(
            settings.overridden(by: [entry]), context, until: deadline, target: target, referrer: referrer)
    }

    /// Returns an error about the parameter `resource` with the hint to leave it out.
    func withoutResource(_ error: OIDCError) -> OIDCError {
        guard target != nil, settings.token.sendsResources,
            error.oauthError == "invalid_target" || error.code == .resourceRefused
        else { return error }
        var error = error
        let line =
            settings.token.grant.needsUser
            ? settings.loginLine : settings.line("token", and: [("--grant", .grant)])
        let server = settings.provider.issuer.flatMap { WebURL.ofIssuer($0)?.hostAndPort } ?? "the provider"
        error.hint = .words(
            "only if the resource may have a token that is not limited to it, with whatever ",
            "\(DisplayText.clean(server)) grants: ",
            line.adding("--set", "resource_parameter=off"))
        return error
    }

    /// Returns the error with the resource in its hint to sign in.
    func naming(_ failure: OIDCError) -> OIDCError {
        var error = withoutResource(failure)
        if let target, target.link.bindsTokens, error.code == .tokenNotBound {
            error.hint = ResourceSearch.faultHint
            return error
        }
        return namingResource(error)
    }

    /// Returns the error with the resource in each command of its hint.
    func namingResource(_ failure: OIDCError) -> OIDCError {
        guard let resource = settings.resource,
            let hint = failure.hint
        else { return failure }
        let parts = Settings.hint(hint, byOptionsOf: settings.loginLine).parts
        let named = parts.map { part in
            guard case .command(let words) = part, let command = words.first,
                ["login", "logout"].contains(command),
                words.count == 1 || ![resource.url, "-p", "--finish", "--cancel"].contains(words[1])
            else { return part }
            return settings.line(command).adding(Array(words.dropFirst()))
        }
        guard named != hint.parts else { return failure }
        var error = failure
        error.hint = .joined(named)
        return error
    }

    /// Returns the error of a sign-in that timed out, after which the next one registers another client.
    func registeringAgain(_ failure: OIDCError) -> OIDCError {
        guard failure.kind == .timedOut, failure.stage == .authorization,
            (try? target?.registered())??.isRetired == true
        else { return failure }
        var error = failure
        error.message += "; the server may no longer know the registered client"
        error.hint = .words(settings.loginLine, ", which registers another client")
        return error
    }

    /// Returns whether an error means that the server no longer knows the registered client, and another one
    /// can be registered. Marks the client for the next registration.
    ///
    /// A sign-in that times out or is interrupted only marks the client: a server that does not know it shows an error
    /// page and never redirects, and users then press Ctrl-C.
    func hasLostClient(_ error: OIDCError) -> Bool {
        guard let target else { return false }
        if [.timedOut, .interrupted].contains(error.kind), error.stage == .authorization {
            _ = target.retireClient()
        }
        if error.code == .unknownClient { return target.retireClient() }
        switch error.oauthError {
        case "invalid_client", "unauthorized_client": break
        // The authorization server in MCP's Python SDK grants only scopes that a client registered for
        // (2026-11).
        case "invalid_scope":
            guard let scope = settings.token.scope, let client = try? target.registered(),
                !client.allows(scope)
            else { return false }
        default: return false
        }
        return target.retireClient()
    }
}

extension ProviderContext: AccountProvider {
    var leeway: Duration { .seconds(settings.network.leeway) }
    var idTokenAlgorithms: [String]? { settings.client.idTokenAlgorithms }
    var bindsTokens: Bool { settings.token.bindsTokens }

    var credentials: Redacted<String> { settings.client.credentials }

    /// Only files are asked: they also tell which sessions in shared stores this machine has seen.
    func mayHaveSession(ofClientIn key: SessionKey) -> Bool {
        guard let path = StateDirectories(environment: context.environment).state, FilePath.isPossible(path)
        else { return false }
        return SessionStore(directory: path).mayHaveSession(ofClientIn: key)
            || (KeychainSeal.keys(in: path) + SeenSessions.keys(state: path, besides: [])).contains {
                $0.isOfClient(in: key)
            }
    }

    func granted(_ key: SessionKey) throws(OIDCError) -> TokenRefresh.Outcome {
        context.onTokenRequest?()
        return try MachineGrant(provider: self, key: key).outcome()
    }

    func refreshes(_ session: Session) {
        context.onTokenRequest?()
        warnOfOther(.token, than: session.endpoints.token)
        warnOfOther(.refresh, than: session.endpoints.refresh)
    }

    func hasRefreshed(_ session: Session, _ outcome: TokenRefresh.Outcome) {
        guard let idToken = outcome.session.tokens.idToken, idToken != session.tokens.idToken else { return }
        traceIDToken(IDToken.stored(idToken.revealed), nonce: false)
    }

    /// The wait for the session's lock, whose holder may be using the network.
    var lockWait: LockWait {
        let console = context.console
        let limit = (settings.network.httpTimeout * 2 + 30) * 1_000
        let left = deadline.map { max(0, $0.milliseconds(from: .now())) } ?? limit
        return LockWait(
            limit: .milliseconds(min(limit, left)),
            onWaiting: { console.noteWaiting("waiting for another oidc process that is getting a token …") })
    }
}

extension ProviderMetadata {
    /// Returns the metadata of a server that only a URL led to, for a client with a certificate or without. If its token
    /// endpoint is on another origin, only that origin may get the tokens: endpoints elsewhere are left out.
    fileprivate func sendingTokensBack(presentingCertificate: Bool) -> ProviderMetadata {
        func origin(_ endpoint: ProviderEndpoint) -> String? {
            url(endpoint, presentingCertificate: presentingCertificate)?.origin
        }
        guard let token = origin(.token), token != issuer.flatMap({ WebURL.ofIssuer($0) })?.origin else {
            return self
        }
        var metadata = self
        for endpoint in [ProviderEndpoint.userInfo, .revocation, .introspection, .endSession] {
            guard let found = origin(endpoint), found != token else { continue }
            metadata[endpoint] = nil
            metadata.mtlsEndpointAliases[endpoint] = nil
            metadata.unusedEndpoints.append(endpoint)
        }
        return metadata
    }
}
