import OIDCCrypto

/// The end of the provider's own session (OpenID Connect RP-Initiated Logout §2).
package struct Logout: Sendable {
    package var clientID: String
    package var idTokenHint: Redacted<String>?
    /// Only one that is registered with the provider.
    package var postLogoutRedirectURI: String?

    package init(clientID: String, idTokenHint: Redacted<String>?, postLogoutRedirectURI: String? = nil) {
        self.clientID = clientID
        self.idTokenHint = idTokenHint
        self.postLogoutRedirectURI = postLogoutRedirectURI
    }

    /// The address to open; `state` goes along where somebody comes back.
    package func begin(at endpoint: WebURL, random: (Int) -> [UInt8]) throws(OIDCError) -> PendingLogout {
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
                .failed, "end_session: the ID token is too long for an address", stage: .endSession)
        }
        let bare = endpoint.appendingQuery(pairs.filter { $0.name != "id_token_hint" })
        return PendingLogout(url: url, urlWithoutToken: bare, state: state)
    }
}

/// A sign-out that has begun.
package struct PendingLogout: Sendable {
    /// Holds the ID token, as the specification wants it: to be opened, and not to be printed.
    package let url: WebURL
    /// The same without the ID token, where it is not known who will see it: the provider asks the user.
    package let urlWithoutToken: WebURL
    let state: Redacted<String>?

    /// Whether what came to the redirect address belongs to this sign-out: exactly one `state`, and the
    /// right one.
    package func accept(_ pairs: [FormEncoding.Pair]) -> Bool {
        let states = pairs.filter { $0.name == "state" }
        guard let state, states.count == 1 else { return false }
        return equalInConstantTime(Array(states[0].value.utf8), Array(state.revealed.utf8))
    }
}

extension PendingLogout: CustomStringConvertible, CustomReflectable {
    package var description: String { "PendingLogout(\(url.withoutQuery))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
