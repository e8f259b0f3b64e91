package import OIDCCrypto

/// A client's means to decrypt what its provider encrypts to it: ID tokens and UserInfo answers (RFC 7516, OIDC Core
/// §10.2).
package struct TokenDecryption: Sendable {
    /// The key whose public half the provider has.
    private let key: PrivateKey?
    /// The client's secret, for `dir` alone.
    private let secret: Redacted<String>?
    /// The algorithms that are accepted.
    private let algorithms: [KeyManagement]
    /// Whether the client is registered for encrypted ID tokens, so others are refused (OIDC Core §3.1.3.7, step
    /// 1).
    private let isRequired: Bool
    /// The content encryptions that are accepted.
    private let contents: [ContentEncryption]

    /// Creates the means from a private key, which decides the algorithms; `registered` is the only one if it is not
    /// nil.
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

    /// Creates the means of a client that is registered for `dir`.
    package init(secret: Redacted<String>, content: ContentEncryption? = nil) {
        key = nil
        self.secret = secret
        algorithms = [.direct]
        isRequired = true
        contents = content.map { [$0] } ?? ContentEncryption.allCases
    }

    private static func algorithms(of key: PrivateKey) -> [KeyManagement] {
        switch key.publicKey.parameters {
        // A key for PSS alone must not decrypt (RFC 4055 §1.2).
        case .rsa: key.supportedAlgorithms.contains(.rs256) ? [.rsaOAEP256, .rsaOAEP] : []
        case .elliptic: [.ecdhES, .ecdhESA128KW, .ecdhESA256KW]
        case .ed25519: []
        }
    }

    /// Returns the signed token inside an encrypted ID token (RFC 7519 §5.2), or one that is not encrypted as it is.
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

    /// Returns the text inside an encrypted token.
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
        // A key that cannot be found is replaced by a random one, so all faults look and take the same (RFC 7516
        // §11.5).
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

    /// Checks the header, which is not secret, before any key is used (RFC 7516 §5.2, steps 3 to 5). `zip` is refused
    /// as a small token could unpack to a huge one (RFC 8725 §3.6), and so is every critical extension.
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

    /// Returns the content encryption key, or nil if it cannot be found, whatever the reason.
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
            // Where no key is sent, its part is empty (RFC 7516 §5.2, steps 10 and 11).
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

    /// Returns the key agreed with the sender's ephemeral one, whose point must be on our curve (RFC 7518 §4.6.1.1;
    /// RFC 8725 §3.4).
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
    /// Creates an RSA or elliptic key from a JSON Web Key that is not for signatures (RFC 7518 §6.2.2, §6.3.2).
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
