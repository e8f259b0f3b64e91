import Foundation
import OIDCCrypto
import TestSupport
import Testing

@Suite("Private keys")
struct PrivateKeyTests {
    struct Readable: CustomTestStringConvertible {
        let testDescription: String
        let pem: String
        var passphrase: String?
        let parameters: PublicKey.Parameters
    }

    static let rsa = PublicKey.Parameters.rsa(modulus: PEM.rsaModulus, exponent: [1, 0, 1])
    static let p256 = PublicKey.Parameters.elliptic(.p256, x: PEM.p256X, y: PEM.p256Y)

    static let readable: [Readable] = [
        Readable(testDescription: "RSA, PKCS #8", pem: PEM.rsaPKCS8, parameters: rsa),
        Readable(testDescription: "RSA, PKCS #1", pem: PEM.rsaTraditional, parameters: rsa),
        Readable(
            testDescription: "RSA, PKCS #1 encrypted", pem: PEM.rsaTraditionalEncrypted,
            passphrase: "correct",
            parameters: rsa),
        Readable(testDescription: "EC after its parameters", pem: PEM.p256Traditional, parameters: p256),
        Readable(testDescription: "EC, PKCS #8", pem: PEM.p256PKCS8, parameters: p256),
        Readable(
            testDescription: "EC, PKCS #8 encrypted", pem: PEM.p256Encrypted, passphrase: "correct",
            parameters: p256),
        Readable(
            testDescription: "EC, PKCS #8 with an empty passphrase", pem: PEM.p256EncryptedEmpty,
            passphrase: "",
            parameters: p256),
        Readable(
            testDescription: "EC, traditional and encrypted", pem: PEM.p256TraditionalEncrypted,
            passphrase: "correct", parameters: p256),
        Readable(
            testDescription: "Ed25519, PKCS #8", pem: PEM.ed25519PKCS8, parameters: .ed25519(PEM.ed25519Point)
        ),
        Readable(
            testDescription: "a passphrase that is not needed", pem: PEM.p256PKCS8, passphrase: "correct",
            parameters: p256),
        Readable(
            testDescription: "text before the key",
            pem: "Bag Attributes\n  friendlyName: x\n" + PEM.p256PKCS8,
            parameters: p256),
        Readable(
            testDescription: "lines that end in CR LF",
            pem: PEM.p256PKCS8.split(separator: "\n").joined(separator: "\r\n") + "\r\n", parameters: p256),
    ]

    @Test("a key is read from each PEM form, and its public numbers are right", arguments: readable)
    func reads(_ example: Readable) throws {
        let key = try PrivateKey(
            pem: Array(example.pem.utf8), passphrase: example.passphrase.map { Array($0.utf8) })
        #expect(key.publicKey.parameters == example.parameters)
        let message = Array("a message".utf8)
        for algorithm in key.supportedAlgorithms {
            let signature = try key.sign(message, algorithm)
            #expect(try PublicKey(example.parameters).isValidSignature(signature, for: message, algorithm))
        }
        #expect(try PrivateKey(pem: key.pem, passphrase: nil).publicKey == key.publicKey)
        #expect(String(decoding: key.pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test(
        "a key for RSA-PSS alone signs with PSS, and with the one hash that it may name (RFC 4055 §1.2)",
        .enabled(if: Installed.programs("openssl"), "openssl is not installed"),
        arguments: [
            ([], [SignatureAlgorithm.ps256, .ps384, .ps512]),
            (
                ["rsa_pss_keygen_md:sha384", "rsa_pss_keygen_mgf1_md:sha384", "rsa_pss_keygen_saltlen:48"],
                [.ps384]
            ),
        ] as [([String], [SignatureAlgorithm])])
    func pss(_ options: [String], _ algorithms: [SignatureAlgorithm]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["openssl", "genpkey", "-algorithm", "RSA-PSS"]
            + (["rsa_keygen_bits:2048"] + options).flatMap { ["-pkeyopt", $0] }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let pem = [UInt8](try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        let key = try PrivateKey(pem: pem, passphrase: nil)
        #expect(key.supportedAlgorithms == algorithms)
        for algorithm in algorithms {
            let signature = try key.sign([1, 2], algorithm)
            #expect(try key.publicKey.isValidSignature(signature, for: [1, 2], algorithm))
        }
        #expect(throws: CryptoError.unsupported("RS256 does not fit this key")) {
            try key.sign([1], .rs256)
        }
    }

