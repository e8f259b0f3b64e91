import OIDCCore
import OIDCCrypto

/// A record of a shared store: a readable header and the sealed content. The header is authenticated, so
/// nobody without the key, not even the server, can move a record to another session or give it another
/// version.
struct SealedRecord: Sendable {
    static let formatVersion: Int64 = 1
    /// The greatest version that is believed, far beyond any clock. A later one must still be possible.
    static let greatestVersion: Int64 = 1 << 53

    enum Content: String {
        case session, failure, pending
        /// The place of a session that was removed: the sign-ins that have ended. The version goes on from it.
        case removal
        /// A secret of a sign-in that waits, on this machine only.
        case signIn = "sign-in"
    }

    /// `SessionKey.text`, which names issuer and client; compared exactly. That of a removal is the name of the record.
    var key: String
    var content: Content
    /// The version, which grows with each write.
    var version: Int64
    /// The identifier of the key that sealed it.
    var keyID: String
    private var sealed: [UInt8] = []

    init(
        sealing plain: [UInt8], _ content: Content, of key: String, version: Int64,
        with secret: SealingKeys.Key
    ) throws(OIDCError) {
        self.key = key
        self.content = content
        self.version = version
        keyID = secret.id
        do {
            sealed = try SymmetricSeal.seal(plain, key: secret.secret.revealed, authenticating: context)
        } catch {
            throw OIDCError(error, stage: .store)
        }
    }

    init(stored bytes: [UInt8]) throws(Session.Damage) {
        let stored = try JSONReader(stored: bytes, version: SealedRecord.formatVersion, named: "format")
        key = try stored.required("key", stored.string)
        keyID = try stored.required("key_id", stored.string)
        guard let content = try stored.text("content", "a kind of content", Content.init(rawValue:)) else {
            throw .member("content")
        }
        self.content = content
        version = try stored.required("version", stored.integer)
        guard (1...SealedRecord.greatestVersion).contains(version) else { throw .member("version") }
        sealed = try stored.required("sealed", stored.bytes)
    }

    var bytes: [UInt8] {
        var object = header
        object["sealed"] = .string(Base64URL.encode(sealed))
        return JSONValue.object(object).bytes
    }

    private var header: JSONObject {
        var object = JSONObject()
        object["format"] = JSONValue(SealedRecord.formatVersion)
        object["key"] = .string(key)
        object["content"] = .string(content.rawValue)
        object["version"] = JSONValue(version)
        object["key_id"] = .string(keyID)
        return object
    }

    private var context: [UInt8] { JSONValue.object(header).bytes }

    func open(with secret: SealingKeys.Key) throws(CryptoError) -> [UInt8] {
        try SymmetricSeal.open(sealed, key: secret.secret.revealed, authenticating: context)
    }
}
