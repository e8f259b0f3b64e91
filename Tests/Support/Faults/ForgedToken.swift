import DemoProvider
import OIDCCore
import OIDCCrypto

/// A token of the demo provider taken apart, to be changed and signed again (RFC 7515 §3.1).
struct ForgedToken {
    enum Signer {
        case key(PrivateKey, SignatureAlgorithm)
        case secret([UInt8], SignatureAlgorithm)
        /// An empty signature.
        case nobody
    }

    var header: JSONObject
    var claims: JSONObject
    var signer: Signer
    /// Bytes to sign instead of the claims.
    var payload: [UInt8]?
    /// The secret of the client that the token is for.
    let clientSecret: [UInt8]?

    /// Nil if the text is not a token that the provider signs.
    init?(_ text: String, _ demo: DemoProvider) {
        let parts = text.split(separator: ".").map(String.init)
        guard parts.count == 3, let header = ForgedToken.object(parts[0]),
            let claims = ForgedToken.object(parts[1]),
            let algorithm = header["alg"]?.string.flatMap(SignatureAlgorithm.init(rawValue:))
        else { return nil }
        let audience = claims["aud"]?.string
        let client = demo.configuration.clients.first { $0.id == audience }
        clientSecret = client?.secret.map { Array($0.revealed.utf8) }
        if algorithm.isSymmetric {
            signer = .secret(clientSecret ?? [], algorithm)
        } else if let key = demo.signingKey(for: algorithm) {
            signer = .key(key.key, algorithm)
        } else {
            return nil
        }
        (self.header, self.claims) = (header, claims)
    }

    mutating func sign(withSecret secret: [UInt8]) {
        header["alg"] = "HS256"
        signer = .secret(secret, .hs256)
    }

    func serialized() throws(CryptoError) -> String {
        let payload = payload ?? JSONValue.object(claims).bytes
        let input = "\(Base64URL.encode(JSONValue.object(header).bytes)).\(Base64URL.encode(payload))"
        return "\(input).\(Base64URL.encode(try signature(of: Array(input.utf8))))"
    }

    private func signature(of input: [UInt8]) throws(CryptoError) -> [UInt8] {
        switch signer {
        case .key(let key, let algorithm): return try key.sign(input, algorithm)
        case .secret(let secret, let algorithm):
            return try Digest.authenticationCode(input, key: secret, algorithm.hash ?? .sha256)
        case .nobody: return []
        }
    }

    private static func object(_ part: String) -> JSONObject? {
        Base64URL.decode(part).flatMap { (try? JSONValue(parsing: $0))?.object }
    }
}
