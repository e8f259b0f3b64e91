import OIDCCrypto

extension DPoP {
    /// A valid proof.
    package struct VerifiedProof: Hashable, Sendable {
        /// The thumbprint of the signing key, to compare with the token's.
        package let thumbprint: String
        /// `jti`, by which a server detects a replayed proof (§11.1).
        package let identifier: String
    }

    /// The reason why a proof is not valid.
    package struct Refusal: Error, Hashable, Sendable {
        package let reason: String
        /// Whether only the nonce is missing or wrong; answer with `use_dpop_nonce` (§8).
        package let wantsNonce: Bool

        package init(reason: String, wantsNonce: Bool) {
            self.reason = reason
            self.wantsNonce = wantsNonce
        }
    }

    /// Verifies a proof as a server does (§4.3), for the demo provider and tests.
    package static func verify(
        _ proof: String, method: HTTPMethod, url: WebURL, accessToken: String? = nil,
        expectedNonce: String? = nil, now: Instant, leeway: Int64 = 60
    ) throws(Refusal) -> VerifiedProof {
        let token: JWS
        do throws(JWS.Malformed) { token = try JWS(compact: proof) } catch { throw Refusal(error.reason) }
        let key = try signingKey(token)
        let claims = token.claims ?? JSONObject()
        guard let identifier = claims["jti"]?.string, !identifier.isEmpty else {
            throw Refusal("jti: expected a string")
        }
        guard claims["htm"]?.string == method.name else { throw Refusal("htm: expected \(method)") }
        guard let target = claims["htu"]?.string.flatMap(WebURL.init), DPoP.target(target) == DPoP.target(url)
        else { throw Refusal("htu: expected \(DPoP.target(url))") }
        guard let issued = claims["iat"]?.integer.map(Instant.init(secondsSinceEpoch:)),
            issued <= now.adding(leeway), now <= issued.adding(leeway)
        else { throw Refusal("iat: expected about \(now)") }
        if let accessToken {
            guard let hash = try? accessTokenHash(accessToken), claims["ath"]?.string == hash else {
                throw Refusal("ath: expected the access token's hash")
            }
        }
        try checkSignature(token, key)
        guard expectedNonce == nil || claims["nonce"]?.string == expectedNonce else {
            throw Refusal(reason: "nonce: expected the one that was given out", wantsNonce: true)
        }
        guard let thumbprint = try? JSONWebKey.thumbprint(of: key) else {
            throw Refusal("jwk: no thumbprint")
        }
        return VerifiedProof(thumbprint: thumbprint, identifier: identifier)
    }

    private static func checkSignature(_ token: JWS, _ key: PublicKey) throws(Refusal) {
        do throws(OIDCError) {
            let check = try token.verify(keys: JWKSet(keys: [JSONWebKey(publicKey: key)]))
            if case .invalid(let reason) = check { throw OIDCError(.untrusted, reason) }
        } catch {
            throw Refusal(error.message)
        }
    }

    private static func signingKey(_ token: JWS) throws(Refusal) -> PublicKey {
        guard token.header["typ"]?.string == tokenType else { throw Refusal("typ: expected \(tokenType)") }
        guard let jwk = token.header["jwk"], jwk["d"] == nil else {
            throw Refusal("jwk: expected a public key")
        }
        guard case .asymmetric(let parameters)? = (try? JSONWebKey(jwk))?.material,
            let key = try? PublicKey(parameters)
        else { throw Refusal("jwk: expected a public key") }
        return key
    }
}

extension DPoP.Refusal {
    fileprivate init(_ reason: String) {
        self.init(reason: reason, wantsNonce: false)
    }
}
