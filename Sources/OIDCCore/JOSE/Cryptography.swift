import OIDCCrypto

/// The operations of `OIDCCrypto`, with errors fit for people.
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
