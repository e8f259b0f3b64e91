/// The access to a client's registration, which the provider gave to the client (RFC 7592).
public struct RegistrationAccess: Hashable, Sendable {
    /// `registration_client_uri`.
    public let uri: WebURL
    /// `registration_access_token`.
    public let token: Redacted<String>

    /// Creates the access that a server gave. `server` is the URL of its issuer or of its registration endpoint.
    ///
    /// The server may choose a URL on any host (RFC 7592 §3), and requests to it delete and replace. So it must be
    /// https like an endpoint in metadata, and only a server on this machine or in a private network may lead there.
    public init(uri: WebURL, token: Redacted<String>, from server: WebURL) throws(OIDCError) {
        let member = "registration_client_uri"
        guard uri.fragment == nil, uri.isSafe(allowsInsecureHTTP: !server.isSecure) else {
            throw .untrusted(
                .registration, member, expected: "an https URL without a fragment",
                found: DisplayText.address(uri.text))
        }
        try server.checkReach(of: uri, named: member, .registration)
        guard !token.revealed.isEmpty, token.revealed.utf8.allSatisfy({ ASCII.isVisible($0) }) else {
            throw .untrusted(
                .registration, "registration_access_token", expected: "visible ASCII characters",
                found: "others")
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
    /// Returns the access to the registration; nil if the provider gave none. Throws if its URL is not one to which
    /// that server may lead.
    public func access(from server: WebURL) throws(OIDCError) -> RegistrationAccess? {
        guard let registrationClientURI, let registrationAccessToken else { return nil }
        return try RegistrationAccess(
            uri: registrationClientURI, token: registrationAccessToken, from: server)
    }
}
