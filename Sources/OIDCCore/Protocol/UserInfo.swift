import OIDCCrypto

/// The answer of the UserInfo endpoint (OIDC Core §5.3).
package enum UserInfoAnswer: Hashable, Sendable {
    case claims(JSONObject)
    /// The token is no longer accepted (401 or `invalid_token`), and the error has the reason. One refresh
    /// may help.
    case unauthorized([AuthenticationChallenge], OIDCError)
    /// The provider demands a proof with this nonce, by 401 (RFC 9449 §9).
    case nonceDemanded(String)
}

/// The UserInfo request and the reading of its answer.
public enum UserInfo {
    /// The error for a nonce that is demanded again although it was sent (RFC 9449 §9).
    package static let nonceNotTaken = OIDCError(
        .refused, "userinfo: DPoP-Nonce: the nonce that was demanded was not taken", stage: .userInfo)

    /// The rules for the signature of a signed answer, and for the encryption of an encrypted one.
    package struct Signing {
        /// `userinfo_signing_alg_values_supported`, or the one algorithm that the client is registered for; nil
        /// allows every known algorithm.
        package var allowedAlgorithms: [String]?
        /// The secret for HMAC; nil unless answers are signed with it, and with nothing else.
        package var clientSecret: Redacted<String>?
        /// The means to decrypt an encrypted answer, called for such an answer only.
        package var decryption: () throws(OIDCError) -> TokenDecryption? = { () throws(OIDCError) in nil }

        package init(allowedAlgorithms: [String]? = nil, clientSecret: Redacted<String>? = nil) {
            self.allowedAlgorithms = allowedAlgorithms
            self.clientSecret = clientSecret
        }

        /// Creates rules from the metadata. `client` is called only if signatures use the client's secret, or
        /// the answer is encrypted.
        package init(
            _ metadata: ProviderMetadata, _ client: @escaping () throws(OIDCError) -> Client
        ) throws(OIDCError) {
            allowedAlgorithms = metadata.userInfoSigningAlgValuesSupported
            let isSymmetric = allowedAlgorithms.map(SignatureAlgorithm.areSymmetric) ?? false
            clientSecret = isSymmetric ? try client().authentication.secret : nil
            decryption = { () throws(OIDCError) in try client().decryption }
        }
    }

    /// The rules for an answer.
    package struct Rules {
        /// The `sub` of the ID token, which the answer must repeat (OIDC Core §5.3.2); nil if there was no
        /// ID token, as with plain OAuth 2.0.
        package var subject: String?
        /// The issuer of a signed answer; if it is nil, signed answers are refused.
        package var issuer: String?
        package var clientID: String
        package var leeway: Int64
        /// Whether the client is registered for signed answers, so others are refused (OpenID Connect Registration
        /// §2).
        package var isSignatureRequired = false
        /// The rules for signatures, requested only for a signed answer.
        package var signing: () throws(OIDCError) -> Signing

        package init(
            subject: String?, issuer: String?, clientID: String, leeway: Int64 = 60,
            signing: @escaping () throws(OIDCError) -> Signing = { () throws(OIDCError) in Signing() }
        ) {
            self.subject = subject
            self.issuer = issuer
            self.clientID = clientID
            self.leeway = leeway
            self.signing = signing
        }
    }

    /// Returns the request, with the token in a header (RFC 6750 §2.1), and with a proof if the token is
    /// bound to a key, or the client certificate if it is bound to that (RFC 8705 §3).
    package static func call(
        endpoint: WebURL, accessToken: AccessToken, proof: String? = nil,
        presentingCertificate: Bool = false, rules: Rules, keys: (any KeySource)?, now: Instant
    ) throws(OIDCError) -> EndpointCall<UserInfoAnswer> {
        let credentials = try accessToken.credentials(.userInfo)
        let token = accessToken.token.revealed
        var request = HTTPRequest(
            .get, endpoint, headers: HTTPHeaders([("Accept", "application/json, application/jwt")]),
            usesClientCertificate: presentingCertificate)
        request.headers["Authorization"] = credentials
        if let proof { request.headers[DPoP.header] = proof }
        return EndpointCall(
            request, stage: .userInfo, withholding: { WithheldSecrets([token]) }
        ) { response throws(OIDCError) in
            guard response.isSuccess, !isError(response) else {
                return try unsuccessful(
                    response, from: endpoint, isBound: proof != nil, WithheldSecrets([token]))
            }
            return .claims(try claims(response, rules, keys, now: now))
        }
    }

    private static func claims(
        _ response: HTTPResponse, _ rules: Rules, _ keys: (any KeySource)?, now: Instant
    ) throws(OIDCError) -> JSONObject {
        let claims =
            response.mediaType == "application/jwt"
            ? try signedClaims(response.body, rules, keys, now: now) : try plainClaims(response, rules)
        try checkSubject(TokenClaims(members: claims, stage: .userInfo), rules)
        return claims
    }

