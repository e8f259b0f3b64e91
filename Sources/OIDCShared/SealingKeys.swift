package import OIDCCore
import OIDCCrypto

/// The keys of a shared store. The first one seals; all of them open, so keys can be rotated machine by
/// machine.
package struct SealingKeys: Sendable {
    struct Key: Sendable {
        /// Twelve hexadecimal digits of the key's hash, which each record contains.
        let id: String
        let secret: Redacted<[UInt8]>

        init(_ bytes: [UInt8]) throws(OIDCError) {
            do throws(CryptoError) {
                let hash = try Digest.hash(Array("oidc store key".utf8) + bytes, .sha256)
                id = ASCII.hexDigits(hash.prefix(6))
            } catch {
                throw OIDCError(error, stage: .store)
            }
            secret = Redacted(bytes)
        }
    }

    static let byteCount = 32
    private static let limit = 2
    let sealing: Key
    private let opening: Key?

    /// Parses the keys: 32 bytes, or one or two lines of base64. `source` names the setting in errors.
    package init(_ bytes: [UInt8], source: String) throws(OIDCError) {
        var keys: [Key] = []
        for secret in try SealingKeys.secrets(bytes, source) { keys.append(try Key(secret)) }
        guard let first = keys.first, keys.count <= SealingKeys.limit else {
            throw SealingKeys.mistake(source, "one key, or two while they are rotated, found \(keys.count)")
        }
        sealing = first
        opening = keys.count > 1 ? keys[1] : nil
    }

    /// Returns a new key as one line of base64url.
    package static func newKey() -> String { Base64URL.encode(Random.bytes(byteCount)) }

    /// The identifiers of the keys, starting with that of the sealing key.
    package var ids: [String] { [sealing.id] + (opening.map { [$0.id] } ?? []) }

    /// Returns the key with an identifier; nil if there is none.
    func key(_ id: String) -> Key? {
        if sealing.id == id { return sealing }
        return opening?.id == id ? opening : nil
    }

    private static func secrets(_ bytes: [UInt8], _ source: String) throws(OIDCError) -> [[UInt8]] {
        if bytes.count == byteCount { return [bytes] }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw mistake(source, "base64, found other bytes")
        }
        var secrets: [[UInt8]] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let word = ASCII.trimmed(line)
            if word.isEmpty { continue }
            guard let secret = Base64URL.decode(word) ?? Base64.decode(word), secret.count == byteCount else {
                throw mistake(source, "\(byteCount) bytes in base64 on line \(secrets.count + 1)")
            }
            secrets.append(secret)
        }
        return secrets
    }

    private static func mistake(_ source: String, _ expected: String) -> OIDCError {
        OIDCError(.usage, "\(source): expected \(expected)", hint: .advice(.makeStoreKey), stage: .store)
    }
}
