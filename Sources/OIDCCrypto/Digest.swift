/// The reason why a cryptographic operation failed; an invalid signature is not an error.
package enum CryptoError: Error, Equatable, Sendable {
    /// The system's library is missing or too old; the string names it.
    case unavailable(String)
    /// The library cannot be opened now, as too many files are open.
    case outOfDescriptors(String)
    case invalidKey(String)
    case passphraseNeeded
    case wrongPassphrase
    case unsupported(String)
    case failed(String)
}

/// A hash function of FIPS 180-4 that JOSE uses (RFC 7518 §3).
package enum HashAlgorithm: Sendable, CaseIterable {
    case sha256, sha384, sha512

    /// The length of a hash in bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// Hashes and message authentication codes.
package enum Digest {
    /// Returns the hash of the bytes.
    package static func hash(_ bytes: [UInt8], _ algorithm: HashAlgorithm) throws(CryptoError) -> [UInt8] {
        try SystemCryptography.hash(bytes, algorithm)
    }

    /// The version of the cryptographic library; nil if it cannot be loaded or has none.
    package static var libraryVersion: String? { SystemCryptography.libraryVersion }

    /// Returns an HMAC (RFC 2104). Compare it with `equalInConstantTime`.
    package static func authenticationCode(
        _ message: [UInt8], key: [UInt8], _ algorithm: HashAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        try SystemCryptography.authenticationCode(message, key: key, algorithm)
    }
}

/// Compares secrets in a time that depends only on their lengths.
package func equalInConstantTime(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    var difference: UInt8 = 0
    for index in a.indices { difference |= a[index] ^ b[index] }
    return difference == 0
}
