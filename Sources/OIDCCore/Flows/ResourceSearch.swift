/// A search for the authorization server that protects a URL: the metadata of the resource (RFC 9728), then
/// that of the first of its authorization servers that works (RFC 8414). The resource is trusted only about
/// its own origin.
public struct ResourceSearch: Sendable {
    /// The URL that the user named.
    public let url: WebURL
    package let documents: ProviderDocuments

    /// A resource that was found.
    public struct Found: Sendable {
        /// The metadata of the resource.
        public let metadata: ProtectedResourceMetadata
        /// The URL that the metadata was fetched from; nil if the resource has none.
        public let metadataURL: WebURL?
        /// The URL that the metadata covers, with everything below it; nil if it covers the whole resource.
        /// It is the requested URL, unless the resource's own metadata says the same as this one.
        public let prefix: WebURL?
        /// Whether the resource's challenge named the metadata's URL.
        public let isNamedByChallenge: Bool
        /// The resource's challenge; empty if there was none.
        public let challenge: ResourceChallenge
    }

    /// Creates a search. Refuses plain http, except on loopback or if it is allowed.
    public init(
        _ url: WebURL, context: OIDCContext, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) {
        guard url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .usage(
                "plain http is for loopback only, found \(DisplayText.clean(url.withoutQuery))",
                hint: .advice(.useHTTPS))
        }
        self.url = url
        documents = ProviderDocuments(context: context, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// Requests the URL without a token. Returns nil if the answer cannot be used, such as a redirect to
    /// another origin, as only its challenge would matter.
    public func probe() throws(OIDCError) -> HTTPResponse? {
        do throws(OIDCError) {
            var request = HTTPRequest.json(url)
            request.needsOnlyHead = true
            return try documents.context.transport.send(request, stage: .resource)
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
    public func find(
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

/// The search for the authorization server of a resource.
extension ResourceSearch {
    /// Returns the metadata of the first working server for which `hasClient` returns true, or else of the
    /// first working one. If none works, throws the first failure.
    ///
    /// If `issuer` is given, it must be one of the resource's. Another spelling of the same server is accepted;
    /// the issuer of the result is always that of the metadata. `configured` returns the endpoints that the
    /// settings name for a server, which its metadata may lack. `forSignIn` means that a user will sign in at
    /// the server, which requires PKCE.
    public func authorizationServer(
        of resource: ProtectedResourceMetadata, issuer: String? = nil,
        configured: (_ issuer: String) -> [ProviderEndpoint] = { _ in [] },
        forSignIn: Bool = true, refetching: Bool = false,
        hasClient: (ProviderMetadata) throws(OIDCError) -> Bool = { _ in true }
    ) throws(OIDCError) -> ProviderMetadata {
        var issuers = resource.authorizationServers
        if let issuer {
            issuers = issuers.filter { IssuerSpelling.isSameServer($0, issuer) }
            guard !issuers.isEmpty else {
                throw .untrusted(
                    .discovery, "authorization_servers", expected: DisplayText.clean(issuer),
                    found: resource.serverList)
            }
        }
        guard !issuers.isEmpty else {
            throw OIDCError(
                .refused, "discovery: authorization_servers is missing from the resource's metadata",
                hint: ResourceSearch.hint, stage: .discovery)
        }
        var failure: OIDCError?
        var withoutClient: ProviderMetadata?
        for issuer in issuers {
            let found: ProviderMetadata
            do throws(OIDCError) {
                found = try authorizationServer(
                    issuer: issuer, configured: configured(issuer), forSignIn: forSignIn,
                    refetching: refetching)
            } catch {
                guard ![.interrupted, .failed, .timedOut].contains(error.kind) else { throw error }
                var error = error
                // The issuer is the resource's, not the user's input.
                if error.kind == .usage { error.kind = .refused }
                failure = failure ?? error
                continue
            }
            if issuers.count == 1 { return found }
            if try hasClient(found) { return found }
            withoutClient = withoutClient ?? found
        }
        if let withoutClient { return withoutClient }
        throw failure ?? ProviderMetadata.notFound(issuer: issuers[0])
    }

    /// Returns the metadata of an authorization server that an earlier search chose.
    package func authorizationServer(
        issuer: String, configured: [ProviderEndpoint], forSignIn: Bool = true, refetching: Bool = false
    ) throws(OIDCError) -> ProviderMetadata {
        let insecure = documents.allowsInsecureHTTP
        let calls = try ProviderMetadata.resourceServerURLs(issuer: issuer, allowsInsecureHTTP: insecure).map
        {
            let call = ProviderMetadata.call(
                $0, expectedIssuer: issuer, ignoresSlash: true, allowsInsecureHTTP: insecure)
            return EndpointCall(call.request, stage: call.stage) { response throws(OIDCError) in
                guard let metadata = try call.read(response) else { return ProviderMetadata?.none }
                try metadata.check(asServerOf: url, issuer: issuer, forSignIn: forSignIn)
                try metadata.checkEndpoints(besides: configured, forSignIn: forSignIn)
                return metadata
            }
        }
        do throws(OIDCError) {
            return try documents.document(
                calls, search: MetadataSearch(passesOverFaults: true),
                notFound: ProviderMetadata.notFound(issuer: issuer),
                refetching: refetching
            ).document
        } catch {
            guard error.kind == .refused || error.kind == .untrusted, error.stage == .discovery else {
                throw error
            }
            // No setting helps: the issuer is from the resource, and the rest from its server.
            var error = error
            error.hint =
                error.member == "issuer"
                ? "the server's metadata names another issuer than the resource does: report it to their operators"
                : ResourceSearch.faultHint
            throw error
        }
    }

    /// The hint about a fault that only the resource or its server can fix.
    package static let faultHint: Hint =
        "this is a fault of the resource or of its authorization server: report it to their operators"
}

extension ProtectedResourceMetadata {
    /// The issuers in one line.
    package var serverList: String {
        authorizationServers.isEmpty
            ? "none" : authorizationServers.map { DisplayText.clean($0) }.joined(separator: ", ")
    }
}

extension ProviderMetadata {
    /// Returns the URLs that may have the metadata of a resource's authorization server, in the order of the
    /// MCP authorization specification: RFC 8414 with the path inserted, OpenID Connect with the path
    /// inserted, then appended.
    package static func resourceServerURLs(
        issuer: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> [WebURL] {
        let url = try checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        let path = url.pathWithoutLastSlash
        var paths = [
            "/.well-known/oauth-authorization-server\(path)", "/.well-known/openid-configuration\(path)",
        ]
        if !path.isEmpty { paths.append("\(path)/.well-known/openid-configuration") }
        return paths.compactMap { url.replacingPath($0) }
    }

    /// Checks that the metadata has the endpoints for getting a token, except those that the settings name.
    func checkEndpoints(besides configured: [ProviderEndpoint], forSignIn: Bool) throws(OIDCError) {
        func has(_ endpoint: ProviderEndpoint) -> Bool {
            configured.contains(endpoint) || endpoints[endpoint] != nil
        }
        if !has(.token) { _ = try require(.token) }
        if forSignIn, !has(.deviceAuthorization), !has(.authorization) { _ = try require(.authorization) }
    }

    /// Checks the metadata of a resource's authorization server (MCP authorization, 2026-07-28): the issuer that
    /// the resource names, but for the slash of `IssuerSpelling`, no URL on this machine unless the resource is on it too, and S256 for
    /// a sign-in.
    func check(asServerOf resource: WebURL, issuer expected: String, forSignIn: Bool) throws(OIDCError) {
        guard let issuer, IssuerSpelling.isSameServer(issuer, expected) else {
            let sides = DisplayText.sides(expected: expected, found: issuer ?? "none")
            throw .untrusted(.discovery, "issuer", expected: sides.expected, found: sides.found)
        }
        try checkReach(from: resource)
        guard forSignIn, codeChallengeMethodsSupported?.contains(PKCE.method) != true else { return }
        throw .protocolViolation(
            .discovery, "code_challenge_methods_supported", expected: PKCE.method,
            found: codeChallengeMethodsSupported.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
                ?? "none")
    }

    /// Checks that no endpoint leads to this machine or its network from a URL elsewhere that led to the server.
    package func checkReach(from referrer: WebURL) throws(OIDCError) {
        let urls =
            endpoints.all.map { ($0.endpoint.rawValue, $0.url) }
            + mtlsEndpointAliases.all.map { ("mtls_endpoint_aliases.\($0.endpoint.rawValue)", $0.url) }
        for (member, url) in urls.sorted(by: { $0.0 < $1.0 }) {
            try referrer.checkReach(of: url, named: member, .discovery)
        }
    }
}
