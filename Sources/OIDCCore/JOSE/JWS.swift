package import OIDCCrypto

/// A signed token in compact form (RFC 7515 §7.1), parsed but not verified.
package struct JWS: Sendable {
    /// The reason why a string is not a compact JWS.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let reason: String

        package init(_ reason: String) {
            self.reason = reason
        }

        package static let encrypted = Malformed("an encrypted token (JWE) is not supported")

        package var description: String { reason }
    }

    static let maximumByteCount = 1 << 20

    package let header: JSONObject
    package let payload: [UInt8]
    package let signature: [UInt8]
    /// The signed bytes: header and payload as they were sent (RFC 7515 §5.2).
    package let signingInput: [UInt8]
    /// The payload as a JSON object; nil if it is not one.
    package let claims: JSONObject?
    /// The reason why `claims` is nil.
    let claimsProblem: String?

    package init(compact: some StringProtocol) throws(JWS.Malformed) {
        guard compact.utf8.count <= JWS.maximumByteCount else {
            throw Malformed("longer than \(JWS.maximumByteCount) bytes")
        }
        let parts = Array(compact.utf8).split(
            separator: .period, maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count != 5 else { throw .encrypted }
        guard parts.count == 3 else {
            let found = parts.count > 5 ? "more than five" : "\(parts.count)"
            throw Malformed("expected three parts between dots, found \(found)")
        }
        header = try JWS.header(try JWS.decoded(parts[0], "header"))
        payload = try JWS.decoded(parts[1], "payload")
        signature = try JWS.decoded(parts[2], "signature")
        signingInput = Array(compact.utf8.prefix(parts[0].count + 1 + parts[1].count))
        let claims = JWS.claims(payload)
        self.claims = try? claims.get()
        if case .failure(let problem) = claims { claimsProblem = problem.reason } else { claimsProblem = nil }
    }

    static func decoded(_ part: ArraySlice<UInt8>, _ name: String) throws(Malformed) -> [UInt8] {
        guard let bytes = Base64URL.decode(bytes: part) else {
            throw Malformed("the \(name) is not base64url")
        }
        return bytes
    }

    static func header(_ bytes: [UInt8]) throws(Malformed) -> JSONObject {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw Malformed("the header is not valid JSON: \(error)")
        }
        guard let object = json.object else {
            throw Malformed("the header is not a JSON object but \(json.typeName)")
        }
        return object
    }

    private static func claims(_ bytes: [UInt8]) -> Result<JSONObject, Malformed> {
        do {
            let json = try JSONValue(parsing: bytes)
            guard let object = json.object else {
                return .failure(Malformed("the payload is not a JSON object but \(json.typeName)"))
            }
            return .success(object)
        } catch {
            return .failure(Malformed("the payload is not valid JSON: \(error)"))
        }
    }

    /// `alg` as it was written (RFC 7515 §4.1.1).
    package var algorithmName: String? { header["alg"]?.string }

    /// The algorithm that `alg` names; nil if it is not supported.
    package var algorithm: SignatureAlgorithm? { algorithmName.flatMap { SignatureAlgorithm(joseName: $0) } }

    /// `kid`, any string; it is only compared with keys, never used as a path or URL (RFC 7515 §4.1.4).
    package var keyID: String? { header["kid"]?.string }
}

extension SignatureAlgorithm {
    /// Parses an `alg`. `Ed25519` (RFC 9864 §2.2) means the same as the older `EdDSA` here, as no other curve
    /// is supported.
    init?(joseName name: String) {
        self.init(rawValue: name == "Ed25519" ? "EdDSA" : name)
    }
}
