/// A key that signs. Its descriptions and mirror show only its type.
public struct PrivateKey: Sendable {
    /// The kinds of keys that can be generated.
    package enum Kind: Sendable, CaseIterable {
        case p256, p384, p521, rsa2048, ed25519
    }

    /// The public half.
    package let publicKey: PublicKey
    /// The algorithms that the key can sign with, the usual one first.
    public let supportedAlgorithms: [SignatureAlgorithm]
    let handle: PrivateKeyHandle

    /// Parses PKCS #8, encrypted PKCS #8 and the traditional RSA and EC forms; never prompts for the
    /// passphrase.
    package init(pem: [UInt8], passphrase: [UInt8]?) throws(CryptoError) {
        try self.init(PrivateKeyHandle(pem: pem, passphrase: passphrase))
    }

    private init(_ handle: PrivateKeyHandle) throws(CryptoError) {
        publicKey = try PublicKey(handle.publicParameters())
        supportedAlgorithms = handle.onlyAlgorithms ?? publicKey.supportedAlgorithms
        self.handle = handle
    }

    /// Generates a key.
    package static func generate(_ kind: Kind) throws(CryptoError) -> PrivateKey {
        try PrivateKey(PrivateKeyHandle.generate(kind))
    }

    /// The key as unencrypted PKCS #8, for a file that only its owner can read.
    public var pem: [UInt8] { handle.pem }

    /// Signs a message and returns the signature in the form of RFC 7518 §3: for ECDSA, r and s at full
    /// length.
    package func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        try publicKey.check(algorithm)
        guard supportedAlgorithms.contains(algorithm) else {
            throw .unsupported("\(algorithm.rawValue) does not fit this key")
        }
        return try handle.sign(message, algorithm)
    }
}

extension PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type of the key, without any secret.
    public var description: String { "PrivateKey(\(publicKey.typeName))" }
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without members, so `dump` shows nothing secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
