import OIDCCore
import OIDCCrypto

/// The key for what the provider encrypts to this client.
extension ProviderContext {
    /// Returns the means to decrypt that the settings give; nil if they give none. `secret` is the client's.
    func decryption(secret: Redacted<String>?) throws(OIDCError) -> TokenDecryption? {
        let registered = settings.client.encryptionAlgorithm
        let name = Setting.idTokenEncryptedResponseAlg.name
        if registered == .direct {
            guard let secret else {
                throw .usage(
                    "\(name): dir needs the client's secret, and none is set",
                    hint: .advice(.giveClientSecret))
            }
            return TokenDecryption(secret: secret, content: settings.client.contentEncryption)
        }
        guard let key = try decryptionKey() else {
            guard let registered else { return nil }
            throw .usage(
                "\(name): \(registered.rawValue) needs a private key, and none is set",
                hint: "set \(Setting.decryptionKeyFile.name)")
        }
        do throws(OIDCError) {
            return try TokenDecryption(
                key, registered: registered, content: settings.client.contentEncryption)
        } catch {
            var error = error
            error.message = "\(Setting.decryptionKeyFile.name): \(error.message)"
            throw error
        }
    }

    /// Returns the key in `decryption_key_file`, PEM or JWK; nil if there is none.
    func decryptionKey() throws(OIDCError) -> PrivateKey? {
        guard let text = try secrets.text(settings.client.decryptionKey) else { return nil }
        guard text.revealed.first == "{" else { return try privateKey(text, of: .decryptionKeyFile) }
        do throws(CryptoError) { return try PrivateKey(decryptionJWK: Array(text.revealed.utf8)) } catch {
            throw OIDCError(error, subject: Setting.decryptionKeyFile.name)
        }
    }
}
