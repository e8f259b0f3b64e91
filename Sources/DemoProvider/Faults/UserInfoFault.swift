import OIDCCore

/// What can be wrong with UserInfo; the last four concern signed answers.
public enum UserInfoFault: String, Sendable, CaseIterable {
    case subjectInvalid, subjectMissing, subjectNumber
    /// Claims that a terminal would act on.
    case escapes
    case issuerInvalid, audienceInvalid, unsigned, signatureInvalid
}

/// What can be wrong with a demand for proofs (RFC 9449).
public enum ProofFault: String, Sendable, CaseIterable {
    /// Legal: the scheme of a challenge in lower case.
    case schemeLowerCase
    case nonceAlwaysDemanded
    /// The demand without the header that carries the nonce.
    case nonceMissing
    case nonceMalformed
}

/// What can be wrong on the way back from a sign-out.
public enum EndSessionFault: String, Sendable, CaseIterable {
    case stateInvalid, stateMissing
}

extension DemoProvider {
    func applyUserInfoFaults(to claims: inout JSONObject) {
        for case .userInfo(let fault) in faults {
            switch fault {
            case .subjectInvalid: claims["sub"] = "mallory"
            case .subjectMissing: claims["sub"] = nil
            case .subjectNumber: claims["sub"] = 42
            case .escapes: claims["name"] = "Alice\u{1B}[31m\u{202E}\u{07}\r\nroot"
            case .issuerInvalid: claims["iss"] = .string(configuration.foreignOrigin)
            case .audienceInvalid: claims["aud"] = "somebody-else"
            case .unsigned, .signatureInvalid: break
            }
        }
    }
}