    /// Returns whether a success has an error and no user, as Slack and GitHub answer:
    /// `{"ok":false,"error":…}`.
    private static func isError(_ response: HTTPResponse) -> Bool {
        guard let members = (try? JSONValue(parsing: response.body))?.object, members["sub"] == nil else {
            return false
        }
        return OAuthErrorResponse(response) != nil
    }

    private static func unsuccessful(
        _ response: HTTPResponse, from endpoint: WebURL, isBound: Bool, _ secrets: WithheldSecrets
    ) throws(OIDCError) -> UserInfoAnswer {
        if case .proof(let nonce) = RetryRule.Demand(response, isBound: isBound) {
            return .nonceDemanded(nonce)
        }
        let error = refusal(response, from: endpoint, secrets)
        // zitadel/oidc answers 403 with JSON that gives no reason for an unknown token (2026-11).
        let isBare =
            response.status == 403 && response.challenges.isEmpty && error.oauthError == nil
            && response.mediaType == "application/json" && response.words == nil
        guard response.status == 401 || isBare || error.oauthError == "invalid_token" else { throw error }
        return .unauthorized(response.challenges, error)
    }

    private static func plainClaims(
        _ response: HTTPResponse, _ rules: Rules
    ) throws(OIDCError) -> JSONObject {
        guard !rules.isSignatureRequired else { throw unsigned }
        let found: String
        do throws(JSONError) {
            let json = try JSONValue(parsing: response.body)
            if let object = json.object { return object }
            found = json.typeName
        } catch {
            found = response.summary(error.description)
        }
        let type = response.mediaType.map { "sent as \(DisplayText.quoted($0, limit: 60))" }
        throw OIDCError(
            .refused,
            "\(Stage.userInfo.title): expected a JSON object, found \(found), \(type ?? "without a content type")",
            stage: .userInfo)
    }

    private static let unsigned = OIDCError.untrusted(
        .userInfo, "expected a signed answer, as the client is registered for, found a plain one",
        hint: .advice(.acceptPlainUserInfo))

    /// Verifies a signed answer like an ID token: issuer, audience, times and signature (OpenID Connect Core
    /// §5.3.2). Only the times may be missing. An encrypted answer is decrypted first; the claims in it need no
    /// signature, as those in a plain answer.
    private static func signedClaims(
        _ body: [UInt8], _ rules: Rules, _ source: (any KeySource)?, now: Instant
    ) throws(OIDCError) -> JSONObject {
        var compact = ASCII.trimmed(String(decoding: body, as: UTF8.self))
        if JWE.isEncrypted(compact) {
            compact = try TokenDecryption.decrypted(compact, rules.signing().decryption(), stage: .userInfo)
            if let claims = (try? JSONValue(parsing: Array(compact.utf8)))?.object {
                guard !rules.isSignatureRequired else { throw unsigned }
                return claims
            }
        }
        guard let issuer = rules.issuer, let source else {
            throw .untrusted(
                .userInfo, "a signed answer cannot be checked without issuer and jwks_uri",
                hint: .advice(.setIssuerOrKeys))
        }
        let signing = try rules.signing()
        let signature = SignatureRules(
            issuer: issuer, allowedAlgorithms: signing.allowedAlgorithms, clientSecret: signing.clientSecret,
            stage: .userInfo)
        let (token, claims) = try signature.read(compact)
        try claims.checkIssuer(issuer)
        _ = try claims.checkAudience(rules.clientID)
        try claims.checkTimes(now: now, leeway: rules.leeway)
        try signature.checkSignature(token, keys: source)
        return claims.members
    }

    /// Refuses an answer about another user (OIDC Core §5.3.2).
    private static func checkSubject(_ claims: TokenClaims, _ rules: Rules) throws(OIDCError) {
        guard let subject = rules.subject else { return }
        guard let found = try claims.string("sub"), ExactText.isSame(found, subject) else {
            throw claims.mismatch("sub", expected: subject, note: " as in the ID token")
        }
    }

    /// Returns the error for a refusal, with the reason from the challenge (RFC 6750 §3) or else from the
    /// body.
    private static func refusal(
        _ response: HTTPResponse, from endpoint: WebURL, _ secrets: WithheldSecrets
    ) -> OIDCError {
        var error = OAuthErrorResponse.failure(
            response, stage: .userInfo, url: endpoint, withholding: secrets, hint: { _ in nil })
        let challenge = response.challenges.first { $0.error != nil }
        guard error.kind == .refused, let challenge, let code = challenge.error else { return error }
        let answer = OAuthErrorResponse(
            code: code, description: challenge.errorDescription, withholding: secrets)
        error.oauthError = answer.code
        error.message =
            "\(Stage.userInfo.title): \(DisplayText.clean(endpoint.withoutQuery)) answered \(answer.text)"
        return error
    }
}
