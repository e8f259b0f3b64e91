/// A client that registers itself (RFC 7591): a native, public one with redirects on loopback (RFC 8252
/// §8.4).
public struct Registration: Sendable {
    /// `client_name`.
    public var clientName: String
    /// `redirect_uris`.
    public var redirectURIs: [String]
    /// `scope`.
    public var scope: OAuthScope
    /// `grant_types`.
    public var grantTypes: [String]
    /// `post_logout_redirect_uris` (OpenID Connect RP-Initiated Logout §3).
    public var postLogoutRedirectURIs: [String] = []
    /// `token_endpoint_auth_method`.
    public var tokenEndpointAuthMethod = "none"
    /// The algorithm of client assertions; nil if it is not fixed.
    public var tokenEndpointAuthSigningAlg: String?
    /// The client's public keys, as a JWK set.
    public var keys: JSONValue?
    /// Further client metadata, which replaces none of the above.
    public var extra = JSONObject()

    /// Creates the registration of a native, public client.
    public init(
        clientName: String, redirectURIs: [String] = ["http://127.0.0.1/callback"],
        scope: OAuthScope = OAuthScope(""),
        grantTypes: [String] = ["authorization_code", "refresh_token"]
    ) {
        self.clientName = clientName
        self.redirectURIs = redirectURIs
        self.scope = scope
        self.grantTypes = grantTypes
    }

    /// Creates the registration of a native client that signs users in at this authorization server. It
    /// requests refresh tokens unless the server lists grant types without them, and the first of
    /// `methods(supportedBy:)`.
    public init(
        clientName: String, redirectURIs: [String], scope: OAuthScope = OAuthScope(""),
        at server: ProviderMetadata
    ) {
        let supported = server.grantTypesSupported
        let refreshes = supported?.contains("refresh_token") ?? true
        self.init(
            clientName: clientName, redirectURIs: redirectURIs, scope: scope,
            grantTypes: ["authorization_code"] + (refreshes ? ["refresh_token"] : []))
        tokenEndpointAuthMethod = Registration.methods(supportedBy: server)[0]
    }

    /// Returns the authentication methods to register with, at least one: `none` if the server lists it or no
    /// suitable method, or else the first suitable method that it lists.
    ///
    /// Servers made with the Python MCP SDK (2.3.0, 2026-11) list `client_secret_post` first, and refuse HTTP
    /// Basic without `client_id` in the body. A missing `token_endpoint_auth_methods_supported` means
    /// `client_secret_basic` (RFC 8414 §2), but public clients are often accepted.
    public static func methods(supportedBy server: ProviderMetadata) -> [String] {
        guard let supported = server.tokenEndpointAuthMethodsSupported else {
            return ["none", "client_secret_basic"]
        }
        let known = ["client_secret_basic", "client_secret_post", "client_secret_jwt"]
        guard !supported.contains("none"), let method = supported.first(where: known.contains) else {
            return ["none"]
        }
        return [method]
    }

    /// Returns the client metadata to register (RFC 7591 §2).
    public func document() throws(OIDCError) -> JSONObject {
        try scope.check()
        for address in redirectURIs { try RedirectURI.check(address) }
        for address in postLogoutRedirectURIs {
            try RedirectURI.check(address, setting: "post_logout_redirect_uri")
        }
        var document = extra
        document["client_name"] = .string(clientName)
        document["application_type"] = "native"
        document["redirect_uris"] = .array(redirectURIs.map { .string($0) })
        document["grant_types"] = .array(grantTypes.map { .string($0) })
        document["response_types"] = ["code"]
        document["token_endpoint_auth_method"] = .string(tokenEndpointAuthMethod)
        document["token_endpoint_auth_signing_alg"] = tokenEndpointAuthSigningAlg.map { .string($0) }
        document["jwks"] = keys
        if !scope.isEmpty { document["scope"] = .string(scope.text) }
        if !postLogoutRedirectURIs.isEmpty {
            document["post_logout_redirect_uris"] = .array(postLogoutRedirectURIs.map { .string($0) })
        }
        return document
    }

