import OIDCCrypto

/// The end of the provider's own session (OpenID Connect RP-Initiated Logout §2).
public struct Logout: Sendable {
    /// `client_id`.
    public var clientID: String
    /// `id_token_hint`: the ID token of the session, so the provider need not ask the user to confirm.
    public var idTokenHint: Redacted<String>?
    /// A redirect URI that is registered with the provider.
    public var postLogoutRedirectURI: String?

    /// Creates a sign-out.
    public init(clientID: String, idTokenHint: Redacted<String>? = nil, postLogoutRedirectURI: String? = nil)
    {
        self.clientID = clientID
        self.idTokenHint = idTokenHint
        self.postLogoutRedirectURI = postLogoutRedirectURI
    }

    /// Returns the URL to open, with a `state` if the browser is redirected back.
    public func begin(at endpoint: WebURL, random: (Int) -> [UInt8]) throws(OIDCError) -> PendingLogout {
        var pairs: [FormEncoding.Pair] = []
        if let idTokenHint { pairs.append(FormEncoding.Pair("id_token_hint", idTokenHint.revealed)) }
        pairs.append(FormEncoding.Pair("client_id", clientID))
        var state: Redacted<String>?
        if let postLogoutRedirectURI {
            try RedirectURI.check(postLogoutRedirectURI, setting: "post_logout_redirect_uri")
            let fresh = Base64URL.encode(random(16))
            state = Redacted(fresh)
            pairs.append(FormEncoding.Pair("post_logout_redirect_uri", postLogoutRedirectURI))
            pairs.append(FormEncoding.Pair("state", fresh))
        }
        let url = endpoint.appendingQuery(pairs)
        guard url.text.utf8.count <= AuthorizationRequest.maximumByteCount else {
            throw OIDCError(
                .failed, "end_session: the ID token is too long for a URL", stage: .endSession)
        }
        let bare = endpoint.appendingQuery(pairs.filter { $0.name != "id_token_hint" })
        return PendingLogout(url: url, urlWithoutToken: bare, state: state)
    }
}

/// A sign-out in progress.
public struct PendingLogout: Sendable {
    /// The URL to open. It contains the ID token, so it must not be printed.
    public let url: WebURL
    /// The URL without the ID token, to print. The provider then asks the user to confirm.
    public let urlWithoutToken: WebURL
    let state: Redacted<String>?

    /// Returns whether a request to the redirect URL belongs to this sign-out: it has exactly one `state`,
    /// which is ours.
    public func accept(_ pairs: [FormEncoding.Pair]) -> Bool {
        let states = pairs.filter { $0.name == "state" }
        guard let state, states.count == 1 else { return false }
        return equalInConstantTime(Array(states[0].value.utf8), Array(state.revealed.utf8))
    }
}

extension PendingLogout: CustomStringConvertible, CustomReflectable {
    /// The endpoint, without the token.
    public var description: String { "PendingLogout(\(url.withoutQuery))" }
    /// A mirror without members, so `dump` shows no token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
