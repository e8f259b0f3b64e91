public import OIDCCrypto

/// Signs tokens (RFC 7515 §5.1): client assertions, DPoP proofs, and those of a provider.
public struct JWTSigner: Sendable {
    private enum Key {
        case privateKey(PrivateKey)
        case secret(Redacted<[UInt8]>)
    }

    /// The algorithm that signs.
    public let algorithm: SignatureAlgorithm
    /// `kid` of the header.
    public let keyID: String?
    private let key: Key

    /// The algorithm is the first that fits the key of those the other side lists, or the key's usual one;
    /// for RSA that is RS256.
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
            throw .usage("the private key signs with \(names), wanted is \(wanted)")
        }
        self.algorithm = chosen
        self.keyID = keyID
        self.key = .privateKey(key)
    }

    /// HMAC with a shared secret (RFC 7518 §3.2).
    public init(
        secret: Redacted<String>, algorithm: SignatureAlgorithm = .hs256, keyID: String? = nil
    ) throws(OIDCError) {
        guard algorithm.isSymmetric, !secret.revealed.isEmpty else {
            throw .usage("client_secret: \(algorithm.rawValue) needs a secret that is not empty")
        }
        self.algorithm = algorithm
        self.keyID = keyID
        key = .secret(Redacted(Array(secret.revealed.utf8)))
    }

    /// The public half of the key; nil for a secret.
    public var publicKey: PublicKey? {
        if case .privateKey(let key) = key { key.publicKey } else { nil }
    }

    /// The compact form. `alg` and `kid` are set here, and win over those of `header`.
    public func sign(header: JSONObject = JSONObject(), claims: JSONObject) throws(OIDCError) -> String {
        try sign(header: header, payload: JSONValue.object(claims).bytes)
    }

    /// Signs bytes that need not be JSON.
    public func sign(header: JSONObject = JSONObject(), payload: [UInt8]) throws(OIDCError) -> String {
        var header = header
        header["alg"] = .string(algorithm.rawValue)
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
