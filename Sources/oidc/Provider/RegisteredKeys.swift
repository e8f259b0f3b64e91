import OIDCCore
import OIDCCrypto
import Posix

/// The client's public keys, to be registered (RFC 7591 §2).
struct RegisteredKeys {
    /// The keys as a JWK set.
    let set: JSONValue
    /// The `kid` of the key.
    let keyID: String

    private init(_ key: PublicKey, keyID: String?, algorithm: String?, certificate: String?) throws(OIDCError)
    {
        if let keyID { self.keyID = keyID } else { self.keyID = try JSONWebKey.thumbprint(of: key) }
        var json = JSONWebKey(publicKey: key, keyID: self.keyID).json.object ?? JSONObject()
        json["alg"] = algorithm.map { .string($0) }
        json["x5c"] = certificate.map { [.string($0)] }
        set = ["keys": [.object(json)]]
    }

    /// Creates the keys of the method in the settings; nil if it needs none to be registered.
    init?(_ provider: ProviderContext) throws(OIDCError) {
        let client = provider.settings.client
        switch client.method {
        case "private_key_jwt":
            guard let pem = try provider.secrets.text(client.privateKey) else { return nil }
            try self.init(
                try provider.privateKey(pem).publicKey, keyID: client.privateKeyID,
                algorithm: client.signingAlgorithm, certificate: nil)
        // The provider compares the certificate with the registered one (RFC 8705 §2.2.2).
        case "self_signed_tls_client_auth":
            guard let pem = try provider.secrets.text(client.certificateKey), let file = client.certificate
            else { return nil }
            let text = try UserFile.require(file.path, limit: 1 << 20, named: file.name)
            guard let certificate = RegisteredKeys.certificate(text.bytes) else {
                throw .usage("\(file.name): \(DisplayText.clean(file.path)) contains no PEM certificate")
            }
            try self.init(
                try provider.privateKey(pem, of: .tlsClientKey).publicKey, keyID: nil, algorithm: nil,
                certificate: certificate)
        default: return nil
        }
    }

    /// Returns the first certificate of a PEM file, in base64.
    private static func certificate(_ bytes: [UInt8]) -> String? {
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let start = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"),
            let end = lines[start...].firstIndex(of: "-----END CERTIFICATE-----")
        else { return nil }
        let body = lines[(start + 1)..<end].joined()
        return Base64.decode(body) == nil || body.isEmpty ? nil : body
    }
}
