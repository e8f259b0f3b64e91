package import OIDCCore
import OIDCCrypto

extension DemoProvider {
    static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// Authenticates a client by an assertion that it signed, or that its configured issuer signed (RFC 7523
    /// §2.2).
    mutating func clientByAssertion(
        _ assertion: String, _ parameters: Parameters, _ call: Call
    ) throws(Refusal) -> DemoClient {
        guard parameters["client_assertion_type"] == DemoProvider.assertionType else {
            throw .invalidRequest("client_assertion_type must be \(DemoProvider.assertionType)")
        }
        guard let token = try? JWS(compact: assertion), let claims = token.claims,
            let issuer = claims["iss"]?.string, let subject = claims["sub"]?.string
        else { throw invalidClient("client_assertion is not a JWT with iss and sub") }
        let client = try asserted(issuer, subject, parameters)
        do {
            if client.federatedIdentity != nil {
                _ = try trustedToken(assertion, from: configuration.trustedIssuers, at: call.now)
                return client
            }
            try checkSignature(token, client)
            try checkTimes(claims, call.now)
            try checkAudience(claims, call)
        } catch {
            throw invalidClient("client_assertion: \(error.description)")
        }
        guard let identifier = claims["jti"]?.string, !identifier.isEmpty else {
            throw invalidClient("client_assertion: jti is missing")
        }
        guard remember("assertion \(client.id) \(identifier)", until: call.now.adding(3_700)) else {
            throw invalidClient("client_assertion: this jti was used before")
        }
        return client
    }

    /// Returns the client that an assertion is about; `client_id` must match it if present.
    private func asserted(
        _ issuer: String, _ subject: String, _ parameters: Parameters
    ) throws(Refusal) -> DemoClient {
        let identity = FederatedIdentity(issuer: issuer, subject: subject)
        let federated = state.clients.values.filter { $0.federatedIdentity == identity }
        let named = parameters["client_id"]
        if let client = federated.first(where: { named == nil || $0.id == named }) { return client }
        guard issuer == subject, named == nil || named == subject else {
            throw invalidClient("client_assertion: iss and sub must be the client_id")
        }
        return try knownClient(subject)
    }

    private func checkSignature(_ token: JWS, _ client: DemoClient) throws(Refusal) {
        let algorithm = token.algorithm
        let method = algorithm?.isSymmetric == true ? "client_secret_jwt" : "private_key_jwt"
        guard client.authenticationMethods.contains(method) else {
            throw .invalidGrant("this client is not registered for \(method)")
        }
        if method == "client_secret_jwt" {
            guard let secret = client.secret?.revealed, let hash = algorithm?.hash,
                token.header["crit"] == nil,
                let code = try? Digest.authenticationCode(
                    token.signingInput, key: Array(secret.utf8), hash),
                equalInConstantTime(code, token.signature)
            else { throw .invalidGrant("the signature does not hold") }
            return
        }
        try checkSignature(token, client.keys)
    }

    func checkSignature(_ token: JWS, _ keys: JWKSet) throws(Refusal) {
        guard configuration.allows(token.algorithm) else {
            throw .invalidGrant("alg must be PS256, ES256 or EdDSA")
        }
        do throws(OIDCError) {
            if case .invalid(let reason) = try token.verify(keys: keys) {
                throw OIDCError(.untrusted, reason)
            }
        } catch {
            throw .invalidGrant(error.message)
        }
    }

    /// Checks that `exp` is present and in the future, at most an hour away (RFC 7523 §3).
    func checkTimes(_ claims: JSONObject, _ now: Instant, longest: Int64 = 3_600) throws(Refusal) {
        func moment(_ name: String) -> Instant? {
            claims[name]?.number?.wholePart.map { Instant(secondsSinceEpoch: $0) }
        }
        guard let expiry = moment("exp") else { throw .invalidGrant("exp is missing") }
        guard expiry > now else { throw .invalidGrant("it has expired") }
        guard expiry.seconds(since: now) <= longest else { throw .invalidGrant("exp is too far ahead") }
        for name in ["iat", "nbf"] {
            if let time = moment(name), time > now.adding(60) {
                throw .invalidGrant("\(name) lies in the future")
            }
        }
    }

    /// Checks that `aud` names this provider; if the configuration sets an audience, `aud` must be exactly
    /// that string.
    private func checkAudience(_ claims: JSONObject, _ call: Call) throws(Refusal) {
        // A profile demands the issuer, as a string (FAPI 2.0 Security Profile §5.3.2.1).
        let profile = configuration.profile.map { _ in issuer.text }
        if let expected = configuration.assertionAudience ?? profile {
            guard claims["aud"]?.string == expected else { throw .invalidGrant("aud must be \(expected)") }
            return
        }
        var ours = [issuer.text, address(.token), address(call.endpoint)]
        if let base = configuration.mutualTLSBase { ours.append("\(base)\(call.path)") }
        guard !Set(audience(of: claims)).isDisjoint(with: ours) else {
            throw .invalidGrant("aud is another server")
        }
    }

    package func audience(of claims: JSONObject) -> [String] {
        claims["aud"].map { $0.array?.compactMap(\.string) ?? [$0.string].compactMap { $0 } } ?? []
    }

    /// Checks a token of one of the issuers and returns its claims (RFC 7523 §3, RFC 8693 §2.1).
    package func trustedToken(
        _ text: String, from issuers: [TrustedIssuer], at now: Instant
    ) throws(Refusal) -> JSONObject {
        guard let token = try? JWS(compact: text), let claims = token.claims,
            let name = claims["iss"]?.string
        else { throw .invalidGrant("it is not a JWT with iss") }
        guard let trusted = issuers.first(where: { $0.issuer == name }) else {
            throw .invalidGrant("the issuer \(DisplayText.quoted(name, limit: 100)) is not trusted")
        }
        try checkSignature(token, trusted.keys)
        try checkTimes(claims, now, longest: 86_400)
        let ours = trusted.audience.map { [$0] } ?? [issuer.text, address(.token)]
        guard !Set(audience(of: claims)).isDisjoint(with: ours) else {
            throw .invalidGrant("aud is another server")
        }
        guard claims["sub"]?.string?.isEmpty == false else { throw .invalidGrant("sub is missing") }
        return claims
    }
}
