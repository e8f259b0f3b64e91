/// The claims with which a client proves itself (RFC 7523 §3, OpenID Connect Core §9): fresh for each request,
/// short-lived, and for one audience given as one string, so no other provider can use them.
enum ClientAssertion {
    static let lifetime: Int64 = 120

    static func signed(
        by signer: JWTSigner, clientID: String, audience: String, now: Instant, random: (Int) -> [UInt8]
    ) throws(OIDCError) -> String {
        var claims = JSONObject()
        claims["iss"] = .string(clientID)
        claims["sub"] = .string(clientID)
        claims["aud"] = .string(audience)
        claims["jti"] = .string(Base64URL.encode(random(16)))
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        claims["exp"] = JSONValue(now.adding(lifetime).secondsSinceEpoch)
        var header = JSONObject()
        header["typ"] = "JWT"
        return try signer.sign(header: header, claims: claims)
    }
}
