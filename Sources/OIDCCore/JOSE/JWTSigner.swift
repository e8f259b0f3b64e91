public import OIDCCrypto

/// A signer of tokens (RFC 7515 §5.1): client assertions, DPoP proofs, and a provider's tokens.
public struct JWTSigner: Sendable {
    private enum Key {
        case privateKey(PrivateKey)
        case secret(Redacted<[UInt8]>)
    }

    /// The algorithm of the signatures.
    public let algorithm: SignatureAlgorithm
    /// The `kid` of the header.
    public let keyID: String?
    private let key: Key
    /// `alg` in headers.
    private let algorithmName: String

    /// Creates a signer with a private key. If `algorithm` is nil, the first algorithm of the key that
    /// `supported` lists is used; if both are nil, the key's first one, which is RS256 for RSA. For a server that
    /// lists `Ed25519` (RFC 9864 §2.2) but not the older name `EdDSA`, signatures have the newer one.
    public init(
        _ key: PrivateKey, algorithm: SignatureAlgorithm? = nil, supported: [String]? = nil,
        keyID: String? = nil
    ) throws(OIDCError) {
        let fitting = key.supportedAlgorithms
        let listed = supported.map { names in
            fitting.filter { algorithm in names.contains { SignatureAlgorithm(joseName: $0) == algorithm } }
        }
        guard let chosen = algorithm ?? (listed ?? fitting).first, fitting.contains(chosen) else {
            let names = fitting.map(\.rawValue).joined(separator: ", ")
            let wanted = algorithm?.rawValue ?? DisplayText.clean((supported ?? []).joined(separator: ", "))
            throw .usage("the private key supports \(names), not \(wanted)")
        }
        self.algorithm = chosen
        let isNewName = chosen == .edDSA && supported?.contains(chosen.rawValue) == false
        algorithmName = isNewName ? "Ed25519" : chosen.rawValue
        self.keyID = keyID
        self.key = .privateKey(key)
    }

    /// Creates a signer that uses HMAC with a shared secret (RFC 7518 §3.2).
    public init(
        secret: Redacted<String>, algorithm: SignatureAlgorithm = .hs256, keyID: String? = nil
    ) throws(OIDCError) {
        guard algorithm.isSymmetric, !secret.revealed.isEmpty else {
            throw .usage("client_secret: \(algorithm.rawValue) needs a secret that is not empty")
        }
        self.algorithm = algorithm
        algorithmName = algorithm.rawValue
        self.keyID = keyID
        key = .secret(Redacted(Array(secret.revealed.utf8)))
    }

    /// The public half of the key; nil for a shared secret.
    package var publicKey: PublicKey? {
        if case .privateKey(let key) = key { key.publicKey } else { nil }
    }

    /// Signs claims and returns the compact form. `alg` and `kid` replace those of `header`.
    public func sign(header: JSONObject = JSONObject(), claims: JSONObject) throws(OIDCError) -> String {
        try sign(header: header, payload: JSONValue.object(claims).bytes)
    }

    /// Signs bytes, which need not be JSON, and returns the compact form.
    public func sign(header: JSONObject = JSONObject(), payload: [UInt8]) throws(OIDCError) -> String {
        var header = header
        header["alg"] = .string(algorithmName)
        if let keyID { header["kid"] = .string(keyID) }
        let input = Base64URL.encode(JSONValue.object(header).bytes) + "." + Base64URL.encode(payload)
        return "\(input).\(Base64URL.encode(try signature(Array(input.utf8))))"
    }

    private func signature(_ input: [UInt8]) throws(OIDCError) -> [UInt8] {
        do throws(CryptoError) {
            switch key {
            case .privateKey(let key): return try key.sign(input, algorithm)
            case .secret(let secret):
                guard let hash = algorithm.hash else { throw .unsupported(algorithm.rawValue) }
                return try Digest.authenticationCode(input, key: secret.revealed, hash)
            }
        } catch {
            throw OIDCError(error)
        }
    }
}
