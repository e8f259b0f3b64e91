import OIDCCrypto
import Testing

@Suite("Public keys")
struct PublicKeyTests {
    static let pointOffCurve = CryptoError.invalidKey("the point is not on P-256")

    struct Refused: CustomTestStringConvertible {
        let testDescription: String
        let parameters: PublicKey.Parameters
        let error: CryptoError
    }

    static let modulus = PEM.rsaModulus
    static let exponent = CryptoError.invalidKey(
        "an RSA exponent must be odd, at least 3 and at most 64 bits long")
    static let zeros = [UInt8](repeating: 0, count: 32)
    static let field = bytes(hex: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")

    static let refused: [Refused] = [
        Refused(
            testDescription: "RSA of 1024 bits",
            parameters: .rsa(modulus: [0x80] + [UInt8](repeating: 1, count: 127), exponent: [1, 0, 1]),
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 1024")),
        Refused(
            testDescription: "RSA of 2047 bits",
            parameters: .rsa(modulus: [0x7f] + modulus.dropFirst(), exponent: [1, 0, 1]),
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 2047")),
        Refused(
            testDescription: "RSA of 1024 bits behind zeros",
            parameters: .rsa(modulus: [UInt8](repeating: 0, count: 200) + [0x80, 1], exponent: [1, 0, 1]),
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 16")),
        Refused(
            testDescription: "RSA of 16385 bits",
            parameters: .rsa(modulus: [UInt8](repeating: 1, count: 2049), exponent: [1, 0, 1]),
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 16385")),
        Refused(
            testDescription: "no modulus", parameters: .rsa(modulus: [], exponent: [1, 0, 1]),
            error: .invalidKey("an RSA key must have 2048 to 16384 bits, not 0")),
        Refused(
            testDescription: "an even modulus",
            parameters: .rsa(modulus: modulus.dropLast() + [2], exponent: [1, 0, 1]),
            error: .invalidKey("an RSA modulus must be odd")),
        Refused(
            testDescription: "exponent 1", parameters: .rsa(modulus: modulus, exponent: [1]), error: exponent),
        Refused(
            testDescription: "exponent 1 behind a zero",
            parameters: .rsa(modulus: modulus, exponent: [0, 1]),
            error: exponent),
        Refused(
            testDescription: "an even exponent", parameters: .rsa(modulus: modulus, exponent: [1, 0, 0]),
            error: exponent),
        Refused(
            testDescription: "no exponent", parameters: .rsa(modulus: modulus, exponent: []), error: exponent),
        Refused(
            testDescription: "an exponent of 65 bits",
            parameters: .rsa(modulus: modulus, exponent: [UInt8](repeating: 1, count: 9)), error: exponent),
        Refused(
            testDescription: "a point with another y",
            parameters: .elliptic(.p256, x: PEM.p256X, y: PEM.p256Y.dropLast() + [0x51]), error: pointOffCurve
        ),
        Refused(
            testDescription: "the point 0, 0", parameters: .elliptic(.p256, x: zeros, y: zeros),
            error: pointOffCurve),
        Refused(
            testDescription: "x and y exchanged", parameters: .elliptic(.p256, x: PEM.p256Y, y: PEM.p256X),
            error: pointOffCurve),
        Refused(
            testDescription: "a coordinate beyond the field",
            parameters: .elliptic(.p256, x: field, y: PEM.p256Y), error: pointOffCurve),
        Refused(
            testDescription: "a point of another curve",
            parameters: .elliptic(.p384, x: PEM.p256X, y: PEM.p256Y),
            error: .invalidKey("a coordinate of P-384 must have 48 bytes")),
        Refused(
            testDescription: "a point of another curve, filled up",
            parameters: .elliptic(.p384, x: zeros.prefix(16) + PEM.p256X, y: zeros.prefix(16) + PEM.p256Y),
            error: .invalidKey("the point is not on P-384")),
        Refused(
            testDescription: "a coordinate with a zero in front",
            parameters: .elliptic(.p256, x: [0] + PEM.p256X, y: PEM.p256Y),
            error: .invalidKey("a coordinate of P-256 must have 32 bytes")),
        Refused(
            testDescription: "a short coordinate",
            parameters: .elliptic(.p256, x: PEM.p256X, y: Array(PEM.p256Y.dropLast())),
            error: .invalidKey("a coordinate of P-256 must have 32 bytes")),
        Refused(
            testDescription: "Ed25519 of 31 bytes", parameters: .ed25519(Array(PEM.ed25519Point.dropLast())),
            error: .invalidKey("an Ed25519 key must have 32 bytes")),
        Refused(
            testDescription: "Ed25519 of 33 bytes", parameters: .ed25519(PEM.ed25519Point + [0]),
            error: .invalidKey("an Ed25519 key must have 32 bytes")),
    ]

    @Test("numbers that make no trustworthy key are refused", arguments: refused)
    func refuses(_ example: Refused) {
        #expect(throws: example.error) { try PublicKey(example.parameters) }
    }

    @Test("zeros in front of RSA numbers make no other key")
    func leadingZeros() throws {
        let key = try PublicKey(.rsa(modulus: Self.modulus, exponent: [1, 0, 1]))
        #expect(try PublicKey(.rsa(modulus: [0, 0] + Self.modulus, exponent: [0, 1, 0, 1])) == key)
        #expect(key.bitCount == 2048)
    }

    static let orders: [(PrivateKey.Kind, String)] = [
        (.p256, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"),
        (
            .p384,
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        ),
        (
            .p521,
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d0"
                + "3bb5c9b8899c47aebb6fb71e91386409"
        ),
    ]

    @Test("an ECDSA signature with r or s outside 1 ..< order does not verify", arguments: orders)
    func outOfRange(_ kind: PrivateKey.Kind, _ order: String) throws {
        let key = try PrivateKey.generate(kind)
        let message = Array("CVE-2022-21449".utf8)
        let algorithm = try #require(key.supportedAlgorithms.first)
        let signature = try key.sign(message, algorithm)
        let (r, s) = (
            Array(signature.prefix(signature.count / 2)), Array(signature.suffix(signature.count / 2))
        )
        let order = bytes(hex: order)
        let zero = [UInt8](repeating: 0, count: order.count)
        let largest = [UInt8](repeating: 0xff, count: order.count)
        var numbers = [zero, order, largest]
        if kind == .p521 { numbers += [sum(r, order), sum(s, order)] }
        for number in numbers {
            for changed in [number + s, r + number, number + number] {
                #expect(try !key.publicKey.isValidSignature(changed, for: message, algorithm))
                #expect(try !key.publicKey.isValidSignature(changed, for: [], algorithm))
            }
        }
        #expect(try key.publicKey.isValidSignature(signature, for: message, algorithm))
    }

    /// The sum of two numbers of one size, which has room for it.
    private func sum(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var (sum, carry) = (a, 0)
        for index in a.indices.reversed() {
            carry += Int(a[index]) + Int(b[index])
            sum[index] = UInt8(carry & 0xff)
            carry >>= 8
        }
        return sum
    }

    @Test("a DER signature is not a JOSE signature")
    func der() throws {
        let key = try PrivateKey.generate(.p256)
        let signature = try key.sign([1], .es256)
        let numbers = [signature.prefix(32), signature.suffix(32)].map { number -> [UInt8] in
            let number = (number.first ?? 0) & 0x80 == 0 ? Array(number) : [0] + number
            return [2, UInt8(number.count)] + number
        }
        let body = numbers[0] + numbers[1]
        #expect(try !key.publicKey.isValidSignature([0x30, UInt8(body.count)] + body, for: [1], .es256))
    }
}
