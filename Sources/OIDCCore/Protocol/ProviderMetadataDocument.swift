extension ProviderMetadata {
    /// Parses a metadata document. `issuer` must be the expected one, character for character (OpenID Connect
    /// Discovery §4.3, RFC 8414 §3.3), or a template that may stand for it (`IssuerTemplate`).
    ///
    /// Each member that we use must have its type; the rest is ignored.
    public init(
        document: JSONObject, expectedIssuer: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) {
        try self.init(
            document: document, expectedIssuer: expectedIssuer, from: nil,
            allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// Parses a document that came from a URL. If that URL is not on loopback, an issuer on loopback must not
    /// name plain-http endpoints either. `ignoresSlash` accepts another spelling of the same server.
    init(
        document: JSONObject, expectedIssuer: String, ignoresSlash: Bool = false, from source: WebURL?,
        allowsInsecureHTTP: Bool
    ) throws(OIDCError) {
        let answer = JSONAnswer(document, stage: .discovery)
        let issuer = try answer.requiredString("issuer")
        let isTemplate = IssuerTemplate(issuer)?.mayStand(for: expectedIssuer) == true
        let isSpelledOtherwise = ignoresSlash && IssuerSpelling.isSameServer(issuer, expectedIssuer)
        guard ExactText.isSame(issuer, expectedIssuer) || isTemplate || isSpelledOtherwise else {
            throw ProviderMetadata.issuerMismatch(expected: expectedIssuer, found: issuer)
        }
        self.init(issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        isDiscovered = true
        raw = document
        let url = WebURL.ofIssuer(issuer)
        let owner = url?.isLoopback == true && source?.isLoopback == false ? source : url
        endpoints = try ProviderMetadata.endpoints(
            answer, issuer: owner, allowsInsecureHTTP: allowsInsecureHTTP)
        if let aliases = try answer.object("mtls_endpoint_aliases") {
            mtlsEndpointAliases = try ProviderMetadata.endpoints(
                JSONAnswer(aliases, stage: .discovery), within: "mtls_endpoint_aliases.",
                issuer: owner, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        try readLists(answer)
        supportsClientMetadataDocuments = try answer.bool("client_id_metadata_document_supported") ?? false
        authorizationResponseIssParameterSupported =
            try answer.bool("authorization_response_iss_parameter_supported") ?? false
        requirePushedAuthorizationRequests =
            try answer.bool("require_pushed_authorization_requests") ?? false
        tlsClientCertificateBoundAccessTokens =
            try answer.bool("tls_client_certificate_bound_access_tokens") ?? false
    }

    /// Returns the error for another issuer. The hint suggests that issuer only if it differs by one slash, a
    /// typo; if it is below the path of the expected one (UAA's is `…/uaa/oauth/token`, 2026-11); if it names
    /// the tenant in place of an alias or template (Entra ID: `consumers`, a domain); or if both are this machine, as
    /// `localhost` and `127.0.0.1`.
    private static func issuerMismatch(expected: String, found: String) -> OIDCError {
        var hint = Hint.advice(.checkIssuerSpelling)
        let isBelow =
            WebURL.ofIssuer(expected)?.path.utf8.count ?? 0 > 1 && WebURL.ofIssuer(found) != nil
            && found.utf8.starts(with: "\(expected)/".utf8)
        let isSlash = isBelow || found == expected + "/" || found + "/" == expected
        let isTenant =
            IssuerTemplate(expected)?.tenant(of: found) != nil
            || IssuerTemplate.tenant(of: found, unlike: expected).map(IssuerTemplate.isUUID) == true
        let isSameMachine =
            WebURL.ofIssuer(expected)?.replacingLoopbackHost == WebURL.ofIssuer(found)?.replacingLoopbackHost
            && WebURL.ofIssuer(found)?.isLoopback == true
        if isSlash || isTenant || isSameMachine {
            hint = .useIssuer(found)
        } else if found.includes("{") {
            hint = "name the tenant in the issuer: the one that was found is a template"
        }
        let sides = DisplayText.sides(expected: expected, found: found)
        return .untrusted(
            .discovery, "issuer", expected: sides.expected, found: sides.found, hint: hint)
    }

    private mutating func readLists(_ answer: JSONAnswer) throws(OIDCError) {
        scopesSupported = try answer.strings("scopes_supported")
        responseTypesSupported = try answer.strings("response_types_supported")
        responseModesSupported = try answer.strings("response_modes_supported")
        grantTypesSupported = try answer.strings("grant_types_supported")
        promptValuesSupported = try answer.strings("prompt_values_supported")
        codeChallengeMethodsSupported = try answer.strings("code_challenge_methods_supported")
        tokenEndpointAuthMethodsSupported = try answer.strings("token_endpoint_auth_methods_supported")
        tokenEndpointAuthSigningAlgValuesSupported =
            try answer.strings("token_endpoint_auth_signing_alg_values_supported")
        revocationEndpointAuthMethodsSupported =
            try answer.strings("revocation_endpoint_auth_methods_supported")
        idTokenSigningAlgValuesSupported = try answer.strings("id_token_signing_alg_values_supported")
        userInfoSigningAlgValuesSupported = try answer.strings("userinfo_signing_alg_values_supported")
        authorizationSigningAlgValuesSupported =
            try answer.strings("authorization_signing_alg_values_supported")
        introspectionSigningAlgValuesSupported =
            try answer.strings("introspection_signing_alg_values_supported")
        dpopSigningAlgValuesSupported = try answer.strings("dpop_signing_alg_values_supported")
    }

    /// Returns the endpoints. An empty string counts as absent, as several providers send one for a missing
    /// value.
    private static func endpoints(
        _ answer: JSONAnswer, within prefix: String = "", issuer: WebURL?, allowsInsecureHTTP: Bool
    ) throws(OIDCError) -> ProviderEndpoints {
        var endpoints: ProviderEndpoints = [:]
        for endpoint in ProviderEndpoint.discovered {
            guard let text = try answer.string(endpoint.rawValue), !text.isEmpty else { continue }
            endpoints[endpoint] = try ProviderEndpoint.named(
                prefix + endpoint.rawValue, text, issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        }
        return endpoints
    }
}

extension WebURL {
    /// A loopback URL with one name of this machine in place of another; nil for other hosts.
    fileprivate var replacingLoopbackHost: String? {
        isLoopback ? "\(scheme)://loopback:\(effectivePort)\(pathWithoutLastSlash)" : nil
    }
}
