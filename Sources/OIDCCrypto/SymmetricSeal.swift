/// Authenticated encryption with AES-256-GCM: nonce (12 bytes), ciphertext, tag (16 bytes).
package enum SymmetricSeal {
    static let keyByteCount = 32
    static let nonceByteCount = 12
    static let tagByteCount = 16

    /// Encrypts with a fresh random nonce. `authenticating` is authenticated but not part of the result.
    package static func seal(
        _ plain: [UInt8], key: [UInt8], authenticating context: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try check(key)
        let nonce = Random.bytes(nonceByteCount)
        return try nonce + SystemCryptography.encrypt(plain, key: key, nonce: nonce, authenticating: context)
    }

    /// Returns the plaintext; throws if the key, the context or any byte of `sealed` differs.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], authenticating context: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try check(key)
        guard sealed.count >= nonceByteCount + tagByteCount else {
            throw .failed("the sealed data is too short")
        }
        let nonce = Array(sealed.prefix(nonceByteCount))
        let ciphertext = Array(sealed.dropFirst(nonceByteCount).dropLast(tagByteCount))
        let tag = Array(sealed.suffix(tagByteCount))
        return try SystemCryptography.decrypt(
            ciphertext, tag: tag, key: key, nonce: nonce, authenticating: context)
    }

    private static func check(_ key: [UInt8]) throws(CryptoError) {
        guard key.count == keyByteCount else { throw .invalidKey("an AES-256 key must have 32 bytes") }
    }
}

/// Random bytes from the operating system.
package enum Random {
    /// Returns random bytes from the operating system.
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word: UInt64 = generator.next()
            withUnsafeBytes(of: word) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        }
        return bytes
    }
}
