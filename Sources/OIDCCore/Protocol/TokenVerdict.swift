/// The meaning of a refusal by the token endpoint: the kind of its error, the code and the hint. One table
/// decides, `TokenVerdict.rules`.
struct TokenVerdict: Sendable {
    var code: OIDCError.Code
    var hint: Hint?

    /// The kind of the error. A sign-in helps only if the session has ended, or the provider wants the user
    /// to act.
    var kind: OIDCError.Kind {
        [.sessionEnded, .signInAgain].contains(code) ? .loginRequired : .refused
    }
}

/// The facts that decide about a refusal.
struct TokenRefusal: Sendable {
    let grant: TokenRequest.Grant
    let status: Int
    /// The error code of RFC 6749 §5.2; nil if the answer has none.
    let error: String?
    /// The description in lower case; empty if there is none.
    let words: String
    /// Whether the code is in the member that OAuth defines for it.
    let isStandard: Bool
    let sent: Sent
    /// The scope of the request.
    var scope: Scope?
    /// The provider's codes for a refresh token that has ended, beside `invalid_grant`.
    var refreshEnds: [String] = []
    /// The seconds by which this machine's clock is ahead of the provider's; nil if unknown.
    var clockAhead: Int64?
    /// The provider's metadata, read only if a rule needs it; nil if it is unknown.
    var offer: @Sendable () -> ProviderMetadata? = { nil }

    /// The content of the request.
    struct Sent: Sendable {
        var method = "none"
        var hasSecret = false
        /// Whether the client signed an assertion.
        var hasAssertion = false
        var hasPrivateKey = false
        var hasProof = false
        var hasCertificate = false
        /// Whether the assertion's audience is the token endpoint.
        var namesEndpoint = false
    }

    var isRefresh: Bool { grant == .refreshToken }

    /// Returns whether the description has one of these texts, in whole words: `iat` is not in "initiated".
    func says(_ texts: String...) -> Bool {
        texts.contains { text in
            let pieces = words.pieces(between: text)
            return zip(pieces, pieces.dropFirst()).contains { before, after in
                ![before.utf8.last, after.utf8.first].contains { $0.map(ASCII.isAlphanumeric) == true }
            }
        }
    }

    /// Returns whether the metadata offer something, or are unknown.
    func mayOffer(_ test: (ProviderMetadata) -> Bool) -> Bool { offer().map(test) ?? true }
}

extension TokenVerdict {
    /// A row of the table; the first whose `applies` is true decides.
    struct Rule: Sendable {
        /// The answers it is about, and where they were seen.
        let name: String
        let applies: @Sendable (TokenRefusal) -> Bool
        let verdict: @Sendable (TokenRefusal) -> TokenVerdict

        init(
            _ name: String, _ applies: @escaping @Sendable (TokenRefusal) -> Bool,
            _ verdict: @escaping @Sendable (TokenRefusal) -> TokenVerdict
        ) {
            self.name = name
            self.applies = applies
            self.verdict = verdict
        }
    }

    static func of(_ refusal: TokenRefusal) -> TokenVerdict? {
        rules.first { $0.applies(refusal) }?.verdict(refusal)
    }

    /// Rows about the request itself come first: Keycloak, Hydra and oidc-provider also answer them with
    /// `invalid_grant` (2026-11).
    static let rules = ofTheRequest + ofTheSession + ofTheClient + ofTheGrant
}

