import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// A provider with one key of each kind, made once in a run, and what it usually says.
enum SampleProvider {
    static let issuer = "https://op.example"
    static let clientID = "client"
    static let subject = "alice"
    static let nonce = "n-0S6_WzA2Mj"
    static let accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    static let now = Instant(secondsSinceEpoch: 1_700_000_000)
    static let seconds = now.secondsSinceEpoch

    static func key(_ kind: PrivateKey.Kind) throws -> PrivateKey { try SampleKeys.key(kind) }

    static func publicKeys(_ kinds: PrivateKey.Kind..., keyID: String? = nil) throws -> JWKSet {
        JWKSet(keys: try kinds.map { JSONWebKey(publicKey: try key($0).publicKey, keyID: keyID) })
    }

    /// The claims of a good ID token, with some set, or removed by nil.
    static func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims = JSONObject()
        claims["iss"] = .string(issuer)
        claims["sub"] = .string(subject)
        claims["aud"] = .string(clientID)
        claims["exp"] = JSONValue(seconds + 300)
        claims["iat"] = JSONValue(seconds)
        claims["nonce"] = .string(nonce)
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    static func header(_ members: [String: JSONValue]) -> JSONObject {
        members.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { $0[$1.key] = $1.value }
    }

    static func token(
        _ kind: PrivateKey.Kind = .p256, _ algorithm: SignatureAlgorithm? = nil, keyID: String? = nil,
        header: [String: JSONValue] = [:], claims changes: [String: JSONValue?] = [:]
    ) throws -> String {
        try JWTSigner(try key(kind), algorithm: algorithm, keyID: keyID)
            .sign(header: self.header(header), claims: claims(changes))
    }

    /// An unsigned token with any bytes as header and payload.
    static func unsigned(header: String, payload: String, signature: [UInt8] = [1]) -> String {
        [Array(header.utf8), Array(payload.utf8), signature].map { Base64URL.encode($0) }
            .joined(separator: ".")
    }

    static var rules: IDTokenRules { IDTokenRules(issuer: issuer, clientID: clientID, nonce: nonce) }

    @discardableResult
    static func validate(
        _ token: String, _ rules: IDTokenRules = rules, keys: any KeySource, now: Instant = now
    ) throws -> IDToken {
        try IDToken.validate(token, rules, keys: keys, now: now)
    }

    static func untrusted(_ message: String, stage: Stage = .idToken, hint: Hint? = nil) -> OIDCError {
        let isLate = message.hasPrefix("exp: expected a time after")
        return OIDCError(
            .untrusted, "\(stage.rawValue): \(message)", hint: hint ?? (isLate ? .advice(.checkClock) : nil),
            stage: stage, cause: cause(message))
    }

    /// The cause that a message is rendered from; nil for a token that cannot be read at all.
    static func cause(_ message: String) -> OIDCError.Cause? {
        if ["signature: ", "no key", "the key set"].contains(where: message.hasPrefix) { return .signature }
        let pattern = /([^ :]+): expected (.+?), found (.+)/.dotMatchesNewlines()
        guard let match = message.wholeMatch(of: pattern) else { return nil }
        return .mismatch(
            member: String(match.1), expected: String(match.2), found: String(match.3))
    }
}

/// Returns one set at first and another on a refetch, and counts the calls.
final class RotatingKeys: KeySource {
    let first: JWKSet
    let second: Result<JWKSet, OIDCError>
    let mayBeStale: Bool
    private(set) var requests: [Bool] = []

    init(_ first: JWKSet, then second: JWKSet? = nil, mayBeStale: Bool = true) {
        self.first = first
        self.second = .success(second ?? first)
        self.mayBeStale = mayBeStale
    }

    init(_ first: JWKSet, thenFailingWith error: OIDCError) {
        self.first = first
        second = .failure(error)
        mayBeStale = true
    }

    func keys(refetching: Bool) throws(OIDCError) -> JWKSet {
        requests.append(refetching)
        return refetching ? try second.get() : first
    }
}
