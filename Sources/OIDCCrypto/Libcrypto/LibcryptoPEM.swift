// The counterpart is in Darwin/.
#if !canImport(Darwin)
    import CLibcrypto

    /// The passphrase for the callback, and whether the callback was called.
    private struct PassphraseRequest {
        let passphrase: UnsafeBufferPointer<UInt8>?
        var wasAsked = false
    }

    extension Libcrypto {
        /// Reads a key, which the caller frees. The callback is always set, as libcrypto's default prompts on
        /// the terminal.
        func readPrivateKey(_ pem: [UInt8], passphrase: [UInt8]?) throws(CryptoError) -> OpaquePointer {
            guard let count = CInt(exactly: pem.count), count > 0 else {
                throw .invalidKey("the key is empty")
            }
            ERR_clear_error()
            var wasAsked = false
            let key = (passphrase ?? []).withUnsafeBufferPointer { characters in
                var request = PassphraseRequest(passphrase: passphrase == nil ? nil : characters)
                defer { wasAsked = request.wasAsked }
                return pem.withUnsafeBytes { bytes -> OpaquePointer? in
                    guard let input = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
                    defer { _ = BIO_free(input) }
                    return PEM_read_bio_PrivateKey(input, nil, answerPassphrase, &request)
                }
            }
            if let key {
                ERR_clear_error()
                return key
            }
            let lacksAlgorithm = dropErrors(lookingFor: LIBCRYPTO_EVP_UNSUPPORTED)
            guard wasAsked else { throw .invalidKey("not a private key in PEM form") }
            guard passphrase != nil else { throw .passphraseNeeded }
            throw lacksAlgorithm ? .unsupported("the cipher that encrypts the key") : .wrongPassphrase
        }

        /// Returns the key as PKCS #8 without encryption; throws if the key has no private part.
        func privatePEM(_ key: OpaquePointer) throws(CryptoError) -> [UInt8] {
            guard let output = BIO_new(BIO_s_mem()) else { throw failure("writing a key") }
            defer { _ = BIO_free(output) }
            guard PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1 else {
                throw failure("writing a key")
            }
            var pem = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
            guard let count = CInt(exactly: pem.count), BIO_read(output, &pem, count) == count else {
                throw failure("writing a key")
            }
            return pem
        }

        private func dropErrors(lookingFor code: UInt) -> Bool {
            var isFound = false
            while case let error = ERR_get_error(), error != 0 { isFound = isFound || error == code }
            return isFound
        }
    }

    /// Copies the passphrase into libcrypto's buffer; returns -1 if there is none or it does not fit.
    private func answerPassphrase(
        _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _: CInt, _ context: UnsafeMutableRawPointer?
    ) -> CInt {
        guard let buffer, let request = context?.assumingMemoryBound(to: PassphraseRequest.self) else {
            return -1
        }
        request.pointee.wasAsked = true
        guard let passphrase = request.pointee.passphrase, passphrase.count <= size else { return -1 }
        for (index, byte) in passphrase.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        return CInt(passphrase.count)
    }
#endif