    /// Returns the registration request (RFC 7591 §3.1). `initialAccessToken` is for providers that do not
    /// register every client.
    public func call(
        at endpoint: WebURL, initialAccessToken: Redacted<String>? = nil, presentingCertificate: Bool = false
    ) throws(OIDCError) -> EndpointCall<RegisteredClient> {
        var request = HTTPRequest(
            .post, endpoint, headers: Registration.headers, body: JSONValue.object(try document()).bytes,
            usesClientCertificate: presentingCertificate)
        if let token = initialAccessToken?.revealed {
            guard !token.isEmpty, token.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
                throw .usage("the initial access token: expected visible ASCII characters")
            }
            request.headers["Authorization"] = "Bearer \(token)"
        }
        return call(
            request, withholding: WithheldSecrets(initialAccessToken.map { [$0.revealed] } ?? []),
            verdict: Registration.verdict)
    }

    static let headers = HTTPHeaders([
        ("Content-Type", "application/json"), ("Accept", "application/json"),
    ])

    /// Returns the call whose answer describes this client. `clientID` is its ID if it has one, which an answer may not
    /// replace (RFC 7592 §2.2).
    func call(
        _ request: HTTPRequest, of clientID: String? = nil, withholding secrets: WithheldSecrets,
        verdict: @escaping (String?, _ status: Int) -> (code: OIDCError.Code?, hint: Hint?)
    ) -> EndpointCall<RegisteredClient> {
        EndpointCall(request, stage: .registration, withholding: { secrets }) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                var code: OIDCError.Code?
                var error = OAuthErrorResponse.failure(
                    response, stage: .registration, withholding: secrets,
                    hint: {
                        let verdict = verdict($0, response.status)
                        code = verdict.code
                        return verdict.hint
                    })
                error.code = error.code ?? code
                throw error
            }
            var client = try RegisteredClient(JSONAnswer(response, stage: .registration))
            // CAS joins several URLs to one regular expression (7.3, captured 2026-11).
            if redirectURIs.count > 1, client.redirectURIs == [redirectURIs.joined(separator: "|")] {
                client.redirectURIs = redirectURIs
            }
            try client.check(for: self)
            if let clientID, client.clientID != clientID {
                throw .untrusted(
                    .registration, "client_id", expected: clientID, found: client.clientID)
            }
            return client
        }
    }

    private static func verdict(_ code: String?, status: Int) -> (code: OIDCError.Code?, hint: Hint?) {
        let needsToken: (OIDCError.Code, Hint) = (
            .registrationNeedsToken, "give the initial access token that the provider issues for registration"
        )
        return switch code {
        case "invalid_redirect_uri": (nil, .advice(.checkRedirectURI))
        case nil where status == 401 || status == 403: needsToken
        case "invalid_token", "invalid_client", "insufficient_scope": needsToken
        default: (nil, nil)
        }
    }
}

/// The registered client (RFC 7591 §3.2.1). The provider may have replaced requested values.
///
/// URLs of the answer other than redirect URLs are not used.
public struct RegisteredClient: Sendable {
    /// `client_id`.
    public let clientID: String
    /// The client's secret; nil for a public client. Some providers issue a secret beside the method `none`,
    /// and then refuse it.
    public let clientSecret: Redacted<String>?
    /// The time when the secret expires; nil if it does not.
    public let clientSecretExpiresAt: OIDCInstant?
    /// `token_endpoint_auth_method`; nil if the provider did not say.
    public let tokenEndpointAuthMethod: String?
    /// `registration_access_token` (RFC 7592).
    public let registrationAccessToken: Redacted<String>?
    /// `registration_client_uri` (RFC 7592), which `access(from:)` checks.
    public let registrationClientURI: WebURL?
    package fileprivate(set) var redirectURIs: [String]?
    /// The algorithms of signed answers that the provider registered, by the members' names, such as
    /// `userinfo_signed_response_alg`.
    package let signedResponseAlgorithms: JSONObject
    /// The grants that the provider registered; nil if it did not say.
    let grantTypes: [String]?

    /// The longest client ID, in bytes, as it is part of every URL that the browser opens.
    package static let clientIDLimit = 2_048

