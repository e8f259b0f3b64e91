import OIDCCore

extension DemoProvider {
    /// The issuer's path without a final slash.
    var basePath: String {
        issuer.path.hasSuffix("/") ? String(issuer.path.dropLast()) : issuer.path
    }

    /// Returns the absolute URL of a path below the issuer, independent of the request's URL.
    package func address(_ path: String) -> String { "\(issuer.origin)\(basePath)\(path)" }

    package func address(_ endpoint: Endpoint) -> String { address(endpoint.path) }

    /// Returns the endpoint for a path, and the path below the issuer's path.
    package func route(_ requested: String) -> (Endpoint, path: String) {
        // RFC 8414 §3.1 inserts the well-known part before the issuer's path.
        if requested == "/.well-known/oauth-authorization-server\(basePath)" {
            return (.discovery, requested)
        }
        // RFC 9728 §3.1 inserts it before the resource's path.
        if requested == "\(Endpoint.resourceMetadata.path)\(basePath)\(Endpoint.protectedResource.path)" {
            return (.resourceMetadata, requested)
        }
        guard requested.hasPrefix(basePath) else { return (.unknown, requested) }
        let path = String(requested.dropFirst(basePath.count))
        if path.isEmpty || path == "/" { return (.home, path) }
        if path.hasPrefix("/api/") { return (.resource, path) }
        if path.hasPrefix("/mcp/") { return (.protectedResource, path) }
        let elsewhere: [Endpoint] = [.unknown, .resourceMetadata]
        let endpoint = Endpoint.allCases.first { $0.path == path && !elsewhere.contains($0) }
        return (endpoint ?? .unknown, path)
    }

    mutating func answer(_ call: Call) -> HTTPResponse {
        if let methods = call.endpoint.methods, !methods.contains(call.request.method) {
            var response = missingPage("405 method not allowed", status: 405, call)
            response.headers["Allow"] = methods.map(\.name).joined(separator: ", ")
            return response
        }
        switch call.endpoint {
        case .discovery: return metadata(call)
        case .jwks: return keySet(call)
        case .resourceMetadata: return resourceMetadata(call)
        case .home: return homePage()
        case .unknown: return missingPage("404 not found", status: 404, call)
        case .authorize, .login, .consent, .devicePage, .endSession: return page(call)
        case .userinfo, .resource, .protectedResource:
            return withNonce(data(call), .resource, call)
        case .token, .pushedAuthorization:
            return withNonce(data(call), .authorizationServer, call)
        case .device, .revocation, .introspection, .registration: return data(call)
        }
    }

    /// Handles a request of a program: a refusal becomes a JSON object (RFC 6749 §5.2).
    private mutating func data(_ call: Call) -> HTTPResponse {
        do {
            switch call.endpoint {
            case .token: return try token(call)
            case .userinfo: return try userInfo(call)
            case .resource: return try resource(call)
            case .protectedResource: return try protectedResource(call)
            case .pushedAuthorization: return try pushAuthorization(call)
            case .device: return try authorizeDevice(call)
            case .revocation: return try revoke(call)
            case .introspection: return try introspect(call)
            default: return try register(call)
            }
        } catch { return error.response }
    }

    /// Handles a request for a page: a refusal becomes a page too.
    private mutating func page(_ call: Call) -> HTTPResponse {
        do {
            switch call.endpoint {
            case .authorize: return try authorize(call)
            case .login: return try signIn(call)
            case .consent: return try decideConsent(call)
            case .devicePage: return try devicePage(call)
            default: return try endSession(call)
            }
        } catch { return errorPage(error) }
    }
}
