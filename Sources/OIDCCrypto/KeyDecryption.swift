/// The hash function of RSAES-OAEP and of its mask generation (RFC 7518 §4.3).
package enum OAEPHash: Sendable {
    case sha1, sha256
}

extension PublicKey {
    /// Encrypts with RSAES-OAEP; throws for a key that is not RSA.
    package func encryptOAEP(_ plain: [UInt8], _ hash: OAEPHash) throws(CryptoError) -> [UInt8] {
        guard case .rsa = parameters else {
            throw .unsupported("RSA encryption to a key of type \(typeName)")
        }
        return try SystemCryptography.encryptOAEP(plain, to: parameters, hash)
    }
}

extension PrivateKey {
    /// Decrypts with RSAES-OAEP. Returns nil, without a reason (RFC 7516 §11.5), if the input was not
    /// encrypted to this key, or if the key is not RSA.
    package func decryptOAEP(_ encrypted: [UInt8], _ hash: OAEPHash) throws(CryptoError) -> [UInt8]? {
        guard case .rsa(let modulus, _) = publicKey.parameters, encrypted.count == modulus.count else {
            return nil
        }
        return try handle.decryptOAEP(encrypted, hash)
    }

    /// Returns the secret that this key and `peer` share (ECDH); throws unless both are on the same curve.
    package func sharedSecret(with peer: PublicKey) throws(CryptoError) -> [UInt8] {
        guard case .elliptic(let curve, _, _) = publicKey.parameters,
            case .elliptic(curve, _, _) = peer.parameters
        else { throw .unsupported("key agreement between \(publicKey.typeName) and \(peer.typeName)") }
        return try handle.sharedSecret(with: peer.parameters)
    }
}

extension PrivateKey {
    /// Creates an elliptic key from its numbers (RFC 7518 §6.2.2). Throws if `x` and `y` do not belong to
    /// `d`.
    package init(_ curve: EllipticCurve, x: [UInt8], y: [UInt8], d: [UInt8]) throws(CryptoError) {
        guard d.count == curve.coordinateByteCount else {
            throw .invalidKey("d of \(curve.rawValue) must have \(curve.coordinateByteCount) bytes")
        }
        // RFC 5915 §3. The library derives the public key if it is left out.
        let der = DER.sequence(
            DER.integer([1]) + DER.element(0x04, d) + DER.element(0xA0, DER.element(0x06, curve.identifier)))
        try self.init(pem: DER.pem(der, "EC PRIVATE KEY"), passphrase: nil)
        guard publicKey.parameters == .elliptic(curve, x: x, y: y) else {
            throw .invalidKey("x and y do not belong to d")
        }
    }

    /// Creates an RSA key from the numbers n, e, d, p, q, dp, dq and qi (RFC 7518 §6.3.2), big-endian.
    package init(rsa numbers: [[UInt8]]) throws(CryptoError) {
        // RFC 8017 A.1.2
        let der = DER.sequence(DER.integer([0]) + numbers.flatMap(DER.integer))
        try self.init(pem: DER.pem(der, "RSA PRIVATE KEY"), passphrase: nil)
    }
}

extension EllipticCurve {
    /// The content of the curve's object identifier (RFC 5480 §2.1.1.1).
    fileprivate var identifier: [UInt8] {
        switch self {
        case .p256: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .p384: [0x2B, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x2B, 0x81, 0x04, 0x00, 0x23]
        }
    }
}

/// The DER encodings (X.690) that keys need.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)]
            : count < 0x100
                ? [0x81, UInt8(count)]
                : [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        return [tag] + length + content
    }

    static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// Returns a number that is not negative, given by its big-endian bytes.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return element(0x02, digits)
    }

    /// Returns the textual encoding (RFC 7468).
    static func pem(_ der: [UInt8], _ label: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text = Array("-----BEGIN \(label)-----\n".utf8)
        for start in stride(from: 0, to: der.count, by: 3) {
            let group = der[start...].prefix(3)
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for position in 0..<4 {
                text.append(
                    position <= group.count
                        ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
            }
            if (start / 3 + 1) % 16 == 0 { text.append(UInt8(ascii: "\n")) }
        }
        return text + Array("\n-----END \(label)-----\n".utf8)
    }
}
