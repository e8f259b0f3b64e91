import OIDCCrypto
import Testing

@Suite("Content encryption and key wrapping")
struct ContentEncryptionTests {
    /// RFC 7518 appendix B.
    static let text = Array(
        ("A cipher system must not be required to be secret, and it must be able to fall into the hands of the "
            + "enemy without inconvenience").utf8)
    static let nonce = bytes(hex: "1af38c2dc2b96ffdd86694092341bc04")
    static let context = Array("The second principle of Auguste Kerckhoffs".utf8)

    static let examples: [(section: String, encryption: ContentEncryption, ciphertext: String, tag: String)] =
        [
            (
                "RFC 7518 B.1", .a128CBC,
                "c80edfa32ddf39d5ef00c0b468834279a2e46a1b8049f792f76bfe54b903a9c9a94ac9b47ad2655c5f10f9aef71427e2"
                    + "fc6f9b3f399a221489f16362c703233609d45ac69864e3321cf82935ac4096c86e133314c54019e8ca7980dfa4b9cf1b"
                    + "384c486f3a54c51078158ee5d79de59fbd34d848b3d69550a67646344427ade54b8851ffb598f7f80074b9473c82e2db",
                "652c3fa36b0a7c5b3219fab3a30bc1c4"
            ),
            (
                "RFC 7518 B.3", .a256CBC,
                "4affaaadb78c31c5da4b1b590d10ffbd3dd8d5d302423526912da037ecbcc7bd822c301dd67c373bccb584ad3e9279c2"
                    + "e6d12a1374b77f077553df829410446b36ebd97066296ae6427ea75c2e0846a11a09ccf5370dc80bfecbad28c73f09b3"
                    + "a3b75e662a2594410ae496b2e2e6609e31e6e02cc837f053d21f37ff4f51950bbe2638d09dd7a4930930806d0703b1f6",
                "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5"
            ),
        ]

    @Test("AES-CBC with HMAC gives the bytes of RFC 7518 B.1 and B.3, and opens them", arguments: examples)
    func appendixB(
        _ section: String, _ encryption: ContentEncryption, _ ciphertext: String, _ tag: String
    ) throws {
        let key = (0..<UInt8(encryption.keyByteCount)).map { $0 }
        let sealed = try encryption.seal(Self.text, key: key, nonce: Self.nonce, authenticating: Self.context)
        #expect(sealed.ciphertext == bytes(hex: ciphertext), "\(section)")
        #expect(sealed.tag == bytes(hex: tag), "\(section)")
        let opened = try encryption.open(sealed, key: key, nonce: Self.nonce, authenticating: Self.context)
        #expect(opened == Self.text, "\(section)")
    }

    @Test("RFC 7516 A.3: the key is unwrapped with A128KW, and opens the content")
    func appendixA3() throws {
        let wrapped = bytes(
            hex: "e8a07bd3b74cf584c8807b4bbed81643c98ac1ba095b7a1ff65a1c8b39034c7cc10b6225ad3d6839")
        let key = try #require(
            try KeyWrap.unwrap(wrapped, with: bytes(hex: "19ac2082e1721ab58a6afec05f854a52")))
        let sealed = ContentEncryption.Sealed(
            ciphertext: bytes(hex: "283953b577218594c6b9f31898e6064b81df7f13d252b7e6a821d7688f703866"),
            tag: bytes(hex: "5349bf6268cdd380c9bdc7852026c255"))
        let text = try ContentEncryption.a128CBC.open(
            sealed, key: key, nonce: bytes(hex: "03163c0c2b4368696c6c69636f746865"),
            authenticating: Array("eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0".utf8))
        #expect(text == Array("Live long and prosper.".utf8))
    }

    @Test("a key that is wrapped as in RFC 3394 4.1 and 4.6 is unwrapped, and wrapped to the same bytes")
    func wrapping() throws {
        for (kek, key, wrapped) in [
            (
                "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
                "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"
            ),
            (
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
                "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
            ),
        ] {
            #expect(try KeyWrap.wrap(bytes(hex: key), with: bytes(hex: kek)) == bytes(hex: wrapped))
            #expect(try KeyWrap.unwrap(bytes(hex: wrapped), with: bytes(hex: kek)) == bytes(hex: key))
        }
    }

    @Test("a wrapped key with a changed bit, another length or another wrapping key is not unwrapped")
    func unwrapped() throws {
        let kek = Random.bytes(16)
        let wrapped = try KeyWrap.wrap(Random.bytes(32), with: kek)
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 1
            #expect(try KeyWrap.unwrap(changed, with: kek) == nil)
        }
        for count in [0, 1, 8, 16, 23, 39, wrapped.count - 8] {
            #expect(try KeyWrap.unwrap(Array(wrapped.prefix(count)), with: kek) == nil)
        }
        #expect(try KeyWrap.unwrap(wrapped + Random.bytes(800), with: kek) == nil)
        #expect(try KeyWrap.unwrap(wrapped, with: Random.bytes(32)) == nil)
        #expect(throws: CryptoError.self) { try KeyWrap.unwrap(wrapped, with: Random.bytes(24)) }
    }

    @Test("what was sealed opens to the same bytes", arguments: ContentEncryption.allCases)
    func roundTrip(_ encryption: ContentEncryption) throws {
        let (key, nonce) = (
            Random.bytes(encryption.keyByteCount), Random.bytes(encryption.nonceByteCount)
        )
        for count in [0, 1, 15, 16, 17, 1_000, 100_000] {
            let plain = Random.bytes(count)
            for context in [Self.context, []] {
                let sealed = try encryption.seal(plain, key: key, nonce: nonce, authenticating: context)
                #expect(sealed.tag.count == encryption.tagByteCount)
                #expect(try encryption.open(sealed, key: key, nonce: nonce, authenticating: context) == plain)
            }
        }
    }

    @Test(
        "nothing opens with a changed bit in key, nonce, context, ciphertext or tag, or with a shortened tag",
        arguments: ContentEncryption.allCases)
    func tampered(_ encryption: ContentEncryption) throws {
        let (key, nonce) = (
            Random.bytes(encryption.keyByteCount), Random.bytes(encryption.nonceByteCount)
        )
        let sealed = try encryption.seal(Self.text, key: key, nonce: nonce, authenticating: Self.context)
        func changed(_ bytes: [UInt8], _ index: Int) -> [UInt8] {
            var bytes = bytes
            bytes[index] ^= 0x80
            return bytes
        }
        func open(
            _ ciphertext: [UInt8]? = nil, _ tag: [UInt8]? = nil, key other: [UInt8]? = nil,
            nonce otherNonce: [UInt8]? = nil, context: [UInt8] = Self.context
        ) throws -> [UInt8]? {
            try encryption.open(
                ContentEncryption.Sealed(ciphertext: ciphertext ?? sealed.ciphertext, tag: tag ?? sealed.tag),
                key: other ?? key, nonce: otherNonce ?? nonce, authenticating: context)
        }
        #expect(try open() == Self.text)
        // The last bytes of an AES-CBC key decrypt only, and the tag does not depend on them.
        #expect(try open(key: changed(key, 0)) == nil)
        for index in nonce.indices { #expect(try open(nonce: changed(nonce, index)) == nil) }
        for index in Self.context.indices {
            #expect(try open(context: changed(Self.context, index)) == nil)
        }
        for index in sealed.ciphertext.indices {
            #expect(try open(changed(sealed.ciphertext, index)) == nil)
        }
        for index in sealed.tag.indices {
            #expect(try open(nil, changed(sealed.tag, index)) == nil)
            #expect(try open(nil, Array(sealed.tag.prefix(index))) == nil)
        }
        #expect(try open([]) == nil)
        #expect(try open(Array(sealed.ciphertext.dropLast())) == nil)
        #expect(try open(key: Array(key.dropLast())) == nil)
        #expect(try open(nonce: nonce + [0]) == nil)
    }
}

