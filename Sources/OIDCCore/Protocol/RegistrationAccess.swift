/// The access to a client's registration, which the provider gave to the client (RFC 7592).
public struct RegistrationAccess: Hashable, Sendable {
    /// `registration_client_uri`.
    public let uri: WebURL
    /// `registration_access_token`.
    public let token: Redacted<String>

    /// Creates the access; returns nil for a token that a header cannot contain.
    public init?(uri: WebURL, token: Redacted<String>) {
        guard !token.revealed.isEmpty, token.revealed.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
            return nil
        }
        self.uri = uri
        self.token = token
    }

    private var secrets: WithheldSecrets { WithheldSecrets([token.revealed]) }

    /// Returns the request that replaces the client's metadata (§2.2). It repeats the secret, which the
    /// client cannot choose.
    public func update(
        _ registration: Registration, clientID: String, secret: Redacted<String>?
    ) throws(OIDCError) -> EndpointCall<RegisteredClient> {
        var document = try registration.document()
        document["client_id"] = .string(clientID)
        document["client_secret"] = secret.map { .string($0.revealed) }
        var request = HTTPRequest(
            .put, uri, headers: Registration.headers, body: JSONValue.object(document).bytes)
        request.headers["Authorization"] = "Bearer \(token.revealed)"
        return registration.call(
            request, of: clientID,
            withholding: WithheldSecrets([token.revealed, secret?.revealed].compactMap { $0 }),
            verdict: { _, _ in (nil, nil) })
    }

    /// Returns the request that removes the client (§2.3).
    public func delete() -> EndpointCall<Void> {
        var request = HTTPRequest(HTTPMethod("DELETE"), uri)
        request.headers["Authorization"] = "Bearer \(token.revealed)"
        let secrets = secrets
        return EndpointCall(request, stage: .registration, withholding: { secrets }) {
            response throws(OIDCError) in
            guard !response.isSuccess else { return }
            throw OAuthErrorResponse.failure(
                response, stage: .registration, withholding: secrets, hint: { _ in nil })
        }
    }
}

extension RegisteredClient {
    /// The access to the registration; nil if the provider gave none.
    public var access: RegistrationAccess? {
        guard let registrationClientURI, let registrationAccessToken else { return nil }
        return RegistrationAccess(uri: registrationClientURI, token: registrationAccessToken)
    }
}
