/// A sign-in in progress: what was sent, and what the answer and the ID token are checked against. Only its `accept`
/// makes an `AuthorizationCode`.
public struct PendingAuthorization: Hashable, Sendable {
    /// The URL to open, unless the request is pushed (RFC 9126).
    public let url: WebURL
    let endpoint: WebURL
    let parameters: [FormEncoding.Pair]

    /// `state`, which the answer must repeat.
    public let state: Redacted<String>
    /// `nonce`, which the ID token must repeat; nil if none was sent.
    public let nonce: Redacted<String>?
    /// The verifier and challenge (RFC 7636).
    public let pkce: PKCE
    /// The client that asked.
    public let clientID: String
    /// The redirect URI of the request.
    public let redirectURI: String
    /// The scope that was requested.
    public let scope: Scope
    /// The resources that were requested (RFC 8707).
    public let resources: [String]
    /// `max_age` of the request, in seconds.
    public let maxAge: Int64?
    /// `prompt` of the request.
    public let prompt: String?
    /// How the answer is sent.
    public let responseMode: AuthorizationRequest.ResponseMode
    /// The issuer that the answer and the ID token must name, or its template.
    public let issuer: String?
    /// RFC 9207 §3: the metadata promises `iss` in every answer.
    public let isIssuerPromised: Bool
    /// Whether an error without the promised `iss` is rejected unread, as RFC 9207 §2.4 demands; otherwise it is
    /// reported, since some providers send `iss` with codes only.
    package var rejectsErrorsWithoutIssuer = false
    /// The configured token endpoint; nil if it is discovered again from the issuer.
    public let tokenEndpoint: WebURL?
    /// The URL of the issuer's keys.
    public let jwksURI: WebURL?
}

extension PendingAuthorization: CustomStringConvertible, CustomReflectable {
    /// The client and the endpoint, without a secret.
    public var description: String { "PendingAuthorization(\(clientID) at \(endpoint.withoutQuery))" }
    /// No member, so nothing secret is dumped.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A code that passed every check of the authorization response; the only thing that can be exchanged.
public struct AuthorizationCode: Hashable, Sendable {
    /// The code, which is single-use.
    public let code: Redacted<String>
    /// The sign-in that it answers.
    public let pending: PendingAuthorization
    /// The `iss` that came with the code (RFC 9207).
    let issuer: String?
    /// The other parameters of the redirect, such as QuickBooks' `realmId`; none that could be a secret.
    public let extra: JSONObject

    init(
        code: String, pending: PendingAuthorization, issuer: String? = nil, extra: JSONObject = JSONObject()
    ) {
        self.code = Redacted(code)
        self.pending = pending
        self.issuer = issuer
        self.extra = extra
    }
}
