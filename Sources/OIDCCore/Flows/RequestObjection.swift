/// The objection of a provider to an authorization request, as its endpoint for pushed requests words it.
///
/// A provider shows an unregistered redirect URL or an unknown client on a page that never returns (RFC 6749
/// §4.1.2.1). The endpoint for pushed requests checks the same request and answers (RFC 9126 §2.3): Keycloak
/// 26 and oidc-provider 9 within half a second (2026-11).
package enum RequestObjection: Sendable {
    /// The sign-in cannot succeed.
    case final(OIDCError)
    /// The sign-in may succeed, as the endpoint may judge the client in another way than the page does.
    case noted(OIDCError)

    init?(_ error: OIDCError, redirectURI: String, client: Client) {
        var error = error
        if error.code == .redirectRefused {
            error.hint = .checkRegistration(redirectURL: redirectURI, clientID: client.id)
            self = .final(error)
            return
        }
        switch error.oauthError {
        case "invalid_scope": self = .final(error)
        case "invalid_client" where client.authentication.method != "none": self = .noted(error)
        default: return nil
        }
    }
}

extension SignInFlow {
    /// Pushes a request like the one in the browser once, with its own `state`, `nonce` and challenge, only
    /// to learn the provider's objection to it. Returns nil if the provider has none, or does not say.
    package func objection(redirectURI: String) -> RequestObjection? {
        guard !isPushed, pushing != .off, metadata[.pushedAuthorizationRequest] != nil else { return nil }
        do throws(OIDCError) {
            _ = try start(redirectURI: redirectURI, isPushed: true)
            return nil
        } catch {
            return RequestObjection(error, redirectURI: redirectURI, client: tokenEndpoint.client)
        }
    }

    /// Returns whether an error answer only asks for the same request through the endpoint for pushed
    /// requests, which the provider has.
    package func isRefusedUnpushed(_ error: OIDCError) -> Bool {
        error.code == .needsPAR && !isPushed && pushing != .off
            && metadata[.pushedAuthorizationRequest] != nil
    }
}
