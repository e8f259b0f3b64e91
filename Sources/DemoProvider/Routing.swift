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
        let handler = call.endpoint.handler
        guard handler.methods?.contains(call.request.method) ?? true else {
            var response = missingPage("405 method not allowed", status: 405, call)
            response.headers["Allow"] = handler.methods?.map(\.name).joined(separator: ", ")
            return response
        }
        return handler.response(to: call, by: &self)
    }
}
