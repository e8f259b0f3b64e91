public import OIDCCrypto

/// Demonstrating Proof of Possession (RFC 9449): the proof that the client holds a token's key.
public enum DPoP {
    /// The header of a proof.
    public static let header = "DPoP"
    private static let nonceHeader = "DPoP-Nonce"
    static let tokenType = "dpop+jwt"
    static let missingNonceHint: Hint =
        "the provider sent no DPoP-Nonce header with it: contact the provider"

    /// Adds a hint to the refusal of a request with a proof, if the answer demands a nonce but contains none
    /// that can be used.
    static func explain(_ error: inout OIDCError, isBound: Bool) {
        guard isBound, error.oauthError == "use_dpop_nonce" else { return }
        error.hint = missingNonceHint
    }

    /// Returns the error for a provider that demands another nonce after the demanded one was sent.
    static func anotherNonce(_ stage: Stage) -> OIDCError {
        OIDCError(
            .refused, "\(stage.title): the provider demands another DPoP nonce each time", stage: stage,
            oauthError: "use_dpop_nonce")
    }

    /// Returns the nonce for the next proof (§8.2); nil if it is missing or malformed (§8.1).
    public static func nonce(in response: HTTPResponse) -> String? {
        let values = response.headers.values(nonceHeader)
        guard values.count == 1, let value = values.first, isNonce(value) else { return nil }
        return value
    }

    /// Returns the nonce with which an authorization server demands a proof (§8); nil if it demands none.
    public static func nonce(demandedBy response: HTTPResponse) -> String? {
        guard response.status == 400 || response.status == 401, let nonce = nonce(in: response),
            let json = try? JSONValue(parsing: response.body), json["error"]?.string == "use_dpop_nonce"
        else { return nil }
        return nonce
    }

    /// Returns whether a resource demands a proof with its nonce (§9). The scheme's case does not matter.
    public static func isNonceDemand(resourceResponse response: HTTPResponse) -> Bool {
        response.status == 401 && nonce(in: response) != nil
            && response.challenges.contains { $0.isScheme("DPoP") && $0.error == "use_dpop_nonce" }
    }

    /// Returns `htu`: the URL without query and fragment (§4.2).
    static func target(_ url: WebURL) -> String {
        "\(url.origin)\(url.path.isEmpty ? "/" : url.path)"
    }

    static func accessTokenHash(_ accessToken: String) throws(OIDCError) -> String {
        Base64URL.encode(try Cryptography.hash(Array(accessToken.utf8), .sha256))
    }

    /// Returns whether a string has the form of a nonce: 1*NQCHAR, RFC 6749 appendix A.
    private static func isNonce(_ text: String) -> Bool {
        (1...4_096).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
    }
}

/// The key that a session's tokens are bound to.
public struct DPoPKey: Sendable {
    /// The private key.
    public let privateKey: PrivateKey
    private let signer: JWTSigner
    /// The thumbprint of the key, by which tokens refer to it: `jkt` (§6.1).
    public let thumbprint: String

    /// Creates a DPoP key from a private key.
    public init(_ privateKey: PrivateKey) throws(OIDCError) {
        self.privateKey = privateKey
        signer = try JWTSigner(privateKey)
        thumbprint = try JSONWebKey.thumbprint(of: privateKey.publicKey)
    }

    /// Parses a key from its PEM form.
    public init(pem: Redacted<String>) throws(OIDCError) {
        let key: PrivateKey
        do throws(CryptoError) {
            key = try PrivateKey(pem: Array(pem.revealed.utf8), passphrase: nil)
        } catch {
            throw OIDCError(error, subject: "dpop_key")
        }
        try self.init(key)
    }

    /// Generates a P-256 key.
    public static func generate() throws(OIDCError) -> DPoPKey {
        let key: PrivateKey
        do throws(CryptoError) { key = try PrivateKey.generate(.p256) } catch { throw OIDCError(error) }
        return try DPoPKey(key)
    }

    /// The PEM form of the private key, as stored in a session.
    public var pem: Redacted<String> { Redacted(String(decoding: privateKey.pem, as: UTF8.self)) }

    /// Returns the value of the `DPoP` header for one request (§4.2). A proof is single-use.
    public func proof(
        method: HTTPMethod, url: WebURL, accessToken: String? = nil, nonce: String? = nil, now: OIDCInstant,
        random: (Int) -> [UInt8]
    ) throws(OIDCError) -> String {
        var header = JSONObject()
        header["typ"] = .string(DPoP.tokenType)
        header["jwk"] = JSONWebKey.bare(privateKey.publicKey)
        var claims = JSONObject()
        claims["jti"] = .string(Base64URL.encode(random(16)))
        claims["htm"] = .string(method.name)
        claims["htu"] = .string(DPoP.target(url))
        claims["iat"] = JSONValue(now.adding(-ClientAssertion.allowance).secondsSinceEpoch)
        if let accessToken { claims["ath"] = .string(try DPoP.accessTokenHash(accessToken)) }
        claims["nonce"] = nonce.map { .string($0) }
        return try signer.sign(header: header, claims: claims)
    }
}
