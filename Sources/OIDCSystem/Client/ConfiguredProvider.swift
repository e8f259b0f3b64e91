import CurlHTTP
import OIDCAccount
import OIDCCore
import OIDCSessions
import Posix

/// The provider of a client's configuration.
struct ConfiguredProvider: AccountProvider {
    let configuration: ClientConfiguration
    let curl: CurlTransport
    let isCancelled: @Sendable () -> Bool

    /// Creates the provider of a configuration that has its own transport.
    init(_ configuration: ClientConfiguration) {
        self.init(configuration, CurlTransport(), isCancelled: { false })
    }

    init(
        _ configuration: ClientConfiguration, _ curl: CurlTransport,
        isCancelled: @escaping @Sendable () -> Bool
    ) {
        self.configuration = configuration
        self.curl = curl
        self.isCancelled = isCancelled
    }

    var leeway: Duration { configuration.leeway }
    var idTokenAlgorithms: [String]? { nil }
    var bindsTokens: Bool { configuration.bindsTokens }
    var lockWait: LockWait { LockWait(limit: .seconds(90), isCancelled: isCancelled) }

    var credentials: Redacted<String> { configuration.authentication.credentials }

    func environment() -> OIDCContext {
        configuration.environment(curl, isCancelled: isCancelled)
    }

    func client(
        _ metadata: ProviderMetadata?, method: String?, _ environment: OIDCContext
    ) -> Client {
        configuration.client
    }

    func tokenEndpoint(at url: WebURL, client: Client, dpop: DPoPKey?) -> TokenEndpoint {
        var endpoint = TokenEndpoint(url: url, client: client, dpop: dpop)
        endpoint.sendsResources = configuration.sendsResources
        endpoint.refreshNamesScope = configuration.refreshNamesScope
        endpoint.assumedTokenType = configuration.assumedTokenType
        return endpoint
    }

    func tokenEndpoint(
        of session: Session, _ environment: OIDCContext
    ) throws(OIDCError) -> TokenEndpoint {
        tokenEndpoint(
            at: session.endpoints.refresh ?? session.endpoints.token, client: configuration.client,
            dpop: try session.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) })
    }

    func alias(
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext
    ) -> WebURL {
        configuration.alias(of: url, for: endpoint, environment)
    }
}

extension ClientConfiguration {
    func metadata(_ environment: OIDCContext) throws(OIDCError) -> ProviderMetadata {
        try ProviderDocuments(context: environment).metadata(issuer: issuer, at: metadataURL)
    }

    /// Returns the URL of a session's endpoint for a client with a certificate (RFC 8705 §5).
    func alias(
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext
    ) -> WebURL {
        guard client.presentsCertificate, let metadata = try? metadata(environment) else { return url }
        return metadata.alias(of: url, for: endpoint)
    }
}
