import OIDCCore

extension DemoProvider {
    /// Authenticates a client by a method that it is registered for (RFC 6749 §2.3).
    mutating func authenticatedClient(
        _ parameters: Parameters, _ call: Call
    ) throws(Refusal) -> DemoClient {
        let basic = call.credentials("Basic")
        let secret = parameters["client_secret"]
        let assertion = parameters["client_assertion"]
        guard [basic, secret, assertion].compactMap({ $0 }).count <= 1 else {
            throw .invalidRequest("more than one client authentication method was used")
        }
        if let basic { return try clientByBasic(basic, parameters) }
        if let assertion { return try clientByAssertion(assertion, parameters, call) }
        let client = try knownClient(try parameters.required("client_id"))
        if let secret {
            return try checked(secret, client, "client_secret_post")
        }
        if client.authenticationMethods.contains("none") { return client }
        guard client.certificateThumbprint != nil || client.certificateSubject != nil else {
            throw invalidClient("this client must authenticate")
        }
        return try clientByCertificate(client, call)
    }

    func knownClient(_ id: String) throws(Refusal) -> DemoClient {
        guard let client = state.clients[id] else {
            throw invalidClient("there is no client \(DisplayText.quoted(id, limit: 60))")
        }
        return client
    }

    func invalidClient(_ description: String, basic: Bool = false) -> Refusal {
        let challenge = basic ? [("WWW-Authenticate", "Basic realm=\"demo provider\"")] : []
        return Refusal("invalid_client", description, status: 401, headers: challenge)
    }

    /// Authenticates a client by HTTP Basic, with form-encoded id and secret (RFC 6749 §2.3.1).
    private func clientByBasic(
        _ credentials: String, _ parameters: Parameters
    ) throws(Refusal) -> DemoClient {
        guard let bytes = Base64.decode(credentials),
            let text = String(validating: bytes, as: UTF8.self),
            let colon = text.utf8.firstIndex(of: .colon),
            let id = formDecoded(text[..<colon]),
            let secret = formDecoded(text[text.index(after: colon)...])
        else { throw invalidClient("the Basic credentials are malformed", basic: true) }
        if let named = parameters["client_id"], named != id {
            throw .invalidRequest("client_id differs from the Basic user")
        }
        do {
            return try checked(secret, try knownClient(id), "client_secret_basic")
        } catch {
            throw invalidClient(error.description, basic: true)
        }
    }

    private func checked(
        _ secret: String, _ client: DemoClient, _ method: String
    ) throws(Refusal) -> DemoClient {
        guard client.authenticationMethods.contains(method) else {
            throw invalidClient("this client is not registered for \(method)")
        }
        guard let expected = client.secret?.revealed, isSameSecret(expected, secret) else {
            throw invalidClient("the client secret is wrong")
        }
        return client
    }

    private func formDecoded(_ text: Substring) -> String? {
        text.isEmpty ? "" : FormEncoding.decode("v=\(text)")?.first?.value
    }
}
