import DemoProvider
import OIDCCore

/// What can be wrong with UserInfo; the last four concern signed answers.
package enum UserInfoFault: String, Sendable, CaseIterable {
    case subjectInvalid, subjectMissing, subjectNumber
    /// Claims that a terminal would act on.
    case escapes
    case issuerInvalid, audienceInvalid, unsigned, signatureInvalid
}

extension FaultyProvider {
    func changedUserInfo(_ response: HTTPResponse, _ call: FaultyCall) -> HTTPResponse {
        if var claims = response.successObject {
            applyUserInfoFaults(to: &claims)
            return response.with(claims)
        }
        let isFaulty = faults.contains { if case .userInfo = $0 { true } else { false } }
        guard isFaulty, response.status == 200,
            var token = ForgedToken(String(decoding: response.body, as: UTF8.self), demo)
        else { return response }
        applyUserInfoFaults(to: &token.claims)
        if has(.userInfo(.unsigned)) {
            token.header["alg"] = "none"
            token.signer = .nobody
        }
        guard var text = try? token.serialized() else { return response }
        if has(.userInfo(.signatureInvalid)) { text = TokenDamage.flippedSignature(text) }
        var response = response
        response.body = Array(text.utf8)
        return response
    }

    private func applyUserInfoFaults(to claims: inout JSONObject) {
        for case .userInfo(let fault) in faults {
            switch fault {
            case .subjectInvalid: claims["sub"] = "mallory"
            case .subjectMissing: claims["sub"] = nil
            case .subjectNumber: claims["sub"] = 42
            case .escapes: claims["name"] = "Alice\u{1B}[31m\u{202E}\u{07}\r\nroot"
            case .issuerInvalid: claims["iss"] = .string(foreignOrigin)
            case .audienceInvalid: claims["aud"] = "somebody-else"
            case .unsigned, .signatureInvalid: break
            }
        }
    }
}
