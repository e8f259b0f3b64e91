import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// Returns the parameters of a request. If it has a request object, only the parameters in it count (RFC
    /// 9101 §6.3), and those beside it must be the same (OIDC Core §6.1).
    func requestParameters(_ parameters: Parameters, _ now: Instant) throws(Refusal) -> Parameters {
        guard let object = try requestObject(parameters) else {
            guard !configuration.requiresSignedRequests else {
                throw .invalidRequest("this provider demands signed requests")
            }
            return parameters
        }
        let client = try knownClient(try parameters.required("client_id"))
        guard let token = try? JWS(compact: decrypted(object)), var claims = token.claims else {
            throw Refusal("invalid_request_object", "request is not a JWT")
        }
        do throws(Refusal) {
            try checkRequestSignature(token, client)
            try checkTimes(claims, now)
            guard claims["iss"]?.string == client.id, claims["client_id"]?.string == client.id else {
                throw .invalidRequest("iss and client_id must be the client")
            }
            guard audience(of: claims).contains(issuer.text) else {
                throw .invalidRequest("aud must be the issuer")
            }
            // FAPI 2.0 Message Signing §5.3.1
            guard configuration.profile != .fapi2MessageSigning || claims["nbf"]?.number != nil else {
                throw .invalidRequest("nbf is missing")
            }
            guard claims["request"] == nil, claims["request_uri"] == nil else {
                throw .invalidRequest("a request object has no other in it")
            }
            for name in ["response_type", "scope"] {
                guard parameters[name].map({ $0 == claims[name]?.string }) ?? true else {
                    throw .invalidRequest("\(name) is another one beside it")
                }
            }
        } catch {
            throw Refusal("invalid_request_object", "request: \(error.description)")
        }
        for name in ["iss", "aud", "exp", "nbf", "iat", "jti"] { claims[name] = nil }
        if let details = claims["authorization_details"], details.array != nil {
            claims["authorization_details"] = .string(String(decoding: details.bytes, as: UTF8.self))
        }
        return try Parameters(json: JSONValue.object(claims).bytes)
    }

    /// Returns the request object, given by value or by reference, whose fragment is the hash (OIDC Core §6.2).
    private func requestObject(_ parameters: Parameters) throws(Refusal) -> String? {
        guard let reference = parameters["request_uri"] else { return parameters["request"] }
        let parts = reference.split(separator: "#", maxSplits: 1).map(String.init)
        guard parameters["request"] == nil, parts.count == 2,
            let object = configuration.requestObject?(parts[0]),
            let hash = try? Digest.hash(Array(object.utf8), .sha256), Base64URL.encode(hash) == parts[1]
        else { throw Refusal("invalid_request_uri", "request_uri is not a request object of this client") }
        return object
    }

    /// Returns the content of an encrypted request object. If the provider has a key for that, it accepts no
    /// other objects.
    private func decrypted(_ object: String) throws -> String {
        guard let key = configuration.requestDecryptionKey else { return object }
        return try TokenDecryption.decrypted(object, TokenDecryption(key), stage: .authorization)
    }

    private func checkRequestSignature(_ token: JWS, _ client: DemoClient) throws(Refusal) {
        if token.header["alg"]?.string == "none" {
            guard client.allowsUnsignedRequests, token.signature.isEmpty,
                !configuration.requiresSignedRequests
            else { throw .invalidRequest("the client is not registered for alg none") }
            return
        }
        guard let type = token.header["typ"]?.string, ["oauth-authz-req+jwt", "JWT"].contains(type) else {
            throw .invalidRequest("typ must be oauth-authz-req+jwt")
        }
        guard let secret = client.secret?.revealed, let algorithm = token.algorithm, algorithm.isSymmetric,
            let hash = algorithm.hash
        else { return try checkSignature(token, client.keys) }
        guard
            let code = try? Digest.authenticationCode(token.signingInput, key: Array(secret.utf8), hash),
            equalInConstantTime(code, token.signature)
        else { throw .invalidGrant("the signature does not hold") }
    }
}
