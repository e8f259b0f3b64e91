package import OIDCCrypto

/// The decryption of what the provider encrypts to this client: ID tokens, and UserInfo, introspection and
/// authorization responses (RFC 7516, OIDC Core §10.2).
package struct TokenDecryption: Sendable {
    /// The key whose public half the provider has.
    private let key: PrivateKey?
    /// The client's secret, which is used only for `dir`.
    private let secret: Redacted<String>?
    /// The algorithms that are accepted.
    private let algorithms: [KeyManagement]
    /// Whether ID tokens that are not encrypted are refused, because the client is registered for encryption (OIDC
    /// Core §3.1.3.7, step 1).
    private let isRequired: Bool
    /// The content encryptions that are accepted.
    private let contents: [ContentEncryption]

    /// Creates a decryption with a private key. It accepts every algorithm that the key supports, or only
    /// `registered`; and every content encryption, or only `content`.
    package init(
        _ key: PrivateKey, registered: KeyManagement? = nil, content: ContentEncryption? = nil
    ) throws(OIDCError) {
        let fitting = TokenDecryption.algorithms(of: key)
        guard !fitting.isEmpty else {
            throw .usage("a key of this type cannot decrypt: expected an RSA, P-256, P-384 or P-521 key")
        }
        if let registered, !fitting.contains(registered) {
            let names = fitting.map(\.rawValue).joined(separator: ", ")
            throw .usage("the private key decrypts \(names), not \(registered.rawValue)")
        }
        self.key = key
        secret = nil
        algorithms = registered.map { [$0] } ?? fitting
        isRequired = registered != nil
        contents = content.map { [$0] } ?? ContentEncryption.allCases
    }

    /// Creates a decryption with the client's secret, for a client that is registered for `dir`.
    package init(secret: Redacted<String>, content: ContentEncryption? = nil) {
        key = nil
        self.secret = secret
        algorithms = [.direct]
        isRequired = true
        contents = content.map { [$0] } ?? ContentEncryption.allCases
    }

    private static func algorithms(of key: PrivateKey) -> [KeyManagement] {
        switch key.publicKey.parameters {
        // A key that is restricted to PSS signatures must not decrypt (RFC 4055 §1.2).
        case .rsa: key.supportedAlgorithms.contains(.rs256) ? [.rsaOAEP256, .rsaOAEP] : []
        case .elliptic: [.ecdhES, .ecdhESA128KW, .ecdhESA256KW]
        case .ed25519: []
        }
    }

    /// Decrypts an ID token and returns the signed token inside (RFC 7519 §5.2). A token that is not encrypted is
    /// returned unchanged, or refused if the client is registered for encryption.
    static func idToken(_ compact: String, _ decryption: TokenDecryption?) throws(OIDCError) -> String {
        guard JWE.isEncrypted(compact) else {
            guard decryption?.isRequired != true else {
                throw .untrusted(
                    .idToken,
                    "expected an encrypted token, as the client is registered for, found a plain one",
                    hint: .advice(.checkTokenEncryption))
            }
            return compact
        }
        return try decrypted(compact, decryption, stage: .idToken)
    }

    /// Returns the content of an encrypted token.
    package static func decrypted(
        _ compact: String, _ decryption: TokenDecryption?, stage: Stage
    ) throws(OIDCError) -> String {
        guard let decryption else {
            throw .untrusted(
                stage, "the token is encrypted, and there is no key to decrypt it",
                hint: .advice(.giveDecryptionKey))
        }
        let token: JWE
        do throws(JWS.Malformed) { token = try JWE(compact: compact) } catch {
            throw .untrusted(stage, error.reason)
        }
        let (algorithm, encryption) = try decryption.checkHeader(token, stage)
        // Without a content key, a random one is used, so every failure looks the same and takes the same time (RFC
        // 7516 §11.5).
        let contentKey =
            try decryption.contentKey(token, algorithm, encryption) ?? Random.bytes(encryption.keyByteCount)
        let plain: [UInt8]?
        do throws(CryptoError) {
            plain = try encryption.open(
                token.sealed, key: contentKey, nonce: token.nonce, authenticating: token.context)
        } catch {
            throw OIDCError(error, stage: stage)
        }
        guard let plain, let text = String(validating: plain, as: UTF8.self) else {
            throw .untrusted(
                stage, "the token cannot be decrypted: it was changed, or is encrypted to another key",
                hint: .advice(.checkDecryptionKey))
        }
        return text
    }

    /// Checks the header before any key is used (RFC 7516 §5.2, steps 3 to 5). Refuses `zip`, because a small token
    /// could decompress to a huge one (RFC 8725 §3.6), and `crit`, because no extension is supported.
    private func checkHeader(
        _ token: JWE, _ stage: Stage
    ) throws(OIDCError) -> (KeyManagement, ContentEncryption) {
        let reader = JSONReader(token.header) { name, expected, flaw in
            OIDCError.untrusted(stage, name, expected: expected, found: flaw.found)
        }
        let name = try reader.required("alg", expected: "a string", reader.string)
        guard let algorithm = KeyManagement(rawValue: name), algorithms.contains(algorithm) else {
            throw .untrusted(
                stage, "alg", expected: algorithms.map(\.rawValue).joined(separator: ", "),
                found: DisplayText.quoted(name, limit: 60),
                hint: .advice(name == "dir" ? .allowDirectEncryption : .checkTokenEncryption))
        }
        let encryptionName = try reader.required("enc", expected: "a string", reader.string)
        guard let encryption = ContentEncryption(rawValue: encryptionName), contents.contains(encryption)
        else {
            throw .untrusted(
                stage, "enc", expected: contents.map(\.rawValue).joined(separator: ", "),
                found: DisplayText.quoted(encryptionName, limit: 60),
                hint: .advice(.checkTokenEncryption))
        }
        for member in ["zip", "crit"] where token.header[member] != nil {
            throw .untrusted(stage, member, expected: "none", found: "one")
        }
        return (algorithm, encryption)
    }

    /// Returns the content encryption key; nil if it cannot be decrypted or agreed on.
    private func contentKey(
        _ token: JWE, _ algorithm: KeyManagement, _ encryption: ContentEncryption
    ) throws(OIDCError) -> [UInt8]? {
        do throws(CryptoError) {
            let found: [UInt8]?
            switch algorithm {
            case .rsaOAEP, .rsaOAEP256:
                found = try algorithm.oaepHash.flatMap { hash throws(CryptoError) in
                    try key?.decryptOAEP(token.encryptedKey, hash)
                }
            case .ecdhES, .ecdhESA128KW, .ecdhESA256KW:
                guard let agreed = try agreedKey(token, algorithm, encryption) else { return nil }
                let isWrapped = algorithm.wrappingKeyByteCount != nil
                found = isWrapped ? try KeyWrap.unwrap(token.encryptedKey, with: agreed) : agreed
            case .direct:
                found = try secret.map { secret throws(CryptoError) in try encryption.key(from: secret) }
            }
            // If the algorithm sends no key, that part of the token must be empty (RFC 7516 §5.2, steps 10 and 11).
            let isSent = algorithm != .ecdhES && algorithm != .direct
            guard isSent || token.encryptedKey.isEmpty, found?.count == encryption.keyByteCount else {
                return nil
            }
            return found
        } catch {
            switch error {
            case .unavailable, .outOfDescriptors: throw OIDCError(error)
            case .invalidKey, .passphraseNeeded, .wrongPassphrase, .unsupported, .failed: return nil
            }
        }
    }

    /// Returns the key agreed with the sender's ephemeral key, which must be a point on the curve of our key (RFC 7518
    /// §4.6.1.1, RFC 8725 §3.4).
    private func agreedKey(
        _ token: JWE, _ algorithm: KeyManagement, _ encryption: ContentEncryption
    ) throws(CryptoError) -> [UInt8]? {
        guard let key, let member = token.header["epk"], let ephemeral = try? JSONWebKey(member),
            case .asymmetric(let parameters) = ephemeral.material
        else { return nil }
        return try JWE.agreedKey(key, PublicKey(parameters), algorithm, encryption, token.header)
    }
}

