import DemoProvider
import OIDCCore

/// What can be wrong with a token response, or unusual but valid (`typeCase`, `expiresInMissing`).
package enum TokenResponseFault: String, Sendable, CaseIterable {
    case typeCase, typeMissing, typeUnknown
    /// Bearer where a bound token was asked for.
    case typeBearer
    case expiresInMissing, expiresInText, expiresInNonsense, expiresInNegative, expiresInZero
    case expiresInFraction, expiresInHuge, expiresInInfinite
    case scopeMissing, scopeNarrower, scopeWider
    case accessTokenMissing, accessTokenEmpty, accessTokenNumber, accessTokenLineBreak
    case accessTokenEscapes, accessTokenNonASCII
    case refreshTokenMissing, refreshTokenEmpty, refreshTokenNumber
    case unknownMembers, duplicateMembers, formEncoded
    /// An error with status 200.
    case errorWithSuccess
    /// An error and a token together.
    case errorWithToken
}

extension FaultyProvider {
    func changedTokens(_ response: HTTPResponse, _ call: FaultyCall) -> HTTPResponse {
        if has(.device(.alwaysSlowDown)), call.grant?.hasSuffix(":device_code") == true,
            response.status == 200
                || String(decoding: response.body, as: UTF8.self).contains("authorization_pending")
        {
            return demo.stamped(.refusal("slow_down", "polled too soon"), at: call.time)
        }
        guard var answer = response.successObject else { return response }
        replaceIDToken(in: &answer, call)
        var active: Set<TokenResponseFault> = []
        for fault in faults {
            switch fault {
            case .tokenResponse(let fault): active.insert(fault)
            case .refreshResponse(let fault) where call.isRefresh: active.insert(fault)
            default: break
            }
        }
        for fault in active {
            applyToType(fault, &answer)
            applyToLifetime(fault, &answer)
            applyToTokens(fault, &answer)
        }
        if active.contains(.errorWithSuccess) {
            answer = JSONObject()
            answer["error"] = "invalid_request"
            answer["error_description"] = "refused with status 200"
        }
        return encoded(answer, active, response)
    }

    private func encoded(
        _ answer: JSONObject, _ active: Set<TokenResponseFault>, _ response: HTTPResponse
    ) -> HTTPResponse {
        var response = response.with(answer)
        if active.contains(.formEncoded) {
            let pairs = answer.members.map {
                FormEncoding.Pair($0.name, $0.value.string ?? $0.value.compact)
            }
            response.headers["Content-Type"] = "application/x-www-form-urlencoded"
            response.body = Array(FormEncoding.encode(pairs).utf8)
        } else if active.contains(.duplicateMembers) {
            response.appendMember("\"access_token\":\"another\"")
        } else if active.contains(.expiresInHuge) || active.contains(.expiresInInfinite) {
            let number = active.contains(.expiresInHuge) ? "1e300" : "1e999"
            response.appendMember("\"expires_in\":\(number)")
        }
        return response
    }

    private func applyToType(_ fault: TokenResponseFault, _ answer: inout JSONObject) {
        let type = answer["token_type"]?.string ?? ""
        switch fault {
        case .typeCase: answer["token_type"] = .string(type == "DPoP" ? "dpop" : "bEARER")
        case .typeMissing: answer["token_type"] = nil
        case .typeUnknown: answer["token_type"] = "mac"
        case .typeBearer: answer["token_type"] = "Bearer"
        case .errorWithToken: answer["error"] = "invalid_request"
        case .unknownMembers:
            answer["ext_expires_in"] = 0
            answer["resource"] = ["https://api.example"]
            answer["nested"] = ["deep": [1, .null, false]]
        default: break
        }
    }

    private func applyToLifetime(_ fault: TokenResponseFault, _ answer: inout JSONObject) {
        let seconds = answer["expires_in"]?.number?.text ?? "300"
        switch fault {
        case .expiresInMissing, .expiresInHuge, .expiresInInfinite: answer["expires_in"] = nil
        case .expiresInText: answer["expires_in"] = .string(seconds)
        case .expiresInNonsense: answer["expires_in"] = "soon"
        case .expiresInNegative: answer["expires_in"] = -300
        case .expiresInZero: answer["expires_in"] = 0
        case .expiresInFraction: answer["expires_in"] = .string("\(seconds).5")
        default: break
        }
    }

    private func applyToTokens(_ fault: TokenResponseFault, _ answer: inout JSONObject) {
        switch fault {
        case .scopeMissing: answer["scope"] = nil
        case .scopeNarrower: answer["scope"] = "openid"
        case .scopeWider: answer["scope"] = .string("\(answer["scope"]?.string ?? "") api:admin")
        case .accessTokenMissing: answer["access_token"] = nil
        case .accessTokenEmpty: answer["access_token"] = ""
        case .accessTokenNumber: answer["access_token"] = 12_345
        case .accessTokenLineBreak: answer["access_token"] = "token\r\nX-Injected: yes"
        case .accessTokenEscapes: answer["access_token"] = "token\u{1B}]0;title\u{07}"
        case .accessTokenNonASCII: answer["access_token"] = "tökén"
        case .refreshTokenMissing: answer["refresh_token"] = nil
        case .refreshTokenEmpty: answer["refresh_token"] = ""
        case .refreshTokenNumber: answer["refresh_token"] = 12_345
        default: break
        }
    }
}
