import OIDCCore
import OIDCCrypto
import OIDCSystem

/// Settings turned into the values that the library works with.
struct ProviderSetup {
    let settings: Settings
    let context: CommandContext
    let secrets: SecretSource
    /// Of a whole login: it bounds every wait, for the network, a program or another process.
    let deadline: MonotonicTime?

    init(_ settings: Settings, _ context: CommandContext, until deadline: MonotonicTime? = nil) {
        self.settings = settings
        self.context = context
        self.deadline = deadline
        secrets = SecretSource(
            settings: settings, environment: context.environment, deadline: deadline,
            warn: { [console = context.console] in console.warn($0) })
    }

    /// The same for a login, which `timeout` bounds from now on.
    func forLogin() -> ProviderSetup {
        ProviderSetup(settings, context, until: .now().adding(seconds: timeout))
    }

    var timeout: Int64 { settings.integer(.timeout) ?? 300 }

    var allowsInsecureHTTP: Bool { settings.flag(.allowInsecureHTTP) }
    var leeway: Int64 { settings.integer(.leeway) ?? 60 }

    /// What reaches the network.
    func environment() throws(OIDCError) -> LoginEnvironment {
        LoginEnvironment(
            transport: try transport(), cache: cache, now: { Clock.now() },
            random: Random.bytes)
    }

    /// The environment of the programs that are started.
    var childEnvironment: [String: String] { settings.childEnvironment(context.environment) }

    var cache: any DocumentCache {
        guard let directory = StateDirectories(environment: context.environment).cache else {
            return NoCache()
        }
        return MetadataCache(directory: directory)
    }

    func transport() throws(OIDCError) -> CurlTransport {
        if allowsInsecureHTTP {
            context.console.warn("allow_insecure_http is set: tokens may cross the network in the open")
        }
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .seconds(settings.integer(.httpTimeout) ?? 30)
        configuration.deadline = deadline
        configuration.allowInsecureHTTP = allowsInsecureHTTP
        configuration.userAgent = "oidc/\(Version.number)"
        configuration.onPostponedSignal = { [console = context.console] in console.noteFinishing() }
        if let path = secrets.path(.caFile) {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(path: path)
        } else if let path = context.environment["SSL_CERT_FILE"], !path.isEmpty {
            configuration.caFile = CurlConfiguration.CertificateAuthorities(
                path: path, setting: "SSL_CERT_FILE")
        }
        configuration.clientCertificate = try clientCertificate()
        if context.console.isVerbose {
            let console = context.console
            configuration.trace = { console.trace($0.line) }
        }
        return CurlTransport(configuration)
    }

    private func clientCertificate() throws(OIDCError) -> CurlConfiguration.ClientCertificate? {
        switch (secrets.path(.tlsClientCertificate), secrets.path(.tlsClientKey)) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            if let file = try UserFile.read(key, limit: 1 << 20, named: Setting.tlsClientKey.name) {
                try secrets.check(file, at: key, of: .tlsClientKey)
            }
            return CurlConfiguration.ClientCertificate(
                certificatePath: certificate, keyPath: key,
                passphrase: try secrets.file(.privateKeyPassphraseFile))
        case (nil, _?): throw OIDCError.usage("tls_client_key is set, tls_client_certificate is not")
        case (_?, nil): throw OIDCError.usage("tls_client_certificate is set, tls_client_key is not")
        }
    }

    /// The endpoints of the settings, which win over discovered ones.
    func explicitEndpoints() throws(OIDCError) -> [ProviderEndpoint: WebURL] {
        var endpoints: [ProviderEndpoint: WebURL] = [:]
        for endpoint in ProviderEndpoint.allCases {
            guard let setting = Setting.named(endpoint.rawValue), let text = settings.text(setting) else {
                continue
            }
            endpoints[endpoint] = try endpoint.configured(text, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        return endpoints
    }

    /// Discovered unless there is no issuer, or the settings name every endpoint that is needed.
    func metadata(
        _ environment: LoginEnvironment, for needed: [ProviderEndpoint]
    ) throws(OIDCError) -> ProviderMetadata {
        let explicit = try explicitEndpoints()
        let configured = ProviderMetadata(
            issuer: settings.text(.issuer), endpoints: explicit, allowsInsecureHTTP: allowsInsecureHTTP)
        guard let issuer = settings.text(.issuer) else {
            guard !explicit.isEmpty else {
                throw noIssuer
            }
            return registered(configured)
        }
        if needed.allSatisfy({ explicit[$0] != nil }) {
            _ = try ProviderMetadata.checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
            return registered(configured)
        }
        let documents = ProviderDocuments(
            environment: environment, allowsInsecureHTTP: allowsInsecureHTTP)
        return registered(try documents.metadata(issuer: issuer).merging(explicit: explicit))
    }

    /// The metadata with the one algorithm that this client's ID tokens are registered for, if that is set.
    private func registered(_ metadata: ProviderMetadata) -> ProviderMetadata {
        guard let algorithms = idTokenAlgorithms else { return metadata }
        var metadata = metadata
        metadata.idTokenSigningAlgValuesSupported = algorithms
        return metadata
    }

    /// The only algorithm accepted for ID tokens, if one is set (OpenID Connect Registration §2).
    var idTokenAlgorithms: [String]? { settings.text(.idTokenSignedResponseAlg).map { [$0] } }

    /// The issuer, or the token endpoint where no issuer is known; what sessions are kept under.
    func provider() throws(OIDCError) -> String {
        if let issuer = settings.text(.issuer) {
            _ = try ProviderMetadata.checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
            return issuer
        }
        if let endpoint = settings.text(.tokenEndpoint) { return endpoint }
        throw noIssuer
    }

    /// With the profiles that there are, where none of them was chosen.
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

    func clientID() throws(OIDCError) -> String {
        try settings.required(.clientID, option: "--client-id ID")
    }

    var grant: GrantType {
        settings.text(.grant).map { GrantType(rawValue: $0) } ?? .authorizationCode
    }

    /// What the settings' session is kept under.
    func sessionKey() throws(OIDCError) -> SessionKey {
        var key = SessionKey(
            provider: try provider(), clientID: try clientID(), grant: grant,
            audience: settings.text(.audience), account: settings.text(.account))
        guard !grant.needsPerson else { return key }
        key.scope = settings.scope(.scope)
        key.resources = settings.texts(.resource)
        key.subject = try SubjectToken(settings, context).identity()
        return key
    }

    /// Where sessions are kept. Without a directory nothing is stored, and that is said where it matters.
    func store() throws(OIDCError) -> any SessionStoring {
        let choice = try SessionStoreChoice(setting: settings.text(.store) ?? "file")
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
        case (_, nil): return NowhereStore()
        }
    }

    /// What is wrong with the settings themselves, without asking anybody.
    func check() throws(OIDCError) {
        if let issuer = settings.text(.issuer) {
            _ = try ProviderMetadata.checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        _ = try explicitEndpoints()
        _ = try SessionStoreChoice(setting: settings.text(.store) ?? "file")
        _ = try RedirectAddress(
            settings.text(.redirectURI), port: settings.integer(.port).flatMap { UInt16(exactly: $0) })
        if let problem = BrowserCommand.problem(settings.texts(.browser)) {
            throw .usage("browser: \(problem)")
        }
        _ = try settings.text(.postLogoutRedirectURI).map { text throws(OIDCError) in
            try RedirectURI.check(text, setting: Setting.postLogoutRedirectURI.name)
        }
    }
}
