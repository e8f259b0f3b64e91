import DemoProvider
import OIDCCore
import OIDCCrypto

/// What can be wrong with an authorization response that is a JWT (JARM §2.4).
package enum SignedAnswerFault: String, Sendable, CaseIterable {
    case unsigned, signatureInvalid, hmacWithPublicKey, foreignKey
    case expired, expiryMissing, expiryText
    case audienceInvalid, audienceMissing, issuerInvalid, issuerMissing
    /// Plain parameters beside the JWT, or in its place.
    case codeBeside, errorBeside, plain
    /// Another sign-in's, or no sign-in's.
    case stateInvalid, stateMissing, repeated, notToken
}

extension FaultyProvider {
    var hasSignedAnswerFault: Bool { faults.contains { if case .signedAnswer = $0 { true } else { false } } }

    func apply(_ fault: SignedAnswerFault, to answer: inout AuthorizationAnswer) {
        guard let response = answer.pairs.first(where: { $0.name == "response" })?.value,
            var token = ForgedToken(response, demo)
        else { return }
        switch fault {
        case .unsigned:
            token.header["alg"] = "none"
            token.signer = .nobody
        case .hmacWithPublicKey:
            guard let key = demo.signingKey(for: .rs256) else { return }
            token.sign(withSecret: JSONValue.object(key.publicMembers).bytes)
        case .foreignKey:
            guard let key = try? PrivateKey.generate(.p256) else { return }
            token.header["alg"] = "ES256"
            token.header["kid"] = nil
            token.signer = .key(key, .es256)
        case .expired: token.claims["exp"] = 1_000_000_000
        case .expiryMissing: token.claims["exp"] = nil
        case .expiryText: token.claims["exp"] = "never"
        case .audienceInvalid: token.claims["aud"] = "another-client"
        case .audienceMissing: token.claims["aud"] = nil
        case .issuerInvalid: token.claims["iss"] = .string(foreignOrigin)
        case .issuerMissing: token.claims["iss"] = nil
        case .stateInvalid: token.claims["state"] = "another-state"
        case .stateMissing: token.claims["state"] = nil
        case .codeBeside: answer.replace("code", "c0de")
        case .errorBeside: answer.replace("error", "access_denied")
        case .repeated: answer.repeat("response")
        case .notToken: return answer.replace("response", "text")
        case .plain:
            answer.replace("response", nil)
            for member in token.claims.members { answer.replace(member.name, member.value.string) }
            return
        case .signatureInvalid: return answer.replace("response", TokenDamage.flippedSignature(response))
        }
        guard fault != .repeated, let text = try? token.serialized() else { return }
        answer.replace("response", text)
    }
}
