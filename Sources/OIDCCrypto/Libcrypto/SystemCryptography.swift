// The counterpart of Darwin/CryptoKitCryptography.swift.
#if !canImport(Darwin)
    import CLibcrypto

    /// The cryptography of the operating system's library: libcrypto 3 here, CryptoKit on Darwin.
    enum SystemCryptography {
        static func libcrypto() throws(CryptoError) -> Libcrypto {
            var failure: UnsafePointer<CChar>?
            guard let library = libcrypto_load(&failure) else {
                if libcrypto_lacked_descriptors() != 0 {
                    throw .outOfDescriptors("libcrypto.so.3 cannot be loaded: Too many open files")
                }
                throw .unavailable(failure.map { String(cString: $0) } ?? "libcrypto.so.3 cannot be loaded")
            }
            return library.pointee
        }

        static var libraryVersion: String? {
            (try? libcrypto())?.OpenSSL_version(LIBCRYPTO_VERSION_STRING).map { String(cString: $0) }
        }

        static func hash(_ bytes: [UInt8], _ algorithm: HashAlgorithm) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            var output = [UInt8](repeating: 0, count: algorithm.byteCount)
            var count: UInt32 = 0
            let digest = library.digest(algorithm)
            guard library.EVP_Digest(bytes, bytes.count, &output, &count, digest, nil) == 1,
                count == algorithm.byteCount
            else { throw library.failure("hashing") }
            return output
        }

        static func authenticationCode(
            _ message: [UInt8], key: [UInt8], _ algorithm: HashAlgorithm
        ) throws(CryptoError) -> [UInt8] {
            let library = try libcrypto()
            guard let keyCount = CInt(exactly: key.count) else { throw .invalidKey("the key is too long") }
            var output = [UInt8](repeating: 0, count: algorithm.byteCount)
            var count: UInt32 = 0
            let digest = library.digest(algorithm)
            guard library.HMAC(digest, key, keyCount, message, message.count, &output, &count) != nil,
                count == algorithm.byteCount
            else { throw library.failure("HMAC") }
            return output
        }
    }

    extension Libcrypto {
        func digest(_ algorithm: HashAlgorithm) -> OpaquePointer? {
            switch algorithm {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        }

        /// Returns the error for a failed call and clears libcrypto's error queue for the next call.
        func failure(_ operation: String) -> CryptoError {
            ERR_clear_error()
            return .failed("libcrypto: \(operation) failed")
        }
    }
#endif
