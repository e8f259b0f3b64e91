import OIDCCrypto

extension IDToken {
    /// Validates a token in the order of OIDC Core §3.1.3.7, cheap checks before expensive ones: the form,
    /// `alg`, the claims, the keys, the signature. An encrypted token is decrypted first, and `compact` of the result
    /// is the signed token in it, which `id_token_hint` needs too (OIDC Core §3.1.2.1).
    public static func validate(
        _ compact: String, _ rules: IDTokenRules, keys: any KeySource, now: OIDCInstant
    ) throws(OIDCError) -> IDToken {
        do throws(OIDCError) {
            let signed = try TokenDecryption.idToken(compact, rules.decryption)
            return try validated(signed, rules, keys: keys, now: now)
        } catch {
            throw error.withholding(
                WithheldSecrets([compact, rules.nonce, rules.accessToken].compactMap { $0 }))
        }
    }

    private static func validated(
        _ compact: String, _ rules: IDTokenRules, keys: any KeySource, now: Instant
    ) throws(OIDCError) -> IDToken {
        let signature = SignatureRules(
            issuer: rules.issuer, allowedAlgorithms: rules.allowedAlgorithms,
            clientSecret: rules.clientSecret, stage: .idToken)
        let (token, claims) = try signature.read(compact)
        let checks = IDTokenChecks(claims: claims, rules: rules, now: now)
        let idToken = try checks.token(compact)
        try checks.checkAccessTokenHash(token)
        try signature.checkSignature(token, keys: keys)
        return idToken
    }
}

/// The checks of the claims.
private struct IDTokenChecks {
    let claims: TokenClaims
    let rules: IDTokenRules
    let now: Instant

    func token(_ compact: String) throws(OIDCError) -> IDToken {
        try claims.checkIssuer(rules.issuer)
        try checkAudience()
        let token = try IDToken(compact, claims)
        try claims.checkTimes(now: now, leeway: rules.leeway.components.seconds)
        try checkNonce()
        try checkAuthenticationTime()
        try checkAgreement(token)
        return token
    }

    /// Checks that `aud` contains this client; other audiences are accepted only if `azp` is this client.
    private func checkAudience() throws(OIDCError) {
        let audience = try claims.checkAudience(rules.clientID)
        let authorizedParty = try claims.string("azp")
        let isForOthersToo = audience.contains { !ExactText.isSame($0, rules.clientID) }
        guard authorizedParty != nil || isForOthersToo else { return }
        guard let authorizedParty, ExactText.isSame(authorizedParty, rules.clientID) else {
            let reason = isForOthersToo ? " (aud is \(claims.found("aud")))" : ""
            throw claims.mismatch("azp", expected: rules.clientID, note: reason)
        }
    }

    private func checkNonce() throws(OIDCError) {
        let found = try claims.string("nonce")
        if let nonce = rules.nonce {
            guard let found, equalInConstantTime(Array(found.utf8), Array(nonce.utf8)) else {
                throw claims.refusal(
                    "nonce", expected: "the one of this sign-in",
                    found: found == nil ? "none" : "another",
                    hint: found == nil ? .advice(.turnNonceOff) : nil)
            }
        } else if let found, let nonce = rules.previous?.nonce, !ExactText.isSame(found, nonce) {
            throw claims.refusal("nonce", expected: "the one of the sign-in", found: "another")
        }
    }

    /// Checks `auth_time`, which `max_age` makes required (OIDC Core §3.1.2.1).
    private func checkAuthenticationTime() throws(OIDCError) {
        guard let maxAge = rules.maxAge else { return }
        guard let time = try claims.time("auth_time") else {
            throw claims.refusal(
                "auth_time", expected: "a time, as max_age was requested", found: "none",
                hint: .advice(.leaveOutMaxAge))
        }
        guard time.adding(maxAge).adding(rules.leeway) >= now, time <= now.adding(rules.leeway) else {
            throw claims.refusal(
                "auth_time", expected: "at most \(maxAge.components.seconds) seconds before \(now)",
                found: "\(time)")
        }
    }

    /// Checks that issuer, subject, audience and time of authentication are those of the sign-in (OIDC Core
    /// §12.2).
    private func checkAgreement(_ token: IDToken) throws(OIDCError) {
        guard let previous = rules.previous else { return }
        var pairs = [("iss", previous.issuer, token.issuer), ("sub", previous.subject, token.subject)]
        if IssuerTemplate(previous.issuer) != nil { pairs.removeFirst() }
        for (name, expected, found) in pairs where !ExactText.isSame(expected, found) {
            throw claims.mismatch(name, expected: expected, note: " as at the sign-in")
        }
        if let expected = previous.authenticationTime, let found = try claims.time("auth_time"),
            found != expected
        {
            throw claims.refusal(
                "auth_time", expected: "\(expected) as at the sign-in", found: "\(found)")
        }
        guard let audience = previous.audience else { return }
        let (expected, found) = (audience.map { Array($0.utf8) }, token.audience.map { Array($0.utf8) })
        guard Set(expected) == Set(found) else {
            let sides = DisplayText.sides(
                expected: audience.joined(separator: ", "), found: token.audience.joined(separator: ", "))
            throw claims.refusal(
                "aud", expected: "[\(sides.expected)] as at the sign-in", found: "[\(sides.found)]")
        }
    }

    /// Checks `at_hash`, the left half of the hash for `alg` (OIDC Core §3.1.3.6). No specification defines
    /// one for EdDSA: most providers use SHA-512, some SHA-256, and the length shows which.
    func checkAccessTokenHash(_ token: JWS) throws(OIDCError) {
        guard let found = try claims.string("at_hash"), let accessToken = rules.accessToken,
            let algorithm = token.algorithm
        else { return }
        let named = algorithm.hash ?? (found.utf8.count == 22 ? .sha256 : .sha512)
        let hash = try Cryptography.hash(Array(accessToken.utf8), named)
        let expected = Base64URL.encode(Array(hash.prefix(hash.count / 2)))
        guard equalInConstantTime(Array(found.utf8), Array(expected.utf8)) else {
            throw claims.refusal("at_hash", expected: "the access token's hash", found: "another")
        }
    }
}
