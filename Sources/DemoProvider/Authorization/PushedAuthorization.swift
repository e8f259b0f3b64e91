import OIDCCore

/// A pushed authorization request (RFC 9126).
struct PushedRequest: Sendable {
    let client: String
    let parameters: Parameters
    let expiresAt: Instant
}

extension DemoProvider {
    static let requestURIPrefix = "urn:ietf:params:oauth:request_uri:"

    /// Handles a pushed authorization request of an authenticated client, with all checks of an authorization
    /// request (RFC 9126 §2).
    mutating func pushAuthorization(_ call: Call) throws(Refusal) -> HTTPResponse {
        var parameters = try call.body()
        let client = try authenticatedClient(parameters, call)
        guard parameters["request_uri"] == nil else {
            throw .invalidRequest("request_uri has no place in a pushed request")
        }
        parameters["client_id"] = client.id
        parameters = try requestParameters(parameters, call.now)
        if call.request.headers[DPoP.header] != nil {
            // A proof in this request binds the code to its key (RFC 9449 §10.1).
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

    /// Removes and returns the pushed parameters, for the client that pushed them (RFC 9126 §4). All
    /// parameters except `request_uri` and `client_id` are ignored.
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
