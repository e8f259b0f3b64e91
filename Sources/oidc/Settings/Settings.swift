import OIDCCore

/// The effective settings as values, each read when it is needed. Other code asks the layers only for origins
/// and for what was given.
///
/// The files and programs that settings name are read and run on demand.
struct Settings: Sendable {
    /// The entries and their origins, to report on the settings themselves.
    let layers: SettingLayers

    init(_ layers: SettingLayers) {
        self.layers = layers.completedBySecurityProfile()
    }

    var provider: ProviderSettings { ProviderSettings(layers: layers) }
    var client: ClientSettings { ClientSettings(layers: layers) }
    var token: TokenSettings { TokenSettings(layers: layers) }
    var subject: SubjectSettings { SubjectSettings(layers: layers) }
    var signIn: SignInSettings { SignInSettings(layers: layers) }
    var network: NetworkSettings { NetworkSettings(layers: layers) }
    var tools: ToolSettings { ToolSettings(layers: layers) }
    /// `file`, `none`, `helper:NAME` or the URL of a shared store, which may hold a password.
    var store: String { layers.text(.store) ?? "file" }
    var sharedStore: SharedStoreSettings { SharedStoreSettings(layers: layers) }

    /// The resource of the URL operand: its identifier, and the URL as given.
    var resource: (identifier: String, url: String)? {
        guard let entry = layers.entry(.resource),
            case .resource(let url) = entry.origin, let identifier = entry.value.array?.first?.string
        else { return nil }
        return (identifier, url)
    }

    /// The profile's name, if one is in use.
    var profile: String? { layers.profile }

    /// Returns the settings with entries that override them.
    func overridden(by entries: [SettingLayers.Entry]) -> Settings {
        Settings(
            SettingLayers(
                profile: profile, isProfileNamed: layers.isProfileNamed, home: layers.home,
                entries: entries + layers.given))
    }
}

/// The provider, and its endpoints that are set.
struct ProviderSettings: Sendable {
    let layers: SettingLayers

    var issuer: String? { layers.text(.issuer) }
    /// The name of the provider that the profile was made for.
    var preset: String? { layers.text(.preset) }
    /// The URL of the metadata, if it is not the issuer's well-known URL.
    var metadataURL: String? { layers.text(.metadataURL) }
    var allowsInsecureHTTP: Bool { layers.flag(.allowInsecureHTTP) }
    /// The endpoints that are set.
    var endpoints: [ProviderEndpoint] { ProviderEndpoint.allCases.filter { endpoint($0) != nil } }

    /// Returns the URL of an endpoint, if it is set.
    func endpoint(_ endpoint: ProviderEndpoint) -> String? {
        layers.entries.first { $0.setting.name == endpoint.rawValue }?.value.string
    }

    func checkIssuer() throws(OIDCError) {
        _ = try checkedMetadataURL()
        guard let issuer else {
            guard metadataURL == nil else {
                throw .usage(
                    "metadata_url is set, and issuer is not",
                    hint: "set issuer to the one that the metadata names")
            }
            return
        }
        _ = try layers.checking(.issuer) { () throws(OIDCError) in
            try ProviderMetadata.checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        }
    }

    func checkedMetadataURL() throws(OIDCError) -> WebURL? {
        guard let metadataURL else { return nil }
        return try layers.checking(.metadataURL) { () throws(OIDCError) in
            try ProviderMetadata.checkedURL(metadataURL, allowsInsecureHTTP: allowsInsecureHTTP)
        }
    }

    /// Checks and returns the endpoints that are set, which override discovered ones.
    func checkedEndpoints() throws(OIDCError) -> ProviderEndpoints {
        var checked: ProviderEndpoints = [:]
        for endpoint in ProviderEndpoint.allCases {
            guard let text = self.endpoint(endpoint), let setting = Setting.named(endpoint.rawValue) else {
                continue
            }
            checked[endpoint] = try layers.checking(setting) { () throws(OIDCError) in
                try endpoint.configured(text, allowsInsecureHTTP: allowsInsecureHTTP)
            }
        }
        return checked
    }
}

/// The settings of connections to the provider.
struct NetworkSettings: Sendable {
    let layers: SettingLayers

    /// The timeout of one request in seconds.
    var httpTimeout: Int64 { layers.integer(.httpTimeout) ?? 30 }
    /// The seconds by which clocks may differ.
    var leeway: Int64 { layers.integer(.leeway) ?? 60 }
    var authorities: SettingFile? { layers.file(.caFile) }

    /// The settings that apply to every provider.
    static let shared: [Setting] = [.caFile, .httpTimeout, .allowInsecureHTTP]
}

/// The APIs to call with the session's tokens, and the settings of programs that get the tokens.
struct ToolSettings: Sendable {
    let layers: SettingLayers

    var resources: [Resource] { layers.records(.resources).compactMap { Resource($0) } }
    /// The URLs of the proxy's routes, and their paths.
    var proxyRoutes: [(url: String, path: String?)] {
        layers.records(.proxyRoutes).map { ($0["url"]?.string ?? "", $0["path"]?.string) }
    }
    var gitHosts: CredentialHosts { CredentialHosts(setting: .gitHosts, layers: layers) }
    var dockerRegistries: CredentialHosts { CredentialHosts(setting: .dockerRegistries, layers: layers) }
    var keyringHosts: CredentialHosts { CredentialHosts(setting: .keyringHosts, layers: layers) }
    var awsRoleARN: String? { layers.text(.awsRoleARN) }
    var awsRoleSessionName: String? { layers.text(.awsRoleSessionName) }
    var awsSTSEndpoint: String? { layers.text(.awsSTSEndpoint) }
    var gcpTokenType: String? { layers.text(.gcpTokenType) }

    /// Returns the resources. Throws if one has an invalid URL.
    func checkedResources() throws(OIDCError) -> [Resource] {
        try layers.checking(.resources) { () throws(OIDCError) in
            guard resources.count == layers.records(.resources).count else {
                throw .usage("resources: url: expected an http(s) URL in each")
            }
            return resources
        }
    }

    func check(allowsInsecureHTTP: Bool) throws(OIDCError) {
        _ = try checkedResources()
        _ = try gitHosts.checked()
        _ = try dockerRegistries.checked()
        _ = try keyringHosts.checked()
        if awsRoleARN != nil { _ = try AWSCredential.Role(self) }
        guard !proxyRoutes.isEmpty else { return }
        _ = try ProxyRoutes.configured(self, allowsInsecureHTTP: allowsInsecureHTTP, onSocket: false)
    }
}

extension Setting {
    /// Returns the error for a required setting that is not set.
    func missing(option: String) -> OIDCError {
        let placeholder = option.split { $0 == " " || $0 == "=" }.last ?? "VALUE"
        return .usage(
            "\(name) is not set",
            hint: .words(
                "give ", .options(option.split(separator: " ").map(String.init)), ", set \(variable), or: ",
                .run("config set", "\(name)=\(placeholder)")))
    }
}
