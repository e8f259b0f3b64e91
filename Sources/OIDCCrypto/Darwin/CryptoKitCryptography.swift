// The counterpart of Libcrypto/SystemCryptography.swift.
#if canImport(Darwin)
    import CommonCrypto
    import CryptoKit
    import Foundation
    import Security

    /// Cryptography by CryptoKit and, for RSA, by Security. This code has not been run yet.
    enum SystemCryptography {
        /// Always nil, as CryptoKit has no version of its own.
        static var libraryVersion: String? { nil }

        static func hash(_ bytes: [UInt8], _ algorithm: HashAlgorithm) throws(CryptoError) -> [UInt8] {
            switch algorithm {
            case .sha256: Array(SHA256.hash(data: bytes))
            case .sha384: Array(SHA384.hash(data: bytes))
            case .sha512: Array(SHA512.hash(data: bytes))
            }
        }

        static func authenticationCode(
            _ message: [UInt8], key: [UInt8], _ algorithm: HashAlgorithm
        ) throws(CryptoError) -> [UInt8] {
            let key = SymmetricKey(data: key)
            return switch algorithm {
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
            case .sha384: Array(HMAC<SHA384>.authenticationCode(for: message, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: message, using: key))
            }
        }

        static func checkPoint(_ curve: EllipticCurve, x: [UInt8], y: [UInt8]) throws(CryptoError) {
            do {
                switch curve {
                case .p256: _ = try P256.Signing.PublicKey(rawRepresentation: x + y)
                case .p384: _ = try P384.Signing.PublicKey(rawRepresentation: x + y)
                case .p521: _ = try P521.Signing.PublicKey(rawRepresentation: x + y)
                }
            } catch {
                throw .invalidKey("the point is not on \(curve.rawValue)")
            }
        }

        static func isValidSignature(
            _ signature: [UInt8], for message: [UInt8], _ algorithm: SignatureAlgorithm,
            _ parameters: PublicKey.Parameters
        ) throws(CryptoError) -> Bool {
            switch parameters {
            case .rsa(let modulus, let exponent):
                return try isValidRSA(
                    signature, for: message, algorithm, modulus: modulus, exponent: exponent)
            case .elliptic(.p256, let x, let y):
                guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
                    let pair = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
                else { return false }
                return key.isValidSignature(pair, for: message)
            case .elliptic(.p384, let x, let y):
                guard let key = try? P384.Signing.PublicKey(rawRepresentation: x + y),
                    let pair = try? P384.Signing.ECDSASignature(rawRepresentation: signature)
                else { return false }
                return key.isValidSignature(pair, for: message)
            case .elliptic(.p521, let x, let y):
                guard let key = try? P521.Signing.PublicKey(rawRepresentation: x + y),
                    let pair = try? P521.Signing.ECDSASignature(rawRepresentation: signature)
                else { return false }
                return key.isValidSignature(pair, for: message)
            case .ed25519(let point):
                guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: point) else {
                    return false
                }
                return key.isValidSignature(signature, for: message)
            }
        }

        static func encrypt(
            _ plain: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            do {
                let box = try AES.GCM.seal(
                    plain, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce),
                    authenticating: context)
                return Array(box.ciphertext) + Array(box.tag)
            } catch {
                throw .failed("AES failed")
            }
        }

        static func decrypt(
            _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
                return Array(try AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: context))
            } catch {
                throw .failed("the sealed data was changed, or the key is a different one")
            }
        }

        /// Encrypts or decrypts with AES-CBC and the padding of PKCS #7. Returns nil if decryption finds another
        /// padding.
        static func cbc(
            _ input: [UInt8], key: [UInt8], nonce: [UInt8], encrypting: Bool
        ) throws(CryptoError) -> [UInt8]? {
            var output = [UInt8](repeating: 0, count: input.count + 16)
            var count = 0
            let status = CCCrypt(
                CCOperation(encrypting ? kCCEncrypt : kCCDecrypt), CCAlgorithm(kCCAlgorithmAES),
                CCOptions(kCCOptionPKCS7Padding), key, key.count, nonce, input, input.count, &output,
                output.count, &count)
            guard status == CCCryptorStatus(kCCSuccess) else { return nil }
            output.removeLast(output.count - count)
            return output
        }

        /// Wraps or unwraps a key with another one (RFC 3394). Returns nil if the key to unwrap was wrapped
        /// with a different key, or changed.
        static func wrap(_ input: [UInt8], key: [UInt8], wrapping: Bool) throws(CryptoError) -> [UInt8]? {
            let key = SymmetricKey(data: key)
            guard wrapping else {
                return (try? AES.KeyWrap.unwrap(input, using: key))?.withUnsafeBytes { Array($0) }
            }
            return (try? AES.KeyWrap.wrap(SymmetricKey(data: input), using: key)).map { Array($0) }
        }
    }

    extension SystemCryptography {
        /// Encrypts to an RSA key with RSAES-OAEP (RFC 8017 §7.1.1).
        static func encryptOAEP(
            _ plain: [UInt8], to parameters: PublicKey.Parameters, _ hash: OAEPHash
        ) throws(CryptoError) -> [UInt8] {
            guard case .rsa(let modulus, let exponent) = parameters else {
                throw .unsupported("RSA encryption to this key")
            }
            let key = try rsaKey(modulus: modulus, exponent: exponent)
            let name: SecKeyAlgorithm =
                hash == .sha1 ? .rsaEncryptionOAEPSHA1 : .rsaEncryptionOAEPSHA256
            guard let sealed = SecKeyCreateEncryptedData(key, name, Data(plain) as CFData, nil) else {
                throw .failed("RSA encryption failed")
            }
            return Array(sealed as Data)
        }

        private static func rsaKey(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) -> SecKey {
            let attributes = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPublic]
            let encoded = DER.sequence(DER.integer(modulus) + DER.integer(exponent))
            guard let key = SecKeyCreateWithData(Data(encoded) as CFData, attributes as CFDictionary, nil)
            else {
                throw .invalidKey("Security rejects the key")
            }
            return key
        }

        private static func isValidRSA(
            _ signature: [UInt8], for message: [UInt8], _ algorithm: SignatureAlgorithm, modulus: [UInt8],
            exponent: [UInt8]
        ) throws(CryptoError) -> Bool {
            let key = try rsaKey(modulus: modulus, exponent: exponent)
            let name = try secKeyAlgorithm(algorithm)
            return SecKeyVerifySignature(key, name, Data(message) as CFData, Data(signature) as CFData, nil)
        }

        private static func secKeyAlgorithm(
            _ algorithm: SignatureAlgorithm
        ) throws(CryptoError) -> SecKeyAlgorithm {
            switch algorithm {
            case .rs256: .rsaSignatureMessagePKCS1v15SHA256
            case .rs384: .rsaSignatureMessagePKCS1v15SHA384
            case .rs512: .rsaSignatureMessagePKCS1v15SHA512
            case .ps256: .rsaSignatureMessagePSSSHA256
            case .ps384: .rsaSignatureMessagePSSSHA384
            case .ps512: .rsaSignatureMessagePSSSHA512
            default: throw .unsupported("\(algorithm.rawValue) is not an RSA algorithm")
            }
        }
    }
#endif
