#if !canImport(Darwin)
    import CLibcrypto
    import OIDCCrypto
    import Testing

    @Suite("RSASSA-PSS")
    struct PSSTests {
        @Test(
            "a PSS signature verifies only with a salt as long as the digest and the same hash in MGF1",
            arguments: [
                (32, HashAlgorithm.sha256, true), (0, .sha256, false), (20, .sha256, false),
                (31, .sha256, false),
                (64, .sha256, false), (222, .sha256, false), (32, .sha384, false), (32, .sha512, false),
            ])
        func parameters(_ saltByteCount: Int, _ mask: HashAlgorithm, _ isValid: Bool) throws {
            let message = Array("RFC 7518 §3.5".utf8)
            let signature = try sign(message, saltByteCount: CInt(saltByteCount), mask: mask)
            let key = try PublicKey(.rsa(modulus: PEM.rsaModulus, exponent: [1, 0, 1]))
            #expect(try key.isValidSignature(signature, for: message, .ps256) == isValid)
        }

        /// A SHA-256 signature by the key of `PEM.rsaPKCS8`, with parameters that our own signing never takes.
        private func sign(_ message: [UInt8], saltByteCount: CInt, mask: HashAlgorithm) throws -> [UInt8] {
            var reason: UnsafePointer<CChar>?
            let library = try #require(libcrypto_load(&reason)).pointee
            let pem = Array(PEM.rsaPKCS8.utf8)
            let key = try #require(
                pem.withUnsafeBytes { bytes in
                    let input = library.BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count))
                    defer { _ = library.BIO_free(input) }
                    return library.PEM_read_bio_PrivateKey(input, nil, nil, nil)
                })
            defer { library.EVP_PKEY_free(key) }
            let context = library.EVP_MD_CTX_new()
            defer { library.EVP_MD_CTX_free(context) }
            let masks = [
                HashAlgorithm.sha256: library.EVP_sha256(), .sha384: library.EVP_sha384(),
                .sha512: library.EVP_sha512(),
            ]
            var keyContext: OpaquePointer?
            try #require(
                library.EVP_DigestSignInit(context, &keyContext, library.EVP_sha256(), nil, key) == 1)
            try #require(library.EVP_PKEY_CTX_set_rsa_padding(keyContext, LIBCRYPTO_PSS_PADDING) == 1)
            try #require(library.EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, saltByteCount) == 1)
            try #require(library.EVP_PKEY_CTX_set_rsa_mgf1_md(keyContext, try #require(masks[mask])) == 1)
            var signature = [UInt8](repeating: 0, count: 256)
            var count = signature.count
            let result = library.EVP_DigestSign(context, &signature, &count, message, message.count)
            try #require(result == 1 && count == 256)
            return signature
        }
    }
#endif
