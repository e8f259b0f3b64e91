import OIDCCrypto
import Testing

/// A signed token of an RFC, in its three parts.
struct Vector: CustomTestStringConvertible {
    let testDescription: String
    let algorithm: SignatureAlgorithm
    let parameters: PublicKey.Parameters
    let signed: String
    let signature: String

    var message: [UInt8] { Array(signed.utf8) }
}

extension Vector {
    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
        + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    static let rs256 = Vector(
        testDescription: "RFC 7515 appendix A.2, RS256", algorithm: .rs256,
        parameters: .rsa(
            modulus: bytes(
                base64URL:
                    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1"
                    + "Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX"
                    + "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5Ih"
                    + "lJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
            exponent: [1, 0, 1]),
        signed: "eyJhbGciOiJSUzI1NiJ9." + claims,
        signature:
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5juj"
            + "Gbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0"
            + "GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgG"
            + "Y9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw")

    static let es256 = Vector(
        testDescription: "RFC 7515 appendix A.3, ES256", algorithm: .es256,
        parameters: .elliptic(
            .p256, x: bytes(base64URL: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
            y: bytes(base64URL: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")),
        signed: "eyJhbGciOiJFUzI1NiJ9." + claims,
        signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")

    static let es512 = Vector(
        testDescription: "RFC 7515 appendix A.4, ES512", algorithm: .es512,
        parameters: .elliptic(
            .p521,
            x: bytes(
                base64URL: "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_"
                    + "NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk"),
            y: bytes(
                base64URL: "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDl"
                    + "y79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2")),
        signed: "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA",
        signature:
            "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSw"
            + "FKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn")

    static let edDSA = Vector(
        testDescription: "RFC 8037 appendix A.4, EdDSA", algorithm: .edDSA,
        parameters: .ed25519(bytes(base64URL: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
        signed: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
        signature: "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")

    static let ps384 = Vector(
        testDescription: "RFC 7520 §4.2, PS384", algorithm: .ps384,
        parameters: .rsa(
            modulus: bytes(
                base64URL:
                    "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQH"
                    + "z_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpP"
                    + "e7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3"
                    + "L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw"),
            exponent: [1, 0, 1]),
        signed: "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9."
            + "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aG"
            + "Ugcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1p"
            + "Z2h0IGJlIHN3ZXB0IG9mZiB0by4",
        signature:
            "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5d"
            + "DDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7"
            + "p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbB"
            + "yi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw")

    static let all = [rs256, es256, es512, edDSA, ps384]
}

@Suite("Signatures of the RFCs")
struct VectorTests {
    @Test("HS256 gives the code of RFC 7515 appendix A.1")
    func hs256() throws {
        let signed =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9l"
            + "eGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let key = bytes(
            base64URL:
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
        #expect(
            try Digest.authenticationCode(Array(signed.utf8), key: key, .sha256)
                == bytes(base64URL: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
    }

    @Test("a signature of an RFC verifies", arguments: Vector.all)
    func verifies(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        #expect(try key.isValidSignature(signature, for: vector.message, vector.algorithm))
    }

    @Test("a signature with one bit changed does not verify, whichever byte it is in", arguments: Vector.all)
    func changedSignature(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= UInt8(1 << (index % 8))
            #expect(try !key.isValidSignature(changed, for: vector.message, vector.algorithm))
        }
    }

    @Test("a message with one bit changed does not verify", arguments: Vector.all)
    func changedMessage(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        for index in vector.message.indices {
            var changed = vector.message
            changed[index] ^= UInt8(1 << (index % 8))
            #expect(try !key.isValidSignature(signature, for: changed, vector.algorithm))
        }
        #expect(try !key.isValidSignature(signature, for: [], vector.algorithm))
    }

    @Test("a signature of another length does not verify", arguments: Vector.all)
    func otherLengths(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        let half = signature.count / 2
        let others: [[UInt8]] = [
            [0] + signature.prefix(half) + [0] + signature.suffix(half), [], [0], Array(signature.dropLast()),
            Array(signature.dropFirst()), signature + [0],
            [0] + signature,
            Array(signature.prefix(half)), signature + signature,
        ]
        for other in others {
            #expect(try !key.isValidSignature(other, for: vector.message, vector.algorithm))
        }
    }

    @Test("an algorithm that does not fit the key is an error, not a verdict", arguments: Vector.all)
    func otherAlgorithms(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        let type =
            switch key.parameters {
            case .rsa: "RSA"
            case .elliptic(let curve, _, _): curve.rawValue
            case .ed25519: "Ed25519"
            }
        for algorithm in SignatureAlgorithm.allCases where !key.supportedAlgorithms.contains(algorithm) {
            let error = CryptoError.unsupported("\(algorithm.rawValue) does not fit a key of type \(type)")
            #expect(throws: error) { try key.isValidSignature(signature, for: vector.message, algorithm) }
        }
    }

    @Test("an RSA signature verifies under no other RSA algorithm", arguments: [Vector.rs256, .ps384])
    func otherPadding(_ vector: Vector) throws {
        let key = try PublicKey(vector.parameters)
        let signature = bytes(base64URL: vector.signature)
        for algorithm in key.supportedAlgorithms where algorithm != vector.algorithm {
            #expect(try !key.isValidSignature(signature, for: vector.message, algorithm))
        }
    }

    @Test("a signature verifies under no other key")
    func otherKey() throws {
        let key = try PublicKey(Vector.ps384.parameters)
        let signature = bytes(base64URL: Vector.rs256.signature)
        #expect(try !key.isValidSignature(signature, for: Vector.rs256.message, .rs256))
    }
}
