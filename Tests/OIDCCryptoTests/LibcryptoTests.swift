#if !canImport(Darwin)
    import CLibcrypto
    import Dispatch
    @testable import OIDCCrypto
    import Synchronization
    import TestSupport
    import Testing

    @Suite("libcrypto")
    struct LibcryptoTests {
        @Test(
            "a library that is missing or lacks a function is an error that says so",
            arguments: [
                ("libnothing.so.3", "libnothing.so.3 is not installed"),
                ("libc.so.6", "libc.so.6 lacks ERR_clear_error"),
                ("/dev/null", "/dev/null cannot be loaded: "),
            ])
        func missing(_ name: String, _ text: String) {
            var failure = [CChar](repeating: 0, count: 256)
            let library = UnsafeMutablePointer<Libcrypto>.allocate(capacity: 1)
            defer { library.deallocate() }
            #expect(libcrypto_open(name, library, &failure, failure.count) == 0)
            let found = failure.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            #expect(text.hasSuffix(" ") ? found.hasPrefix(text) && found.count > text.count : found == text)
        }

        @Test("a reason that does not fit is cut, not overrun")
        func longReason() {
            var failure = [CChar](repeating: 1, count: 20)
            let library = UnsafeMutablePointer<Libcrypto>.allocate(capacity: 1)
            defer { library.deallocate() }
            #expect(libcrypto_open("libnothing.so.3", library, &failure, 10) == 0)
            #expect(failure[9] == 0)
            #expect(failure[10...].allSatisfy { $0 == 1 })
        }

        @Test("no failure leaves an entry in the error queue of the thread")
        func errorQueue() throws {
            var reason: UnsafePointer<CChar>?
            let library = try #require(libcrypto_load(&reason)).pointee
            let key = try PublicKey(Vector.rs256.parameters)
            let failures: [() throws -> Void] = [
                { _ = try PrivateKey(pem: Array("junk".utf8), passphrase: nil) },
                { _ = try PrivateKey(pem: Array(PEM.p256Encrypted.utf8), passphrase: nil) },
                { _ = try PrivateKey(pem: Array(PEM.p256Encrypted.utf8), passphrase: [1]) },
                { _ = try PrivateKey(pem: Array(PEM.secp256k1.utf8), passphrase: nil) },
                { _ = try PrivateKey(pem: Array(PEM.curveOnly.utf8), passphrase: nil) },
                { _ = try PublicKey(.elliptic(.p256, x: PEM.p256Y, y: PEM.p256X)) },
                { _ = try key.isValidSignature([UInt8](repeating: 0xff, count: 256), for: [], .rs256) },
                { _ = try key.isValidSignature([UInt8](repeating: 0x11, count: 256), for: [], .ps256) },
                {
                    let zeros = [UInt8](repeating: 0, count: 60)
                    _ = try SymmetricSeal.open(
                        zeros, key: [UInt8](repeating: 0, count: 32), authenticating: [])
                },
            ]
            for failure in failures {
                try? failure()
                #expect(library.ERR_get_error() == 0)
            }
        }

        @Test("r and s outside 1 ..< order are refused before libcrypto is called")
        func range() throws {
            let library = try SystemCryptography.libcrypto()
            let key = try #require(try library.publicKey(Vector.es256.parameters))
            defer { library.EVP_PKEY_free(key) }
            let order = bytes(hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
            let zero = [UInt8](repeating: 0, count: 32)
            let good = [UInt8](repeating: 1, count: 32)
            let largest: [UInt8] = order.dropLast() + [0x50]
            for bad in [zero, order, [UInt8](repeating: 0xff, count: 32)] {
                #expect(try library.encodedECDSA(bad + good, key: key) == nil)
                #expect(try library.encodedECDSA(good + bad, key: key) == nil)
            }
            #expect(try library.encodedECDSA(largest + largest, key: key) != nil)
        }

        @Test("one key can be used by many threads at once")
        func threads() throws {
            let keys = try PrivateKey.Kind.allCases.map { try SampleKeys.key($0) }
            let valid = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 200) { turn in
                let key = keys[turn % keys.count]
                let message = [UInt8](repeating: UInt8(turn % 256), count: turn)
                guard let algorithm = key.supportedAlgorithms.first,
                    let signature = try? key.sign(message, algorithm),
                    (try? key.publicKey.isValidSignature(signature, for: message, algorithm)) == true,
                    (try? key.publicKey.isValidSignature(signature, for: message + [1], algorithm)) == false,
                    (try? PrivateKey(pem: key.pem, passphrase: nil).publicKey) == key.publicKey
                else { return }
                valid.withLock { $0 += 1 }
            }
            #expect(valid.withLock { $0 } == 200)
        }
    }
#endif
