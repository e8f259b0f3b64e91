/// The search for the authorization server of a resource.
extension ResourceSearch {
    /// Returns the metadata of the first working server for which `hasClient` returns true, or else of the
    /// first working one. If none works, throws the first failure.
    ///
    /// If `issuer` is given, it must be one of the resource's. Another spelling of the same server is accepted;
    /// the issuer of the result is always that of the metadata. `configured` returns the endpoints that the
    /// settings name for a server, which its metadata may lack. `forSignIn` means that a user will sign in at
    /// the server, which requires PKCE.
    package func authorizationServer(
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
                ? "the server's metadata names another issuer than the resource does: report it to whoever runs them"
                : ResourceSearch.faultHint
            throw error
        }
    }

    /// The hint about a fault that only the resource or its server can fix.
    package static let faultHint: Hint =
        "this is a fault of the resource or of its authorization server: report it to whoever runs them"
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
        let urls =
            endpoints.all.map { ($0.endpoint.rawValue, $0.url) }
            + mtlsEndpointAliases.all.map { ("mtls_endpoint_aliases.\($0.endpoint.rawValue)", $0.url) }
        for (member, url) in urls.sorted(by: { $0.0 < $1.0 }) {
            try ProtectedResourceMetadata.checkReach(of: url, named: member, from: resource)
        }
        guard forSignIn, codeChallengeMethodsSupported?.contains(PKCE.method) != true else { return }
        throw .protocolViolation(
            .discovery, "code_challenge_methods_supported", expected: PKCE.method,
            found: codeChallengeMethodsSupported.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
                ?? "none")
    }
}
