import DemoProvider
import OIDCCore

/// What can be wrong with an authorization response.
package enum AuthorizationFault: String, Sendable, CaseIterable {
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

extension FaultyProvider {
    /// Text that would clear a terminal's screen, set its title and add a line.
    static let hostileText = "no\u{1B}[2J\u{1B}]0;owned\u{07}\u{202E}\r\nerror: fake"

    /// Returns the answer to an authorization request that a fault refuses at once, without any page.
    mutating func faultyAuthorizationError(_ call: FaultyCall) -> HTTPResponse? {
        guard call.endpoint == .authorize else { return nil }
        for case .authorization(let fault) in faults {
            guard let error = FaultyProvider.error(fault) else { continue }
            let user = demo.configuration.user
            demo.configuration.user = .denies
            let response = demo.handle(call.request, at: call.time)
            demo.configuration.user = user
            guard var answer = AuthorizationAnswer(response, from: demo) else { return response }
            answer.replace("error", error.code)
            answer.replace("error_description", error.description)
            return answer.response(like: response)
        }
        return nil
    }

    private static func error(_ fault: AuthorizationFault) -> (code: String, description: String)? {
        switch fault {
        case .accessDenied: ("access_denied", "the user said no")
        case .serverError: ("server_error", "something broke")
        case .temporarilyUnavailable: ("temporarily_unavailable", "come back later")
        case .descriptionEscapes: ("access_denied", hostileText)
        case .descriptionMarkup: ("access_denied", "<script>alert(1)</script>&\"'")
        default: nil
        }
    }

    func changedAuthorization(_ response: HTTPResponse) -> HTTPResponse {
        let isFaulty = faults.contains { if case .authorization = $0 { true } else { false } }
        guard isFaulty || hasSignedAnswerFault, var answer = AuthorizationAnswer(response, from: demo) else {
            return response
        }
        for case .authorization(let fault) in faults { apply(fault, to: &answer) }
        for case .signedAnswer(let fault) in faults { apply(fault, to: &answer) }
        return answer.response(like: response)
    }

    private func apply(_ fault: AuthorizationFault, to answer: inout AuthorizationAnswer) {
        switch fault {
        case .stateInvalid: answer.replace("state", "another-state")
        case .stateMissing: answer.replace("state", nil)
        case .issuerInvalid: answer.replace("iss", foreignOrigin)
        case .issuerMissing: answer.replace("iss", nil)
        case .codeMissing: answer.replace("code", nil)
        case .codeEmpty: answer.replace("code", "")
        case .stateRepeated: answer.repeat("state")
        case .issuerRepeated: answer.repeat("iss")
        case .codeRepeated: answer.repeat("code")
        case .errorWithCode: answer.replace("error", "server_error")
        case .tokensInQuery:
            answer.replace("access_token", "stray-token")
            answer.replace("id_token", "a.b.c")
        case .inFragment: answer.delivery = .fragment
        case .modeIgnored: answer.delivery = .query
        default: break
        }
    }
}
