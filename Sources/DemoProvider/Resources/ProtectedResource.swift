import OIDCCore

extension DemoProvider {
    /// The scopes of the protected resource. Its own path requires only the first.
    private static let resourceScopes = ["api:read", "api:write"]

    /// The URL of the protected resource's metadata (RFC 9728 §3.1).
    var resourceMetadataAddress: String {
        let path = "\(basePath)\(Endpoint.protectedResource.path)"
        return "\(issuer.origin)\(Endpoint.resourceMetadata.path)\(path)"
    }

    /// Returns the protected resource's metadata (RFC 9728 §2).
    func resourceMetadata(_ call: Call) -> HTTPResponse {
        var metadata = JSONObject()
        metadata["resource"] = .string(address(.protectedResource))
        metadata["authorization_servers"] = strings([issuer.text])
        metadata["scopes_supported"] = strings(
            DemoProvider.resourceScopes.filter { configuration.scopes.contains($0) })
        metadata["bearer_methods_supported"] = ["header"]
        metadata["resource_name"] = "Demo resource"
        if configuration.requiresDPoP { metadata["dpop_bound_access_tokens_required"] = true }
        metadata["dpop_signing_alg_values_supported"] = strings(proofAlgorithms)
        return cacheable(.json(.object(metadata)))
    }

    /// Handles requests to the resource that clients find by its URL alone; it accepts only tokens that were
    /// issued for it. `/mcp/write` requires one more scope, `/mcp/admin` a recent and stronger sign-in.
    mutating func protectedResource(_ call: Call) throws(Refusal) -> HTTPResponse {
        let (record, grant) = try presented(call, scope: DemoProvider.resourceScopes[0])
        guard record.audience.contains(address(.protectedResource)) else {
            throw challenge(call, "invalid_token", "the token is meant for another resource")
        }
        try demand("api:read", record, call)
        switch call.path {
        case "/mcp": break
        case "/mcp/write": try demand("api:write", record, call)
        case "/mcp/admin": try demandStepUp(grant, call)
        default: return .text("404 not found", status: 404)
        }
        return resourceAnswer(call, grant)
    }

    /// Returns a result in the form of the request: JSON-RPC, or plain JSON.
    private func resourceAnswer(_ call: Call, _ grant: Grant) -> HTTPResponse {
        let result: JSONValue = ["hello": .string(grant.account?.givenName ?? grant.subject)]
        guard call.isPost, let message = try? JSONValue(parsing: call.request.body), let id = message["id"]
        else {
            return .json(result)
        }
        return .json(["jsonrpc": "2.0", "id": id, "result": result])
    }
}
