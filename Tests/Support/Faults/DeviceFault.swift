import DemoProvider
import OIDCCore

/// What can be wrong with a device authorization (RFC 8628), or unusual but valid (`intervalMissing`).
package enum DeviceFault: String, Sendable, CaseIterable {
    case intervalMissing, intervalZero, intervalNegative, intervalText, intervalHuge, intervalInfinite
    case expiresInMissing, expiresInNegative, expiresInHuge
    case deviceCodeMissing, userCodeMissing, userCodeEscapes
    case verificationURIScript, verificationURIEscapes, verificationURIMissing
    case completeURIScript, completeURIMissing
    case alwaysSlowDown
}

extension FaultyProvider {
    func changedDevice(_ response: HTTPResponse) -> HTTPResponse {
        guard var answer = response.successObject else { return response }
        var raw = ""
        for case .device(let fault) in faults {
            applyToNumbers(fault, &answer, &raw)
            applyToTexts(fault, &answer)
        }
        var response = response.with(answer)
        if !raw.isEmpty { response.body = response.body.dropLast() + Array("\(raw)}".utf8) }
        return response
    }

    /// `raw` takes numbers that no integer holds.
    private func applyToNumbers(_ fault: DeviceFault, _ answer: inout JSONObject, _ raw: inout String) {
        switch fault {
        case .intervalMissing: answer["interval"] = nil
        case .intervalZero: answer["interval"] = 0
        case .intervalNegative: answer["interval"] = -5
        case .intervalText: answer["interval"] = .string("\(configuration.deviceInterval)")
        case .intervalHuge, .intervalInfinite:
            answer["interval"] = nil
            raw += ",\"interval\":\(fault == .intervalHuge ? "1e300" : "1e999")"
        case .expiresInMissing: answer["expires_in"] = nil
        case .expiresInNegative: answer["expires_in"] = -1
        case .expiresInHuge:
            answer["expires_in"] = nil
            raw += ",\"expires_in\":1e300"
        default: break
        }
    }

    private func applyToTexts(_ fault: DeviceFault, _ answer: inout JSONObject) {
        switch fault {
        case .deviceCodeMissing: answer["device_code"] = nil
        case .userCodeMissing: answer["user_code"] = nil
        case .userCodeEscapes: answer["user_code"] = "\u{1B}]0;owned\u{07}AB\u{202E}CD"
        case .verificationURIMissing: answer["verification_uri"] = nil
        case .verificationURIScript: answer["verification_uri"] = "javascript:alert(1)"
        case .verificationURIEscapes: answer["verification_uri"] = "https://a.example/\u{1B}[2J"
        case .completeURIScript: answer["verification_uri_complete"] = "javascript:alert(1)"
        case .completeURIMissing: answer["verification_uri_complete"] = nil
        default: break
        }
    }
}
