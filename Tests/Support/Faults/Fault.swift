package import DemoProvider

/// One thing that the provider does wrong, or in an unusual but valid way, by the part of an answer that it concerns.
package enum Fault: Hashable, Sendable {
    case metadata(MetadataFault)
    case keys(KeySetFault)
    case authorization(AuthorizationFault)
    /// In every signed authorization response; not among `all`, as the others are not signed.
    case signedAnswer(SignedAnswerFault)
    /// In every ID token.
    case idToken(IDTokenFault)
    /// Only in ID tokens of refresh responses.
    case refreshedIDToken(IDTokenFault)
    /// In every token response.
    case tokenResponse(TokenResponseFault)
    /// Only in refresh responses.
    case refreshResponse(TokenResponseFault)
    case userInfo(UserInfoFault)
    case device(DeviceFault)
    case proof(ProofFault)
    case endSession(EndSessionFault)
    case registration(RegistrationFault)
    /// A whole answer of one endpoint.
    case answer(Endpoint, AnswerFault)
    /// An error code from one endpoint, instead of its own answer (RFC 6749 §5.2).
    case refuses(Endpoint, String)

    /// Every fault, for tests that must survive each of them.
    package static func all(answering endpoints: [Endpoint]) -> [Fault] {
        var all: [Fault] = MetadataFault.allCases.map { .metadata($0) }
        all += KeySetFault.allCases.map { .keys($0) }
        all += AuthorizationFault.allCases.map { .authorization($0) }
        all += IDTokenFault.allCases.map { .idToken($0) }
        all += IDTokenFault.allCases.map { .refreshedIDToken($0) }
        all += TokenResponseFault.allCases.map { .tokenResponse($0) }
        all += TokenResponseFault.allCases.map { .refreshResponse($0) }
        all += UserInfoFault.allCases.map { .userInfo($0) }
        all += DeviceFault.allCases.map { .device($0) }
        all += ProofFault.allCases.map { .proof($0) }
        all += EndSessionFault.allCases.map { .endSession($0) }
        all += RegistrationFault.allCases.map { .registration($0) }
        for endpoint in endpoints { all += AnswerFault.allCases.map { .answer(endpoint, $0) } }
        return all
    }

    /// The endpoint whose whole answer it replaces.
    var answering: Endpoint? {
        switch self {
        case .answer(let endpoint, _), .refuses(let endpoint, _): endpoint
        default: nil
        }
    }
}
