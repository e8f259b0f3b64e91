/// A sign-in in progress, with the values that the answer and the ID token are checked against. Only its
/// `accept` methods create an `AuthorizationCode`.
public struct PendingAuthorization: Hashable, Sendable {
    /// The URL to open, unless the request is pushed (RFC 9126).
    public internal(set) var url: WebURL
    package let endpoint: WebURL
    var parameters: [FormEncoding.Pair]

    /// `state`, which the answer must repeat.
    public let state: Redacted<String>
    /// `nonce`, which the ID token must repeat; nil if none was sent.
    public let nonce: Redacted<String>?
    /// The verifier and challenge (RFC 7636).
    public let pkce: PKCE
    /// The client ID of the request.
    public let clientID: String
    /// The redirect URI of the request.
    public let redirectURI: String
    /// The scope that was requested.
    public let scope: OAuthScope
    /// The resources that were requested (RFC 8707).
    public let resources: [String]
    /// `max_age` of the request, in seconds.
    public let maxAge: Duration?
    /// `prompt` of the request.
    public let prompt: String?
    /// The way the answer is sent.
    public let responseMode: AuthorizationRequest.ResponseMode
    /// The issuer that the answer and the ID token must name, or its template.
    public let issuer: String?
    /// Whether the metadata promises `iss` in every answer (RFC 9207 §3).
    public let isIssuerPromised: Bool
    /// Whether an error without the promised `iss` is rejected unread, as RFC 9207 §2.4 demands. Otherwise it
    /// is reported, as some providers send `iss` with codes only.
    package var rejectsErrorsWithoutIssuer = false
    /// The rules for a signed answer; nil if they are not known yet.
    package var responseRules: SignedResponseRules?
    /// The configured token endpoint; nil if it is discovered again from the issuer.
    public let tokenEndpoint: WebURL?
    /// The URL of the issuer's keys.
    public let jwksURI: WebURL?
}

extension PendingAuthorization: CustomStringConvertible, CustomReflectable {
    /// The client and the endpoint, without a secret.
    public var description: String { "PendingAuthorization(\(clientID) at \(endpoint.withoutQuery))" }
    /// A mirror without members, so `dump` shows nothing secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A code that passed every check of the authorization response. No other code can be exchanged.
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