/// The request lacks something, or was signed wrongly.
extension TokenVerdict {
    private static let ofTheRequest: [Rule] = [
        // Keycloak 26.7: "Pushed Authorization Request is only allowed."
        Rule("a request that is not pushed", { $0.says("pushed authorization request") }) { _ in
            TokenVerdict(code: .needsPAR, hint: .set(.pushedAuthorization, to: "require"))
        },
        // Keycloak 26.7 (FAPI): invalid_grant "not allowed signature algorithm.", invalid_client "Invalid
        // signature algorithm"
        Rule("an algorithm", { $0.says("algorithm") && $0.sent.hasAssertion }) { _ in
            TokenVerdict(code: .signatureAlgorithm, hint: .advice(.checkClientKeyAlgorithm))
        },
        // Keycloak 26.7: "Client Certification missing for MTLS HoK Token Binding"; oidc-provider: "mutual TLS
        // client certificate not provided", "failed x5t#S256 verification" (its source)
        Rule("a certificate", { $0.isAboutCertificate }) {
            TokenVerdict(
                code: .needsCertificate,
                hint: .advice(
                    $0.sent.hasCertificate ? .useKnownClientCertificate : .giveClientCertificate))
        },
        Rule("a clock", { $0.isAboutClock }) { _ in
            TokenVerdict(code: .clock, hint: .advice(.checkClock))
        },
        // Keycloak 26.7: "DPoP proof is missing"
        Rule("a missing proof", { $0.isAboutProof && !$0.sent.hasProof && $0.mayOffer(\.bindsTokens) }) {
            TokenVerdict(
                code: .needsDPoP, hint: $0.isRefresh ? .advice(.signInWithDPoP) : .set(.dpop, to: "true"))
        },
        // The key of a session cannot be changed. Keycloak 26.7: invalid_grant "DPoP proof and token binding
        // verification failed" (by memory)
        Rule(
            "the proof of a refresh",
            { $0.isRefresh && $0.error == "invalid_grant" && $0.says("proof", "dpop", "jkt") }
        ) { _ in .signInAgain },
        // Hydra 26.2: "Claim 'audience' from 'client_assertion' must match the authorization server's token
        // endpoint"
        Rule("an audience", { $0.isAboutAssertion && $0.says("audience", "'aud'", "aud claim") }) {
            TokenVerdict(
                code: .assertionAudience,
                hint: .set(.assertionAudience, to: $0.sent.namesEndpoint ? "issuer" : "token_endpoint"))
        },
    ]

    private static let signInAgain = TokenVerdict(code: .signInAgain, hint: .signIn)
}

/// The session.
extension TokenVerdict {
    private static let ofTheSession: [Rule] = [
        // Hydra 26.2: "The requested OAuth 2.0 Client does not have the 'urn:ietf:params:oauth:grant-type:…'"
        Rule(
            "a grant that the client may not use",
            { $0.error == "invalid_grant" && $0.says("client does not have the", "client is not allowed") }
        ) { _ in .grantNotAllowed },
        Rule(
            "a refresh token that has ended",
            { $0.isRefresh && $0.isStandard && $0.isEnd && !$0.namesClient }
        ) { _ in TokenVerdict(code: .sessionEnded, hint: .signIn) },
        // Keycloak 26.7: "Session doesn't have required client" (by memory); Notion: a member `code` (by memory)
        Rule(
            "a refresh token that may have ended", { $0.isRefresh && $0.error == "invalid_grant" }
        ) { _ in .signInAgain },
        // Entra: interaction_required (AADSTS50076, its documentation). MITREid and UAA 4.30: 401 invalid_token.
        // Slack, GitHub: their documentation. Hydra 1: 401 token_inactive. Auth0: 403 mfa_required
        Rule(
            "a code that asks for the user",
            { $0.isRefresh && TokenRefusal.userCodes.contains($0.error ?? "") }
        ) { _ in
            .signInAgain
        },
        // Dex 2.45: 400 invalid_request "Refresh token is invalid or has already been claimed by another
        // client.", "Refresh token expired.". Gitea: 400 unauthorized_client "unable to parse refresh token" (its
        // source). Twitch, Figma: "Invalid refresh token"; Atlassian: 403 unauthorized_client "refresh_token is
        // invalid" (by memory)
        Rule("words about the refresh token", { $0.isRefresh && $0.saysTokenEnded }) { _ in .signInAgain },
    ]
}

