/// Finds out who protects a URL: the metadata of the resource (RFC 9728), then those of the first of its authorization
/// servers that works (RFC 8414). Nothing that the resource says is trusted beyond its own origin.
package struct ResourceSearch: Sendable {
    /// The URL that the user named.
    package let url: WebURL
    package let documents: ProviderDocuments

    /// A resource that was found.
    package struct Found: Sendable {
        package let metadata: ProtectedResourceMetadata
        /// Where the metadata came from.
        package let metadataURL: WebURL
        /// The URL that the metadata covers, with everything below it: the one that was asked, if the resource's own
        /// metadata does not say the same. Nil for the whole resource.
        package let prefix: WebURL?
        /// Whether the resource's challenge named that URL.
        package let isNamedByChallenge: Bool
        /// The demand of the resource; empty if it was not asked.
        package let challenge: ResourceChallenge
    }

    /// Checks that the URL may be asked: https, or http on loopback.
    package init(
        _ url: WebURL, environment: ProviderEnvironment, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) {
        guard url.isSecure || url.isLoopback || allowsInsecureHTTP else {
            throw .usage(
                "plain http is for loopback only, found \(DisplayText.clean(url.withoutQuery))",
                hint: .advice(.useHTTPS))
        }
        self.url = url
        documents = ProviderDocuments(environment: environment, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// Requests the URL without a token. Returns nil if the answer cannot be used, such as a redirect to another origin:
    /// only a challenge in it would have mattered.
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

    /// Finds the resource's metadata: where the challenge of a 401 or 403 says, else where an earlier search found it,
    /// else at the well-known URLs. Any other answer counts as none. With `refetching`, cached documents are not read,
    /// as after a 401 for a token that was issued according to them.
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
                return try found([first], isNamed: named != nil, challenge, refetching: refetching)
            } catch {
                guard error.kind == .refused else { throw error }
                failure = error
            }
        }
        let left = ProtectedResourceMetadata.wellKnownURLs(for: url).filter { $0 != first }
        if left.isEmpty, let failure { throw failure }
        do throws(OIDCError) {
            return try found(left, isNamed: false, challenge, refetching: refetching)
        } catch {
            throw error.kind == .refused ? failure ?? error : error
        }
    }

    /// Reads the metadata from a URL that an earlier search found.
    package func find(at metadataURL: WebURL, refetching: Bool = false) throws(OIDCError) -> Found {
        try checkPlace(metadataURL.text)
        return try found([metadataURL], isNamed: false, ResourceChallenge(), refetching: refetching)
    }

    private func found(
        _ places: [WebURL], isNamed: Bool, _ challenge: ResourceChallenge, refetching: Bool
    ) throws(OIDCError) -> Found {
        let (metadata, url) = try document(at: places, refetching: refetching)
        return Found(
            metadata: metadata, metadataURL: url,
            prefix: try prefix(of: metadata, from: url, refetching: refetching),
            isNamedByChallenge: isNamed, challenge: challenge)
    }

    /// Returns the URL that a document covers; nil for its whole resource. Whoever controls one path of an origin could
    /// otherwise decide where the users of the others sign in, so a resource above the URL must say the same of itself
    /// (RFC 9728 §3.3).
    private func prefix(
        of metadata: ProtectedResourceMetadata, from place: WebURL, refetching: Bool
    ) throws(OIDCError) -> WebURL? {
        guard let identifier = ResourceIdentifier(metadata.resource), !identifier.isSamePlace(as: url) else {
            return nil
        }
        let own = ProtectedResourceMetadata.ownPlaces(of: identifier.url)
        if own.contains(place) { return nil }
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

    private static let hint: Hint = "check the URL, or name the issuer and the client that it takes tokens of"

    private func namedURL(_ challenge: ResourceChallenge) throws(OIDCError) -> WebURL? {
        guard let text = challenge.metadataURL else { return nil }
        return try checkPlace(text)
    }

    /// Checks that metadata is on the resource's origin. Anywhere else, somebody else would decide where the user
    /// signs in.
    @discardableResult
    private func checkPlace(_ text: String) throws(OIDCError) -> WebURL {
        guard let place = WebURL(text), place.fragment == nil, place.origin == url.origin else {
            throw .untrusted(
                .discovery, "resource_metadata", expected: "a URL of \(DisplayText.clean(url.origin))",
                found: DisplayText.address(text))
        }
        return place
    }
}

