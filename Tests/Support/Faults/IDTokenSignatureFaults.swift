import DemoProvider
import OIDCCore
import OIDCCrypto

extension FaultyProvider {
    /// The secret that `KeySetFault.symmetric` publishes.
    static let publishedSecret = Array("a secret that everybody can read".utf8)

    func applyToHeader(_ fault: IDTokenFault, _ token: inout ForgedToken) throws(CryptoError) {
        switch fault {
        case .keyIDMissing: token.header["kid"] = nil
        case .keyIDUnknown: token.header["kid"] = "no-such-key"
        case .keyIDHostile: token.header["kid"] = "../../../../dev/null'; DROP TABLE keys; --"
        case .unsigned, .unsignedMixedCase:
            token.header["alg"] = fault == .unsigned ? "none" : "nOnE"
            token.signer = .nobody
        case .hmacWithPublicKey:
            guard let algorithm = configuration.signingAlgorithms.first,
                let key = demo.signingKey(for: algorithm)
            else { return }
            token.sign(withSecret: JSONValue.object(key.publicMembers).bytes)
        case .hmacWithSecret:
            token.sign(withSecret: token.clientSecret ?? Array("guess".utf8))
        case .algorithmAlternate:
            token.header["alg"] = token.header["alg"] == "ES256" ? "RS256" : "ES256"
        case .algorithmUnlisted:
            guard let key = demo.signingKey(for: .ps256) else { return }
            token.header["alg"] = "PS256"
            token.header["kid"] = .string(key.id)
            token.signer = .key(key.key, .ps256)
        case .criticalHeader:
            token.header["crit"] = ["demo"]
            token.header["demo"] = true
        case .embeddedKey, .keyAddress, .certificateChain, .certificateAddress:
            try offerForeignKey(fault, &token)
        default: break
        }
    }

    /// Signs with a key that the token itself brings, which a client must not trust (RFC 8725 §3.10).
    private func offerForeignKey(_ fault: IDTokenFault, _ token: inout ForgedToken) throws(CryptoError) {
        let key = try PrivateKey.generate(.p256)
        token.header["alg"] = "ES256"
        token.header["kid"] = nil
        token.signer = .key(key, .es256)
        let address = JSONValue.string("\(foreignOrigin)/keys")
        switch fault {
        case .embeddedKey: token.header["jwk"] = JSONWebKey(publicKey: key.publicKey).json
        case .keyAddress: token.header["jku"] = address
        case .certificateChain: token.header["x5c"] = ["MIIB"]
        default: token.header["x5u"] = address
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

/// Changes to a signed token.
enum TokenDamage {
    /// Changes the signature in its middle, which keeps its form.
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
