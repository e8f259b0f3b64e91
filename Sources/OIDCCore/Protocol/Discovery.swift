extension ProviderMetadata {
    /// The issuer of the configuration: https (or http on loopback), without query and fragment (OpenID
    /// Connect Discovery §3, RFC 8414 §2).
    public static func checkedIssuer(
        _ text: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text), url.query == nil, url.fragment == nil else {
            let meant = text.includes("//") ? nil : WebURL("https://\(text)")
            let isBare = meant.map { $0.query == nil && $0.fragment == nil } ?? false
            throw .usage(
                "issuer: expected an https address without query and fragment, "
                    + "found \(DisplayText.address(text))",
                hint: isBare
                    ? .useIssuer("https://\(DisplayText.clean(text, limit: 200))")
                    : .advice(.checkIssuerAddress))
        }
        guard url.isSecure || url.isLoopback || allowsInsecureHTTP else {
            throw .usage(
                "issuer: plain http is for loopback only, found \(DisplayText.address(text))",
                hint: .advice(.useHTTPS))
        }
        for name in ["openid-configuration", "oauth-authorization-server"] {
            let parts = text.parts(around: "/.well-known/\(name)")
            guard let parts else { continue }
            throw .usage(
                "issuer: expected the issuer, found the address of its metadata",
                hint: .useIssuer("\(parts.before)\(parts.after)"))
        }
        return url
    }

    /// Where the metadata may be, in the order in which to ask: OpenID Connect appends to the issuer's path
    /// (Discovery §4), RFC 8414 §3.1 inserts before it. A slash at the end makes no difference here.
    public static func wellKnownURLs(
        issuer: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> [WebURL] {
        let url = try checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        return [
            url.replacingPath("\(path)/.well-known/openid-configuration"),
            url.replacingPath("/.well-known/oauth-authorization-server\(path)"),
        ].compactMap { $0 }
    }

    /// Asks one place; nil where there is nothing, so the next place is asked.
    public static func call(
        _ url: WebURL, expectedIssuer: String, allowsInsecureHTTP: Bool = false
    ) -> EndpointCall<ProviderMetadata?> {
        EndpointCall(.json(url), stage: .discovery) { response throws(OIDCError) in
            switch response.status {
            case 200..<300: break
            case 404, 405, 410: return nil
            default: throw OAuthErrorResponse.failure(response, stage: .discovery, place: url) { _ in nil }
            }
            let answer = try JSONAnswer(response, stage: .discovery)
            return try ProviderMetadata(
                document: answer.members, expectedIssuer: expectedIssuer,
                allowsInsecureHTTP: allowsInsecureHTTP)
        }
    }

    /// Neither place had anything.
    public static func notFound(issuer: String) -> OIDCError {
        OIDCError(
            .refused,
            "discovery: \(DisplayText.clean(issuer)) has neither /.well-known/openid-configuration "
                + "nor /.well-known/oauth-authorization-server",
            hint: .advice(.checkIssuerOrSetEndpoints), stage: .discovery)
    }

    /// Asks the places in turn.
    public static func discover(
        issuer: String, over transport: some HTTPTransport, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> ProviderMetadata {
        for url in try wellKnownURLs(issuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP) {
            let call = call(url, expectedIssuer: issuer, allowsInsecureHTTP: allowsInsecureHTTP)
            if let metadata = try transport.perform(call) { return metadata }
        }
        throw notFound(issuer: issuer)
    }
}

extension ProviderMetadata {
    /// An endpoint that cannot be done without.
    public func require(
        _ endpoint: ProviderEndpoint, presentingCertificate: Bool = false
    ) throws(OIDCError) -> WebURL {
        if let url = url(endpoint, presentingCertificate: presentingCertificate) { return url }
        let hint = Hint.setEndpoint(endpoint)
        guard isDiscovered else {
            throw .usage("\(endpoint.rawValue) is not set, and there is no issuer to discover it", hint: hint)
        }
        throw OIDCError(
            .refused, "discovery: \(endpoint.rawValue) is missing from the metadata", hint: hint,
            stage: .discovery)
    }

    /// That everything is there which the steps ahead need; for `openid` discovered metadata names the keys
    /// too (OpenID Connect Discovery §3). Without discovery an ID token goes unread instead.
    public func validate(for endpoints: [ProviderEndpoint], scope: Scope) throws(OIDCError) {
        for endpoint in endpoints { _ = try require(endpoint) }
        if isDiscovered && scope.contains("openid") { _ = try require(.keys) }
    }

    /// What is missing or unsafe, a line each, for people to read.
    public var remarks: [String] {
        var remarks: [String] = []
        for endpoint in [ProviderEndpoint.authorization, .token, .keys] where self[endpoint] == nil {
            remarks.append("\(endpoint.rawValue) is missing")
        }
        switch codeChallengeMethodsSupported {
        case nil: remarks.append("code_challenge_methods_supported is missing: S256 is sent all the same")
        case let methods? where !methods.contains(PKCE.method):
            remarks.append("code_challenge_methods_supported does not list S256: no sign-in is possible")
        case let methods? where methods.contains("plain"):
            remarks.append("code_challenge_methods_supported lists plain, which protects nothing")
        default: break
        }
        if let types = responseTypesSupported, !types.contains("code") {
            remarks.append("response_types_supported does not list code")
        }
        if idTokenSigningAlgValuesSupported?.contains("none") == true {
            remarks.append("id_token_signing_alg_values_supported lists none, which is never accepted")
        }
        if !authorizationResponseIssParameterSupported {
            remarks.append("authorization_response_iss_parameter_supported is not true (RFC 9207)")
        }
        return remarks
    }
}
