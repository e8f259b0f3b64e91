/// An authorization request (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1) for a code, always with PKCE and
/// `state`, and with a `nonce` if `openid` is requested, unless `sendsNonce` is false.
public struct AuthorizationRequest: Sendable {
    /// The client that sends the request.
    public var client: OAuthClient
    /// The redirect URI: a URL on loopback, an https URL, or one with a private-use scheme (RFC 8252 §7).
    public var redirectURI: String
    /// The scope to request.
    public var scope: OAuthScope
    /// `audience`, which some providers use instead of resources.
    public var audience: String?
    /// The resource indicators (RFC 8707).
    public var resources: [String] = []
    /// The way the answer is sent; nil leaves the choice to the provider.
    public var responseMode: ResponseMode?
    /// `prompt` (OpenID Connect Core §3.1.2.1).
    public var prompt: String?
    /// Whether `prompt=consent` is sent if `offline_access` is requested and no prompt is given: idpyoidc and
    /// pyop/SATOSA refuse the request without it (OpenID Connect Core §11; tried 2026-11).
    public var promptsForOfflineAccess = true
    /// The longest time since the user authenticated, in seconds.
    public var maxAge: Duration?
    /// The account to suggest.
    public var loginHint: String?
    /// The authentication contexts to request, separated by spaces.
    public var acrValues: String?
    /// Languages for the provider's pages, separated by spaces.
    public var uiLocales: String?
    /// `authorization_details`, an array (RFC 9396).
    public var authorizationDetails: JSONValue?
    /// `dpop_jkt`: the thumbprint of the key to which the code is bound (RFC 9449 §10).
    public var dpopThumbprint: String?
    /// Whether a `nonce` is sent with the scope `openid`. It belongs to ID tokens (OpenID Connect Core
    /// §3.1.2.1), and oidc-provider 9 refuses a request that has one without `openid` (2026-11). Some
    /// providers' ID tokens never have one; PKCE alone then ties the answer to the request.
    public var sendsNonce = true
    /// Whether an error answer without the `iss` that the metadata promises is rejected unread (RFC 9207
    /// §2.4). A sign-in to a resource requires this (MCP authorization, 2026-07-28).
    package var rejectsErrorsWithoutIssuer = false
    /// The signing of the request (RFC 9101); nil for a plain one.
    package var signing: RequestObjectSigning?
    /// Parameters that only this provider defines; none can replace one of the protocol.
    public var extraParameters: [FormEncoding.Pair] = []

    /// Creates a request with a scope and no optional parameters.
    public init(client: OAuthClient, redirectURI: String, scope: OAuthScope) {
        self.client = client
        self.redirectURI = redirectURI
        self.scope = scope
    }

    /// The way the answer is sent (OAuth 2.0 Multiple Response Types §2.1, Form Post §2), and whether it is signed
    /// (JARM §2.3).
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum ResponseMode: String, Sendable, CaseIterable {
        case query
        case formPost = "form_post"
        /// A signed answer, sent in the default way: in the query.
        case jwt
        case queryJWT = "query.jwt"
        case formPostJWT = "form_post.jwt"
    }

    /// Generates `state`, `nonce` and verifier, and returns the sign-in with the URL to open. Sends nothing.
    public func begin(
        _ metadata: ProviderMetadata, random: (Int) -> [UInt8], isPushed: Bool = false
    ) throws(OIDCError) -> PendingAuthorization {
        try check()
        let endpoint = try metadata.require(.authorization)
        guard endpoint.isSafe(allowsInsecureHTTP: metadata.allowsInsecureHTTP) else {
            throw .protocolViolation(
                .authorization, "authorization_endpoint", expected: "an https URL", found: endpoint.text)
        }
        try metadata.requireS256()
        if signing == nil { try metadata.requirePlainRequests() }
        let state = Redacted(Base64URL.encode(random(16)))
        let sendsNonce = sendsNonce && scope.contains("openid")
        let nonce = sendsNonce ? Redacted(Base64URL.encode(random(16))) : nil
        let pkce = PKCE.generate(random: random)
        let prompt = effectivePrompt(metadata)
        let parameters = try parameters(
            state: state.revealed, nonce: nonce?.revealed, pkce: pkce, prompt: prompt)
        var pending = PendingAuthorization(
            url: try AuthorizationRequest.url(endpoint, parameters, isPushed: isPushed), endpoint: endpoint,
            parameters: parameters, state: state, nonce: nonce, pkce: pkce, clientID: client.id,
            redirectURI: redirectURI, scope: scope, resources: resources, maxAge: maxAge, prompt: prompt,
            responseMode: responseMode ?? .query, issuer: metadata.issuer,
            isIssuerPromised: metadata.authorizationResponseIssParameterSupported,
            tokenEndpoint: metadata.isDiscovered ? nil : metadata.tokenEndpoint,
            jwksURI: metadata.isDiscovered ? nil : metadata.jwksURI)
        pending.rejectsErrorsWithoutIssuer = rejectsErrorsWithoutIssuer
        return pending
    }

    /// The longest URL that every browser accepts, in bytes.
    static let maximumByteCount = 65_536

    /// Returns the endpoint's URL with the parameters after its own query (RFC 6749 §3.1), which must not
    /// contain one of them. A pushed request may have any length, as its parameters are not in the URL.
    static func url(
        _ endpoint: WebURL, _ parameters: [FormEncoding.Pair], isPushed: Bool = false
    ) throws(OIDCError) -> WebURL {
        let own = FormEncoding.decode(endpoint.query ?? "") ?? []
        if let repeated = own.first(where: { pair in parameters.contains { $0.name == pair.name } }) {
            throw .protocolViolation(
                .authorization, "authorization_endpoint", expected: "a query without our parameters",
                found: repeated.name)
        }
        let url = endpoint.appendingQuery(parameters)
        guard isPushed || url.text.utf8.count <= maximumByteCount else {
            throw .usage(
                "the authorization request is too long for a URL",
                hint: .set(.pushedAuthorization, to: "require"))
        }
        return url
    }

    /// Returns the prompt to send. The default, `consent` for `offline_access`, is used only if no extra
    /// parameter sets a prompt and the metadata does not exclude it.
    package func effectivePrompt(_ metadata: ProviderMetadata) -> String? {
        guard prompt == nil, promptsForOfflineAccess, scope.contains("offline_access") else { return prompt }
        let isListed = metadata.promptValuesSupported?.contains("consent") ?? true
        return isListed && !extraParameters.contains { $0.name == "prompt" } ? "consent" : nil
    }

    private func parameters(
        state: String, nonce: String?, pkce: PKCE, prompt: String?
    ) throws(OIDCError) -> [FormEncoding.Pair] {
        var pairs: [FormEncoding.Pair] = []
        func add(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { pairs.append(FormEncoding.Pair(name, value)) }
        }
        add("response_type", "code")
        add("client_id", client.id)
        add("redirect_uri", redirectURI)
        add("scope", scope.text)
        add("state", state)
        add("nonce", nonce)
        add("code_challenge", try pkce.challenge)
        add("code_challenge_method", PKCE.method)
        add("response_mode", responseMode?.rawValue)
        add("prompt", prompt)
        add("max_age", maxAge.map { String($0.components.seconds) })
        add("login_hint", loginHint)
        add("acr_values", acrValues)
        add("ui_locales", uiLocales)
        add("audience", audience)
        for resource in resources { add("resource", resource) }
        add("authorization_details", authorizationDetails?.compact)
        add("dpop_jkt", dpopThumbprint)
        return try ExtraParameters.authorize.adding(extraParameters, to: pairs)
    }
}
