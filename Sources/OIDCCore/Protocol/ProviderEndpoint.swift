/// The endpoints of a provider, by the names that metadata and settings share.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum ProviderEndpoint: String, Hashable, Sendable, CaseIterable {
    case authorization = "authorization_endpoint"
    case token = "token_endpoint"
    /// The endpoint for refreshes, which only the configuration can name; no specification of metadata has
    /// it.
    case refresh = "refresh_endpoint"
    case userInfo = "userinfo_endpoint"
    case keys = "jwks_uri"
    case deviceAuthorization = "device_authorization_endpoint"
    case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
    case revocation = "revocation_endpoint"
    case introspection = "introspection_endpoint"
    case endSession = "end_session_endpoint"
    case registration = "registration_endpoint"

    /// The endpoints that metadata can name.
    static let discovered = allCases.filter { $0 != .refresh }

    /// Checks a configured URL: https, or http on loopback, or any http if `allowsInsecureHTTP`.
    public func configured(_ text: String, allowsInsecureHTTP: Bool = false) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text), url.fragment == nil else {
            throw .usage(
                "\(rawValue): expected an https URL without a fragment, found \(DisplayText.clean(text))")
        }
        guard url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .usage(
                "\(rawValue): plain http is for loopback only, found \(DisplayText.clean(text))",
                hint: .advice(.useHTTPS))
        }
        return url
    }

    /// Checks a URL in metadata. If the provider is not on loopback, its metadata must not contain plain-http
    /// URLs, not even on loopback: they would send codes and secrets unencrypted, or to any program on this
    /// machine.
    static func named(
        _ member: String, _ text: String, issuer: WebURL?, allowsInsecureHTTP: Bool
    ) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text) else {
            throw .protocolViolation(.discovery, member, expected: "an http(s) URL", found: text)
        }
        guard url.fragment == nil else {
            throw .protocolViolation(
                .discovery, member, expected: "a URL without a fragment", found: text)
        }
        guard url.isSecure || mayBePlain(url, issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .protocolViolation(.discovery, member, expected: "an https URL", found: text)
        }
        return url
    }

    private static func mayBePlain(_ url: WebURL, issuer: WebURL?, allowsInsecureHTTP: Bool) -> Bool {
        guard let issuer else { return false }
        if issuer.isLoopback { return url.isLoopback || allowsInsecureHTTP }
        return allowsInsecureHTTP && !issuer.isSecure && !url.isLoopback
    }
}

/// The URLs of a provider's endpoints.
public struct ProviderEndpoints: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// The endpoints that have a URL. A list, because a provider has few, and the first dictionary of a process
    /// takes longer to create than the rest of the metadata takes to read.
    public private(set) var all: [(endpoint: ProviderEndpoint, url: WebURL)] = []

    /// Creates the list from a literal such as `[.token: url]`.
    public init(dictionaryLiteral endpoints: (ProviderEndpoint, WebURL)...) {
        for (endpoint, url) in endpoints { self[endpoint] = url }
    }

    /// Whether no endpoint has a URL.
    public var isEmpty: Bool { all.isEmpty }

    /// The URL of an endpoint; nil if it has none.
    public subscript(endpoint: ProviderEndpoint) -> WebURL? {
        get { all.first { $0.endpoint == endpoint }?.url }
        set {
            all.removeAll { $0.endpoint == endpoint }
            if let newValue { all.append((endpoint, newValue)) }
        }
    }

    /// Returns whether both have the same URLs, in any order.
    public static func == (one: ProviderEndpoints, other: ProviderEndpoints) -> Bool {
        one.all.count == other.all.count && one.all.allSatisfy { other[$0.endpoint] == $0.url }
    }
}
