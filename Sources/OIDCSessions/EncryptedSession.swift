import OIDCCore
import OIDCCrypto

/// An encrypted session, whose file is on disk and whose key is in a keychain. Some keychains are too small
/// for a session (2,560 bytes on Windows, 4,096 for some clients on macOS), but not for a key of 32 bytes.
struct EncryptedSession: Hashable, Sendable {
    static let formatVersion: Int64 = 1
    static let keyByteCount = 32

    /// `SessionKey.text`, compared exactly.
    var key: String
    /// The name of the helper that has the key; `entry` is the URL of the key there.
    var helper: String
    var entry: String
    var sealed: [UInt8] = []

    init(key: SessionKey, helper: String, entry: String) {
        self.key = key.text
        self.helper = helper
        self.entry = entry
    }

    init(stored bytes: [UInt8]) throws(Session.Damage) {
        let stored = try JSONReader(stored: bytes, version: EncryptedSession.formatVersion)
        key = try stored.required("key", stored.string)
        helper = try stored.required("helper", stored.string)
        entry = try stored.required("entry", stored.string)
        sealed = try stored.required("sealed", stored.bytes)
    }

    var json: JSONValue {
        var object = header
        object["sealed"] = .string(Base64URL.encode(sealed))
        return .object(object)
    }

    /// The unencrypted members, which are authenticated with the session.
    private var header: JSONObject {
        var object = JSONObject()
        object["version"] = JSONValue(EncryptedSession.formatVersion)
        object["key"] = .string(key)
        object["helper"] = .string(helper)
        object["entry"] = .string(entry)
        return object
    }

    private var context: [UInt8] { JSONValue.object(header).bytes }

    mutating func seal(_ plain: [UInt8], with secret: [UInt8]) throws(CryptoError) {
        sealed = try SymmetricSeal.seal(plain, key: secret, authenticating: context)
    }

    /// Decrypts the content.
    func open(with secret: [UInt8]) throws(CryptoError) -> [UInt8] {
        try SymmetricSeal.open(sealed, key: secret, authenticating: context)
    }
}
