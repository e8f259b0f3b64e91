/// A search for the authorization server that protects a URL: the metadata of the resource (RFC 9728), then
/// that of the first of its authorization servers that works (RFC 8414). The resource is trusted only about
/// its own origin.
package struct ResourceSearch: Sendable {
    /// The URL that the user named.
    package let url: WebURL
    package let documents: ProviderDocuments

    /// A resource that was found.
    package struct Found: Sendable {
        package let metadata: ProtectedResourceMetadata
        /// The URL that the metadata was fetched from; nil if the resource has none.
        package let metadataURL: WebURL?
        /// The URL that the metadata covers, with everything below it; nil if it covers the whole resource.
        /// It is the requested URL, unless the resource's own metadata says the same as this one.
        package let prefix: WebURL?
        /// Whether the resource's challenge named the metadata's URL.
        package let isNamedByChallenge: Bool
        /// The resource's challenge; empty if there was none.
        package let challenge: ResourceChallenge
    }

    /// Creates a search. Refuses plain http, except on loopback or if it is allowed.
    package init(
        _ url: WebURL, environment: ProviderEnvironment, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) {
        guard url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .usage(
                "plain http is for loopback only, found \(DisplayText.clean(url.withoutQuery))",
                hint: .advice(.useHTTPS))
        }
        self.url = url
        documents = ProviderDocuments(environment: environment, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// Requests the URL without a token. Returns nil if the answer cannot be used, such as a redirect to
    /// another origin, as only its challenge would matter.
    package func probe() throws(OIDCError) -> HTTPResponse? {
        do throws(OIDCError) {
            var request = HTTPRequest.json(url)
            request.needsOnlyHead = true
            return try documents.environment.transport.send(request, stage: .resource)
        } catch {
            guard error.kind == .refused else { throw error }
            return nil
        }
    }

    /// Finds the resource's metadata: at the URL in the challenge of a 401 or 403, or else at `earlier`,
    /// where an earlier search found it, or else at the well-known URLs.
    ///
    /// Other answers count as having no challenge. `refetching` ignores cached documents, as after a 401 for
    /// a token that was obtained through them.
    package func find(
        after response: HTTPResponse? = nil, or earlier: WebURL? = nil, refetching: Bool = false
    ) throws(OIDCError) -> Found {
        var challenge = ResourceChallenge()
        if let response, response.status == 401 || response.status == 403 {
            challenge = try ResourceChallenge(response)
        }
        var failure: OIDCError?
        let named = try namedURL(challenge)
        let known = earlier.flatMap { $0.origin == url.origin ? $0 : nil }
        let first = named ?? known
        if let first {
            do throws(OIDCError) {
                return try metadata(at: [first], isNamed: named != nil, challenge, refetching: refetching)
            } catch {
                guard error.kind == .refused else { throw error }
                failure = error
            }
        }
        let left = ProtectedResourceMetadata.wellKnownURLs(for: url).filter { $0 != first }
        if left.isEmpty, let failure { throw failure }
        do throws(OIDCError) {
            return try metadata(at: left, isNamed: false, challenge, refetching: refetching)
        } catch {
            throw error.kind == .refused ? failure ?? error : error
        }
    }

    /// Returns the authorization server at the root of the URL's origin, for resources without metadata, as those of
    /// MCP authorization 2025-03-26 are. Its issuer must be the origin itself.
    package func ownServer(after response: HTTPResponse) throws(OIDCError) -> Found {
        let server = try authorizationServer(issuer: url.origin, configured: ProviderEndpoint.allCases)
        return Found(
            metadata: ProtectedResourceMetadata(url: url, issuer: server.issuer ?? url.origin),
            metadataURL: nil, prefix: nil, isNamedByChallenge: false,
            challenge: try ResourceChallenge(response))
    }

    /// Reads the metadata from a URL that an earlier search found.
    package func find(at metadataURL: WebURL, refetching: Bool = false) throws(OIDCError) -> Found {
        try checkMetadataURL(metadataURL.text)
        return try metadata(at: [metadataURL], isNamed: false, ResourceChallenge(), refetching: refetching)
    }

    private func metadata(
        at urls: [WebURL], isNamed: Bool, _ challenge: ResourceChallenge, refetching: Bool
    ) throws(OIDCError) -> Found {
        let (metadata, url) = try document(at: urls, refetching: refetching)
        return Found(
            metadata: metadata, metadataURL: url,
            prefix: try prefix(of: metadata, from: url, refetching: refetching),
            isNamedByChallenge: isNamed, challenge: challenge)
    }

    /// Returns the URL to which a document is limited; nil if it covers its whole resource.
    ///
    /// A document for more than the URL counts only if the resource's own metadata says the same (RFC 9728
    /// §3.3). Otherwise, whoever controls one path of an origin could decide where the users of its other
    /// paths sign in.
    private func prefix(
        of metadata: ProtectedResourceMetadata, from metadataURL: WebURL, refetching: Bool
    ) throws(OIDCError) -> WebURL? {
        guard let identifier = ResourceIdentifier(metadata.resource), !identifier.identifies(url) else {
            return nil
        }
        let own = ProtectedResourceMetadata.ownURLs(of: identifier.url)
        if own.contains(metadataURL) { return nil }
        let insecure = documents.allowsInsecureHTTP
        do throws(OIDCError) {
            let calls = own.map {
                ProtectedResourceMetadata.call($0, for: identifier.url, allowsInsecureHTTP: insecure)
            }
            let said = try documents.document(
                calls, search: MetadataSearch(hint: ResourceSearch.hint),
                notFound: OIDCError(.refused, "discovery: no metadata", stage: .discovery),
                refetching: refetching
            ).document
            if ExactText.isSame(said.resource, metadata.resource),
                Set(said.authorizationServers) == Set(metadata.authorizationServers)
            {
                return nil
            }
        } catch {
            guard error.kind != .interrupted else { throw error }
        }
        return WebURL(url.withoutQuery)
    }

    private func document(
        at urls: [WebURL], refetching: Bool
    ) throws(OIDCError) -> (document: ProtectedResourceMetadata, url: WebURL) {
        let calls = urls.map {
            ProtectedResourceMetadata.call($0, for: url, allowsInsecureHTTP: documents.allowsInsecureHTTP)
        }
        let notFound = OIDCError(
            .refused,
            "discovery: \(DisplayText.clean(url.withoutQuery)) does not say who protects it: there is no "
                + "protected resource metadata at \(DisplayText.clean(urls[0].withoutQuery))",
            hint: ResourceSearch.hint, stage: .discovery)
        return try documents.document(
            calls, search: MetadataSearch(hint: ResourceSearch.hint), notFound: notFound,
            refetching: refetching)
    }

    static let hint = Hint.advice(.signInAtServer)

    private func namedURL(_ challenge: ResourceChallenge) throws(OIDCError) -> WebURL? {
        guard let text = challenge.metadataURL else { return nil }
        return try checkMetadataURL(text)
    }

    /// Checks that the metadata is on the resource's origin, as no other origin may decide where the user
    /// signs in.
    @discardableResult
    private func checkMetadataURL(_ text: String) throws(OIDCError) -> WebURL {
        guard let found = WebURL(text), found.fragment == nil, found.origin == url.origin else {
            throw .untrusted(
                .discovery, "resource_metadata", expected: "a URL of \(DisplayText.clean(url.origin))",
                found: DisplayText.address(text))
        }
        return found
    }
}
