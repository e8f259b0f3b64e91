extension ProviderMetadata {
    /// Checks a configured issuer: https (or http on loopback), without query and fragment (OpenID Connect
    /// Discovery §3, RFC 8414 §2). One path segment may be `{tenantid}`, for which the returned URL has a
    /// placeholder.
    public static func checkedIssuer(
        _ text: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> WebURL {
        guard let url = WebURL.ofIssuer(text), url.query == nil, url.fragment == nil else {
            let slip = ["https:/", "http:/"].first { text.hasPrefix($0) } ?? ""
            let meant = text.includes("//") ? nil : WebURL.completing(String(text.dropFirst(slip.count)))
            let bare = meant.flatMap { $0.query == nil && $0.fragment == nil ? $0 : nil }
            let letters =
                text.utf8.contains { $0 >= 0x80 } ? "in ASCII, with its host as DNS has it (xn--), and " : ""
            throw .usage(
                "issuer: expected an https URL \(letters)without query and fragment, "
                    + "found \(DisplayText.address(text))",
                hint: bare.map { .useIssuer(DisplayText.clean($0.text, limit: 200)) }
                    ?? .advice(.checkIssuerAddress))
        }
        guard url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .usage(
                "issuer: plain http is for loopback only, found \(DisplayText.address(text))",
                hint: .advice(.useHTTPS))
        }
        for name in ["openid-configuration", "oauth-authorization-server"] {
            let parts = text.parts(around: "/.well-known/\(name)")
            guard let parts else { continue }
            throw .usage(
                "issuer: expected the issuer, found the URL of its metadata",
                hint: .useIssuer("\(parts.before)\(parts.after)"))
        }
        return url
    }

    /// Returns the URLs that may have the metadata, in the order to request them: OpenID Connect appends to
    /// the issuer's path (Discovery §4), RFC 8414 §3.1 inserts before it. A slash at the end of the issuer
    /// makes no difference.
    public static func wellKnownURLs(
        issuer: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> [WebURL] {
        let url = try checkedIssuer(issuer, allowsInsecureHTTP: allowsInsecureHTTP)
        guard IssuerTemplate(issuer) == nil else {
            throw .usage(
                "issuer: \(DisplayText.clean(issuer)) is a template, which has no well-known URL",
                hint: .advice(.setMetadataURL))
        }
        let path = url.pathWithoutLastSlash
        return [
            url.replacingPath("\(path)/.well-known/openid-configuration"),
            url.replacingPath("/.well-known/oauth-authorization-server\(path)"),
        ].compactMap { $0 }
    }

    /// Checks the configured URL of the metadata: https, or http on loopback.
    package static func checkedURL(
        _ text: String, allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text), url.fragment == nil else {
            throw .usage(
                "metadata URL: expected an https URL without a fragment, "
                    + "found \(DisplayText.address(text))", hint: .advice(.checkMetadataURL))
        }
        guard url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .usage(
                "metadata URL: plain http is for loopback only, found \(DisplayText.address(text))",
                hint: .advice(.useHTTPS))
        }
        return url
    }

    /// Returns the request for the metadata at one URL. The result is nil if there is none.
    public static func call(
        _ url: WebURL, expectedIssuer: String, allowsInsecureHTTP: Bool = false
    ) -> EndpointCall<ProviderMetadata?> {
        call(
            url, expectedIssuer: expectedIssuer, ignoresSlash: false, allowsInsecureHTTP: allowsInsecureHTTP)
    }

    /// Returns the request like `call(_:expectedIssuer:allowsInsecureHTTP:)`. `ignoresSlash` accepts another
    /// spelling of the same server; the metadata's own is then the issuer.
    static func call(
        _ url: WebURL, expectedIssuer: String, ignoresSlash: Bool, allowsInsecureHTTP: Bool
    ) -> EndpointCall<ProviderMetadata?> {
        EndpointCall(.json(url), stage: .discovery) { response throws(OIDCError) in
            switch response.status {
            case 200..<300: break
            case 404, 405, 410: return nil
            default: throw OAuthErrorResponse.failure(response, stage: .discovery, url: url) { _ in nil }
            }
            let answer = try JSONAnswer(response, stage: .discovery)
            return try ProviderMetadata(
                document: answer.members, expectedIssuer: expectedIssuer, ignoresSlash: ignoresSlash,
                from: url, allowsInsecureHTTP: allowsInsecureHTTP)
        }
    }

    /// Returns the error if no URL has metadata.
    public static func notFound(issuer: String) -> OIDCError {
        OIDCError(
            .refused,
            "discovery: \(DisplayText.clean(issuer)) has neither /.well-known/openid-configuration "
                + "nor /.well-known/oauth-authorization-server",
            hint: .advice(.checkIssuerOrSetEndpoints), stage: .discovery)
    }

    /// Fetches the metadata from the first well-known URL that has it.
    public static func discover(
        issuer: String, at metadataURL: WebURL? = nil, in context: OIDCContext,
        allowsInsecureHTTP: Bool = false
    ) throws(OIDCError) -> ProviderMetadata {
        try ProviderDocuments(context: context, allowsInsecureHTTP: allowsInsecureHTTP)
            .metadata(issuer: issuer, at: metadataURL)
    }
}

