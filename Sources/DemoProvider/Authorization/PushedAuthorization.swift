import OIDCCore

/// An authorization request that was sent ahead (RFC 9126).
struct PushedRequest: Sendable {
    let client: String
    let parameters: Parameters
    let expiresAt: Instant
}

extension DemoProvider {
    static let requestURIPrefix = "urn:ietf:params:oauth:request_uri:"

    /// RFC 9126 §2: checked here already, by an authenticated client.
    mutating func pushAuthorization(_ call: Call) throws(Refusal) -> HTTPResponse {
        var parameters = try call.body()
        let client = try authenticatedClient(parameters, call)
        guard parameters["request_uri"] == nil else {
            throw .invalidRequest("request_uri has no place in a pushed request")
        }
        parameters["client_id"] = client.id
        if call.request.headers[DPoP.header] != nil {
            // RFC 9449 §10.1: a proof here binds the code to its key.
            let thumbprint = try checkedProof(call, accessToken: nil, .authorizationServer)
            guard parameters["dpop_jkt"].map({ $0 == thumbprint }) ?? true else {
                throw .invalidRequest("dpop_jkt is not the key of the proof")
            }
            parameters["dpop_jkt"] = thumbprint
        }
        let (_, redirect) = try redirectTarget(parameters)
        _ = try requested(parameters, by: client, answering: redirect)
        let reference = "\(DemoProvider.requestURIPrefix)\(secret())"
        let lifetime: Int64 = 60
        state.pushed[reference] = PushedRequest(
            client: client.id, parameters: parameters, expiresAt: call.now.adding(lifetime))
        return .json(["request_uri": .string(reference), "expires_in": JSONValue(lifetime)], status: 201)
    }

    /// What was pushed under the reference, once, for the client that pushed it (RFC 9126 §4). Other
    /// parameters than these two count for nothing.
    mutating func pushedParameters(_ parameters: Parameters, _ call: Call) throws(Refusal) -> Parameters {
        let reference = try parameters.required("request_uri")
        let client = try parameters.required("client_id")
        guard let pushed = state.pushed[reference], pushed.expiresAt > call.now, pushed.client == client
        else {
            throw Refusal("invalid_request_uri", "request_uri is unknown, used or expired")
        }
        state.pushed[reference] = nil
        return pushed.parameters
    }
}
