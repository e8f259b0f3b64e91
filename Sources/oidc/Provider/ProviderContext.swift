import OIDCCore
import OIDCCrypto
import OIDCSystem

/// The provider that the settings name, and what a command reaches it with: the network, the client, the store.
struct ProviderContext {
    let settings: Settings
    let context: CommandContext
    /// The end of the whole sign-in: limits every wait for the network, a program or another process.
    let deadline: MonotonicTime?
    /// The resource of a URL operand, and what to remember of it.
    let target: ResourceTarget?

    init(
        _ settings: Settings, _ context: CommandContext, until deadline: MonotonicTime? = nil,
        target: ResourceTarget? = nil
    ) {
        self.settings = settings
        self.context = context
        self.deadline = deadline
        self.target = target
    }

    /// Returns the context of a sign-in, which `timeout` limits from now on if there is no deadline yet.
    func forSignIn(until deadline: MonotonicTime? = nil) -> ProviderContext {
        ProviderContext(
            settings, context, until: deadline ?? .now().adding(seconds: settings.signIn.timeout),
            target: target)
    }

    var secrets: SecretReader {
        SecretReader(
            environment: childEnvironment, deadline: deadline,
            warn: { [console = context.console] in console.warn($0) })
    }

    var allowsInsecureHTTP: Bool { settings.provider.allowsInsecureHTTP }

    /// Returns the transport and cache of the settings.
    func environment() throws(OIDCError) -> ProviderEnvironment { environment(over: try transport()) }

    func environment(over transport: any HTTPTransport) -> ProviderEnvironment {
        ProviderEnvironment(transport: transport, cache: cache, now: { Clock.now() }, random: Random.bytes)
    }

