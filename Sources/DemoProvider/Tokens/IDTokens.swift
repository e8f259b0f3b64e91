package import OIDCCore
package import OIDCCrypto

extension DemoProvider {
    /// Returns a signed ID token (OIDC Core §2), encrypted if the client is registered for that.
    func idToken(
        _ grant: Grant, _ client: DemoClient, accessToken: String?, isRefresh: Bool, _ now: Instant
    ) throws(Refusal) -> String {
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
        if let accessToken {
            let algorithm = idTokenAlgorithm(client)
            claims["at_hash"] = .string(
                try crypto { () throws(CryptoError) in try halfHash(accessToken, algorithm) })
        }
        for member in profile(grant, grant.scope).members { claims[member.name] = member.value }
        return try client.encrypted(signed(claims, for: client), client.idTokenEncryption)
    }

    /// Returns a JWT for a client, signed with that algorithm or else the one of its ID tokens.
    func signed(
        _ claims: JSONObject, type: String = "JWT", for client: DemoClient,
        by algorithm: SignatureAlgorithm? = nil
    ) throws(Refusal) -> String {
        let algorithm = algorithm ?? idTokenAlgorithm(client)
        return try signed(
            claims, type: type, by: algorithm, secret: algorithm.isSymmetric ? client.secret : nil)
    }

    /// Returns a signed token. If `algorithm` is nil, it is that of the first key.
    package func signed(
        _ claims: JSONObject, type: String, by algorithm: SignatureAlgorithm? = nil,
        secret: Redacted<String>? = nil
    ) throws(Refusal) -> String {
        var header = JSONObject()
        header["typ"] = .string(type)
        do throws(OIDCError) {
            let signer: JWTSigner
            if let algorithm, let secret {
                signer = try JWTSigner(secret: secret, algorithm: algorithm)
            } else if let key = algorithm.map({ keys.key(for: $0) }) ?? keys.current.first {
                signer = try JWTSigner(key.key, algorithm: algorithm ?? key.algorithm, keyID: key.id)
            } else {
                throw .usage("there is no signing key")
            }
            return try signer.sign(header: header, claims: claims)
        } catch {
            throw Refusal("server_error", error.message, status: 500)
        }
    }

    private func idTokenAlgorithm(_ client: DemoClient) -> SignatureAlgorithm {
        client.idTokenAlgorithm ?? configuration.signingAlgorithms.first ?? .rs256
    }

    /// Returns the claims of an ID token that this provider signed, even if it has expired; nil for any other
    /// token.
    package func ownIDToken(_ text: String) -> JSONObject? {
        guard let token = try? JWS(compact: text), let claims = token.claims,
            claims["iss"]?.string == issuer.text,
            (try? token.verify(keys: publishedKeys)) == .valid
        else { return nil }
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

    /// Returns the claims that the token's scope permits, as JSON, signed, encrypted, or both (OIDC Core §5.3).
    mutating func userInfo(_ call: Call) throws(Refusal) -> HTTPResponse {
        let (record, grant) = try presented(call)
        guard record.scope.contains("openid") else { throw insufficientScope("openid", call) }
        var claims = JSONObject()
        claims["sub"] = .string(grant.subject)
        for member in profile(grant, record.scope).members { claims[member.name] = member.value }
        try addClaimSources(to: &claims, grant, record.scope, call.now)
        let isSigned =
            configuration.signsUserInfo || state.clients[grant.client]?.userInfoAlgorithm != nil
        guard let client = state.clients[grant.client], isSigned || client.userInfoEncryption != nil
        else { return .json(.object(claims)) }
        let token: String
        if isSigned {
            claims["iss"] = .string(issuer.text)
            claims["aud"] = .string(grant.client)
            claims["iat"] = JSONValue(call.now.secondsSinceEpoch)
            token = try client.encrypted(
                signed(claims, for: client, by: client.userInfoAlgorithm), client.userInfoEncryption)
        } else {
            let text = String(decoding: JSONValue.object(claims).bytes, as: UTF8.self)
            token = try client.encrypted(text, client.userInfoEncryption, header: JSONObject())
        }
        return .jwt(token)
    }
}

extension HTTPResponse {
    /// Returns an answer that is a token.
    static func jwt(_ token: String, type: String = "application/jwt") -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: HTTPHeaders([("Content-Type", type), ("Cache-Control", "no-store")]),
            body: Array(token.utf8))
    }
}
