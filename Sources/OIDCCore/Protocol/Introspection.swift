import OIDCCrypto

/// The provider's description of a token (RFC 7662 §2.2).
public struct Introspection: Hashable, Sendable {
    /// Whether the token is valid.
    public let isActive: Bool
    /// The whole answer, `active` included.
    public let claims: JSONObject

    /// Returns the request that asks about a token (§2.1); with `signed`, for an answer that the provider signs (RFC
    /// 9701 §4).
    public static func call(
        _ token: Redacted<String>, hint: TokenTypeHint?, at endpoint: WebURL, client: OAuthClient,
        signed: SignedIntrospection? = nil, now: OIDCInstant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> EndpointCall<Introspection> {
        var request = try client.request(
            to: endpoint, TokenTypeHint.parameters(token, hint), now: now, random: random)
        if let signed { request.headers["Accept"] = signed.accepted }
        return EndpointCall(
            request, stage: .introspection, withholding: { client.secrets(in: request) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, OAuthErrorResponse(response) == nil else {
                throw refusal(response, to: request, of: client)
            }
            if let signed, let members = try signed.claims(of: response, for: client, now: now) {
                return try Introspection(JSONAnswer(members, stage: .introspection))
            }
            return try Introspection(JSONAnswer(response, stage: .introspection))
        }
    }

    private init(_ answer: JSONAnswer) throws(OIDCError) {
        isActive = try answer.required("active", answer.bool)
        claims = answer.members
    }

    /// Returns the error for a refusal. The endpoint requires authentication (RFC 7662 §2.1), so a public
    /// client is refused whatever the code is; `unauthorized_client` and 403 mean that a confidential client
    /// may not introspect.
    private static func refusal(
        _ response: HTTPResponse, to request: HTTPRequest, of client: Client
    ) -> OIDCError {
        var error = client.failure(response, to: request, stage: .introspection)
        let isPublic = client.authentication.method == "none"
        if error.kind == .refused,
            isPublic || error.oauthError == "unauthorized_client" || response.status == 403
        {
            error.hint = .advice(.introspectAsOtherClient)
        }
        return error
    }
}

/// The rules for an introspection answer that the provider signs (RFC 9701).
public struct SignedIntrospection {
    /// The provider's issuer, which `iss` must name.
    public var issuer: String
    /// The provider's keys.
    public var keys: any KeySource
    /// The accepted algorithms, such as those of `introspection_signing_alg_values_supported`; nil accepts every known
    /// one. HMAC with the client's secret is accepted only if `isRequired`, and nothing else is listed.
    public var algorithms: [String]?
    /// Whether a plain answer is refused, as for a client that is registered for signed ones. If the provider only
    /// offers them, a plain answer is accepted: RFC 9701 §4 leaves the choice to the client, and the answer came from
    /// the provider over TLS in any case.
    public var isRequired: Bool
    /// The accepted difference between clocks.
    public var leeway: Duration = .seconds(60)

    /// The media type of the answer, and the `typ` of its token (RFC 9701 §5).
    package static let type = "token-introspection+jwt"
    private static let mediaType = "application/\(type)"

    /// Creates the rules for the answers of a provider.
    public init(issuer: String, keys: any KeySource, algorithms: [String]? = nil, isRequired: Bool = false) {
        self.issuer = issuer
        self.keys = keys
        self.algorithms = algorithms
        self.isRequired = isRequired
    }

    /// `Accept` of the request (RFC 9701 §4).
    fileprivate var accepted: String {
        isRequired
            ? SignedIntrospection.mediaType : "\(SignedIntrospection.mediaType), application/json;q=0.5"
    }

    /// Returns the verified `token_introspection` of an answer; nil for a plain answer that is accepted.
    fileprivate func claims(
        of response: HTTPResponse, for client: OAuthClient, now: Instant
    ) throws(OIDCError) -> JSONObject? {
        do throws(OIDCError) { return try verified(response, for: client, now: now) } catch {
            // The client did not register for signed answers, so it can do without them.
            guard !isRequired, error.kind == .untrusted, error.hint == nil else { throw error }
            var error = error
            error.hint = .advice(.requestPlainIntrospection)
            throw error
        }
    }

    /// Verifies a signed answer. An encrypted one is decrypted first; the token in it must be signed, too
    /// (RFC 9701 §5). Every other kind of token is refused, such as an ID token that the provider signed for
    /// this client (RFC 9701 §8.1).
    private func verified(
        _ response: HTTPResponse, for client: OAuthClient, now: Instant
    ) throws(OIDCError) -> JSONObject? {
        let stage = Stage.introspection
        var compact = ASCII.trimmed(response.text)
        // The media type does not matter, as the type of the token itself is checked below.
        let isToken = (try? JWS(compact: compact)) != nil || (try? JWE(compact: compact)) != nil
        guard isToken || response.mediaType == SignedIntrospection.mediaType else {
            guard isRequired else { return nil }
            throw .untrusted(
                stage, "Content-Type", expected: SignedIntrospection.mediaType,
                found: response.mediaType.map { DisplayText.quoted($0, limit: 60) } ?? "none",
                hint: .advice(.acceptPlainIntrospection))
        }
        if JWE.isEncrypted(compact) {
            compact = try TokenDecryption.decrypted(compact, client.decryption, stage: stage)
        }
        let isSymmetric = isRequired && algorithms.map(SignatureAlgorithm.areSymmetric) == true
        let signature = SignatureRules(
            issuer: issuer, allowedAlgorithms: algorithms,
            clientSecret: isSymmetric ? client.authentication.secret : nil,
            type: SignedIntrospection.type, stage: stage)
        let (token, claims) = try signature.read(compact)
        try claims.checkIssuer(issuer)
        _ = try claims.checkAudience(client.id)
        _ = try claims.reader.required("iat", expected: "seconds since 1970", claims.time)
        try claims.checkTimes(now: now, leeway: leeway.components.seconds)
        try signature.checkSignature(token, keys: keys)
        return try claims.reader.required(
            "token_introspection", expected: "an object", claims.reader.object)
    }
}