    init(_ answer: JSONAnswer) throws(OIDCError) {
        clientID = try answer.requiredString("client_id")
        guard clientID.utf8.count <= RegisteredClient.clientIDLimit else {
            throw .protocolViolation(
                .registration, "client_id",
                expected: "at most \(RegisteredClient.clientIDLimit) characters",
                found: "\(clientID.utf8.count)")
        }
        guard clientID.utf8.allSatisfy({ ASCII.isPrintable($0) }) else {
            throw .protocolViolation(
                .registration, "client_id", expected: "ASCII characters", found: clientID)
        }
        tokenEndpointAuthMethod = try answer.string("token_endpoint_auth_method")
        let secret = try answer.string("client_secret").map { Redacted($0) }
        clientSecret = tokenEndpointAuthMethod == "none" ? nil : secret
        clientSecretExpiresAt = answer["client_secret_expires_at"]?.integer.flatMap {
            $0 == 0 ? nil : Instant(secondsSinceEpoch: $0)
        }
        registrationAccessToken = try answer.string("registration_access_token").map { Redacted($0) }
        registrationClientURI = try answer.string("registration_client_uri").flatMap { WebURL($0) }
        redirectURIs = try answer.strings("redirect_uris")
        grantTypes = try answer.strings("grant_types")
        signedResponseAlgorithms = JSONObject(
            unique: answer.members.members.filter { $0.name.hasSuffix("_signed_response_alg") })
    }

    /// Refuses a client without the code grant that was requested (RFC 7591 §3.2.1: the provider may replace what
    /// was requested).
    fileprivate func check(for registration: Registration) throws(OIDCError) {
        let code = "authorization_code"
        guard let grantTypes, registration.grantTypes.contains(code), !grantTypes.contains(code) else {
            return
        }
        throw .protocolViolation(
            .registration, "grant_types", expected: "\(code) among them",
            found: grantTypes.isEmpty ? "none" : grantTypes.joined(separator: ", "))
    }
}

extension RegisteredClient {
    /// Returns the redirect URLs to use: those that were requested, in their order, and that the server
    /// registered. Refuses an answer with any other URL, to which codes could be sent, or with none of the
    /// requested ones. A loopback URL without its port stands for every port (RFC 8252 §7.3).
    public func redirectURIs(of registration: Registration) throws(OIDCError) -> [String] {
        guard let redirectURIs, !redirectURIs.isEmpty else { return registration.redirectURIs }
        let requested = registration.redirectURIs
        let portless = requested.map { RegisteredClient.withoutPort($0) }
        let usable = zip(requested, portless).filter { url, portless in
            redirectURIs.contains(url) || portless.map { redirectURIs.contains($0) } ?? false
        }.map(\.0)
        let other = redirectURIs.first { !requested.contains($0) && !portless.contains($0) }
        guard !usable.isEmpty, other == nil else {
            throw .protocolViolation(
                .registration, "redirect_uris",
                expected: registration.redirectURIs.joined(separator: ", "),
                found: other.map { DisplayText.address($0) } ?? "none", hint: .advice(.checkRedirectURI))
        }
        return usable
    }

    /// Returns a loopback URL without its port; nil for any other URL.
    private static func withoutPort(_ text: String) -> String? {
        guard let url = WebURL(text), url.isLoopback, !url.isSecure, let port = url.port else { return nil }
        return text.parts(around: ":\(port)").map { "\($0.before)\($0.after)" }
    }

    /// Returns the client's secret and its authentication method, which is nil if the metadata decides. A
    /// server that supports only `none` may still send a secret, which it then refuses.
    public func authentication(
        at server: ProviderMetadata
    ) throws(OIDCError) -> (method: String?, secret: Redacted<String>?) {
        if server.tokenEndpointAuthMethodsSupported == ["none"] { return ("none", nil) }
        if let method = tokenEndpointAuthMethod {
            let known = ["none", "client_secret_basic", "client_secret_post", "client_secret_jwt"]
            guard known.contains(method), method == "none" || clientSecret != nil else {
                throw .protocolViolation(
                    .registration, "token_endpoint_auth_method",
                    expected: "a method that the client has the secret for", found: method)
            }
            return (method, clientSecret)
        }
        return clientSecret == nil ? ("none", nil) : (nil, clientSecret)
    }
}
