package import OIDCCrypto

/// The `alg` of an encrypted token: how its content encryption key is found (RFC 7518 §4.1). RSA1_5 is left out as
/// its padding is an oracle (RFC 8725 §3.2), and PBES2 as the sender chooses its cost.
package enum KeyManagement: String, Sendable, CaseIterable {
    case rsaOAEP = "RSA-OAEP"
    case rsaOAEP256 = "RSA-OAEP-256"
    case ecdhES = "ECDH-ES"
    case ecdhESA128KW = "ECDH-ES+A128KW"
    case ecdhESA256KW = "ECDH-ES+A256KW"
    case direct = "dir"

    /// The hash function of RSA encryption; nil for other algorithms.
    var oaepHash: OAEPHash? {
        switch self {
        case .rsaOAEP: .sha1
        case .rsaOAEP256: .sha256
        case .ecdhES, .ecdhESA128KW, .ecdhESA256KW, .direct: nil
        }
    }

    /// The length of the agreed key in bytes, if that key wraps another one.
    var wrappingKeyByteCount: Int? {
        switch self {
        case .ecdhESA128KW: 16
        case .ecdhESA256KW: 32
        case .rsaOAEP, .rsaOAEP256, .ecdhES, .direct: nil
        }
    }
}

/// An encrypted token in compact form (RFC 7516 §7.1), parsed but not decrypted.
package struct JWE: Sendable {
    /// The greatest length of an encoded header.
    private static let headerLimit = 16_384

    package let header: JSONObject
    let encryptedKey: [UInt8]
    let nonce: [UInt8]
    let sealed: ContentEncryption.Sealed
    /// The authenticated bytes: the header as it was sent (RFC 7516 §5.1, step 14).
    let context: [UInt8]

    /// Returns whether a string has the five parts of an encrypted token.
    package static func isEncrypted(_ compact: String) -> Bool {
        compact.utf8.lazy.filter { $0 == .period }.count == 4
    }

    package init(compact: String) throws(JWS.Malformed) {
        guard compact.utf8.count <= JWS.maximumByteCount else {
            throw JWS.Malformed("longer than \(JWS.maximumByteCount) bytes")
        }
        let parts = Array(compact.utf8).split(
            separator: .period, maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 5 else {
            throw JWS.Malformed("expected five parts between dots, found \(parts.count)")
        }
        guard parts[0].count <= JWE.headerLimit else {
            throw JWS.Malformed("the header is longer than \(JWE.headerLimit) bytes")
        }
        header = try JWS.header(try JWS.decoded(parts[0], "header"))
        encryptedKey = try JWS.decoded(parts[1], "encrypted key")
        nonce = try JWS.decoded(parts[2], "initialization vector")
        sealed = ContentEncryption.Sealed(
            ciphertext: try JWS.decoded(parts[3], "ciphertext"),
            tag: try JWS.decoded(parts[4], "authentication tag"))
        context = Array(parts[0])
    }

    /// Returns AlgorithmID, PartyUInfo and PartyVInfo (RFC 7518 §4.6.2); nil if `apu` or `apv` is not base64url.
    static func agreementInfo(_ algorithm: String, _ header: JSONObject) -> [[UInt8]]? {
        let reader = JSONReader(header) { name, _, _ in JWS.Malformed(name) }
        guard let parties = try? [reader.bytes("apu") ?? [], reader.bytes("apv") ?? []] else { return nil }
        return [Array(algorithm.utf8)] + parties
    }

    /// Returns the key that two parties agree on: for the content, or for wrapping its key (RFC 7518 §4.6).
    static func agreedKey(
        _ own: PrivateKey, _ peer: PublicKey, _ algorithm: KeyManagement, _ encryption: ContentEncryption,
        _ header: JSONObject
    ) throws(CryptoError) -> [UInt8]? {
        let count = algorithm.wrappingKeyByteCount
        let name = count == nil ? encryption.rawValue : algorithm.rawValue
        guard let info = agreementInfo(name, header) else { return nil }
        return try ConcatKDF.derive(
            own.sharedSecret(with: peer), info: info, byteCount: count ?? encryption.keyByteCount)
    }

    /// The header of an encrypted token with a signed one in it (RFC 7519 §5.2).
    package static var nested: JSONObject {
        var header = JSONObject()
        header["cty"] = "JWT"
        return header
    }

    /// Encrypts to a public key of the receiver.
    package static func encrypt(
        _ plain: [UInt8], to key: PublicKey, _ algorithm: KeyManagement, _ encryption: ContentEncryption,
        header: JSONObject = JWE.nested
    ) throws(OIDCError) -> String {
        do throws(CryptoError) {
            var header = header
            header["alg"] = .string(algorithm.rawValue)
            header["enc"] = .string(encryption.rawValue)
            if let hash = algorithm.oaepHash {
                let contentKey = Random.bytes(encryption.keyByteCount)
                return try seal(
                    plain, header, contentKey, key.encryptOAEP(contentKey, hash), encryption)
            }
            guard case .elliptic(let curve, _, _) = key.parameters else {
                throw .unsupported("\(algorithm.rawValue) to a key that is not elliptic")
            }
            let kind: PrivateKey.Kind =
                switch curve {
                case .p256: .p256
                case .p384: .p384
                case .p521: .p521
                }
            let own = try PrivateKey.generate(kind)
            header["epk"] = JSONWebKey.bare(own.publicKey)
            guard let agreed = try agreedKey(own, key, algorithm, encryption, header) else {
                throw .unsupported("apu or apv")
            }
            var (contentKey, encryptedKey): ([UInt8], [UInt8]) = (agreed, [])
            if algorithm.wrappingKeyByteCount != nil {
                contentKey = Random.bytes(encryption.keyByteCount)
                encryptedKey = try KeyWrap.wrap(contentKey, with: agreed)
            }
            return try seal(plain, header, contentKey, encryptedKey, encryption)
        } catch {
            throw OIDCError(error)
        }
    }

    /// Encrypts with the client's secret (`dir`, OIDC Core §10.2).
    package static func encrypt(
        _ plain: [UInt8], with secret: Redacted<String>, _ encryption: ContentEncryption,
        header: JSONObject = JWE.nested
    ) throws(OIDCError) -> String {
        var header = header
        header["alg"] = .string(KeyManagement.direct.rawValue)
        header["enc"] = .string(encryption.rawValue)
        do throws(CryptoError) {
            return try seal(plain, header, encryption.key(from: secret), [], encryption)
        } catch {
            throw OIDCError(error)
        }
    }

    private static func seal(
        _ plain: [UInt8], _ header: JSONObject, _ contentKey: [UInt8], _ encryptedKey: [UInt8],
        _ encryption: ContentEncryption
    ) throws(CryptoError) -> String {
        let protected = Base64URL.encode(JSONValue.object(header).bytes)
        let nonce = Random.bytes(encryption.nonceByteCount)
        let sealed = try encryption.seal(
            plain, key: contentKey, nonce: nonce, authenticating: Array(protected.utf8))
        let others = [encryptedKey, nonce, sealed.ciphertext, sealed.tag].map(Base64URL.encode)
        return ([protected] + others).joined(separator: ".")
    }
}

extension ContentEncryption {
    /// Returns the key that is derived from a client's secret: the first bytes of its hash (OIDC Core §10.2).
    func key(from secret: Redacted<String>) throws(CryptoError) -> [UInt8] {
        let hash = try Digest.hash(Array(secret.revealed.utf8), keyByteCount <= 32 ? .sha256 : .sha512)
        return Array(hash.prefix(keyByteCount))
    }
}
