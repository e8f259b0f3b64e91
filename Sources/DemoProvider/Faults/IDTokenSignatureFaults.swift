import OIDCCore
import OIDCCrypto

extension DemoProvider {
    /// The secret that `KeySetFault.symmetric` publishes.
    static let publishedSecret = Array("a secret that everybody can read".utf8)

    func applyToHeader(
        _ fault: IDTokenFault, _ draft: inout TokenDraft, _ client: DemoClient
    ) throws(CryptoError) {
        switch fault {
        case .keyIDMissing: draft.header["kid"] = nil
        case .keyIDUnknown: draft.header["kid"] = "no-such-key"
        case .keyIDHostile: draft.header["kid"] = "../../../../dev/null'; DROP TABLE keys; --"
        case .unsigned, .unsignedMixedCase:
            draft.header["alg"] = fault == .unsigned ? "none" : "nOnE"
            draft.signer = .nobody
        case .hmacWithPublicKey:
            guard let key = keys.current.first else { return }
            draft.sign(withSecret: JSONValue.object(key.publicMembers).bytes)
        case .hmacWithSecret:
            draft.sign(withSecret: Array((client.secret?.revealed ?? "guess").utf8))
        case .algorithmAlternate:
            draft.header["alg"] = draft.header["alg"] == "ES256" ? "RS256" : "ES256"
        case .algorithmUnlisted:
            guard let key = keys.key(for: .ps256) else { return }
            draft.header["alg"] = "PS256"
            draft.header["kid"] = .string(key.id)
            draft.signer = .key(key.key, .ps256)
        case .criticalHeader:
            draft.header["crit"] = ["demo"]
            draft.header["demo"] = true
        case .embeddedKey, .keyAddress, .certificateChain, .certificateAddress:
            try offerForeignKey(fault, &draft)
        default: break
        }
    }

    /// RFC 8725 §3.10: keys that a token itself brings are nobody's.
    private func offerForeignKey(_ fault: IDTokenFault, _ draft: inout TokenDraft) throws(CryptoError) {
        let key = try PrivateKey.generate(.p256)
        draft.header["alg"] = "ES256"
        draft.header["kid"] = nil
        draft.signer = .key(key, .es256)
        let address = JSONValue.string("\(configuration.foreignOrigin)/keys")
        switch fault {
        case .embeddedKey: draft.header["jwk"] = JSONWebKey(publicKey: key.publicKey).json
        case .keyAddress: draft.header["jku"] = address
        case .certificateChain: draft.header["x5c"] = ["MIIB"]
        default: draft.header["x5u"] = address
        }
    }

    /// What can be done to a token that is signed already.
    func damaged(_ token: String, _ faults: Set<IDTokenFault>) -> String {
        var token = token
        for fault in IDTokenFault.allCases where faults.contains(fault) {
            switch fault {
            case .signatureInvalid: token = TokenDamage.flippedSignature(token)
            case .signatureEmpty: token = TokenDamage.replacingSignature(token) { _ in [] }
            case .signatureTruncated: token = TokenDamage.replacingSignature(token) { Array($0.dropLast()) }
            case .signatureZero:
                token = TokenDamage.replacingSignature(token) { [UInt8](repeating: 0, count: $0.count) }
            case .signatureDER: token = TokenDamage.replacingSignature(token, TokenDamage.der)
            case .encrypted: token = "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.a2V5.aXY.dGV4dA.dGFn"
            case .twoParts: token = token.split(separator: ".").prefix(2).joined(separator: ".")
            case .fourParts: token += ".AAAA"
            case .padded: token += "="
            default: break
            }
        }
        return token
    }
}

extension TokenDraft {
    mutating func sign(withSecret secret: [UInt8]) {
        header["alg"] = "HS256"
        signer = .secret(secret, .hs256)
    }
}

/// Changes to a signed token.
enum TokenDamage {
    /// The signature changed in its middle, so that its form stays right.
    static func flippedSignature(_ token: String) -> String {
        replacingSignature(token) { signature in
            var signature = signature
            if !signature.isEmpty { signature[signature.count / 2] ^= 0x55 }
            return signature
        }
    }

    static func replacingSignature(_ token: String, _ change: ([UInt8]) -> [UInt8]) -> String {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]) else { return token }
        return "\(parts[0]).\(parts[1]).\(Base64URL.encode(change(signature)))"
    }

    /// r and s as X.690 writes them, where RFC 7518 §3.4 wants them side by side.
    static func der(_ signature: [UInt8]) -> [UInt8] {
        let half = signature.count / 2
        let numbers = integer(Array(signature.prefix(half))) + integer(Array(signature.suffix(half)))
        guard numbers.count < 128 else { return signature }
        return [0x30, UInt8(numbers.count)] + numbers
    }

    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(truncatingIfNeeded: digits.count)] + digits
    }
}
