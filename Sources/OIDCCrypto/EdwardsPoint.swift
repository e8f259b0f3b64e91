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
