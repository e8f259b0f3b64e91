// The counterpart of Darwin/CryptoKitPrivateKey.swift.
#if !canImport(Darwin)
    import CLibcrypto

    /// An owned `EVP_PKEY`.
    ///
    /// It is `@unchecked` only because of the pointer: the key is never modified, and libcrypto lets threads
    /// share such a key.
    final class PrivateKeyHandle: @unchecked Sendable {
        private let library: Libcrypto
        private let key: OpaquePointer
        let pem: [UInt8]

        private init(owning key: OpaquePointer, _ library: Libcrypto) throws(CryptoError) {
            do {
                pem = try library.privatePEM(key)
            } catch {
                library.EVP_PKEY_free(key)
                throw error
            }
            self.library = library
            self.key = key
        }

        deinit { library.EVP_PKEY_free(key) }

        convenience init(pem: [UInt8], passphrase: [UInt8]?) throws(CryptoError) {
            let library = try SystemCryptography.libcrypto()
            try self.init(owning: library.readPrivateKey(pem, passphrase: passphrase), library)
        }

        static func generate(_ kind: PrivateKey.Kind) throws(CryptoError) -> PrivateKeyHandle {
            let library = try SystemCryptography.libcrypto()
            return try PrivateKeyHandle(owning: library.generate(kind), library)
        }

        func publicParameters() throws(CryptoError) -> PublicKey.Parameters {
            try library.publicParameters(key)
        }

        /// The algorithms of a key that is for PSS alone (RFC 4055 §1.2), which may also fix the hash; nil for any
        /// other key.
        var onlyAlgorithms: [SignatureAlgorithm]? {
            guard library.EVP_PKEY_is_a(key, "RSA-PSS") == 1 else { return nil }
            return [.ps256, .ps384, .ps512].filter { algorithm in
                guard let context = library.EVP_MD_CTX_new() else { return false }
                defer { library.EVP_MD_CTX_free(context) }
                var keyContext: OpaquePointer?
                let digest = algorithm.hash.flatMap { library.digest($0) }
                let isAllowed =
                    library.EVP_DigestSignInit(context, &keyContext, digest, nil, key) == 1
                    && library.setPadding(keyContext, algorithm, digest)
                library.ERR_clear_error()
                return isAllowed
            }
        }

        func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
            guard let context = library.EVP_MD_CTX_new() else { throw library.failure("signing") }
            defer { library.EVP_MD_CTX_free(context) }
            var keyContext: OpaquePointer?
            let digest = algorithm.hash.flatMap { library.digest($0) }
            guard library.EVP_DigestSignInit(context, &keyContext, digest, nil, key) == 1,
                library.setPadding(keyContext, algorithm, digest)
            else { throw library.failure("signing") }
            var count = max(0, Int(library.EVP_PKEY_get_size(key)))
            var signature = [UInt8](repeating: 0, count: count)
            guard library.EVP_DigestSign(context, &signature, &count, message, message.count) == 1,
                count <= signature.count
            else { throw library.failure("signing") }
            signature.removeLast(signature.count - count)
            guard let curve = algorithm.curve else { return signature }
            return try library.decodedECDSA(signature, curve)
        }

        /// Decrypts with RSAES-OAEP (RFC 8017 §7.1.2); returns nil if the padding is not valid.
        func decryptOAEP(_ encrypted: [UInt8], _ hash: OAEPHash) throws(CryptoError) -> [UInt8]? {
            guard let context = library.EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
                throw library.failure("decryption")
            }
            defer { library.EVP_PKEY_CTX_free(context) }
            guard library.EVP_PKEY_decrypt_init(context) == 1, library.setOAEP(context, hash) else {
                throw library.failure("decryption")
            }
            defer { library.ERR_clear_error() }
            var count = max(0, Int(library.EVP_PKEY_get_size(key)))
            var output = [UInt8](repeating: 0, count: count)
            guard library.EVP_PKEY_decrypt(context, &output, &count, encrypted, encrypted.count) == 1,
                count <= output.count
            else { return nil }
            output.removeLast(output.count - count)
            return output
        }

        /// Returns the x coordinate of the shared point (NIST SP 800-56A §5.7.1.2).
        func sharedSecret(with peer: PublicKey.Parameters) throws(CryptoError) -> [UInt8] {
            guard let peer = try library.publicKey(peer) else {
                throw .invalidKey("libcrypto rejects the key")
            }
            defer { library.EVP_PKEY_free(peer) }
            guard let context = library.EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
                throw library.failure("key agreement")
            }
            defer { library.EVP_PKEY_CTX_free(context) }
            var count = 66
            var secret = [UInt8](repeating: 0, count: count)
            guard library.EVP_PKEY_derive_init(context) == 1,
                library.EVP_PKEY_derive_set_peer(context, peer) == 1,
                library.EVP_PKEY_derive(context, &secret, &count) == 1, count <= secret.count
            else { throw library.failure("key agreement") }
            secret.removeLast(secret.count - count)
            return secret
        }
    }

    extension Libcrypto {
        fileprivate func generate(_ kind: PrivateKey.Kind) throws(CryptoError) -> OpaquePointer {
            let type: StaticString =
                switch kind {
                case .rsa2048: "RSA"
                case .ed25519: "ED25519"
                case .p256, .p384, .p521: "EC"
                }
            guard let context = EVP_PKEY_CTX_new_from_name(nil, Self.name(type), nil) else {
                throw failure("generating a key")
            }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_keygen_init(context) == 1 else { throw failure("generating a key") }
            let isSet =
                switch kind {
                case .rsa2048: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1
                case .ed25519: true
                case .p256: EVP_PKEY_CTX_set_group_name(context, EllipticCurve.p256.rawValue) == 1
                case .p384: EVP_PKEY_CTX_set_group_name(context, EllipticCurve.p384.rawValue) == 1
                case .p521: EVP_PKEY_CTX_set_group_name(context, EllipticCurve.p521.rawValue) == 1
                }
            var key: OpaquePointer?
            guard isSet, EVP_PKEY_generate(context, &key) == 1, let key else {
                throw failure("generating a key")
            }
            return key
        }

        fileprivate func publicParameters(_ key: OpaquePointer) throws(CryptoError) -> PublicKey.Parameters {
            if EVP_PKEY_is_a(key, "RSA") == 1 || EVP_PKEY_is_a(key, "RSA-PSS") == 1 {
                return .rsa(modulus: try number(of: key, "n"), exponent: try number(of: key, "e"))
            }
            if EVP_PKEY_is_a(key, "EC") == 1 {
                let curve = try curve(of: key)
                let size = curve.coordinateByteCount
                return .elliptic(
                    curve, x: try number(of: key, "qx", size: size), y: try number(of: key, "qy", size: size))
            }
            if EVP_PKEY_is_a(key, "ED25519") == 1 {
                var point = [UInt8](repeating: 0, count: 32)
                var count = point.count
                guard EVP_PKEY_get_raw_public_key(key, &point, &count) == 1, count == point.count else {
                    throw failure("reading a key")
                }
                return .ed25519(point)
            }
            throw .unsupported(
                "a key of type \(EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown")")
        }

        private func curve(of key: OpaquePointer) throws(CryptoError) -> EllipticCurve {
            var name = [CChar](repeating: 0, count: 80)
            guard EVP_PKEY_get_utf8_string_param(key, "group", &name, name.count, nil) == 1 else {
                ERR_clear_error()
                throw .unsupported("an elliptic key without a named curve")
            }
            let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            switch text {
            case "prime256v1", "P-256": return .p256
            case "secp384r1", "P-384": return .p384
            case "secp521r1", "P-521": return .p521
            default: throw .unsupported("an elliptic key on the curve \(text)")
            }
        }

        private func number(of key: OpaquePointer, _ name: String, size: Int? = nil) throws(CryptoError)
            -> [UInt8]
        {
            var number: OpaquePointer?
            guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { throw failure("reading a key") }
            defer { BN_free(number) }
            return try bytes(number, size: size ?? (Int(BN_num_bits(number)) + 7) / 8)
        }

        private func bytes(_ number: OpaquePointer?, size: Int) throws(CryptoError) -> [UInt8] {
            var output = [UInt8](repeating: 0, count: size)
            guard let count = CInt(exactly: size), BN_bn2binpad(number, &output, count) == count else {
                throw failure("reading a number")
            }
            return output
        }

        /// Returns the JOSE form r || s of a DER signature.
        fileprivate func decodedECDSA(_ signature: [UInt8], _ curve: EllipticCurve) throws(CryptoError)
            -> [UInt8]
        {
            let pair = signature.withUnsafeBufferPointer { buffer in
                var position = buffer.baseAddress
                return d2i_ECDSA_SIG(nil, &position, buffer.count)
            }
            guard let pair else { throw failure("signing") }
            defer { ECDSA_SIG_free(pair) }
            let size = curve.coordinateByteCount
            return try bytes(ECDSA_SIG_get0_r(pair), size: size) + bytes(ECDSA_SIG_get0_s(pair), size: size)
        }
    }
#endif
