import DemoProvider
import OIDCCore

/// What can be wrong on the way back from a sign-out.
package enum EndSessionFault: String, Sendable, CaseIterable {
    case stateInvalid, stateMissing
}

extension FaultyProvider {
    func changedEndSession(_ response: HTTPResponse) -> HTTPResponse {
        guard var answer = AuthorizationAnswer(response, from: demo) else { return response }
        if has(.endSession(.stateMissing)) { answer.replace("state", nil) }
        if has(.endSession(.stateInvalid)) { answer.replace("state", "another-state") }
        return answer.response(like: response)
    }
}
