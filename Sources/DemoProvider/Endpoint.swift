import OIDCCore

/// What the provider answers, by the names that the steps of the protocol have in messages.
package enum Endpoint: String, Sendable, CaseIterable {
    case discovery, jwks, authorize, login, consent, token, userinfo, revocation, introspection, device
    case devicePage = "device_page"
    case endSession = "end_session"
    case registration
    case pushedAuthorization = "par"
    case resource, home, unknown

    /// Below the issuer's own path; the resource server answers everything below its path.
    package var path: String {
        switch self {
        case .discovery: "/.well-known/openid-configuration"
        case .jwks: "/jwks"
        case .authorize: "/authorize"
        case .login: "/login"
        case .consent: "/consent"
        case .token: "/token"
        case .userinfo: "/userinfo"
        case .revocation: "/revoke"
        case .introspection: "/introspect"
        case .device: "/device_authorization"
        case .devicePage: "/device"
        case .endSession: "/logout"
        case .registration: "/register"
        case .pushedAuthorization: "/par"
        case .resource: "/api"
        case .home, .unknown: "/"
        }
    }

    /// The answer to an unsuitable method (RFC 9110 §15.5.6); nil where each method has its own answer.
    var methods: [HTTPMethod]? {
        switch self {
        case .discovery, .jwks, .home: [.get]
        case .authorize, .userinfo, .devicePage, .endSession: [.get, .post]
        case .login, .consent, .token, .revocation, .introspection, .device, .registration,
            .pushedAuthorization:
            [.post]
        case .resource, .unknown: nil
        }
    }
}
