/// The `enc` of an encrypted token (RFC 7518 §5.1).
package enum ContentEncryption: String, Sendable, CaseIterable {
    case a128GCM = "A128GCM"
    case a256GCM = "A256GCM"
    case a128CBC = "A128CBC-HS256"
    case a256CBC = "A256CBC-HS512"

    /// The length of the key in bytes; for CBC, the two keys for HMAC and AES together (RFC 7518 §5.2.2.1).
    package var keyByteCount: Int {
        switch self {
        case .a128GCM: 16
        case .a256GCM, .a128CBC: 32
        case .a256CBC: 64
        }
    }

    /// The length of the initialization vector in bytes (RFC 7518 §5.2.2.1, §5.3).
    package var nonceByteCount: Int { hash == nil ? 12 : 16 }

    /// The length of the authentication tag in bytes (RFC 7518 §5.2.2.1, §5.3).
    package var tagByteCount: Int { self == .a256CBC ? 32 : 16 }

    /// The hash function of the HMAC; nil for GCM.
    private var hash: HashAlgorithm? {
        switch self {
        case .a128GCM, .a256GCM: nil
        case .a128CBC: .sha256
        case .a256CBC: .sha512
        }
    }

    /// The result of encryption.
    package struct Sealed: Hashable, Sendable {
        package let ciphertext: [UInt8]
        package let tag: [UInt8]

        package init(ciphertext: [UInt8], tag: [UInt8]) {
            self.ciphertext = ciphertext
            self.tag = tag
        }
    }

    /// Encrypts and authenticates bytes, and authenticates `context`. A nonce must never be used twice with one
    /// key.
    package func seal(
        _ plain: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
    ) throws(CryptoError) -> Sealed {
        guard key.count == keyByteCount, nonce.count == nonceByteCount else {
            throw .invalidKey("\(rawValue): a key or nonce of another length")
        }
        guard let hash else {
            let sealed = try SystemCryptography.encrypt(
                plain, key: key, nonce: nonce, authenticating: context)
            return Sealed(
                ciphertext: Array(sealed.dropLast(tagByteCount)), tag: Array(sealed.suffix(tagByteCount)))
        }
        guard
            let ciphertext = try SystemCryptography.cbc(
                plain, key: Array(key.suffix(key.count / 2)), nonce: nonce, encrypting: true)
        else { throw .failed("AES failed") }
        return Sealed(ciphertext: ciphertext, tag: try tag(of: ciphertext, key, nonce, context, hash))
    }

    /// Returns the plaintext, or nil if anything was changed or has the wrong length. The tag is verified
    /// before anything is decrypted (RFC 7518 §5.2.2.2).
    package func open(
        _ sealed: Sealed, key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
    ) throws(CryptoError) -> [UInt8]? {
        guard key.count == keyByteCount, nonce.count == nonceByteCount, sealed.tag.count == tagByteCount
        else { return nil }
        guard let hash else {
            do throws(CryptoError) {
                return try SystemCryptography.decrypt(
                    sealed.ciphertext, tag: sealed.tag, key: key, nonce: nonce, authenticating: context)
            } catch {
                guard case .failed = error else { throw error }
                return nil
            }
        }
        let expected = try tag(of: sealed.ciphertext, key, nonce, context, hash)
        guard equalInConstantTime(expected, sealed.tag) else { return nil }
        return try SystemCryptography.cbc(
            sealed.ciphertext, key: Array(key.suffix(key.count / 2)), nonce: nonce, encrypting: false)
    }

    /// Returns the first half of the HMAC over context, nonce, ciphertext and the context's length in bits.
    private func tag(
        of ciphertext: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ context: [UInt8], _ hash: HashAlgorithm
    ) throws(CryptoError) -> [UInt8] {
        let length = UInt64(context.count) * 8
        let message = context + nonce + ciphertext + length.bigEndianBytes
        let code = try Digest.authenticationCode(message, key: Array(key.prefix(key.count / 2)), hash)
        return Array(code.prefix(tagByteCount))
    }
}

/// The wrapping of one key with another (RFC 3394), as `A128KW` and `A256KW` use it (RFC 7518 §4.4).
package enum KeyWrap {
    /// Returns the wrapped form, eight bytes longer than the key.
    package static func wrap(_ key: [UInt8], with wrappingKey: [UInt8]) throws(CryptoError) -> [UInt8] {
        try check(wrappingKey)
        guard let wrapped = try SystemCryptography.wrap(key, key: wrappingKey, wrapping: true) else {
            throw .invalidKey("a key of \(key.count) bytes cannot be wrapped")
        }
        return wrapped
    }

    /// Returns the key, or nil if it was wrapped with a different key, or changed.
    package static func unwrap(_ wrapped: [UInt8], with wrappingKey: [UInt8]) throws(CryptoError) -> [UInt8]?
    {
        try check(wrappingKey)
        guard wrapped.count % 8 == 0, (24...72).contains(wrapped.count) else { return nil }
        return try SystemCryptography.wrap(wrapped, key: wrappingKey, wrapping: false)
    }

    private static func check(_ key: [UInt8]) throws(CryptoError) {
        guard key.count == 16 || key.count == 32 else {
            throw .invalidKey("a wrapping key must have 16 or 32 bytes")
        }
    }
}

/// The Concat key derivation function (NIST SP 800-56A §5.8.2.1) with SHA-256, as RFC 7518 §4.6.2 uses it.
package enum ConcatKDF {
    /// Returns `count` bytes. `info` is AlgorithmID, PartyUInfo and PartyVInfo; this function adds their
    /// lengths.
    package static func derive(
        _ secret: [UInt8], info: [[UInt8]], byteCount count: Int
    ) throws(CryptoError) -> [UInt8] {
        var context: [UInt8] = []
        for part in info { context += UInt32(truncatingIfNeeded: part.count).bigEndianBytes + part }
        context += UInt32(truncatingIfNeeded: count * 8).bigEndianBytes
        var output: [UInt8] = []
        var round: UInt32 = 1
        while output.count < count {
            output += try Digest.hash(round.bigEndianBytes + secret + context, .sha256)
            round += 1
        }
        return Array(output.prefix(count))
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
