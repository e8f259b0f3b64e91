/// A key that verifies signatures, given by its public numbers.
public struct PublicKey: Hashable, Sendable {
    /// The public numbers as big-endian bytes; coordinates have the full length of the curve (RFC 7518
    /// §6.2.1.2).
    public enum Parameters: Hashable, Sendable {
        case rsa(modulus: [UInt8], exponent: [UInt8])
        case elliptic(EllipticCurve, x: [UInt8], y: [UInt8])
        case ed25519([UInt8])
    }

    /// The public numbers.
    public let parameters: Parameters

    /// Checks and makes a key. Throws for RSA keys under 2048 bits, points that are not on their curve, and
    /// Ed25519 points of small order.
    public init(_ parameters: Parameters) throws(CryptoError) {
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
    public var bitCount: Int {
        switch parameters {
        case .rsa(let modulus, _): Self.bitCount(modulus)
        case .elliptic(let curve, _, _): curve.bitCount
        case .ed25519: 256
        }
    }

    /// The algorithms whose signatures this key can verify; an elliptic key has only one, given by its curve.
    public var supportedAlgorithms: [SignatureAlgorithm] {
        switch parameters {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case .elliptic(let curve, _, _): [curve.algorithm]
        case .ed25519: [.edDSA]
        }
    }

    /// Returns whether a signature was verified; throws for an algorithm of another key type.
    public func isValidSignature(
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
