// The other side is in Darwin/.
#if !canImport(Darwin)
    import CLibcrypto

    extension SystemCryptography {
        /// Returns the ciphertext, followed by the tag.
        static func encrypt(
            _ plain: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            let cipher = try library.startCipher(encrypting: true, key: key, nonce: nonce, context: context)
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            var output = try library.update(cipher, plain)
            var rest = [UInt8](repeating: 0, count: 16)
            var restCount: CInt = 0
            var tag = [UInt8](repeating: 0, count: SymmetricSeal.tagByteCount)
            guard library.EVP_CipherFinal_ex(cipher, &rest, &restCount) == 1, restCount == 0,
                library.EVP_CIPHER_CTX_ctrl(cipher, LIBCRYPTO_GET_TAG, CInt(tag.count), &tag) == 1
            else { throw library.failure("AES-256-GCM") }
            output += tag
            return output
        }

        static func decrypt(
            _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], authenticating context: [UInt8]
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            let cipher = try library.startCipher(encrypting: false, key: key, nonce: nonce, context: context)
            defer { library.EVP_CIPHER_CTX_free(cipher) }
            let output = try library.update(cipher, ciphertext)
            var tag = tag
            var rest = [UInt8](repeating: 0, count: 16)
            var restCount: CInt = 0
            guard library.EVP_CIPHER_CTX_ctrl(cipher, LIBCRYPTO_SET_TAG, CInt(tag.count), &tag) == 1
            else { throw library.failure("AES-256-GCM") }
            guard library.EVP_CipherFinal_ex(cipher, &rest, &restCount) == 1, restCount == 0 else {
                library.ERR_clear_error()
                throw .failed("the sealed data was changed, or the key is a different one")
            }
            return output
        }
    }

    extension Libcrypto {
        /// Returns a cipher with key, nonce and additional data set, which the caller frees.
        fileprivate func startCipher(
            encrypting: Bool, key: [UInt8], nonce: [UInt8], context: [UInt8]
        ) throws(CryptoError) -> OpaquePointer {
            guard let contextCount = CInt(exactly: context.count) else {
                throw .unsupported("the text is too long")
            }
            guard let cipher = EVP_CIPHER_CTX_new() else { throw failure("AES-256-GCM") }
            var count: CInt = 0
            guard EVP_CipherInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce, encrypting ? 1 : 0) == 1,
                context.isEmpty || EVP_CipherUpdate(cipher, nil, &count, context, contextCount) == 1
            else {
                EVP_CIPHER_CTX_free(cipher)
                throw failure("AES-256-GCM")
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
                throw failure("AES-256-GCM")
            }
            return output
        }
    }
#endif
