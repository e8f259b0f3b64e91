import OIDCCrypto
import Testing

@Suite("AES-256-GCM")
struct SymmetricSealTests {
    static let key = [UInt8](repeating: 7, count: 32)
    static let context = Array("session main".utf8)
    static let changed = CryptoError.failed("the sealed data was changed, or the key is a different one")

    @Test("what was sealed opens to the same bytes", arguments: [0, 1, 15, 16, 17, 1000, 100_000])
    func roundTrip(_ count: Int) throws {
        let plain = Random.bytes(count)
        for context in [Self.context, []] {
            let sealed = try SymmetricSeal.seal(plain, key: Self.key, authenticating: context)
            #expect(sealed.count == 12 + count + 16)
            #expect(try SymmetricSeal.open(sealed, key: Self.key, authenticating: context) == plain)
        }
    }

    @Test("a message that another implementation sealed can be opened")
    func vector() throws {
        let sealed = bytes(
            hex: "cafebabefacedbaddecaf888"
                + "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                + "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b")
        let plain = try SymmetricSeal.open(
            sealed, key: bytes(hex: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
            authenticating: bytes(hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        #expect(
            plain
                == bytes(
                    hex:
                        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e24"
                        + "49a6b525b16aedf5aa0de657ba637b39"))
    }

    @Test("a sealed message with one bit changed cannot be opened, whichever byte it is in")
    func tampered() throws {
        let sealed = try SymmetricSeal.seal(Array("secret".utf8), key: Self.key, authenticating: Self.context)
        for index in sealed.indices {
            var other = sealed
            other[index] ^= 0x10
            #expect(throws: Self.changed) {
                try SymmetricSeal.open(other, key: Self.key, authenticating: Self.context)
            }
        }
    }

    @Test("a sealed message can be opened with its own key and context only")
    func otherKeyOrContext() throws {
        let sealed = try SymmetricSeal.seal(Array("secret".utf8), key: Self.key, authenticating: Self.context)
        let otherKey = [UInt8](repeating: 8, count: 32)
        #expect(throws: Self.changed) {
            try SymmetricSeal.open(sealed, key: otherKey, authenticating: Self.context)
        }
        for context in [[], Array("session other".utf8)] {
            #expect(throws: Self.changed) {
                try SymmetricSeal.open(sealed, key: Self.key, authenticating: context)
            }
        }
    }

    @Test("a truncated sealed message cannot be opened")
    func cut() throws {
        let sealed = try SymmetricSeal.seal(Array("secret".utf8), key: Self.key, authenticating: Self.context)
        for count in sealed.indices {
            let error = count < 28 ? CryptoError.failed("the sealed data is too short") : Self.changed
            #expect(throws: error) {
                try SymmetricSeal.open(
                    Array(sealed.prefix(count)), key: Self.key, authenticating: Self.context)
            }
        }
    }

    @Test("a key of another size is refused", arguments: [0, 16, 31, 33])
    func keySize(_ count: Int) throws {
        let key = [UInt8](repeating: 7, count: count)
        let error = CryptoError.invalidKey("an AES-256 key must have 32 bytes")
        #expect(throws: error) { try SymmetricSeal.seal([1], key: key, authenticating: []) }
        #expect(throws: error) {
            try SymmetricSeal.open([UInt8](repeating: 0, count: 40), key: key, authenticating: [])
        }
    }

    @Test("the same text sealed twice is different, including the nonce")
    func freshNonce() throws {
        let sealed = try (0..<50).map { _ in
            try SymmetricSeal.seal([1, 2, 3], key: Self.key, authenticating: Self.context)
        }
        #expect(Set(sealed.map { Array($0.prefix(12)) }).count == sealed.count)
    }
}
