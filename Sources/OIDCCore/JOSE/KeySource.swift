import OIDCCrypto

/// A source of a provider's keys: a cache, and the provider if that is not enough.
public protocol KeySource {
    /// Returns the keys; with `refetching`, the provider's current ones.
    func keys(refetching: Bool) throws(OIDCError) -> JWKSet

    /// Whether `keys(refetching: false)` may return keys that are older than the token.
    var mayBeStale: Bool { get }
}

/// A fixed key set that is never refetched.
public struct FixedKeys: KeySource, Sendable {
    /// The keys.
    public let set: JWKSet

    /// Creates a source of a fixed key set.
    public init(_ set: JWKSet) {
        self.set = set
    }

    /// Returns the keys.
    public func keys(refetching: Bool) -> JWKSet { set }
    /// Always false, as there is no newer set.
    public var mayBeStale: Bool { false }
}

/// The rules for a token's signature.
struct SignatureRules {
    /// The issuer of the signature, if the token does not name it.
    var issuer: String?
    var allowedAlgorithms: [String]?
    /// The secret for HMAC; nil unless the client is registered for it (OIDC Core §10.1).
    var clientSecret: Redacted<String>?
    /// The `typ` of the token; nil accepts any (RFC 8725 §3.11).
    var type: String?
    /// Whether the token may have no `typ`.
    var mayLackType = false
    let stage: Stage

    /// Reads a token and checks its header, which needs no key.
    func read(_ compact: String) throws(OIDCError) -> (token: JWS, claims: TokenClaims) {
        let token: JWS
        do throws(JWS.Malformed) { token = try JWS(compact: compact) } catch {
            throw .untrusted(stage, error.reason)
        }
        try checkType(token)
        try checkHeader(token)
        guard let members = token.claims else {
            throw .untrusted(stage, token.claimsProblem ?? "the payload is not a JSON object")
        }
        return (token, TokenClaims(members: members, stage: stage))
    }

    /// Refuses every other kind of token, such as an ID token that the issuer signed for the same client.
    /// `application/` may be left out (RFC 7515 §4.1.9).
    private func checkType(_ token: JWS) throws(OIDCError) {
        guard let type else { return }
        let found = token.header["typ"]
        if found == nil, mayLackType { return }
        let names = [type, "application/\(type)"]
        guard let text = found?.string, names.contains(where: { ASCII.isSameIgnoringCase($0, text) }) else {
            let shown = found.map { $0.string.map { DisplayText.quoted($0, limit: 60) } ?? $0.typeName }
            throw .untrusted(stage, "typ", expected: "\"\(type)\"", found: shown ?? "none")
        }
    }

    /// Checks `alg` and `crit`, which needs no key. HMAC is accepted only with the client's own secret, so a
    /// public key cannot be misused as one (CVE-2015-9235).
    func checkHeader(_ token: JWS) throws(OIDCError) {
        do throws(JWS.HeaderRefusal) {
            let algorithm = try token.acceptedAlgorithm(allowed: allowedAlgorithms)
            guard !algorithm.isSymmetric || clientSecret != nil else {
                throw JWS.HeaderRefusal(
                    "alg", expected: "a signature with the \(stage == .claims ? "issuer" : "provider")'s key",
                    found: algorithm.rawValue)
            }
        } catch {
            throw OIDCError(.untrusted, stage, error.cause, hint: registrationHint(token))
        }
    }

    private func registrationHint(_ token: JWS) -> Hint? {
        guard clientSecret == nil, let algorithm = token.algorithm, algorithm.isSymmetric else { return nil }
        return switch stage {
        case .idToken, .userInfo, .introspection: .allowAlgorithm(algorithm.rawValue, in: stage)
        default: nil
        }
    }

    /// Checks the signature. If the key is unknown or the signature fails, the keys are fetched again, once.
    func checkSignature(_ token: JWS, keys source: any KeySource) throws(OIDCError) {
        guard let algorithm = token.algorithm else { throw .untrusted(stage, "alg: expected an algorithm") }
        var check: SignatureCheck
        if algorithm.isSymmetric {
            let secret = (clientSecret?.revealed).map { Array($0.utf8) } ?? []
            let keys = JWKSet(keys: [JSONWebKey(secret: Redacted(secret))])
            check = try token.verify(algorithm, keys: keys, allowsSymmetric: true)
        } else {
            let issuer = token.claims?["iss"]?.string ?? self.issuer
            var keys = try source.keys(refetching: false).of(issuer)
            check = try token.verify(algorithm, keys: keys, allowsSymmetric: false)
            if check != .valid, source.mayBeStale {
                keys = try source.keys(refetching: true).of(issuer)
                check = try token.verify(algorithm, keys: keys, allowsSymmetric: false)
            }
            // After a rotation, Hydra 26.2 signs a refreshed ID token with the new key and names the old one
            // (2026-11). The keys are the issuer's own, so it does not matter which one of them verifies.
            if check != .valid, let keyID = token.keyID, keys.contains(keyID: keyID),
                try token.verify(algorithm, keys: keys, allowsSymmetric: false, ignoresKeyID: true) == .valid
            {
                check = .valid
            }
        }
        if case .invalid(let reason) = check {
            throw OIDCError(
                .untrusted, stage, .signature, message: reason,
                hint: algorithm.isSymmetric ? .advice(.signWithPublishedKey) : nil)
        }
    }
}

extension SignatureAlgorithm {
    /// Returns whether a list of algorithms contains only HMAC ones; `none` is ignored.
    package static func areSymmetric(_ names: [String]) -> Bool {
        let names = names.filter { ASCII.lowercased($0) != "none" }
        return !names.isEmpty && names.allSatisfy { SignatureAlgorithm(joseName: $0)?.isSymmetric == true }
    }
}