extension ResourceSearch {
    /// Returns the metadata of the first authorization server that works; if none does, reports the first failure.
    /// An issuer that is named must be one of the resource's. `forSignIn`: whether a user will sign in there, which
    /// requires PKCE.
    package func authorizationServer(
        of resource: ProtectedResourceMetadata, issuer: String? = nil, forSignIn: Bool = true,
        refetching: Bool = false
    ) throws(OIDCError) -> ProviderMetadata {
        var issuers = resource.authorizationServers
        if let issuer {
            issuers = issuers.filter { ExactText.isSame($0, issuer) }
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
        for issuer in issuers {
            do throws(OIDCError) {
                return try server(issuer, forSignIn: forSignIn, refetching: refetching)
            } catch {
                guard ![.interrupted, .failed, .timedOut].contains(error.kind) else { throw error }
                var error = error
                // The issuer is the resource's, not the user's input.
                if error.kind == .usage { error.kind = .refused }
                failure = failure ?? error
            }
        }
        throw failure ?? ProviderMetadata.notFound(issuer: issuers[0])
    }

    /// Returns the metadata of an authorization server that an earlier search chose.
    package func authorizationServer(
        issuer: String, forSignIn: Bool = true
    ) throws(OIDCError) -> ProviderMetadata {
        try server(issuer, forSignIn: forSignIn, refetching: false)
    }

    private func server(
        _ issuer: String, forSignIn: Bool, refetching: Bool
    ) throws(OIDCError) -> ProviderMetadata {
        let insecure = documents.allowsInsecureHTTP
        let calls = try ProviderMetadata.resourceServerURLs(issuer: issuer, allowsInsecureHTTP: insecure).map
        {
            let call = ProviderMetadata.call($0, expectedIssuer: issuer, allowsInsecureHTTP: insecure)
            return EndpointCall(call.request, stage: call.stage) { response throws(OIDCError) in
                guard let metadata = try call.read(response) else { return ProviderMetadata?.none }
                try metadata.check(asServerOf: url, issuer: issuer, forSignIn: forSignIn)
                return metadata
            }
        }
        do throws(OIDCError) {
            return try documents.document(
                calls, search: MetadataSearch(), notFound: ProviderMetadata.notFound(issuer: issuer),
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

    /// The hint for what only the resource or its server can set right.
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
    /// Returns where the metadata of a resource's authorization server may be, in the order of the MCP authorization
    /// specification: RFC 8414 with the path inserted, OpenID Connect with the path inserted, then appended.
    package static func resourceServerURLs(
        issuer: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> [WebURL] {
        let url = try checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        var paths = [
            "/.well-known/oauth-authorization-server\(path)", "/.well-known/openid-configuration\(path)",
        ]
        if !path.isEmpty { paths.append("\(path)/.well-known/openid-configuration") }
        return paths.compactMap { url.replacingPath($0) }
    }

    /// Checks what a resource's authorization server must have: the issuer that the resource names, exactly, no
    /// URL on this machine unless the resource is on it too, and S256 (MCP authorization, 2026-07-28).
    func check(asServerOf resource: WebURL, issuer expected: String, forSignIn: Bool) throws(OIDCError) {
        guard let issuer, ExactText.isSame(issuer, expected) else {
            let sides = DisplayText.sides(expected: expected, found: issuer ?? "none")
            throw .untrusted(.discovery, "issuer", expected: sides.expected, found: sides.found)
        }
        let urls =
            endpoints.map { ($0.key.rawValue, $0.value) }
            + mtlsEndpointAliases.map { ("mtls_endpoint_aliases.\($0.key.rawValue)", $0.value) }
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
