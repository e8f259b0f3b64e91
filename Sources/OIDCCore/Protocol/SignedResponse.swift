import OIDCCrypto

/// The rules for an authorization response that the provider signs (JWT Secured Authorization Response Mode, JARM).
package struct SignedResponseRules: Sendable {
    /// The issuer, or its template.
    package var issuer: String
    /// The client that `aud` must name.
    package var clientID: String
    /// `authorization_signing_alg_values_supported`; nil allows every known asymmetric algorithm.
    package var allowedAlgorithms: [String]?
    /// The client's secret, if answers are signed with nothing else.
    package var clientSecret: Redacted<String>?
    /// The means to decrypt an answer that is encrypted too.
    package var decryption: TokenDecryption?
    /// The accepted difference between clocks, in seconds.
    package var leeway: Int64 = 60
    /// The issuer's keys.
    package var keys: @Sendable () -> any KeySource
    package var now: @Sendable () -> Instant

    package init(
        issuer: String, clientID: String, keys: @escaping @Sendable () -> any KeySource,
        now: @escaping @Sendable () -> Instant
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.keys = keys
        self.now = now
    }

    /// Checks an answer whose `state` is ours (JARM §2.4): `alg`, `iss`, `aud`, `exp` and the signature, and that no
    /// part of an answer stands beside it.
    fileprivate func check(_ token: JWS, beside pairs: [FormEncoding.Pair]) throws(OIDCError) {
        if let other = pairs.first(where: { SignedResponseRules.parts.contains($0.name) }) {
            throw .untrusted(
                .authorization, other.name, expected: "one in the signed answer", found: "another beside it")
        }
        let signature = SignatureRules(
            issuer: issuer, allowedAlgorithms: allowedAlgorithms, clientSecret: clientSecret,
            stage: .authorization)
        try signature.checkHeader(token)
        let claims = TokenClaims(members: token.claims ?? JSONObject(), stage: .authorization)
        try claims.checkIssuer(issuer)
        _ = try claims.checkAudience(clientID)
        _ = try claims.reader.required("exp", expected: "seconds since 1970", claims.time)
        try claims.checkTimes(now: now(), leeway: leeway)
        try signature.checkSignature(token, keys: keys())
    }

    /// The parameters of a plain answer.
    private static let parts = [
        "code", "state", "iss", "error", "error_description", "access_token", "id_token",
    ]
}

extension SignedResponseRules: Hashable {
    /// Compares the rules without keys and clock, which belong to the context.
    package static func == (one: SignedResponseRules, other: SignedResponseRules) -> Bool {
        one.issuer == other.issuer && one.clientID == other.clientID
            && one.allowedAlgorithms == other.allowedAlgorithms && one.leeway == other.leeway
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(issuer)
        hasher.combine(clientID)
    }
}

extension AuthorizationRequest.ResponseMode {
    /// Whether the answer is a JWT (JARM §2.3).
    package var isSigned: Bool {
        switch self {
        case .query, .formPost: false
        case .jwt, .queryJWT, .formPostJWT: true
        }
    }

    /// Whether the answer comes as a form.
    package var isPosted: Bool { self == .formPost || self == .formPostJWT }
}

extension PendingAuthorization {
    /// Judges an answer that must be a JWT, alone. Its `state` is read first, unverified and in constant time, as it
    /// says whose answer it is: with another `state`, it is a stranger's, for which no key is fetched. Everything else
    /// is read only after the signature was verified.
    func judgeSigned(_ pairs: [FormEncoding.Pair]) -> CallbackJudgement {
        let responses = pairs.filter { $0.name == "response" }.map(\.value)
        guard let response = responses.first else {
            return stateMismatch(pairs).map { .stray($0) }
                ?? .end(
                    .untrusted(.authorization, "response", expected: "a signed answer", found: "none"))
        }
        guard responses.count == 1 else { return .stray(.repeated("response")) }
        guard let token = signedToken(response), let claims = token.claims else { return .stray(.unsigned) }
        guard let state = claims["state"]?.string else { return .stray(.noState) }
        guard isOurs(state) else { return .stray(.otherState) }
        do throws(OIDCError) {
            guard let responseRules else {
                throw .untrusted(
                    .authorization, "a signed answer cannot be checked without issuer and jwks_uri",
                    hint: .advice(.setIssuerOrKeys))
            }
            try responseRules.check(token, beside: pairs)
        } catch {
            return .end(
                error.withholding(WithheldSecrets([response, claims["code"]?.string].compactMap { $0 })))
        }
        return judgeParameters(PendingAuthorization.parameters(in: claims))
    }

    /// Returns the signed token in `response`, decrypted if it is encrypted; nil if it is not one.
    private func signedToken(_ response: String) -> JWS? {
        guard JWE.isEncrypted(response) else { return try? JWS(compact: response) }
        guard
            let signed = try? TokenDecryption.decrypted(
                response, responseRules?.decryption, stage: .authorization)
        else { return nil }
        return try? JWS(compact: signed)
    }

    /// Returns the parameters of the answer (JARM §2.1), without the claims that are about the JWT itself.
    private static func parameters(in claims: JSONObject) -> [FormEncoding.Pair] {
        claims.members.compactMap { member in
            guard !["aud", "exp", "iat", "nbf", "jti"].contains(member.name) else { return nil }
            let text = member.value.string ?? member.value.number?.text
            return text.map { FormEncoding.Pair(member.name, $0) }
        }
    }
}

extension SignInFlow {
    /// The rules for a signed answer of this provider; nil if its issuer or keys are unknown.
    private var responseRules: SignedResponseRules? {
        guard let issuer = metadata.issuer, let url = metadata.jwksURI else { return nil }
        let keys = documents.keys(url)
        let client = tokenEndpoint.client
        var rules = SignedResponseRules(
            issuer: issuer, clientID: client.id, keys: { keys }, now: context.now)
        rules.allowedAlgorithms = metadata.authorizationSigningAlgValuesSupported
        if rules.allowedAlgorithms.map(SignatureAlgorithm.areSymmetric) == true {
            rules.clientSecret = client.authentication.secret
        }
        rules.decryption = client.decryption
        rules.leeway = leeway.components.seconds
        return rules
    }

    /// Adds the rules for the answer, if the provider signs it. A sign-in that was started by another process has none
    /// of its own.
    package func addResponseRules(to pending: inout PendingAuthorization) throws(OIDCError) {
        guard pending.responseMode.isSigned else { return }
        guard let responseRules else {
            throw .usage(
                "a signed answer cannot be checked without issuer and jwks_uri",
                hint: .advice(.setIssuerOrKeys))
        }
        pending.responseRules = responseRules
    }
}
