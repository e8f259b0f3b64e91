import OIDCCrypto

/// The signing of authorization requests (JWT-Secured Authorization Request, JAR, RFC 9101).
package struct RequestObjectSigning: Sendable {
    /// Nil for `alg` `none`.
    private let signer: JWTSigner?

    /// Seconds until a request object expires: longer than a sign-in waits, and at most an hour (FAPI 2.0 Message
    /// Signing §5.3.2).
    private static let lifetime: Int64 = 1_800

    package init(_ signer: JWTSigner) {
        self.signer = signer
    }

    private init() {
        signer = nil
    }

    /// Request objects without a signature, for clients that are registered for them (OIDC Core §6.1).
    package static let unsigned = RequestObjectSigning()

    /// Returns a request object with the parameters as claims (RFC 9101 §4, §10.8).
    func object(
        _ parameters: [FormEncoding.Pair], clientID: String, issuer: String, now: Instant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> String {
        var claims = JSONObject()
        for pair in parameters {
            let values = parameters.filter { $0.name == pair.name }.map { RequestObjectSigning.claim($0) }
            claims[pair.name] = values.count == 1 ? values[0] : .array(values)
        }
        claims["iss"] = .string(clientID)
        claims["aud"] = .string(issuer)
        claims["iat"] = JSONValue(now.secondsSinceEpoch)
        claims["nbf"] = JSONValue(now.secondsSinceEpoch)
        claims["exp"] = JSONValue(now.adding(RequestObjectSigning.lifetime).secondsSinceEpoch)
        claims["jti"] = .string(Base64URL.encode(random(16)))
        var header = JSONObject()
        header["typ"] = "oauth-authz-req+jwt"
        if let signer { return try signer.sign(header: header, claims: claims) }
        header["alg"] = "none"
        return [header, claims].map { Base64URL.encode(JSONValue.object($0).bytes) }.joined(separator: ".")
            + "."
    }

    /// Returns a parameter's value as JSON: `max_age` is a number, and `authorization_details` an array.
    private static func claim(_ pair: FormEncoding.Pair) -> JSONValue {
        switch pair.name {
        case "max_age": Int64(pair.value).map { JSONValue($0) } ?? .string(pair.value)
        case "authorization_details", "claims": (try? JSONValue(parsing: pair.value)) ?? .string(pair.value)
        default: .string(pair.value)
        }
    }
}

extension PendingAuthorization {
    /// Returns the sign-in with its parameters in a request object. A pushed one stands alone with `client_id`; in a
    /// URL, `response_type` and, with `openid`, `scope` stand beside it with the same values (OIDC Core §6.1).
    func signed(
        by signing: RequestObjectSigning, now: Instant, random: (Int) -> [UInt8], isPushed: Bool
    ) throws(OIDCError) -> PendingAuthorization {
        guard let issuer, IssuerTemplate(issuer) == nil else {
            throw .usage(
                "a request object names the issuer, and none is known", hint: .advice(.setIssuerOrKeys))
        }
        let object = try signing.object(
            parameters, clientID: clientID, issuer: issuer, now: now, random: random)
        var names = ["client_id"]
        if !isPushed { names += scope.contains("openid") ? ["response_type", "scope"] : ["response_type"] }
        var signed = self
        signed.parameters =
            parameters.filter { names.contains($0.name) } + [FormEncoding.Pair("request", object)]
        signed.url = try AuthorizationRequest.url(endpoint, signed.parameters, isPushed: isPushed)
        return signed
    }
}