@Suite("Keys that decrypt")
struct KeyDecryptionTests {
    static let alice = (
        x: bytes(hex: "808d060082c176eed3e776a4ac598cc8672c1779f974eecc9b03411ca5b9495d"),
        y: bytes(hex: "48b5bfc527dfce53d6ac7115237d031ccff87a0570b77350a9e503ee7305a69b")
    )
    static let bob = (
        x: bytes(hex: "c1e349cb61ec70248ce801034c3834e1b88ebe1161cb25af38741f785fcfc4c4"),
        y: bytes(hex: "7bc96708ef80952b53f8d2555fe72b841ed04588628b1d378a594939500ec9c9"),
        d: bytes(hex: "5449836690d75caf29f0dd029ddb31b3ddb8aba9d2d515c5012465e817d4a9dc")
    )

    @Test("RFC 7518 appendix C: two parties agree on this key")
    func appendixC() throws {
        let bob = try PrivateKey(.p256, x: Self.bob.x, y: Self.bob.y, d: Self.bob.d)
        let alice = try PublicKey(.elliptic(.p256, x: Self.alice.x, y: Self.alice.y))
        let derived = try ConcatKDF.derive(
            try bob.sharedSecret(with: alice), info: ["A128GCM", "Alice", "Bob"].map { Array($0.utf8) },
            byteCount: 16)
        #expect(derived == bytes(hex: "56aa8deaf8236d205c2228cd71a7101a"))
    }

    @Test(
        "both sides agree on a secret as long as a coordinate",
        arguments: [PrivateKey.Kind.p256, .p384, .p521])
    func agreement(_ kind: PrivateKey.Kind) throws {
        let (one, other) = (try PrivateKey.generate(kind), try PrivateKey.generate(kind))
        let secret = try one.sharedSecret(with: other.publicKey)
        #expect(try other.sharedSecret(with: one.publicKey) == secret)
        guard case .elliptic(let curve, _, _) = one.publicKey.parameters else { throw CryptoError.failed("") }
        #expect(secret.count == curve.coordinateByteCount)
    }

    @Test("keys on two curves, or of other types, agree on nothing")
    func misfits() throws {
        let p256 = try PrivateKey.generate(.p256)
        for kind in [PrivateKey.Kind.p384, .ed25519] {
            let other = try PrivateKey.generate(kind)
            #expect(throws: CryptoError.self) { try p256.sharedSecret(with: other.publicKey) }
            #expect(throws: CryptoError.self) { try other.sharedSecret(with: p256.publicKey) }
        }
        #expect(try p256.decryptOAEP(Random.bytes(256), .sha256) == nil)
    }

    @Test("elliptic numbers that are not one key are refused")
    func ellipticNumbers() throws {
        #expect(throws: CryptoError.invalidKey("x and y do not belong to d")) {
            try PrivateKey(.p256, x: Self.alice.x, y: Self.alice.y, d: Self.bob.d)
        }
        for d in [[], [UInt8](repeating: 0, count: 32), Array(Self.bob.d.dropLast())] {
            #expect(throws: CryptoError.self) {
                try PrivateKey(.p256, x: Self.bob.x, y: Self.bob.y, d: d)
            }
        }
    }
}
