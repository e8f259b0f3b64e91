// The counterpart is in Darwin/.
#if !canImport(Darwin)
    import CLibcrypto

    extension SystemCryptography {
        static func checkPoint(_ curve: EllipticCurve, x: [UInt8], y: [UInt8]) throws(CryptoError) {
            let library = try libcrypto()
            guard let key = try library.publicKey(.elliptic(curve, x: x, y: y)) else {
                throw .invalidKey("the point is not on \(curve.rawValue)")
            }
            library.EVP_PKEY_free(key)
        }

        /// Verifies a signature. The caller has checked that its length and `algorithm` fit the key.
        static func isValidSignature(
            _ signature: [UInt8], for message: [UInt8], _ algorithm: SignatureAlgorithm,
            _ parameters: PublicKey.Parameters
        ) throws(CryptoError) -> Bool {
            let library = try libcrypto()
            guard let key = try library.publicKey(parameters) else {
                throw .invalidKey("libcrypto rejects the key")
            }
            defer { library.EVP_PKEY_free(key) }
            var signature = signature
            if algorithm.curve != nil {
                guard let encoded = try library.encodedECDSA(signature, key: key) else { return false }
                signature = encoded
            }
            guard let context = library.EVP_MD_CTX_new() else { throw library.failure("verification") }
            defer { library.EVP_MD_CTX_free(context) }
            var keyContext: OpaquePointer?
            let digest = algorithm.hash.flatMap { library.digest($0) }
            guard library.EVP_DigestVerifyInit(context, &keyContext, digest, nil, key) == 1,
                library.setPadding(keyContext, algorithm, digest)
            else { throw library.failure("verification") }
            let result = library.EVP_DigestVerify(context, signature, signature.count, message, message.count)
            library.ERR_clear_error()
            return result == 1
        }

        /// Encrypts to an RSA key with RSAES-OAEP (RFC 8017 §7.1.1).
        static func encryptOAEP(
            _ plain: [UInt8], to parameters: PublicKey.Parameters, _ hash: OAEPHash
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            guard let key = try library.publicKey(parameters) else {
                throw .invalidKey("libcrypto rejects the key")
            }
            defer { library.EVP_PKEY_free(key) }
            guard let context = library.EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
                throw library.failure("encryption")
            }
            defer { library.EVP_PKEY_CTX_free(context) }
            var count = max(0, Int(library.EVP_PKEY_get_size(key)))
            var output = [UInt8](repeating: 0, count: count)
            guard library.EVP_PKEY_encrypt_init(context) == 1, library.setOAEP(context, hash),
                library.EVP_PKEY_encrypt(context, &output, &count, plain, plain.count) == 1,
                count == output.count
            else { throw library.failure("encryption") }
            return output
        }
    }

    extension Libcrypto {
        /// Sets PSS padding as in RFC 7518 §3.5: a salt as long as the digest, and MGF1 with the same hash.
        func setPadding(
            _ context: OpaquePointer?, _ algorithm: SignatureAlgorithm, _ digest: OpaquePointer?
        ) -> Bool {
            guard algorithm.isPSS else { return true }
            return EVP_PKEY_CTX_set_rsa_padding(context, LIBCRYPTO_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, LIBCRYPTO_SALT_AS_DIGEST) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
        }

        /// Sets OAEP padding, with the same hash for MGF1 (RFC 7518 §4.3).
        func setOAEP(_ context: OpaquePointer?, _ hash: OAEPHash) -> Bool {
            let digest = hash == .sha1 ? EVP_sha1() : EVP_sha256()
            return EVP_PKEY_CTX_set_rsa_padding(context, LIBCRYPTO_OAEP_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_oaep_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
        }

        /// Returns a key, which the caller frees, or nil if the numbers are not a valid key.
        func publicKey(_ parameters: PublicKey.Parameters) throws(CryptoError) -> OpaquePointer? {
            switch parameters {
            case .rsa(let modulus, let exponent):
                let n = try number(modulus)
                defer { BN_free(n) }
                let e = try number(exponent)
                defer { BN_free(e) }
                return try importKey("RSA") { builder in
                    OSSL_PARAM_BLD_push_BN(builder, Self.name("n"), n) == 1
                        && OSSL_PARAM_BLD_push_BN(builder, Self.name("e"), e) == 1
                        ? OSSL_PARAM_BLD_to_param(builder) : nil
                }
            case .elliptic(let curve, let x, let y):
                let point = [4] + x + y
                let (group, pub) = (Self.name("group"), Self.name("pub"))
                return try importKey("EC") { builder in
                    curve.rawValue.withCString { curve in
                        point.withUnsafeBytes { bytes in
                            let (start, count) = (bytes.baseAddress, bytes.count)
                            guard OSSL_PARAM_BLD_push_utf8_string(builder, group, curve, 0) == 1,
                                OSSL_PARAM_BLD_push_octet_string(builder, pub, start, count) == 1
                            else { return nil }
                            return OSSL_PARAM_BLD_to_param(builder)
                        }
                    }
                }
            case .ed25519(let point):
                let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, point, point.count)
                if key == nil { ERR_clear_error() }
                return key
            }
        }

        /// Returns a parameter's name at an address that stays valid, as parameters point to it instead of
        /// copying it.
        static func name(_ name: StaticString) -> UnsafePointer<CChar> {
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        }

        /// Imports a key from parameters. The builder only points to the pushed values; `makeParameters`
        /// copies them.
        private func importKey(
            _ type: StaticString, _ makeParameters: (OpaquePointer) -> OpaquePointer?
        ) throws(CryptoError) -> OpaquePointer? {
            guard let builder = OSSL_PARAM_BLD_new() else { throw failure("reading a key") }
            defer { OSSL_PARAM_BLD_free(builder) }
            guard let parameters = makeParameters(builder) else { throw failure("reading a key") }
            defer { OSSL_PARAM_free(parameters) }
            guard let context = EVP_PKEY_CTX_new_from_name(nil, Self.name(type), nil) else {
                throw failure("reading a key")
            }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_fromdata_init(context) == 1 else { throw failure("reading a key") }
            var key: OpaquePointer?
            guard EVP_PKEY_fromdata(context, &key, LIBCRYPTO_PUBLIC_KEY, parameters) == 1 else {
                ERR_clear_error()
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }

        func number(_ bytes: [UInt8]) throws(CryptoError) -> OpaquePointer {
            guard let count = CInt(exactly: bytes.count), let number = BN_bin2bn(bytes, count, nil) else {
                throw failure("reading a number")
            }
            return number
        }

        /// Returns the DER form of a JOSE signature r || s, or nil if r or s is not in 1 ..< order of the
        /// curve.
        func encodedECDSA(
            _ signature: [UInt8], key: OpaquePointer
        ) throws(CryptoError) -> [UInt8]? {
            var order: OpaquePointer?
            guard EVP_PKEY_get_bn_param(key, "order", &order) == 1 else { throw failure("verification") }
            defer { BN_free(order) }
            let r = try number(Array(signature.prefix(signature.count / 2)))
            let s: OpaquePointer
            do {
                s = try number(Array(signature.suffix(signature.count / 2)))
            } catch {
                BN_free(r)
                throw error
            }
            let isInRange = [r, s].allSatisfy { BN_is_zero($0) == 0 && BN_cmp($0, order) < 0 }
            let pair = ECDSA_SIG_new()
            defer { ECDSA_SIG_free(pair) }
            guard isInRange, ECDSA_SIG_set0(pair, r, s) == 1 else {
                BN_free(r)
                BN_free(s)
                return nil
            }
            let count = i2d_ECDSA_SIG(pair, nil)
            guard count > 0 else { throw failure("verification") }
            var output = [UInt8](repeating: 0, count: Int(count))
            let written = output.withUnsafeMutableBufferPointer { buffer in
                var position = buffer.baseAddress
                return i2d_ECDSA_SIG(pair, &position)
            }
            guard written == count else { throw failure("verification") }
            return output
        }
    }
#endif
