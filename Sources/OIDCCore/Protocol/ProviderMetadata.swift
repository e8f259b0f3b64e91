/// The metadata of a provider (OpenID Connect Discovery §3, RFC 8414 §2), discovered or configured. Members
/// that we don't use are kept in `raw`, unchecked.
public struct ProviderMetadata: Equatable, Sendable {
    /// `issuer`; nil if the endpoints were configured one by one.
    public var issuer: String?
    /// The endpoints by name.
    public var endpoints: ProviderEndpoints
    /// The endpoints for clients with a certificate (RFC 8705 §5).
    public var mtlsEndpointAliases: ProviderEndpoints = [:]

    /// `scopes_supported`.
    public var scopesSupported: [String]?
    /// `response_types_supported`.
    public var responseTypesSupported: [String]?
    /// `response_modes_supported`.
    public var responseModesSupported: [String]?
    /// `grant_types_supported`.
    public var grantTypesSupported: [String]?
    /// `prompt_values_supported`.
    public var promptValuesSupported: [String]?
    /// `code_challenge_methods_supported`.
    public var codeChallengeMethodsSupported: [String]?
    /// `token_endpoint_auth_methods_supported`.
    public var tokenEndpointAuthMethodsSupported: [String]?
    /// `token_endpoint_auth_signing_alg_values_supported`.
    public var tokenEndpointAuthSigningAlgValuesSupported: [String]?
    /// `revocation_endpoint_auth_methods_supported`.
    public var revocationEndpointAuthMethodsSupported: [String]?
    /// `id_token_signing_alg_values_supported`.
    public var idTokenSigningAlgValuesSupported: [String]?
    /// `userinfo_signing_alg_values_supported`.
    public var userInfoSigningAlgValuesSupported: [String]?
    /// `authorization_signing_alg_values_supported` (JARM §3).
    public var authorizationSigningAlgValuesSupported: [String]?
    /// `introspection_signing_alg_values_supported` (RFC 9701 §7).
    public var introspectionSigningAlgValuesSupported: [String]?
    /// `dpop_signing_alg_values_supported`.
    public var dpopSigningAlgValuesSupported: [String]?

    /// Whether every authorization response has `iss` (RFC 9207 §3).
    public var authorizationResponseIssParameterSupported = false
    /// Whether authorization requests must be pushed (RFC 9126 §5).
    public var requirePushedAuthorizationRequests = false
    /// Whether access tokens are bound to the client certificate (RFC 8705 §3.3).
    public var tlsClientCertificateBoundAccessTokens = false
    /// Whether this client is registered for signed UserInfo answers, so others are refused (OpenID Connect
    /// Registration §2).
    package var signsUserInfo = false
    /// `client_id_metadata_document_supported` (OAuth Client ID Metadata Document).
    package var supportsClientMetadataDocuments = false

    /// The endpoints that are not used, because they would get tokens that come from another server.
    package var unusedEndpoints: [ProviderEndpoint] = []

    /// Whether the metadata was discovered; false if the configuration names every endpoint.
    public var isDiscovered = false
    /// Whether plain http beyond loopback was allowed when the metadata was read.
    public var allowsInsecureHTTP = false
    /// The document as it was received.
    public var raw = JSONObject()

    /// Creates metadata from the configuration alone.
    public init(
        issuer: String?, endpoints: ProviderEndpoints = [:], allowsInsecureHTTP: Bool = false
    ) {
        self.issuer = issuer
        self.endpoints = endpoints
        self.allowsInsecureHTTP = allowsInsecureHTTP
    }

    /// An endpoint by name.
    public subscript(endpoint: ProviderEndpoint) -> WebURL? {
        get { endpoints[endpoint] }
        set { endpoints[endpoint] = newValue }
    }

    /// Returns the endpoint's URL: for a client with a certificate, the alias if there is one (RFC 8705 §5).
    public func url(_ endpoint: ProviderEndpoint, presentingCertificate: Bool) -> WebURL? {
        (presentingCertificate ? mtlsEndpointAliases[endpoint] : nil) ?? endpoints[endpoint]
    }

    /// Returns the URL that a client with a certificate uses for a session's endpoint: the alias if the session
    /// has the plain URL, because it is older than the alias or the certificate (RFC 8705 §5).
    package func alias(of url: WebURL, for endpoint: ProviderEndpoint) -> WebURL {
        endpoints[endpoint] == url ? mtlsEndpointAliases[endpoint] ?? url : url
    }

    /// Returns the URL where this client revokes tokens; nil if the provider revokes none of such clients. Spring
    /// Authorization Server lists methods without `none`, and refuses public clients (7.1, 2026-11).
    package func revocationURL(for client: Client) -> WebURL? {
        if case .none = client.authentication.kind, let methods = revocationEndpointAuthMethodsSupported,
            !methods.contains("none")
        {
            return nil
        }
        return url(.revocation, presentingCertificate: client.presentsCertificate)
    }

    /// Returns the metadata with the configured endpoints, which override discovered ones and their aliases.
    public func merging(explicit: ProviderEndpoints) -> ProviderMetadata {
        var merged = self
        for (endpoint, url) in explicit.all {
            merged.endpoints[endpoint] = url
            merged.mtlsEndpointAliases[endpoint] = nil
        }
        return merged
    }

    /// `authorization_endpoint`.
    public var authorizationEndpoint: WebURL? { self[.authorization] }
    /// `token_endpoint`.
    public var tokenEndpoint: WebURL? { self[.token] }
    /// `userinfo_endpoint`.
    public var userInfoEndpoint: WebURL? { self[.userInfo] }
    /// `jwks_uri`.
    public var jwksURI: WebURL? { self[.keys] }
    /// `device_authorization_endpoint`.
    public var deviceAuthorizationEndpoint: WebURL? { self[.deviceAuthorization] }
    /// `pushed_authorization_request_endpoint`.
    public var pushedAuthorizationRequestEndpoint: WebURL? { self[.pushedAuthorizationRequest] }
    /// `revocation_endpoint`.
    public var revocationEndpoint: WebURL? { self[.revocation] }
    /// `introspection_endpoint`.
    public var introspectionEndpoint: WebURL? { self[.introspection] }
    /// `end_session_endpoint`.
    public var endSessionEndpoint: WebURL? { self[.endSession] }
    /// `registration_endpoint`.
    public var registrationEndpoint: WebURL? { self[.registration] }
}
