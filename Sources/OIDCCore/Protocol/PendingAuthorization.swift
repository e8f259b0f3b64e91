/// A sign-in that has begun: what was sent, and what the answer and the ID token will be held against. Only
/// its `accept` makes an `AuthorizationCode`.
public struct PendingAuthorization: Hashable, Sendable {
    /// The address to open, unless the request is pushed (RFC 9126).
    public let url: WebURL
    let endpoint: WebURL
    let parameters: [FormEncoding.Pair]

    public let state: Redacted<String>
    public let nonce: Redacted<String>
    public let pkce: PKCE
    public let clientID: String
    public let redirectURI: String
    public let scope: Scope
    public let maxAge: Int64?
    public let prompt: String?
    public let responseMode: AuthorizationRequest.ResponseMode
    public let issuer: String?
    /// RFC 9207 §3: the metadata promises `iss` in every answer.
    public let isIssuerPromised: Bool
    /// From the configuration; what is discovered is discovered again, from the same issuer.
    public let tokenEndpoint: WebURL?
    public let jwksURI: WebURL?
}

extension PendingAuthorization: CustomStringConvertible, CustomReflectable {
    public var description: String { "PendingAuthorization(\(clientID) at \(endpoint.withoutQuery))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A code that passed every check of the authorization response; the only thing that can be exchanged.
public struct AuthorizationCode: Hashable, Sendable {
    public let code: Redacted<String>
    /// The sign-in that it answers.
    public let pending: PendingAuthorization

    init(code: String, pending: PendingAuthorization) {
        self.code = Redacted(code)
        self.pending = pending
    }
}
