import OIDCCore
import OIDCCrypto

/// A short name of a secret that tells nothing about it: the first 48 bits of its SHA-256.
enum Fingerprint {
    static func of(_ secret: String) throws(OIDCError) -> String {
        do {
            return Base64URL.encode(Array(try Digest.hash(Array(secret.utf8), .sha256).prefix(6)))
        } catch {
            throw OIDCError(error)
        }
    }
}
