import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// Returns a signed ID token (OIDC Core §2).
    func idToken(
        _ grant: Grant, _ client: DemoClient, accessToken: String?, isRefresh: Bool, _ now: Instant
    ) throws(Refusal) -> String {
        do {
            let algorithm = client.idTokenAlgorithm ?? configuration.signingAlgorithms.first ?? .rs256
            let hash = try accessToken.map { token throws(CryptoError) in try halfHash(token, algorithm) }
            let claims = idTokenClaims(grant, accessTokenHash: hash, isRefresh: isRefresh, now)
            return try draft(claims, for: client, algorithm).serialized()
        } catch {
            throw .serverError(error)
        }
    }

    /// Returns an unsigned token with its key: the client's secret for a symmetric algorithm, else a key of
    /// the provider.
    func draft(
        _ claims: JSONObject, for client: DemoClient, _ algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> TokenDraft {
        if algorithm.isSymmetric {
            let secret = Array((client.secret?.revealed ?? "").utf8)
            return TokenDraft(claims: claims, type: "JWT", secret: secret, algorithm: algorithm)
        }
        guard let key = keys.key(for: algorithm) else {
            throw .unsupported("there is no key for \(algorithm.rawValue)")
        }
        return TokenDraft(claims: claims, type: "JWT", key: key, algorithm: algorithm)
    }

    private func idTokenClaims(
        _ grant: Grant, accessTokenHash: String?, isRefresh: Bool, _ now: Instant
    ) -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(issuer.text)
        claims["sub"] = .string(grant.subject)
        claims["aud"] = .string(grant.client)
        claims["exp"] = JSONValue(now.adding(configuration.idTokenLifetime).secondsSinceEpoch)
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        claims["auth_time"] = grant.authenticatedAt.map { JSONValue($0.secondsSinceEpoch) }
        // OIDC Core §12.2: a refreshed ID token should carry no nonce.
        claims["nonce"] = isRefresh ? nil : grant.nonce.map { .string($0) }
        claims["acr"] = grant.acr.map { .string($0) }
        claims["at_hash"] = accessTokenHash.map { .string($0) }
        for member in profile(grant, grant.scope).members { claims[member.name] = member.value }
        return claims
    }

    /// Returns the profile claims that a scope permits (OIDC Core §5.4).
    func profile(_ grant: Grant, _ scope: Scope) -> JSONObject {
        var claims = JSONObject()
        guard let account = grant.account else { return claims }
        if scope.contains("profile") {
            claims["name"] = .string("\(account.givenName) Example")
            claims["given_name"] = .string(account.givenName)
            claims["family_name"] = "Example"
            claims["preferred_username"] = .string(account.user)
        }
        if scope.contains("email") {
            claims["email"] = .string(account.email)
            claims["email_verified"] = true
        }
        return claims
    }

    /// Returns the left half of the hash for the signature algorithm (OIDC Core §3.1.3.6).
    private func halfHash(_ token: String, _ algorithm: SignatureAlgorithm) throws(CryptoError) -> String {
        let digest = try Digest.hash(Array(token.utf8), algorithm.hash ?? .sha512)
        return Base64URL.encode(Array(digest.prefix(digest.count / 2)))
    }
}
