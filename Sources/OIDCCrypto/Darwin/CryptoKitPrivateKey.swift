// The counterpart of Libcrypto/LibcryptoPrivateKey.swift.
#if canImport(Darwin)
    import CryptoKit
    import Foundation

    /// An elliptic or Ed25519 key of CryptoKit, which has neither RSA keys nor encrypted PEM files.
    final class PrivateKeyHandle: Sendable {
        private enum Key: Sendable {
            case p256(P256.Signing.PrivateKey)
            case p384(P384.Signing.PrivateKey)
            case p521(P521.Signing.PrivateKey)
            case ed25519(Curve25519.Signing.PrivateKey)
        }

        /// The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7).
        private static let ed25519Prefix: [UInt8] = [
            0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
        ]

        private let key: Key
        let pem: [UInt8]
        /// Always nil, as CryptoKit has no keys that are limited to PSS.
        var onlyAlgorithms: [SignatureAlgorithm]? { nil }

        private init(_ key: Key) {
            self.key = key
            let text =
                switch key {
                case .p256(let key): key.pemRepresentation
                case .p384(let key): key.pemRepresentation
                case .p521(let key): key.pemRepresentation
                case .ed25519(let key): Self.pem(key)
                }
            pem = Array(text.utf8) + (text.hasSuffix("\n") ? [] : [0x0a])
        }

        convenience init(pem: [UInt8], passphrase: [UInt8]?) throws(CryptoError) {
            let text = String(decoding: pem, as: UTF8.self)
            if text.contains("ENCRYPTED") { throw .unsupported("an encrypted key, on this system") }
            if text.contains("BEGIN RSA PRIVATE KEY") { throw .unsupported("an RSA key, on this system") }
            if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) {
                self.init(.p256(key))
            } else if let key = try? P384.Signing.PrivateKey(pemRepresentation: text) {
                self.init(.p384(key))
            } else if let key = try? P521.Signing.PrivateKey(pemRepresentation: text) {
                self.init(.p521(key))
            } else if let key = Self.ed25519(text) {
                self.init(.ed25519(key))
            } else {
                throw .invalidKey("not an elliptic or Ed25519 private key in PEM form")
            }
        }

        static func generate(_ kind: PrivateKey.Kind) throws(CryptoError) -> PrivateKeyHandle {
            switch kind {
            case .p256: PrivateKeyHandle(.p256(P256.Signing.PrivateKey()))
            case .p384: PrivateKeyHandle(.p384(P384.Signing.PrivateKey()))
            case .p521: PrivateKeyHandle(.p521(P521.Signing.PrivateKey()))
            case .ed25519: PrivateKeyHandle(.ed25519(Curve25519.Signing.PrivateKey()))
            case .rsa2048: throw .unsupported("an RSA key, on this system")
            }
        }

        func publicParameters() throws(CryptoError) -> PublicKey.Parameters {
            switch key {
            case .p256(let key): Self.point(.p256, Array(key.publicKey.rawRepresentation))
            case .p384(let key): Self.point(.p384, Array(key.publicKey.rawRepresentation))
            case .p521(let key): Self.point(.p521, Array(key.publicKey.rawRepresentation))
            case .ed25519(let key): .ed25519(Array(key.publicKey.rawRepresentation))
            }
        }

        func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
            do {
                return switch key {
                case .p256(let key): Array(try key.signature(for: message).rawRepresentation)
                case .p384(let key): Array(try key.signature(for: message).rawRepresentation)
                case .p521(let key): Array(try key.signature(for: message).rawRepresentation)
                case .ed25519(let key): Array(try key.signature(for: message))
                }
            } catch {
                throw .failed("signing failed")
            }
        }

        /// Refuses, as RSA keys are not read on this system.
        func decryptOAEP(_ encrypted: [UInt8], _ hash: OAEPHash) throws(CryptoError) -> [UInt8]? {
            throw .unsupported("an RSA key, on this system")
        }

        /// Returns the x coordinate of the shared point (NIST SP 800-56A §5.7.1.2).
        func sharedSecret(with peer: PublicKey.Parameters) throws(CryptoError) -> [UInt8] {
            do {
                switch (key, peer) {
                case (.p256(let key), .elliptic(.p256, let x, let y)):
                    return try P256.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                        .sharedSecretFromKeyAgreement(
                            with: P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
                        ).withUnsafeBytes { Array($0) }
                case (.p384(let key), .elliptic(.p384, let x, let y)):
                    return try P384.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                        .sharedSecretFromKeyAgreement(
                            with: P384.KeyAgreement.PublicKey(rawRepresentation: x + y)
                        ).withUnsafeBytes { Array($0) }
                case (.p521(let key), .elliptic(.p521, let x, let y)):
                    return try P521.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                        .sharedSecretFromKeyAgreement(
                            with: P521.KeyAgreement.PublicKey(rawRepresentation: x + y)
                        ).withUnsafeBytes { Array($0) }
                default: break
                }
            } catch {
                throw .failed("key agreement failed")
            }
            throw .unsupported("key agreement with this key")
        }

        private static func point(_ curve: EllipticCurve, _ bytes: [UInt8]) -> PublicKey.Parameters {
            let size = curve.coordinateByteCount
            return .elliptic(curve, x: Array(bytes.prefix(size)), y: Array(bytes.suffix(size)))
        }

        private static func pem(_ key: Curve25519.Signing.PrivateKey) -> String {
            let body = Data(ed25519Prefix + Array(key.rawRepresentation)).base64EncodedString()
            return "-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n"
        }

        private static func ed25519(_ pem: String) -> Curve25519.Signing.PrivateKey? {
            let lines = pem.split(whereSeparator: \.isNewline)
            guard lines.first == "-----BEGIN PRIVATE KEY-----", lines.last == "-----END PRIVATE KEY-----",
                let body = Data(base64Encoded: lines.dropFirst().dropLast().joined()),
                body.count == ed25519Prefix.count + 32, body.starts(with: ed25519Prefix)
            else { return nil }
            return try? Curve25519.Signing.PrivateKey(rawRepresentation: body.suffix(32))
        }
    }
#endif