/// The client.
extension TokenVerdict {
    private static let ofTheClient: [Rule] = [
        // Hydra 26.2: "… supports client authentication method 'none', but method 'client_secret_post' was requested."
        // Entra's AADSTS700025: "Client is public so neither 'client_assertion' nor 'client_secret' should be
        // presented."
        Rule(
            "a public client",
            {
                $0.isOfClient && $0.sent.hasSecret
                    && $0.says("public client", "public clients", "client is public", "method 'none', but")
            }
        ) { _ in TokenVerdict(code: .secretOfPublicClient, hint: .set(.clientAuthentication, to: "none")) },
        Rule("no secret", { $0.isOfClient && $0.sent.method == "none" && $0.error != "invalid_client_id" }) {
            _ in TokenVerdict(code: .secretMissing, hint: .advice(.giveSecretOrCheckClientID))
        },
        // Hydra 26.2: "The OAuth 2.0 Client supports client authentication method 'client_secret_post', but method
        // 'client_secret_basic' was requested."
        Rule("a method that is named", { $0.isOfClient && $0.namedMethod != nil }) {
            TokenVerdict(
                code: .otherClientMethod, hint: $0.namedMethod.map { .set(.clientAuthentication, to: $0) })
        },
        // Keycloak 26.7: "Signature on JWT token failed validation"
        Rule("a key", { $0.isOfClient && $0.sent.hasPrivateKey }) { _ in
            TokenVerdict(code: .unknownKey, hint: .advice(.checkClientKey))
        },
        Rule("the certificate", { $0.isOfClient && $0.sent.method.hasSuffix("tls_client_auth") }) { _ in
            TokenVerdict(code: .clientNotAccepted, hint: .advice(.useKnownClientCertificate))
        },
        // Spring Authorization Server 7.1 answers invalid_client without words to all of these.
        Rule("a secret", { $0.isOfClient }) { refusal in
            guard refusal.sent.hasSecret, let other = refusal.otherMethod else {
                return TokenVerdict(code: .clientNotAccepted, hint: .advice(.checkClient))
            }
            return TokenVerdict(
                code: .clientNotAccepted, hint: .checkSecret(sentBy: refusal.sent.method, other: other))
        },
    ]
}

/// The grant and its parameters.
extension TokenVerdict {
    private static let ofTheGrant: [Rule] = [
        // Keycloak 26.7: not_allowed "Offline tokens not allowed for the user or client"
        Rule("offline access", { $0.error == "not_allowed" && $0.says("offline") }) { refusal in
            let rest = refusal.scope?.tokens.filter { $0 != "offline_access" }.joined(separator: " ") ?? ""
            return TokenVerdict(
                code: .scope, hint: rest.isEmpty ? .advice(.checkScope) : .signInForScope(rest))
        },
        Rule("a scope", { $0.error == "invalid_scope" }) {
            TokenVerdict(
                code: .scope,
                hint: $0.grant == .deviceCode
                    ? OAuthErrorResponse.deviceHint($0.error) : .advice(.checkScope))
        },
        // Keycloak 26.7: "Parameter 'subject_token' supports access tokens only"
        Rule(
            "the type of a subject token",
            { $0.grant == .tokenExchange && $0.says("supports access tokens only") }
        ) { _ in TokenVerdict(code: .subjectToken, hint: .set(.subjectTokenType, to: "access_token")) },
        // Keycloak 26.7: "Requested audience not available: api-orders"
        Rule(
            "the audience of an exchange",
            { $0.grant == .tokenExchange && $0.says("requested audience not available") }
        ) { _ in TokenVerdict(code: .scope, hint: .advice(.askForAudienceScope)) },
        // oidc-provider 9.13 says invalid_grant "grant request is invalid" to a client that is bound to DPoP.
        Rule(
            "a code that may lack a proof",
            {
                $0.error == "invalid_grant" && $0.says("grant request is invalid") && !$0.sent.hasProof
                    && $0.grant == .authorizationCode && $0.offer()?.bindsTokens == true
            }
        ) { _ in TokenVerdict(code: .needsDPoP, hint: .set(.dpop, to: "true")) },
        Rule(
            "a grant",
            {
                $0.error == "unauthorized_client" && $0.grant != .deviceCode
                    || $0.error == "unsupported_grant_type" && $0.isRefresh
            }
        ) { _ in .grantNotAllowed },
    ]

    private static let grantNotAllowed = TokenVerdict(code: .grantNotAllowed, hint: .advice(.allowGrant))
}

extension TokenRefusal {
    /// Whether the code says that a refresh token has ended.
    fileprivate var isEnd: Bool {
        isOfEndpoint && (error == "invalid_grant" || error.map(refreshEnds.contains) == true)
    }

    /// Whether the status is one that token endpoints use for refusals: 400 or 401 (RFC 6749 §5.2), at some
    /// providers 403 or 200. With another one, such as 404 or 405, the words may be those of a gateway.
    private var isOfEndpoint: Bool { [400, 401, 403].contains(status) || (200..<300).contains(status) }

    /// The codes of a refused refresh that only a new sign-in can fix.
    fileprivate static let userCodes = [
        "interaction_required", "login_required", "consent_required", "invalid_token", "bad_refresh_token",
        "invalid_refresh_token", "token_expired", "token_inactive", "mfa_required",
    ]

