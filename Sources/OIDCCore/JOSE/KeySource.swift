import OIDCCrypto

/// Where a provider's keys come from: a cache first, the provider when that is not enough.
public protocol KeySource {
    /// The keys at hand; with `refetching`, the provider's keys as they are now.
    func keys(refetching: Bool) throws(OIDCError) -> JWKSet

    /// Whether what `keys(refetching: false)` gave may be older than the token.
    var mayBeStale: Bool { get }
}

/// Keys that are what they are: from a file, or a test.
public struct FixedKeys: KeySource, Sendable {
    /// The keys.
    public let set: JWKSet

    /// Makes a source of keys that never change.
    public init(_ set: JWKSet) {
        self.set = set
    }

    /// Returns the keys.
    public func keys(refetching: Bool) -> JWKSet { set }
    /// False: there is no newer set.
    public var mayBeStale: Bool { false }
}

/// Whose signatures a token may carry.
struct SignatureRules {
    /// The issuer that signs, if the token does not name it.
    var issuer: String?
    var allowedAlgorithms: [String]?
    /// For HMAC, where the client is registered so (OIDC Core §10.1).
    var clientSecret: Redacted<String>?
    let stage: Stage

    /// `alg` and `crit`, which need no key. HMAC is for the client's own secret alone, so nobody signs
    /// with a public key as if it were one (CVE-2015-9235).
    func checkHeader(_ token: JWS) throws(OIDCError) {
        do throws(JWS.HeaderRefusal) {
            let algorithm = try token.acceptedAlgorithm(allowed: allowedAlgorithms)
            guard !algorithm.isSymmetric || clientSecret != nil else {
                throw JWS.HeaderRefusal(
                    "alg", expected: "a signature with the provider's key", found: algorithm.rawValue)
            }
        } catch {
            throw OIDCError(.untrusted, stage, error.cause, hint: registrationHint(token))
        }
    }

    private func registrationHint(_ token: JWS) -> Hint? {
        guard stage == .idToken, clientSecret == nil, let algorithm = token.algorithm, algorithm.isSymmetric
        else { return nil }
        return .allowAlgorithm(algorithm.rawValue)
    }

    /// The signature; a key that is unknown, or keys that do not verify it, are fetched again once.
    func checkSignature(_ token: JWS, keys source: any KeySource) throws(OIDCError) {
        guard let algorithm = token.algorithm else { throw .untrusted(stage, "alg: expected an algorithm") }
        var check: SignatureCheck
        if algorithm.isSymmetric {
            let secret = (clientSecret?.revealed).map { Array($0.utf8) } ?? []
            let keys = JWKSet(keys: [JSONWebKey(secret: Redacted(secret))])
            check = try token.verify(algorithm, keys: keys, allowsSymmetric: true)
        } else {
            let issuer = token.claims?["iss"]?.string ?? self.issuer
            check = try token.verify(
                algorithm, keys: try source.keys(refetching: false).of(issuer), allowsSymmetric: false)
            if check != .valid, source.mayBeStale {
                check = try token.verify(
                    algorithm, keys: try source.keys(refetching: true).of(issuer), allowsSymmetric: false)
            }
        }
        if case .invalid(let reason) = check {
            throw OIDCError(.untrusted, stage, .signature, message: reason)
        }
    }
}

extension SignatureAlgorithm {
    /// Whether a list of algorithms names HMAC and nothing else, `none` aside.
    static func areSymmetric(_ names: [String]) -> Bool {
        let names = names.filter { ASCII.lowercased($0) != "none" }
        return !names.isEmpty && names.allSatisfy { SignatureAlgorithm(joseName: $0)?.isSymmetric == true }
    }
}
