import OIDCCore

/// The provider's endpoints, by the names that messages use for protocol steps.
package enum Endpoint: String, Sendable, CaseIterable {
    case discovery, jwks, authorize, login, consent, token, userinfo, claims, revocation, introspection,
        device
    case devicePage = "device_page"
    case endSession = "end_session"
    case registration
    case pushedAuthorization = "par"
    case resource, home, unknown
    case protectedResource = "protected_resource"
    case resourceMetadata = "resource_metadata"

    package var path: String { handler.path }

    /// The endpoint's row of the table.
    var handler: Handler {
        switch self {
        case .discovery: Handler("/.well-known/openid-configuration", [.get]) { $0.metadata($1) }
        case .jwks: Handler("/jwks", [.get]) { $0.keySet($1) }
        case .authorize:
            Handler("/authorize", [.get, .post], isPage: true) { demo, call throws(Refusal) in
                try demo.authorize(call)
            }
        case .login:
            Handler("/login", [.post], isPage: true) { demo, call throws(Refusal) in try demo.signIn(call) }
        case .consent:
            Handler("/consent", [.post], isPage: true) { demo, call throws(Refusal) in
                try demo.decideConsent(call)
            }
        case .token:
            Handler("/token", [.post], nonces: .authorizationServer) { demo, call throws(Refusal) in
                try demo.token(call)
            }
        case .userinfo:
            Handler("/userinfo", [.get, .post], nonces: .resource) { demo, call throws(Refusal) in
                try demo.userInfo(call)
            }
        case .claims:
            Handler("/claims", [.get]) { demo, call throws(Refusal) in try demo.claimSource(call) }
        case .revocation:
            Handler("/revoke", [.post]) { demo, call throws(Refusal) in try demo.revoke(call) }
        case .introspection:
            Handler("/introspect", [.post]) { demo, call throws(Refusal) in try demo.introspect(call) }
        case .device:
            Handler("/device_authorization", [.post]) { demo, call throws(Refusal) in
                try demo.authorizeDevice(call)
            }
        case .devicePage:
            Handler("/device", [.get, .post], isPage: true) { demo, call throws(Refusal) in
                try demo.devicePage(call)
            }
        case .endSession:
            Handler("/logout", [.get, .post], isPage: true) { demo, call throws(Refusal) in
                try demo.endSession(call)
            }
        case .registration:
            Handler("/register", [.post]) { demo, call throws(Refusal) in try demo.register(call) }
        case .pushedAuthorization:
            Handler("/par", [.post], nonces: .authorizationServer) { demo, call throws(Refusal) in
                try demo.pushAuthorization(call)
            }
        case .resource:
            Handler("/api", nil, nonces: .resource) { demo, call throws(Refusal) in try demo.resource(call) }
        case .protectedResource:
            Handler("/mcp", nil, nonces: .resource) { demo, call throws(Refusal) in
                try demo.protectedResource(call)
            }
        case .resourceMetadata:
            Handler("/.well-known/oauth-protected-resource", [.get]) { $0.resourceMetadata($1) }
        case .home: Handler("/", [.get]) { demo, _ in demo.homePage() }
        case .unknown: Handler("/", nil) { $0.missingPage("404 not found", status: 404, $1) }
        }
    }
}
