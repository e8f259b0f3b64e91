import OIDCCore
import OIDCCrypto

/// The encryption of ID tokens to register (OpenID Connect Registration §2).
struct RegisteredEncryption {
    private let algorithm: KeyManagement
    /// The content encryption; nil leaves the standard's default.
    private let content: ContentEncryption?
    /// The public key; nil for `dir`, which uses the client's secret.
    private let key: JSONValue?

    /// Creates the encryption that the settings name; nil if they name none.
    init?(_ provider: ProviderContext) throws(OIDCError) {
        guard let algorithm = provider.settings.client.encryptionAlgorithm else { return nil }
        self.algorithm = algorithm
        content = provider.settings.client.contentEncryption
        guard algorithm != .direct else {
            key = nil
            return
        }
        guard let own = try provider.decryptionKey() else {
            throw .usage(
                "\(Setting.idTokenEncryptedResponseAlg.name): \(algorithm.rawValue) needs a private key, and none is set",
                hint: "set \(Setting.decryptionKeyFile.name)")
        }
        _ = try TokenDecryption(own, registered: algorithm)
        var json = JSONWebKey(publicKey: own.publicKey).json.object ?? JSONObject()
        json["kid"] = .string(try JSONWebKey.thumbprint(of: own.publicKey))
        json["use"] = "enc"
        json["alg"] = .string(algorithm.rawValue)
        key = .object(json)
    }

    func add(to registration: inout Registration) {
        registration.extra["id_token_encrypted_response_alg"] = .string(algorithm.rawValue)
        registration.extra["id_token_encrypted_response_enc"] = content.map { .string($0.rawValue) }
        guard let key else { return }
        let others = registration.keys?["keys"]?.array ?? []
        registration.keys = ["keys": .array(others + [key])]
    }
}