    func documents(_ environment: ProviderEnvironment) -> ProviderDocuments {
        ProviderDocuments(environment: environment, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// The environment of programs that are run.
    var childEnvironment: [String: String] { settings.childEnvironment(context.environment) }

    private var cache: any DocumentCache {
        guard let directory = StateDirectories(environment: context.environment).cache else {
            return NoCache()
        }
        let cache = MetadataCache(directory: directory)
        return context.console.isVerbose ? TracedCache(cache: cache, console: context.console) : cache
    }

    func transport() throws(OIDCError) -> CurlTransport {
        if allowsInsecureHTTP {
            context.console.warn("allow_insecure_http is set: tokens may cross the network in the open")
        }
        return CurlTransport(try curlConfiguration())
    }

    private func curlConfiguration() throws(OIDCError) -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(settings.network.httpTimeout)
        configuration.deadline = deadline
        configuration.allowInsecureHTTP = allowsInsecureHTTP
        configuration.userAgent = "oidc/\(Version.number)"
        if context.ownsTerminal {
            configuration.onPostponedSignal = { [console = context.console] in console.noteFinishing() }
        }
        if let authorities = settings.network.authorities {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(path: authorities.path)
        } else if let path = context.environment["SSL_CERT_FILE"], !path.isEmpty {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: path, setting: "SSL_CERT_FILE")
        }
        configuration.clientCertificate = try clientCertificate()
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
                certificatePath: certificate.path, keyPath: key.path,
                passphrase: try secrets.text(settings.client.privateKeyPassphrase))
        case (nil, _?): throw OIDCError.usage("tls_client_key is set, tls_client_certificate is not")
        case (_?, nil): throw OIDCError.usage("tls_client_certificate is set, tls_client_key is not")
        }
    }

    /// Returns the metadata: discovered, unless no issuer is set or every needed endpoint is.
    func metadata(
        _ environment: ProviderEnvironment, for needed: [ProviderEndpoint]
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
        _ issuer: String, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> ProviderMetadata {
        if let target {
            return try ResourceSearch(
                target.operand.url, environment: environment, allowsInsecureHTTP: allowsInsecureHTTP
            ).authorizationServer(issuer: issuer, forSignIn: settings.token.grant.needsUser)
        }
        return try documents(environment).metadata(
            issuer: issuer, at: try settings.provider.checkedMetadataURL())
    }

    /// Returns the metadata with the algorithm registered for this client's ID tokens, if one is set.
    private func registered(_ metadata: ProviderMetadata) -> ProviderMetadata {
        guard let algorithms = settings.client.idTokenAlgorithms else { return metadata }
        var metadata = metadata
        metadata.idTokenSigningAlgValuesSupported = algorithms
        return metadata
    }

    /// Returns what sessions are stored under: the issuer, or the token endpoint if no issuer is set.
    func identifier() throws(OIDCError) -> String {
        if let issuer = settings.provider.issuer {
            try settings.provider.checkIssuer()
            return issuer
        }
        if let endpoint = settings.provider.endpoints[.token] { return endpoint }
        throw noIssuer
    }

    /// Whether the settings name a provider.
    var namesProvider: Bool {
        settings.provider.issuer != nil || settings.provider.endpoints[.token] != nil
    }

    /// The error for a missing issuer, which lists the profiles if none was chosen.
    private var noIssuer: OIDCError {
        let profiles = settings.profile == nil ? (try? context.settingsLoader.file())?.profiles ?? [] : []
        let names = profiles.map(\.name).joined(separator: ", ")
        return .usage(
            "issuer is not set",
            hint: profiles.isEmpty
                ? "oidc config init --issuer URL --client-id ID (or set OIDC_ISSUER, or give --issuer URL); "
                    + "without an account: oidc demo"
                : "choose a profile with -p: \(DisplayText.clean(names, limit: 200)) (or give --issuer URL)")
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

    /// Returns the store. If no state directory is available, nothing is stored and saving fails.
    func store() throws(OIDCError) -> any SessionStoring {
        try store(try settings.storeChoice())
    }

    func store(_ choice: SessionStoreChoice) throws(OIDCError) -> any SessionStoring {
        let directory = StateDirectories(environment: context.environment).state
            .flatMap { FilePath.isPossible($0) ? $0 : nil }
        switch (choice, directory) {
        case (.none, _): return MemorySessionStore()
        case (.file, let directory?): return FileSessionStore(directory: directory)
        case (.helper(let name), let directory?):
            return CredentialHelperStore(
                name: name, directory: directory,
                environment: childEnvironment, deadline: deadline,
                onWaiting: { [console = context.console] text in
                    if Terminal.isTerminal(.standardError) { console.note(text) }
                })
        case (.keychain, let directory?):
            // Only a sign-in has a deadline, and only a sign-in may prompt.
            return CredentialHelperStore(
                keychainOf: context.environment, directory: directory, mayPrompt: deadline != nil,
                deadline: deadline)
        case (.shared(let url), _): return try sharedStore(url)
        case (_, nil): return UnavailableStore()
        }
    }

    /// Returns the store on a server. The key is read when a session is, so a fresh token needs nothing else.
    private func sharedStore(_ url: SharedStoreURL) throws(OIDCError) -> SharedSessionStore {
        try settings.sharedStore.check(.shared(url))
        if url.isOpen, url.password != nil {
            context.console.warn("store: the password is sent to \(url.server) without encryption")
        }
        var configuration = try curlConfiguration()
        // Records are sealed, and the URL says whether the connection is encrypted.
        configuration.allowInsecureHTTP = true
        configuration.proxy = .none
        // A code that was redeemed in the last second of a sign-in must still be stored.
        configuration.deadline = nil
        configuration.connectTimeout = min(configuration.connectTimeout, .seconds(5))
        let (secrets, shared) = (secrets, settings.sharedStore)
        // Longer than a request, and shorter than other machines wait.
        let presenting = settings.network.httpTimeout + 30
        return SharedSessionStore(
            url.connect(configuration), keepsCopies: shared.keepsCopies,
            times: LeaseTimes(presenting: .seconds(presenting)), seen: context.sharedVersions
        ) { () throws(OIDCError) in try secrets.storeKeys(shared) }
    }

    /// Returns the browser to open. Refuses a setting that would let a shell read the URL; such an entry of
    /// `$BROWSER` is skipped.
    func browserChoice() throws(OIDCError) -> BrowserChoice {
        BrowserChoice.resolve(
            setting: try settings.signIn.checkedBrowser(), .current(environment: context.environment),
            remark: { [console = context.console] in console.warn($0) })
    }
}