    /// Whether the words name the client. RFC 6749 §5.2 defines `invalid_grant` with "or was issued to another
    /// client", which Hydra repeats each time.
    fileprivate var namesClient: Bool {
        words.pieces(between: "issued to another client").contains { $0.includes("client") }
    }

    /// Whether the words say that the refresh token has ended. Texts that are not listed decide nothing.
    fileprivate var saysTokenEnded: Bool {
        guard isOfEndpoint else { return false }
        // These codes are about something else, whatever the words are.
        let others = ["invalid_client", "invalid_scope", "invalid_target", "unsupported_grant_type"]
        guard !others.contains(error ?? "") else { return false }
        // Gitea: 400 unauthorized_client "token was already used"
        if error == "unauthorized_client", says("already used") { return true }
        return says("refresh token", "refresh_token")
            && says("invalid", "expired", "revoked", "claimed", "already used", "unable to parse")
    }

    /// Whether the client was refused: by a code, or by a 401 whose code is about nothing else (RFC 6749 §5.2).
    /// MITREid and UAA 4.30 answer `unauthorized` ("Bad credentials"), Keycloak 26.7 unauthorized_client
    /// ("Invalid client or Invalid client credentials"), Gitea 400 unauthorized_client ("invalid client secret").
    fileprivate var isOfClient: Bool {
        // Google answers `invalid_client` to a desktop client that asks for a device code.
        guard let error else { return status == 401 }
        if TokenRefusal.clientCodes.contains(error) { return grant != .deviceCode || status == 401 }
        if isRefresh, TokenRefusal.userCodes.contains(error) { return false }
        if error == "unauthorized_client" { return says("invalid client") }
        return status == 401 && !OAuthErrorResponse.knownCodes.contains(error)
            && !["use_dpop_nonce", "invalid_dpop_proof", "invalid_target"].contains(error)
    }

    /// The names that are not RFC 6749's are GitHub's and Slack's (their documentation, 2026-11).
    private static let clientCodes = [
        "invalid_client", "incorrect_client_credentials", "bad_client_secret", "invalid_client_id",
    ]

    fileprivate var isAboutProof: Bool {
        says("dpop") || ["invalid_dpop_proof", "use_dpop_nonce"].contains(error)
    }

    /// Whether the words name the certificate of the connection. Entra's AADSTS7000222 (a client secret has expired)
    /// recommends "certificate credentials", and its AADSTS700027 is about the key of an assertion.
    fileprivate var isAboutCertificate: Bool {
        says("client certificate", "client certification", "mutual tls", "mtls", "x5t#s256")
            && !says("assertion")
    }

    /// Whether the client's assertion was refused. With the JWT bearer grant, the grant has one too.
    fileprivate var isAboutAssertion: Bool {
        sent.hasAssertion && (isOfClient || grant != .jwtBearer && says("assertion"))
    }

    /// Whether an assertion or a proof was refused for its time. `Token is not active` of a refresh is about the
    /// refresh token.
    fileprivate var isAboutClock: Bool {
        let isProof = sent.hasProof && isAboutProof
        guard isProof || isAboutAssertion else { return false }
        if let clockAhead, abs(clockAhead) >= 30 { return true }
        // Entra's AADSTS700024: "Client assertion is not within its valid time range"
        return error == "invalid_dpop_proof" && clockAhead == nil
            || says(
                "in the future", "token is not active", "proof is not active", "issued at", "iat",
                "not yet valid",
                "assertion has expired", "assertion expired", "jwt expired", "too old", "valid time range")
    }

    /// The method that the words say the client is registered for: the named one that was not sent.
    fileprivate var namedMethod: String? {
        let named = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"]
            .filter(words.includes)
        let others = named.filter { $0 != sent.method }
        return others.count == 1 ? others.first : nil
    }

    /// Another method for the same secret that the metadata list.
    fileprivate var otherMethod: String? {
        offer()?.tokenEndpointAuthMethodsSupported?.first {
            $0 != sent.method && ["client_secret_basic", "client_secret_post", "none"].contains($0)
        }
    }
}

extension ProviderMetadata {
    fileprivate var bindsTokens: Bool { dpopSigningAlgValuesSupported?.isEmpty == false }
}
