import Foundation
import OIDCCrypto
import Testing

@Suite("Digest")
struct DigestTests {
    struct Hash: CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let algorithm: HashAlgorithm
        let digest: String
    }

    static let hashes: [Hash] = [
        Hash(
            testDescription: "SHA-256 of nothing", text: "", algorithm: .sha256,
            digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Hash(
            testDescription: "SHA-256 of abc", text: "abc", algorithm: .sha256,
            digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        Hash(
            testDescription: "SHA-256 of two blocks",
            text: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", algorithm: .sha256,
            digest: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        Hash(
            testDescription: "SHA-384 of abc", text: "abc", algorithm: .sha384,
            digest: "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                + "8086072ba1e7cc2358baeca134c825a7"),
        Hash(
            testDescription: "SHA-512 of abc", text: "abc", algorithm: .sha512,
            digest: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
    ]

    @Test("a hash is that of the NIST example", arguments: hashes)
    func hash(_ example: Hash) throws {
        #expect(try Digest.hash(Array(example.text.utf8), example.algorithm) == bytes(hex: example.digest))
    }

    struct Code: CustomTestStringConvertible {
        let testDescription: String
        let key: [UInt8]
        let message: [UInt8]
        let codes: [HashAlgorithm: String]
    }

    static let codes: [Code] = [
        Code(
            testDescription: "RFC 4231 §4.2", key: [UInt8](repeating: 0x0b, count: 20),
            message: Array("Hi There".utf8),
            codes: [
                .sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                .sha384: "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c"
                    + "faea9ea9076ede7f4af152e8b2fa9cb6",
                .sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                    + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
            ]),
        Code(
            testDescription: "RFC 4231 §4.3, a key shorter than the hash", key: Array("Jefe".utf8),
            message: Array("what do ya want for nothing?".utf8),
            codes: [
                .sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                .sha384: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e"
                    + "8e2240ca5e69e2c78b3239ecfab21649",
                .sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                    + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ]),
        Code(
            testDescription: "RFC 4231 §4.7, a key longer than a block",
            key: [UInt8](repeating: 0xaa, count: 131),
            message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            codes: [.sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"]),
        Code(
            testDescription: "an empty key and message", key: [], message: [],
            codes: [.sha256: "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"]),
    ]

    @Test("a message authentication code is that of RFC 4231", arguments: codes)
    func authenticationCode(_ example: Code) throws {
        for (algorithm, code) in example.codes {
            let found = try Digest.authenticationCode(example.message, key: example.key, algorithm)
            #expect(found == bytes(hex: code))
        }
    }

    @Test("a hash has the size of its algorithm", arguments: HashAlgorithm.allCases)
    func size(_ algorithm: HashAlgorithm) throws {
        #expect(try Digest.hash([1, 2, 3], algorithm).count == algorithm.byteCount)
    }
}

@Suite("Random and comparison")
struct RandomTests {
    @Test("random bytes have the requested length", arguments: [0, 1, 7, 8, 9, 32, 1000])
    func length(_ count: Int) {
        #expect(Random.bytes(count).count == count)
    }

    @Test("random bytes do not repeat, and every bit of them varies")
    func varies() {
        let samples = (0..<200).map { _ in Random.bytes(16) }
        #expect(Set(samples).count == samples.count)
        for position in 0..<16 {
            #expect(samples.reduce(0) { $0 | $1[position] } == 0xff)
            #expect(samples.reduce(0xff) { $0 & $1[position] } == 0)
        }
    }

    @Test(
        "only equal bytes compare as equal",
        arguments: [
            ([], [], true), ([1, 2], [1, 2], true), ([1, 2], [1, 3], false), ([0, 2], [1, 2], false),
            ([1], [1, 1], false), ([], [0], false), ([0x80], [0], false),
        ] as [([UInt8], [UInt8], Bool)])
    func comparison(_ a: [UInt8], _ b: [UInt8], _ isEqual: Bool) {
        #expect(equalInConstantTime(a, b) == isEqual)
    }
}
