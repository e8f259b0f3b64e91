import OIDCCore
import OIDCCrypto

/// An unsigned token with its signing key (RFC 7515 §3.1).
struct TokenDraft {
    private enum Signer {
        case key(PrivateKey, SignatureAlgorithm)
        case secret([UInt8], SignatureAlgorithm)
    }

    private var header: JSONObject
    private let claims: JSONObject
    private let signer: Signer

    init(claims: JSONObject, type: String, key: SigningKey, algorithm: SignatureAlgorithm) {
        header = JSONObject()
        header["alg"] = .string(algorithm.rawValue)
        header["typ"] = .string(type)
        header["kid"] = .string(key.id)
        self.claims = claims
        signer = .key(key.key, algorithm)
    }

    init(claims: JSONObject, type: String, secret: [UInt8], algorithm: SignatureAlgorithm) {
        header = JSONObject()
        header["alg"] = .string(algorithm.rawValue)
        header["typ"] = .string(type)
        self.claims = claims
        signer = .secret(secret, algorithm)
    }

    func serialized() throws(CryptoError) -> String {
        let payload = JSONValue.object(claims).bytes
        let input = "\(Base64URL.encode(JSONValue.object(header).bytes)).\(Base64URL.encode(payload))"
        return "\(input).\(Base64URL.encode(try signature(of: Array(input.utf8))))"
    }

    private func signature(of input: [UInt8]) throws(CryptoError) -> [UInt8] {
        switch signer {
        case .key(let key, let algorithm): return try key.sign(input, algorithm)
        case .secret(let secret, let algorithm):
            return try Digest.authenticationCode(input, key: secret, algorithm.hash ?? .sha256)
        }
    }
}
