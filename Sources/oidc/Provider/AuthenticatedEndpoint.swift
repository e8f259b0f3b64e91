import OIDCCore

/// An endpoint where the client authenticates: the session's, or else the provider's.
struct AuthenticatedEndpoint {
    let url: WebURL
    let client: Client
    let environment: OIDCContext

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
                    ? .run("logout") : "set \(endpoint.rawValue), and sign in again")
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