    @Test(
        "the curve of an elliptic key leaves one algorithm",
        arguments: [
            (PEM.p256PKCS8, SignatureAlgorithm.es256, EllipticCurve.p256),
            (PEM.p384Traditional, .es384, .p384),
            (PEM.p521PKCS8, .es512, .p521),
        ])
    func curve(_ pem: String, _ algorithm: SignatureAlgorithm, _ curve: EllipticCurve) throws {
        let key = try PrivateKey(pem: Array(pem.utf8), passphrase: nil)
        #expect(key.supportedAlgorithms == [algorithm])
        #expect(try key.sign([1], algorithm).count == 2 * curve.coordinateByteCount)
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(
                throws: CryptoError.unsupported(
                    "\(other.rawValue) does not fit a key of type \(curve.rawValue)")
            ) {
                try key.sign([1], other)
            }
        }
    }

    struct Refused: CustomTestStringConvertible {
        let testDescription: String
        let pem: String
        var passphrase: String?
        let error: CryptoError
    }

    static let noKey = CryptoError.invalidKey("not a private key in PEM form")

    static let refused: [Refused] = [
        Refused(
            testDescription: "encrypted PKCS #8 without a passphrase", pem: PEM.p256Encrypted,
            error: .passphraseNeeded),
        Refused(
            testDescription: "encrypted PKCS #1 without a passphrase", pem: PEM.rsaTraditionalEncrypted,
            error: .passphraseNeeded),
        Refused(
            testDescription: "an empty passphrase without a passphrase", pem: PEM.p256EncryptedEmpty,
            error: .passphraseNeeded),
        Refused(
            testDescription: "PKCS #8 and another passphrase", pem: PEM.p256Encrypted, passphrase: "wrong",
            error: .wrongPassphrase),
        Refused(
            testDescription: "PKCS #8 and an empty passphrase", pem: PEM.p256Encrypted, passphrase: "",
            error: .wrongPassphrase),
        Refused(
            testDescription: "PKCS #1 and another passphrase", pem: PEM.rsaTraditionalEncrypted,
            passphrase: "wrong", error: .wrongPassphrase),
        Refused(
            testDescription: "traditional EC and another passphrase", pem: PEM.p256TraditionalEncrypted,
            passphrase: "wrong", error: .wrongPassphrase),
        Refused(
            testDescription: "a passphrase of 5000 bytes", pem: PEM.p256Encrypted,
            passphrase: String(repeating: "x", count: 5000), error: .wrongPassphrase),
        Refused(
            testDescription: "a cipher that libcrypto no longer has", pem: PEM.p256OldCipher,
            passphrase: "correct", error: .unsupported("the cipher that encrypts the key")),
        Refused(
            testDescription: "RSA of 1024 bits", pem: PEM.rsa1024,
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 1024")),
        Refused(testDescription: "X25519", pem: PEM.x25519, error: .unsupported("a key of type X25519")),
        Refused(testDescription: "Ed448", pem: PEM.ed448, error: .unsupported("a key of type ED448")),
        Refused(
            testDescription: "secp256k1", pem: PEM.secp256k1,
            error: .unsupported("an elliptic key on the curve secp256k1")),
        Refused(testDescription: "a public key", pem: PEM.publicKey, error: noKey),
        Refused(testDescription: "a curve without a key", pem: PEM.curveOnly, error: noKey),
        Refused(testDescription: "a certificate", pem: PEM.certificate, error: noKey),
        Refused(testDescription: "nothing", pem: "", error: .invalidKey("the key is empty")),
        Refused(testDescription: "words", pem: "correct horse battery staple\n", error: noKey),
        Refused(testDescription: "NUL bytes", pem: String(repeating: "\0", count: 100), error: noKey),
        Refused(testDescription: "half a key", pem: String(PEM.rsaPKCS8.prefix(600)), error: noKey),
        Refused(
            testDescription: "a frame around junk",
            pem: "-----BEGIN PRIVATE KEY-----\nAAECAwQFBgc=\n-----END PRIVATE KEY-----\n", error: noKey),
    ]

    @Test("a file without a usable key is refused with a reason", arguments: refused)
    func refuses(_ example: Refused) {
        #expect(throws: example.error) {
            try PrivateKey(
                pem: Array(example.pem.utf8), passphrase: example.passphrase.map { Array($0.utf8) })
        }
    }

    @Test("changed bytes of a key file never crash, and never give a key of another type")
    func changedFile() {
        let pem = Array(PEM.p256Encrypted.utf8)
        for index in pem.indices {
            var changed = pem
            changed[index] ^= 1
            let key = try? PrivateKey(pem: changed, passphrase: Array("correct".utf8))
            #expect(key.map { $0.publicKey.parameters == Self.p256 } ?? true)
        }
    }

    @Test(
        "a generated key has the requested kind, and is different each time",
        arguments: PrivateKey.Kind.allCases)
    func generates(_ kind: PrivateKey.Kind) throws {
        let key = try PrivateKey.generate(kind)
        let expected: (Int, SignatureAlgorithm) =
            switch kind {
            case .p256: (256, .es256)
            case .p384: (384, .es384)
            case .p521: (521, .es512)
            case .rsa2048: (2048, .rs256)
            case .ed25519: (256, .edDSA)
            }
        #expect(key.publicKey.bitCount == expected.0)
        #expect(key.supportedAlgorithms.first == expected.1)
        #expect(try SampleKeys.key(kind).publicKey != key.publicKey)
    }

    @Test("no description of a key shows it")
    func redacted() throws {
        let key = try PrivateKey(pem: Array(PEM.p256PKCS8.utf8), passphrase: nil)
        var dumped = ""
        dump(key, to: &dumped)
        dump([key as Any], to: &dumped)
        for text in [key.description, key.debugDescription, String(reflecting: key), "\(key)"] {
            #expect(text == "PrivateKey(P-256)")
        }
        #expect(Mirror(reflecting: key).children.isEmpty)
        #expect(dumped == "- PrivateKey(P-256)\n▿ 1 element\n  - PrivateKey(P-256)\n")
    }
}
