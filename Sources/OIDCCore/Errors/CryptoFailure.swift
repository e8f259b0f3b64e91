public import OIDCCrypto

extension OIDCError {
    /// Creates an error from a cryptography error: about a bad key, a missing library or a failure of this
    /// program. `subject` names the setting or file with the key.
    package init(_ error: CryptoError, subject: String? = nil, stage: OIDCError.Stage? = nil) {
        let prefix = subject.map { "\($0): " } ?? ""
        switch error {
        case .outOfDescriptors(let text):
            self.init(
                .failed, text, hint: "end other programs, or raise the limit (ulimit -n)", stage: stage)
        case .unavailable(let text):
            let hint = Hint.loading(text, install: "install OpenSSL 3 (Debian, Ubuntu: libssl3)")
            self.init(.failed, text, hint: hint, stage: stage)
        case .invalidKey(let text):
            self.init(.usage, "\(prefix)\(text)", stage: stage)
        case .passphraseNeeded:
            self.init(.usage, "\(prefix)the key is encrypted and no passphrase is given", stage: stage)
        case .wrongPassphrase:
            self.init(.usage, "\(prefix)the passphrase does not decrypt the key", stage: stage)
        case .unsupported(let text):
            self.init(.usage, "\(prefix)not supported: \(text)", stage: stage)
        case .failed(let text):
            self.init(.failed, "\(prefix)\(text)", stage: stage)
        }
    }
}

extension PrivateKey {
    /// Parses a key in the form of a PEM file: PKCS #8, encrypted or not, and the traditional RSA and EC forms.
    public init(pem: Redacted<String>, passphrase: Redacted<String>? = nil) throws(OIDCError) {
        do throws(CryptoError) {
            try self.init(
                pem: Array(pem.revealed.utf8), passphrase: (passphrase?.revealed).map { Array($0.utf8) })
        } catch {
            throw OIDCError(error, subject: "private key")
        }
    }
}

extension Hint {
    /// Returns the hint about a library that cannot be loaded: `install`, or to free memory if the loader had
    /// too little. Only the loader's text distinguishes the two (glibc 2.31 to 2.42).
    package static func loading(_ problem: String, install: Hint) -> Hint {
        let isShort = ["failed to map", "annot allocate", "cannot map"].contains { problem.includes($0) }
        return isShort ? "end other programs, or raise the limit (ulimit -v)" : install
    }
}

/// The hash functions of `OIDCCrypto`, with `OIDCError` as their error.
enum Cryptography {
    static func hash(_ bytes: [UInt8], _ algorithm: HashAlgorithm) throws(OIDCError) -> [UInt8] {
        do { return try Digest.hash(bytes, algorithm) } catch { throw OIDCError(error) }
    }

    static func authenticationCode(
        _ message: [UInt8], key: [UInt8], _ algorithm: HashAlgorithm
    ) throws(OIDCError) -> [UInt8] {
        do { return try Digest.authenticationCode(message, key: key, algorithm) } catch {
            throw OIDCError(error)
        }
    }
}
