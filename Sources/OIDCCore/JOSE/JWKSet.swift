package import OIDCCrypto

/// The keys of a provider (RFC 7517 §5). Keys of unknown kinds are skipped.
public struct JWKSet: Hashable, Sendable {
    /// The reason why a string is not a key set.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// The error in the document.
        public let reason: String

        /// The error in the document.
        public var description: String { reason }
    }

    /// A skipped key, with the reason.
    struct Skipped: Hashable, Sendable {
        let keyID: String?
        let reason: String
    }

    package let keys: [JSONWebKey]
    let skipped: [Skipped]
    /// The names of keys whose private half is in the document too: everyone who reads it can sign.
    package let publishedPrivateKeyIDs: [String]

    /// Creates a set without keys.
    public init() {
        self.init(keys: [])
    }

    package init(keys: [JSONWebKey]) {
        self.init(keys, skipped: [])
    }

    private init(_ keys: [JSONWebKey], skipped: [Skipped]) {
        self.keys = keys
        self.skipped = skipped
        publishedPrivateKeyIDs = []
    }

    /// Parses a key set, or a single key.
    public init(parsing bytes: [UInt8]) throws(Malformed) {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw Malformed(reason: "not valid JSON: \(error)")
        }
        try self.init(json)
    }

    /// Parses a key set (RFC 7517 §5), or a single key; keys of unknown kinds are skipped.
    public init(_ json: JSONValue) throws(Malformed) {
        guard let members = json.object else {
            throw Malformed(reason: "expected an object, found \(json.typeName)")
        }
        let reader = JSONReader(members) { name, expected, flaw in
            Malformed(reason: "\(name): expected \(expected), found \(flaw.found)")
        }
        let isKey = members["keys"] == nil && members["kty"] != nil
        let entries = isKey ? [json] : try reader.required("keys", expected: "an array", reader.array)
        var keys: [JSONWebKey] = []
        var skipped: [Skipped] = []
        for entry in entries {
            do throws(JSONWebKey.Unusable) {
                keys.append(try JSONWebKey(entry))
            } catch {
                skipped.append(Skipped(keyID: entry["kid"]?.string, reason: error.reason))
            }
        }
        self.keys = keys
        self.skipped = skipped
        // `d` is the private number of RSA, EC and OKP keys (RFC 7518 §6.2.2, §6.3.2; RFC 8037 §2).
        publishedPrivateKeyIDs = entries.filter { $0["d"]?.string != nil }.map { $0["kid"]?.string ?? "" }
    }

    /// Returns the set without the keys of other issuers. Entra ID publishes one set for all its tenants, in
    /// which a key may name the issuer that it signs for, or a template (`IssuerTemplate`).
    package func of(_ issuer: String?) -> JWKSet {
        let others = keys.filter { !$0.mayBe(of: issuer) }
        guard !others.isEmpty else { return self }
        return JWKSet(
            keys.filter { $0.mayBe(of: issuer) },
            skipped: skipped
                + others.map {
                    Skipped(
                        keyID: $0.keyID,
                        reason: "issuer is \(DisplayText.quoted($0.issuer ?? "", limit: 120))")
                })
    }

    /// Returns the keys to try: those with the token's `kid`, or those without a `kid` if no key has it. For
    /// a token without `kid`, returns all keys that fit.
    package func candidates(
        algorithm: SignatureAlgorithm, keyID: String?, allowsSymmetric: Bool
    ) -> [JSONWebKey] {
        named(keyID).filter { $0.misfit(algorithm, allowsSymmetric: allowsSymmetric) == nil }
    }

    /// Returns whether a usable key has this `kid`.
    func contains(keyID: String) -> Bool {
        keys.contains { $0.keyID.map { ExactText.isSame($0, keyID) } ?? false }
    }

    func named(_ keyID: String?) -> [JSONWebKey] {
        guard let keyID else { return keys }
        let named = keys.filter { $0.keyID.map { ExactText.isSame($0, keyID) } ?? false }
        return named.isEmpty ? keys.filter { $0.keyID == nil } : named
    }

    /// The key set as JSON, for publication.
    public var json: JSONValue { ["keys": .array(keys.map(\.json))] }

    /// Returns the request for a provider's keys (OIDC Discovery §3, `jwks_uri`).
    public static func call(_ url: WebURL) -> EndpointCall<JWKSet> {
        EndpointCall(.json(url), stage: .keys) { response throws(OIDCError) in
            guard response.isSuccess else {
                throw OAuthErrorResponse.failure(response, stage: .keys, url: url)
            }
            do throws(Malformed) {
                return try JWKSet(parsing: response.body)
            } catch {
                throw OIDCError(
                    .refused, "jwks: \(url.withoutQuery) is not a key set: \(error)", stage: .keys)
            }
        }
    }
}

extension JSONWebKey {
    /// Returns whether the key has no issuer of its own, or this one.
    fileprivate func mayBe(of issuer: String?) -> Bool {
        guard let own = self.issuer else { return true }
        guard let issuer else { return false }
        return ExactText.isSame(own, issuer) || IssuerTemplate(own)?.tenant(of: issuer) != nil
    }

    /// Returns the reason why this key must not verify a signature of `algorithm`; nil if it may.
    func misfit(_ algorithm: SignatureAlgorithm, allowsSymmetric: Bool) -> String? {
        if let use, use != "sig" { return "use is \(DisplayText.quoted(use, limit: 60))" }
        if let operations, !operations.contains("verify") { return "key_ops has no \"verify\"" }
        if let name = self.algorithm, SignatureAlgorithm(joseName: name) != algorithm {
            return "alg is \(DisplayText.quoted(name, limit: 60))"
        }
        switch material {
        case .symmetric(let secret):
            guard algorithm.isSymmetric else { return "kty is \"oct\"" }
            guard allowsSymmetric else { return "symmetric keys in a key set are not used" }
            let needed = algorithm.hash?.byteCount ?? 0
            guard secret.revealed.count >= needed else {
                return "\(algorithm.rawValue) needs a secret of \(needed) bytes or more (RFC 7518 §3.2)"
            }
            return nil
        case .asymmetric(let parameters):
            return parameters.fits(algorithm) ? nil : "kty or crv does not fit"
        }
    }
}

extension PublicKey.Parameters {
    fileprivate func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        switch self {
        case .rsa: !algorithm.isSymmetric && algorithm.curve == nil && algorithm != .edDSA
        case .elliptic(let curve, _, _): algorithm.curve == curve
        case .ed25519: algorithm == .edDSA
        }
    }
}
