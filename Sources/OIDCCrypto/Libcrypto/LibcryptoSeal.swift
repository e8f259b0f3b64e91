// The counterpart is in Darwin/.
#if !canImport(Darwin)
    import CLibcrypto

    extension SystemCryptography {
        /// Returns the ciphertext, followed by the tag.
        static func encrypt(
            _ plain: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            let cipher = try library.startCipher(
                library.gcm(key), encrypting: true, key: key, nonce: nonce, context: context)
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            var output = try library.update(cipher, plain)
            var rest = [UInt8](repeating: 0, count: 16)
            var restCount: CInt = 0
            var tag = [UInt8](repeating: 0, count: SymmetricSeal.tagByteCount)
            guard library.EVP_CipherFinal_ex(cipher, &rest, &restCount) == 1, restCount == 0,
                library.EVP_CIPHER_CTX_ctrl(cipher, LIBCRYPTO_GET_TAG, CInt(tag.count), &tag) == 1
            else { throw library.failure("AES") }
            output += tag
            return output
        }

        static func decrypt(
            _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            let cipher = try library.startCipher(
                library.gcm(key), encrypting: false, key: key, nonce: nonce, context: context)
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            let output = try library.update(cipher, ciphertext)
            var tag = tag
            var rest = [UInt8](repeating: 0, count: 16)
            var restCount: CInt = 0
            guard library.EVP_CIPHER_CTX_ctrl(cipher, LIBCRYPTO_SET_TAG, CInt(tag.count), &tag) == 1
            else { throw library.failure("AES") }
            guard library.EVP_CipherFinal_ex(cipher, &rest, &restCount) == 1, restCount == 0 else {
                library.ERR_clear_error()
                throw .failed("the sealed data was changed, or the key is a different one")
            }
            return output
        }

        /// Encrypts or decrypts with AES-CBC and the padding of PKCS #7. Returns nil if decryption finds another
        /// padding.
        static func cbc(
            _ input: [UInt8], key: [UInt8], nonce: [UInt8], encrypting: Bool
        ) throws(CryptoError) -> [UInt8]? {
            let library = try libcrypto()
            let cipher = try library.startCipher(
                key.count == 16 ? library.EVP_aes_128_cbc() : library.EVP_aes_256_cbc(),
                encrypting: encrypting, key: key, nonce: nonce, context: [])
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            return library.finish(cipher, input)
        }

        /// Wraps or unwraps a key with another one (RFC 3394). Returns nil if the key to unwrap was wrapped
        /// with a different key, or changed.
        static func wrap(_ input: [UInt8], key: [UInt8], wrapping: Bool) throws(CryptoError) -> [UInt8]? {
            let library = try libcrypto()
            let cipher = try library.startCipher(
                key.count == 16 ? library.EVP_aes_128_wrap() : library.EVP_aes_256_wrap(),
                encrypting: wrapping, key: key, nonce: nil, context: [])
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            return library.finish(cipher, input)
        }
    }

    extension Libcrypto {
        fileprivate func gcm(_ key: [UInt8]) -> OpaquePointer? {
            key.count == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm()
        }

        /// Returns a cipher with key, nonce and additional data set, which the caller frees.
        fileprivate func startCipher(
            _ type: OpaquePointer?, encrypting: Bool, key: [UInt8], nonce: [UInt8]?, context: [UInt8]
        ) throws(CryptoError) -> OpaquePointer {
            guard let contextCount = CInt(exactly: context.count) else {
                throw .unsupported("the text is too long")
            }
            guard let cipher = EVP_CIPHER_CTX_new() else { throw failure("AES") }
            // Key wrapping is refused without this flag; other ciphers ignore it.
            EVP_CIPHER_CTX_set_flags(cipher, LIBCRYPTO_WRAP_ALLOW)
            var count: CInt = 0
            guard EVP_CipherInit_ex(cipher, type, nil, key, nonce, encrypting ? 1 : 0) == 1,
                context.isEmpty || EVP_CipherUpdate(cipher, nil, &count, context, contextCount) == 1
            else {
                EVP_CIPHER_CTX_free(cipher)
                throw failure("AES")
            }
            return cipher
        }

        fileprivate func update(_ cipher: OpaquePointer, _ input: [UInt8]) throws(CryptoError) -> [UInt8] {
            if input.isEmpty { return [] }
            guard let inputCount = CInt(exactly: input.count) else {
                throw .unsupported("the text is too long")
            }
            var output = [UInt8](repeating: 0, count: input.count)
            var count: CInt = 0
            guard EVP_CipherUpdate(cipher, &output, &count, input, inputCount) == 1, count == inputCount
            else {
                throw failure("AES")
            }
            return output
        }

        /// Returns all of a cipher's output, which may be up to two blocks longer than the input; nil if the input is
        /// not valid.
        fileprivate func finish(_ cipher: OpaquePointer, _ input: [UInt8]) -> [UInt8]? {
            defer { ERR_clear_error() }
            var output = [UInt8](repeating: 0, count: input.count + 32)
            var (count, restCount): (CInt, CInt) = (0, 0)
            guard let inputCount = CInt(exactly: input.count),
                EVP_CipherUpdate(cipher, &output, &count, input, inputCount) == 1, count >= 0
            else { return nil }
            let isFinal = output[Int(count)...].withUnsafeMutableBufferPointer {
                EVP_CipherFinal_ex(cipher, $0.baseAddress, &restCount) == 1
            }
            guard isFinal, restCount >= 0 else { return nil }
            output.removeLast(output.count - Int(count + restCount))
            return output
        }
    }
#endif
