/// Fetches what a provider publishes, metadata and keys, and remembers it as long as it may.
package struct ProviderDocuments: Sendable {
    package let environment: LoginEnvironment
    package let allowsInsecureHTTP: Bool

    package init(environment: LoginEnvironment, allowsInsecureHTTP: Bool = false) {
        self.environment = environment
        self.allowsInsecureHTTP = allowsInsecureHTTP
    }

    /// The metadata of an issuer, asked for at both well-known places.
    package func metadata(issuer: String) throws(OIDCError) -> ProviderMetadata {
        let places = try ProviderMetadata.wellKnownURLs(
            issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        for url in places {
            let call = ProviderMetadata.call(
                url, expectedIssuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
            if let cached = environment.cache.lookup(url, at: environment.now()),
                let metadata = try? call.read(HTTPResponse(status: 200, body: cached))
            {
                return metadata
            }
            let response = try environment.transport.send(call.request, stage: call.stage)
            guard let metadata = try call.read(response) else { continue }
            environment.cache.keep(response, from: url, at: environment.now())
            return metadata
        }
        throw ProviderMetadata.notFound(issuer: issuer)
    }

    package func keys(_ url: WebURL) -> PublishedKeys {
        PublishedKeys(url: url, environment: environment)
    }
}

/// A provider's key set (RFC 7517 §5): from the cache first, and fetched again once if that is not enough.
package struct PublishedKeys: KeySource {
    let url: WebURL
    let environment: LoginEnvironment

    /// Keys that were kept may be older than the signature; keys that were just fetched may be too, when the
    /// provider changed them in that moment.
    package var mayBeStale: Bool { true }

    package func keys(refetching: Bool) throws(OIDCError) -> JWKSet {
        if !refetching, let cached = environment.cache.lookup(url, at: environment.now()),
            let keys = try? JWKSet(parsing: cached)
        {
            return keys
        }
        let response = try environment.transport.send(.json(url), stage: .keys)
        guard response.isSuccess else {
            throw OAuthErrorResponse.failure(response, stage: .keys, place: url)
        }
        let keys: JWKSet
        do { keys = try JWKSet(parsing: response.body) } catch {
            throw OIDCError(
                .refused, "jwks: \(url.withoutQuery): expected a key set, found \(error)", stage: .keys)
        }
        environment.cache.keep(response, from: url, at: environment.now())
        return keys
    }
}