extension PrivateKey {
    /// Creates an RSA or elliptic key from a JSON Web Key whose `use` is `enc` or absent (RFC 7518 §6.2.2, §6.3.2).
    package init(decryptionJWK bytes: [UInt8]) throws(CryptoError) {
        guard let members = (try? JSONValue(parsing: bytes))?.object else {
            throw .invalidKey("not a JSON Web Key")
        }
        let reader = JSONReader(members) { name, expected, flaw in
            CryptoError.invalidKey(
                flaw.isMissing ? "\(name) is missing" : "\(name): expected \(expected)")
        }
        guard try reader.string("use") ?? "enc" == "enc" else {
            throw .invalidKey("use: expected \"enc\", found another")
        }
        switch try reader.required("kty", reader.string) {
        case "RSA":
            var numbers: [[UInt8]] = []
            for name in ["n", "e", "d", "p", "q", "dp", "dq", "qi"] {
                numbers.append(try reader.requiredBytes(name))
            }
            try self.init(rsa: numbers)
        case "EC":
            guard let curve = EllipticCurve(rawValue: try reader.required("crv", reader.string)) else {
                throw .unsupported("the curve in crv")
            }
            try self.init(
                curve, x: reader.requiredBytes("x"), y: reader.requiredBytes("y"),
                d: reader.requiredBytes("d"))
        default: throw .unsupported("the type of key in kty")
        }
    }
}

extension JSONFlaw {
    fileprivate var isMissing: Bool {
        if case .missing = self { true } else { false }
    }
}
