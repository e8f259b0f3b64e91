import OIDCCore

/// The provider's endpoints, by the names that messages use for protocol steps.
package enum Endpoint: String, Sendable, CaseIterable {
    case discovery, jwks, authorize, login, consent, token, userinfo, revocation, introspection, device
    case devicePage = "device_page"
    case endSession = "end_session"
    case registration
    case pushedAuthorization = "par"
    case resource, home, unknown
    case protectedResource = "protected_resource"
    case resourceMetadata = "resource_metadata"

    /// The path below the issuer's path; the sample API and the protected resource also answer
    /// everything below their own.
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
        case .protectedResource: "/mcp"
        case .resourceMetadata: "/.well-known/oauth-protected-resource"
        case .home, .unknown: "/"
        }
    }

    /// The accepted methods; others are refused (RFC 9110 §15.5.6). Nil if the endpoint accepts any.
    var methods: [HTTPMethod]? {
        switch self {
        case .discovery, .jwks, .home, .resourceMetadata: [.get]
        case .authorize, .userinfo, .devicePage, .endSession: [.get, .post]
        case .login, .consent, .token, .revocation, .introspection, .device, .registration,
            .pushedAuthorization:
            [.post]
        case .resource, .protectedResource, .unknown: nil
        }
    }
}
