/// What a provider says of itself (OpenID Connect Discovery §3, RFC 8414 §2), or what the configuration
/// says of it. Members that we don't use are kept in `raw`, and never judged.
public struct ProviderMetadata: Hashable, Sendable {
    public var issuer: String?
    public var endpoints: [ProviderEndpoint: WebURL]
    /// RFC 8705 §5: where a client with a certificate goes instead.
    public var mtlsEndpointAliases: [ProviderEndpoint: WebURL] = [:]

    public var scopesSupported: [String]?
    public var responseTypesSupported: [String]?
    public var responseModesSupported: [String]?
    public var grantTypesSupported: [String]?
    public var promptValuesSupported: [String]?
    public var codeChallengeMethodsSupported: [String]?
    public var tokenEndpointAuthMethodsSupported: [String]?
    public var tokenEndpointAuthSigningAlgValuesSupported: [String]?
    public var idTokenSigningAlgValuesSupported: [String]?
    public var userInfoSigningAlgValuesSupported: [String]?
    public var dpopSigningAlgValuesSupported: [String]?

    /// RFC 9207 §3: an answer without `iss` is then not the provider's.
    public var authorizationResponseIssParameterSupported = false
    /// RFC 9126 §5.
    public var requirePushedAuthorizationRequests = false

    /// False where the configuration names every endpoint, and nothing was discovered.
    public var isDiscovered = false
    /// Whether plain http off loopback was allowed when this was read.
    public var allowsInsecureHTTP = false
    public var raw = JSONObject()

    /// Metadata from the configuration alone.
    public init(
        issuer: String?, endpoints: [ProviderEndpoint: WebURL] = [:], allowsInsecureHTTP: Bool = false
    ) {
        self.issuer = issuer
        self.endpoints = endpoints
        self.allowsInsecureHTTP = allowsInsecureHTTP
    }

    public subscript(endpoint: ProviderEndpoint) -> WebURL? {
        get { endpoints[endpoint] }
        set { endpoints[endpoint] = newValue }
    }

    /// The address for a client with a certificate is the alias where there is one (RFC 8705 §5).
    public func url(_ endpoint: ProviderEndpoint, presentingCertificate: Bool) -> WebURL? {
        (presentingCertificate ? mtlsEndpointAliases[endpoint] : nil) ?? endpoints[endpoint]
    }

    /// With the endpoints of the configuration, which win over discovered ones and their aliases.
    public func merging(explicit: [ProviderEndpoint: WebURL]) -> ProviderMetadata {
        var merged = self
        for (endpoint, url) in explicit {
            merged.endpoints[endpoint] = url
            merged.mtlsEndpointAliases[endpoint] = nil
        }
        return merged
    }

    public var authorizationEndpoint: WebURL? { self[.authorization] }
    public var tokenEndpoint: WebURL? { self[.token] }
    public var userInfoEndpoint: WebURL? { self[.userInfo] }
    public var jwksURI: WebURL? { self[.keys] }
    public var deviceAuthorizationEndpoint: WebURL? { self[.deviceAuthorization] }
    public var pushedAuthorizationRequestEndpoint: WebURL? { self[.pushedAuthorizationRequest] }
    public var revocationEndpoint: WebURL? { self[.revocation] }
    public var introspectionEndpoint: WebURL? { self[.introspection] }
    public var endSessionEndpoint: WebURL? { self[.endSession] }
    public var registrationEndpoint: WebURL? { self[.registration] }
}
