package import OIDCCore
package import OIDCCrypto

/// The encryption that a client is registered for (OpenID Connect Registration §2).
package struct TokenEncryption: Hashable, Sendable {
    package let algorithm: KeyManagement
    package let content: ContentEncryption

    /// The supported algorithms: this provider encrypts to elliptic keys, and with client secrets.
    static let algorithms: [KeyManagement] = [.ecdhES, .ecdhESA128KW, .ecdhESA256KW, .direct]

    package init(_ algorithm: KeyManagement, _ content: ContentEncryption = .a128CBC) {
        self.algorithm = algorithm
        self.content = content
    }
}

extension DemoClient {
    /// The public key that the client gave for encryption.
    var encryptionKey: PublicKey? {
        for key in keys.keys where key.use == "enc" {
            if case .asymmetric(let parameters) = key.material, case .elliptic = parameters {
                return try? PublicKey(parameters)
            }
        }
        return nil
    }

    /// Returns a string as it is, or encrypted to the client (RFC 7516 §5.1). `header` describes the content.
    func encrypted(
        _ text: String, _ encryption: TokenEncryption?, header: JSONObject = JWE.nested
    ) throws(Refusal) -> String {
        guard let encryption else { return text }
        let plain = Array(text.utf8)
        do throws(OIDCError) {
            if encryption.algorithm == .direct, let secret {
                return try JWE.encrypt(plain, with: secret, encryption.content, header: header)
            }
            guard let key = encryptionKey else { throw .usage("the client has no key for encryption") }
            return try JWE.encrypt(plain, to: key, encryption.algorithm, encryption.content, header: header)
        } catch {
            throw Refusal("server_error", error.message, status: 500)
        }
    }
}
