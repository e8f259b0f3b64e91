import OIDCCore
import OIDCSystem

/// The effective settings as values. Each setting is read here, once; no other code looks one up by its name.
///
/// The files and programs that settings name are read and run on demand. This is a class, because dozens of
/// values hold it: the code to copy its sixty members was a tenth of the program.
final class Settings: Sendable {
    /// The entries and their origins, to report on the settings themselves.
    let layers: SettingLayers
    let provider: ProviderSettings
    let client: ClientSettings
    let token: TokenSettings
    let subject: SubjectSettings
    let signIn: SignInSettings
    let network: NetworkSettings
    let tools: ToolSettings
    /// `file`, `none`, `helper:NAME` or the URL of a shared store, which may hold a password.
    let store: String
    let sharedStore: SharedStoreSettings

    init(_ layers: SettingLayers, home: String?) {
        self.layers = layers
        provider = ProviderSettings(layers)
        client = ClientSettings(layers, home: home)
        token = TokenSettings(layers)
        subject = SubjectSettings(layers, home: home)
        signIn = SignInSettings(layers)
        network = NetworkSettings(layers, home: home)
        tools = ToolSettings(layers)
        store = layers.text(.store) ?? "file"
        sharedStore = SharedStoreSettings(layers, home: home)
    }

    /// The resource of the URL operand: its identifier, and the URL as given.
    var resource: (identifier: String, url: String)? {
        guard let entry = layers.entries.first(where: { $0.setting == .resource }),
            case .resource(let url) = entry.origin, let identifier = entry.value.array?.first?.string
        else { return nil }
        return (identifier, url)
    }

    /// The profile's name, if one is in use.
    var profile: String? { layers.profile }
}

/// The provider, and its endpoints that are set.
struct ProviderSettings: Sendable {
    let issuer: String?
    /// The URL of the metadata, if it is not the issuer's well-known URL.
    let metadataURL: String?
    let endpoints: [ProviderEndpoint: String]
    let allowsInsecureHTTP: Bool
    private let layers: SettingLayers

    init(_ layers: SettingLayers) {
        self.layers = layers
        issuer = layers.text(.issuer)
        metadataURL = layers.text(.metadataURL)
        allowsInsecureHTTP = layers.flag(.allowInsecureHTTP)
        var endpoints: [ProviderEndpoint: String] = [:]
        for entry in layers.entries {
            guard let endpoint = ProviderEndpoint(rawValue: entry.setting.name) else { continue }
            endpoints[endpoint] = entry.value.string
        }
        self.endpoints = endpoints
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
    func checkedEndpoints() throws(OIDCError) -> [ProviderEndpoint: WebURL] {
        var checked: [ProviderEndpoint: WebURL] = [:]
        for endpoint in ProviderEndpoint.allCases {
            guard let text = endpoints[endpoint], let setting = Setting.named(endpoint.rawValue) else {
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
    /// The timeout of one request in seconds.
    let httpTimeout: Int64
    /// The seconds by which clocks may differ.
    let leeway: Int64
    let authorities: SettingFile?

    /// The settings that apply to every provider.
    static let shared: [Setting] = [.caFile, .httpTimeout, .allowInsecureHTTP]

    init(_ layers: SettingLayers, home: String?) {
        httpTimeout = layers.integer(.httpTimeout) ?? 30
        leeway = layers.integer(.leeway) ?? 60
        authorities = layers.file(.caFile, home: home)
    }
}

/// The APIs to call with the session's tokens, and the settings of programs that get the tokens.
struct ToolSettings: Sendable {
    let resources: [Resource]
    /// The number of configured resources, including those with an invalid URL.
    private let resourceCount: Int
    /// The URLs of the proxy's routes, and their paths.
    let proxyRoutes: [(url: String, path: String?)]
    let gitHosts: CredentialHosts
    let dockerRegistries: CredentialHosts
    let awsRoleARN: String?
    let awsRoleSessionName: String?
    let awsSTSEndpoint: String?
    let gcpTokenType: String?
    let layers: SettingLayers

    init(_ layers: SettingLayers) {
        self.layers = layers
        let records = layers.records(.resources)
        resources = records.compactMap { Resource($0) }
        resourceCount = records.count
        proxyRoutes = layers.records(.proxyRoutes).map { ($0["url"]?.string ?? "", $0["path"]?.string) }
        gitHosts = CredentialHosts(.gitHosts, layers)
        dockerRegistries = CredentialHosts(.dockerRegistries, layers)
        awsRoleARN = layers.text(.awsRoleARN)
        awsRoleSessionName = layers.text(.awsRoleSessionName)
        awsSTSEndpoint = layers.text(.awsSTSEndpoint)
        gcpTokenType = layers.text(.gcpTokenType)
    }

    /// Returns the resources. Throws if one has an invalid URL.
    func checkedResources() throws(OIDCError) -> [Resource] {
        try layers.checking(.resources) { () throws(OIDCError) in
            guard resources.count == resourceCount else {
                throw .usage("resources: url: expected an http(s) URL in each")
            }
            return resources
        }
    }

    func check(allowsInsecureHTTP: Bool) throws(OIDCError) {
        _ = try checkedResources()
        _ = try gitHosts.checked()
        _ = try dockerRegistries.checked()
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
            hint: "give \(option), set \(variable), or: oidc config set \(name)=\(placeholder)")
    }
}
