/// The metadata and keys that a provider publishes, fetched and cached.
package struct ProviderDocuments: Sendable {
    package let context: OIDCContext
    package let allowsInsecureHTTP: Bool

    package init(context: OIDCContext, allowsInsecureHTTP: Bool = false) {
        self.context = context
        self.allowsInsecureHTTP = allowsInsecureHTTP
    }

    /// Returns an issuer's metadata, from `metadataURL` or else from the well-known URLs.
    package func metadata(
        issuer: String, at metadataURL: WebURL? = nil
    ) throws(OIDCError) -> ProviderMetadata {
        guard let metadataURL else {
            let urls = try ProviderMetadata.wellKnownURLs(
                issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
            return try metadata(
                issuer: issuer, at: urls, notFound: ProviderMetadata.notFound(issuer: issuer))
        }
        _ = try ProviderMetadata.checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        let notFound = OIDCError(
            .refused, "discovery: there is nothing at \(DisplayText.clean(metadataURL.withoutQuery))",
            hint: .advice(.checkMetadataURL), stage: .discovery)
        return try metadata(issuer: issuer, at: [metadataURL], notFound: notFound)
    }

    /// Returns the metadata of the provider whose issuer a user typed as a URL, with the metadata's own spelling
    /// of the issuer. Asks at the places of OpenID Connect and RFC 8414, OpenID Connect appended first.
    package func metadata(ofTyped url: WebURL) throws(OIDCError) -> ProviderMetadata {
        let notFound = ProviderMetadata.notFound(issuer: url.text)
        var urls = try ProviderMetadata.wellKnownURLs(
            issuer: url.text, allowsInsecureHTTP: allowsInsecureHTTP)
        let path = url.pathWithoutLastSlash
        if !path.isEmpty, let last = url.replacingPath("/.well-known/openid-configuration\(path)") {
            urls.append(last)
        }
        let calls = urls.map {
            ProviderMetadata.call(
                $0, expectedIssuer: url.text, ignoresSlash: true, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        return try document(
            calls, search: MetadataSearch(passesOverFaults: true), notFound: notFound
        ).document
    }

    /// Returns the first valid metadata. The cache is searched for all URLs before any is requested, so a
    /// first URL without metadata is not requested each time.
    package func metadata(
        issuer: String, at urls: [WebURL], notFound: @autoclosure () -> OIDCError
    ) throws(OIDCError) -> ProviderMetadata {
        let calls = urls.map {
            ProviderMetadata.call($0, expectedIssuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        return try document(calls, search: MetadataSearch(), notFound: notFound()).document
    }

    /// Returns the first valid document and its URL. `refetching` ignores cached documents.
    func document<Document>(
        _ calls: [EndpointCall<Document?>], search: MetadataSearch, notFound: @autoclosure () -> OIDCError,
        refetching: Bool = false
    ) throws(OIDCError) -> (document: Document, url: WebURL) {
        for call in calls where !refetching {
            if let cached = context.cache.lookup(call.request.url, at: context.now()),
                let document = try? call.read(HTTPResponse(status: 200, body: cached))
            {
                return (document, call.request.url)
            }
        }
        var search = search
        for call in calls {
            guard let found = try search.ask(call, over: context.transport) else { continue }
            context.cache.keep(found.response, from: call.request.url, at: context.now())
            return (found.document, call.request.url)
        }
        throw search.end(notFound())
    }

    package func keys(_ url: WebURL) -> PublishedKeys {
        PublishedKeys(url: url, context: context)
    }
}

/// A provider's key set (RFC 7517 §5), cached. If no cached key verifies a signature, the set is fetched
/// again, once.
package struct PublishedKeys: KeySource {
    let url: WebURL
    let context: OIDCContext

    /// Always true: cached keys may be older than the signature. So may keys that were just fetched, if the
    /// provider changed them at that moment.
    package var mayBeStale: Bool { true }

    package func keys(refetching: Bool) throws(OIDCError) -> JWKSet {
        if !refetching, let cached = context.cache.lookup(url, at: context.now()),
            let keys = try? JWKSet(parsing: cached)
        {
            return keys
        }
        let call = JWKSet.call(url)
        let response = try context.transport.send(call.request, stage: call.stage)
        let keys = try call.read(response)
        context.cache.keep(response, from: url, at: context.now())
        return keys
    }
}
