package import OIDCCore
package import OIDCCrypto

/// A private key and the `kid` of its public half.
package struct SigningKey: Sendable {
    package let id: String
    package let algorithm: SignatureAlgorithm
    package let key: PrivateKey

    /// The members of the published key (RFC 7517 §4).
    package var publicMembers: JSONObject {
        JSONWebKey(publicKey: key.publicKey, keyID: id, algorithm: algorithm).json.object ?? JSONObject()
    }
}

/// The provider's keys; after a rotation, the previous ones are still published.
struct SigningKeys: Sendable {
    private(set) var current: [SigningKey] = []
    private(set) var previous: [SigningKey] = []
    private var generation = 1

    init(_ configuration: DemoConfiguration) throws(CryptoError) {
        for algorithm in configuration.signingAlgorithms where !algorithm.isSymmetric {
            let given = configuration.signingKeys.first { $0.supportedAlgorithms.contains(algorithm) }
            try add(algorithm, given)
        }
    }

    /// Returns the key for an algorithm; RS256 and PS256 share one.
    func key(for algorithm: SignatureAlgorithm) -> SigningKey? {
        current.first { $0.algorithm == algorithm }
            ?? current.first { $0.key.supportedAlgorithms.contains(algorithm) }
    }

    /// Replaces the current keys with new ones, which have new IDs.
    mutating func rotate() throws(CryptoError) {
        let algorithms = current.map(\.algorithm)
        previous = current
        current = []
        generation += 1
        for algorithm in algorithms { try add(algorithm, nil) }
    }

    private mutating func add(_ algorithm: SignatureAlgorithm, _ given: PrivateKey?) throws(CryptoError) {
        let key: PrivateKey
        if let given { key = given } else { key = try PrivateKey.generate(SigningKeys.kind(algorithm)) }
        let id = "\(ASCII.lowercased(algorithm.rawValue))-\(generation)"
        current.append(SigningKey(id: id, algorithm: algorithm, key: key))
    }

    private static func kind(_ algorithm: SignatureAlgorithm) -> PrivateKey.Kind {
        switch algorithm {
        case .es256: .p256
        case .es384: .p384
        case .es512: .p521
        case .edDSA: .ed25519
        default: .rsa2048
        }
    }
}

extension DemoProvider {
    package var publishedKeys: JWKSet {
        let signing = (keys.current + keys.previous).map {
            JSONWebKey(publicKey: $0.key.publicKey, keyID: $0.id)
        }
        return JWKSet(keys: signing + (encryptionKey.map { [$0] } ?? []))
    }

    /// The key that requests are encrypted to; nil if they are not.
    var encryptionKey: JSONWebKey? {
        configuration.requestDecryptionKey.map {
            JSONWebKey(publicKey: $0.publicKey, keyID: "requests", use: "enc")
        }
    }

    /// Returns the key for an algorithm; tests sign tokens with it that the provider would never issue.
    package func signingKey(for algorithm: SignatureAlgorithm) -> SigningKey? { keys.key(for: algorithm) }

    /// Replaces the signing keys; tokens signed by the previous ones still verify.
    package mutating func rotateKeys() throws(CryptoError) {
        try keys.rotate()
    }
}