/// A search for metadata at several URLs.
///
/// After an unusable answer (4xx, an HTML page, another issuer) the next URL is requested: single-page apps
/// and CDNs send such answers for unknown paths, and the issuer is compared in every document.
///
/// A provider that cannot be reached (DNS, TLS, a time-out) ends the search, so no other answer hides that
/// error. So do 408, 425, 429 and 5xx, unless `passesOverFaults`.
package struct MetadataSearch {
    /// The error to report if no URL has usable metadata: the first document that could not be trusted, else
    /// the first 408, 425, 429 or 5xx, else the first refusal.
    package private(set) var failure: OIDCError?
    /// The text of the first JSON answer that is not a document: Keycloak names an unknown realm (26.7, 2026-11).
    private var words: String?
    /// The hint for refusals that have none.
    private let hint: Hint
    /// Whether the next URL is requested after 408, 425, 429 and 5xx too, which gateways send for unknown
    /// paths.
    private let passesOverFaults: Bool

    package init(hint: Hint = .advice(.checkIssuerOrSetEndpoints), passesOverFaults: Bool = false) {
        self.hint = hint
        self.passesOverFaults = passesOverFaults
    }

    /// Returns the document and the answer that has it, or nil to try the next URL.
    package mutating func ask<Document>(
        _ call: EndpointCall<Document?>, over transport: any HTTPTransport
    ) throws(OIDCError) -> (document: Document, response: HTTPResponse)? {
        var response: HTTPResponse?
        do throws(OIDCError) {
            let answer = try transport.send(call.request, stage: call.stage)
            response = answer
            if let found = try call.read(answer) { return (found, answer) }
            words = words ?? OAuthErrorResponse(answer)?.text ?? answer.words(withholding: WithheldSecrets())
            return nil
        } catch {
            // If there was no answer at all, the next URL is requested only after a refused redirect or an
            // answer that is not HTTP.
            let isFault = passesOverFaults && error.kind == .unreachable && response != nil
            guard error.kind == .refused || isFault || (error.kind == .untrusted && response != nil) else {
                throw error
            }
            if MetadataSearch.rank(error) > MetadataSearch.rank(failure) {
                failure = error
                failure?.hint = error.hint ?? hint
            }
            return nil
        }
    }

    /// Returns the error if no URL has a document: `failure`, or else `notFound` with the server's message.
    package func end(_ notFound: OIDCError) -> OIDCError {
        guard failure == nil, let words else { return failure ?? notFound }
        var error = notFound
        error.message += "; it answered \(words)"
        return error
    }

    private static func rank(_ failure: OIDCError?) -> Int {
        switch failure?.kind {
        case nil: 0
        case .untrusted?: 3
        case .unreachable?: 2
        default: 1
        }
    }
}

extension OIDCError {
    /// Returns the error for an endpoint that the provider does not name: a refusal, or a missing setting if
    /// the endpoints were configured one by one.
    package static func notOffered(
        _ endpoint: ProviderEndpoint, isDiscovered: Bool, hint: Hint?
    ) -> OIDCError {
        OIDCError(
            isDiscovered ? .refused : .usage, "the provider names no \(endpoint.rawValue)", hint: hint,
            stage: isDiscovered ? .discovery : .settings)
    }
}

extension ProviderMetadata {
    /// Returns an endpoint's URL, or throws if it is missing.
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

    /// Checks that the endpoints for the next steps are present and, for `openid`, the keys in discovered
    /// metadata (OpenID Connect Discovery §3). Without discovery, an ID token is ignored instead.
    public func validate(for endpoints: [ProviderEndpoint], scope: OAuthScope) throws(OIDCError) {
        for endpoint in endpoints { _ = try require(endpoint) }
        if isDiscovered && scope.contains("openid") { _ = try require(.keys) }
    }
}
