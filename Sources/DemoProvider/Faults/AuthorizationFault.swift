import OIDCCore

/// What can be wrong with an authorization response.
public enum AuthorizationFault: String, Sendable, CaseIterable {
    case stateInvalid, stateMissing, stateRepeated
    case issuerInvalid, issuerMissing, issuerRepeated
    case codeMissing, codeEmpty, codeRepeated
    case errorWithCode, tokensInQuery
    case accessDenied, serverError, temporarilyUnavailable
    /// Text that a terminal or a page would act on.
    case descriptionEscapes, descriptionMarkup
    case inFragment
    /// Answered in the query although `form_post` was asked for.
    case modeIgnored
}

extension DemoProvider {
    /// The error that a fault answers an authorization request with.
    func faultyAuthorizationError() -> Refusal? {
        for case .authorization(let fault) in faults {
            switch fault {
            case .accessDenied: return Refusal("access_denied", "the person said no")
            case .serverError: return Refusal("server_error", "something broke")
            case .temporarilyUnavailable: return Refusal("temporarily_unavailable", "come back later")
            case .descriptionEscapes:
                return Refusal("access_denied", raw: "no\u{1B}[2J\u{1B}]0;owned\u{07}\u{202E}\r\nerror: fake")
            case .descriptionMarkup: return Refusal("access_denied", raw: "<script>alert(1)</script>&\"'")
            default: break
            }
        }
        return nil
    }

    func faulty(_ pairs: [FormEncoding.Pair]) -> [FormEncoding.Pair] {
        var pairs = pairs
        for case .authorization(let fault) in faults { apply(fault, to: &pairs) }
        return pairs
    }

    private func apply(_ fault: AuthorizationFault, to pairs: inout [FormEncoding.Pair]) {
        func replace(_ name: String, _ value: String?) {
            pairs.removeAll { $0.name == name }
            if let value { pairs.append(FormEncoding.Pair(name, value)) }
        }
        switch fault {
        case .stateInvalid: replace("state", "another-state")
        case .stateMissing: replace("state", nil)
        case .issuerInvalid: replace("iss", configuration.foreignOrigin)
        case .issuerMissing: replace("iss", nil)
        case .codeMissing: replace("code", nil)
        case .codeEmpty: replace("code", "")
        case .stateRepeated: pairs += pairs.filter { $0.name == "state" }
        case .issuerRepeated: pairs += pairs.filter { $0.name == "iss" }
        case .codeRepeated: pairs += pairs.filter { $0.name == "code" }
        case .errorWithCode: replace("error", "server_error")
        case .tokensInQuery:
            replace("access_token", "stray-token")
            replace("id_token", "a.b.c")
        default: break
        }
    }
}
