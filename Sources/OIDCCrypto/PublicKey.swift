/// A key that verifies signatures, given by its public numbers.
package struct PublicKey: Hashable, Sendable {
    /// The public numbers as big-endian bytes; coordinates have the full length of the curve (RFC 7518
    /// §6.2.1.2).
    package enum Parameters: Hashable, Sendable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        case elliptic(EllipticCurve, x: [UInt8], y: [UInt8])
        case ed25519([UInt8])
    }

    /// The public numbers.
    package let parameters: Parameters

    /// Creates a key from its numbers. Throws for RSA keys under 2048 bits, points that are not on their
    /// curve, and Ed25519 points of small order.
    package init(_ parameters: Parameters) throws(CryptoError) {
        switch parameters {
        case .rsa(let modulus, let exponent):
            let modulus = Self.withoutLeadingZeros(modulus)
            let exponent = Self.withoutLeadingZeros(exponent)
            try Self.checkRSA(modulus: modulus, exponent: exponent)
            self.parameters = .rsa(modulus: modulus, exponent: exponent)
        case .elliptic(let curve, let x, let y):
            let size = curve.coordinateByteCount
            guard x.count == size, y.count == size else {
                throw .invalidKey("a coordinate of \(curve.rawValue) must have \(size) bytes")
            }
            try SystemCryptography.checkPoint(curve, x: x, y: y)
            self.parameters = parameters
        case .ed25519(let point):
            guard point.count == 32 else { throw .invalidKey("an Ed25519 key must have 32 bytes") }
            guard !EdwardsPoint.hasSmallOrder(point) else {
                throw .invalidKey("an Ed25519 key of small order")
            }
            self.parameters = parameters
        }
    }

    /// The size of the key in bits.
    package var bitCount: Int {
        switch parameters {
        case .rsa(let modulus, _): Self.bitCount(modulus)
        case .elliptic(let curve, _, _): curve.bitCount
        case .ed25519: 256
        }
    }

    /// The algorithms whose signatures this key can verify; an elliptic key has only one, given by its curve.
    package var supportedAlgorithms: [SignatureAlgorithm] {
        switch parameters {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case .elliptic(let curve, _, _): [curve.algorithm]
        case .ed25519: [.edDSA]
        }
    }

    /// Returns whether a signature is valid; throws for an algorithm of another key type.
    package func isValidSignature(
        _ signature: [UInt8], for message: [UInt8], _ algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Bool {
        try check(algorithm)
        guard signature.count == signatureByteCount else { return false }
        return try SystemCryptography.isValidSignature(signature, for: message, algorithm, parameters)
    }

    func check(_ algorithm: SignatureAlgorithm) throws(CryptoError) {
        guard supportedAlgorithms.contains(algorithm) else {
            throw .unsupported("\(algorithm.rawValue) does not fit a key of type \(typeName)")
        }
    }

    var typeName: String {
        switch parameters {
        case .rsa: "RSA"
        case .elliptic(let curve, _, _): curve.rawValue
        case .ed25519: "Ed25519"
        }
    }

    private var signatureByteCount: Int {
        switch parameters {
        case .rsa(let modulus, _): modulus.count
        case .elliptic(let curve, _, _): 2 * curve.coordinateByteCount
        case .ed25519: 64
        }
    }

    /// Checks the size of an RSA key. The upper bounds keep a hostile key set from costing seconds per
    /// signature.
    private static func checkRSA(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        let bits = bitCount(modulus)
        guard (2048...16384).contains(bits) else {
            throw .invalidKey("an RSA key must have 2048 to 16384 bits, not \(bits)")
        }
        guard modulus.last.map({ $0 & 1 == 1 }) == true else {
            throw .invalidKey("an RSA modulus must be odd")
        }
        guard exponent.last.map({ $0 & 1 == 1 }) == true, exponent != [1], exponent.count <= 8 else {
            throw .invalidKey("an RSA exponent must be odd, at least 3 and at most 64 bits long")
        }
    }

    private static func withoutLeadingZeros(_ number: [UInt8]) -> [UInt8] {
        Array(number.drop { $0 == 0 })
    }

    private static func bitCount(_ number: [UInt8]) -> Int {
        guard let first = number.first else { return 0 }
        return number.count * 8 - first.leadingZeroBitCount
    }
}

/// Encoded points of Ed25519 (RFC 8032 §5.1.2).
enum EdwardsPoint {
    /// Returns whether a point has order 1, 2, 4 or 8. For such a key, one signature is valid for many
    /// messages, and anyone can make it.
    static func hasSmallOrder(_ encoded: [UInt8]) -> Bool {
        guard encoded.count == 32, let last = encoded.last else { return false }
        // The top bit is the sign of x; a point and its negative have the same order.
        return smallOrder.contains(encoded.dropLast() + [last & 0x7F])
    }

    /// The y coordinates of the eight points, little-endian, including encodings that are not reduced modulo
    /// p = 2^255 - 19.
    private static let smallOrder: Set<[UInt8]> = [
        little(0x00),
        little(0x01),
        // p - 1, p and p + 1.
        little(0xEC, 0xFF, 0x7F),
        little(0xED, 0xFF, 0x7F),
        little(0xEE, 0xFF, 0x7F),
        // The two y coordinates of the points of order 8.
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
            0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]

    private static func little(_ first: UInt8, _ middle: UInt8 = 0, _ last: UInt8 = 0) -> [UInt8] {
        [first] + [UInt8](repeating: middle, count: 30) + [last]
    }
}
