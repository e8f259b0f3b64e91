import Testing

@testable import OIDCCrypto

@Suite("Ed25519 keys of small order")
struct SmallOrderTests {
    /// y of the points of order 1, 2, 4 and 8, reduced and not, little-endian.
    static let points = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]

    @Test("a point of small order is refused, with either sign and in any encoding", arguments: points)
    func refused(hex: String) throws {
        let digits = Array(hex)
        var point = try stride(from: 0, to: 64, by: 2).map {
            try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
        }
        for _ in 0..<2 {
            #expect(throws: CryptoError.invalidKey("an Ed25519 key of small order")) {
                try PublicKey(.ed25519(point))
            }
            point[31] ^= 0x80
        }
    }

    @Test("a neighbor of a small-order point is accepted")
    func others() throws {
        let key = try PrivateKey.generate(.ed25519).publicKey
        #expect(throws: Never.self) { try PublicKey(key.parameters) }
        #expect(!EdwardsPoint.hasSmallOrder([2] + [UInt8](repeating: 0, count: 31)))
        #expect(!EdwardsPoint.hasSmallOrder([]))
    }
}
