import OIDCCrypto

/// Proof Key for Code Exchange (RFC 7636): binds the code to the program that requested it.
public struct PKCE: Hashable, Sendable {
    /// `code_verifier`, which only the token request contains.
    public let verifier: Redacted<String>

    /// `code_challenge_method`: `plain` protects nothing and is never used (RFC 7636 §7.2).
    public static let method = "S256"
    /// `code_challenge_method`, always `S256`.
    public var method: String { PKCE.method }

    /// Generates a verifier of 32 random bytes, which are 43 characters (RFC 7636 §4.1).
    public static func generate(random: (Int) -> [UInt8]) -> PKCE {
        PKCE(unchecked: Base64URL.encode(random(32)))
    }

    /// Creates PKCE values from a verifier of 43 to 128 unreserved characters (RFC 7636 §4.1).
    public init(verifier: String) throws(OIDCError) {
        let count = verifier.utf8.count
        guard (43...128).contains(count) else {
            throw .usage("code_verifier: expected 43 to 128 characters, found \(count)")
        }
        guard verifier.utf8.allSatisfy({ ASCII.isAlphanumeric($0) || "-._~".utf8.contains($0) }) else {
            throw .usage("code_verifier: expected letters, digits, - . _ and ~ only")
        }
        self.init(unchecked: verifier)
    }

    private init(unchecked verifier: String) {
        self.verifier = Redacted(verifier)
    }

    /// `code_challenge`: the base64url form of the verifier's SHA-256 hash (RFC 7636 §4.2).
    public var challenge: String {
        get throws(OIDCError) {
            Base64URL.encode(try Cryptography.hash(Array(verifier.revealed.utf8), .sha256))
        }
    }
}
