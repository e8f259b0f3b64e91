public import OIDCCrypto

extension OIDCError {
    /// Turns a cryptography error into one that says whether a key has to be fixed, a library is missing, or
    /// this program is at fault. `subject` names the setting or file with the key.
    public init(_ error: CryptoError, subject: String? = nil, stage: Stage? = nil) {
        let prefix = subject.map { "\($0): " } ?? ""
        switch error {
        case .outOfDescriptors(let text):
            self.init(
                .failed, text, hint: "end other programs, or raise the limit (ulimit -n)", stage: stage)
        case .unavailable(let text):
            self.init(
                .failed, text, hint: "install OpenSSL 3 (Debian, Ubuntu: libssl3)", stage: stage)
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

/// The operations of `OIDCCrypto`, with errors made for users.
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
