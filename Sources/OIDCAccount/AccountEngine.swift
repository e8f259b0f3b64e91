package import OIDCCore
package import OIDCSessions
package import Posix

/// The provider of an account, and its client there. The engine asks for each value only when a request is about to
/// be sent, so a fresh token needs no network, no secret and no library.
package protocol AccountProvider: Sendable {
    /// The accepted difference between clocks.
    var leeway: Duration { get }
    /// The algorithms that are accepted for ID tokens; nil for every asymmetric one.
    var idTokenAlgorithms: [String]? { get }
    /// Whether new tokens are bound to a key (DPoP, RFC 9449).
    var bindsTokens: Bool { get }
    /// The wait for the session's lock, whose holder may be using the network.
    var lockWait: LockWait { get }
    /// A text that differs if what the client authenticates with does. No program is run for it, and no pipe is read.
    var credentials: Redacted<String> { get }

    func environment() throws(OIDCError) -> OIDCContext
    /// Returns the client. `method` is the authentication of the session that it is for.
    func client(
        _ metadata: ProviderMetadata?, method: String?, _ environment: OIDCContext
    ) throws(OIDCError) -> Client
    func tokenEndpoint(at url: WebURL, client: Client, dpop: DPoPKey?) throws(OIDCError) -> TokenEndpoint
    /// Returns the endpoint that refreshes a session, with its client and the key that its tokens are bound to.
    func tokenEndpoint(
        of session: Session, _ environment: OIDCContext
    ) throws(OIDCError) -> TokenEndpoint
    /// Returns the URL of a session's endpoint for this client: with a certificate the alias (RFC 8705 §5).
    func alias(of url: WebURL, for endpoint: ProviderEndpoint, _ environment: OIDCContext) -> WebURL

    /// Returns whether another store of this machine may have a session of the key's provider and client.
    func mayHaveSession(ofClientIn key: SessionKey) -> Bool
    /// Requests the tokens of a grant without a user.
    func granted(_ key: SessionKey) throws(OIDCError) -> TokenRefresh.Outcome
    /// Called before a session's refresh token is presented.
    func refreshes(_ session: Session)
    /// Called after the answer to a refresh was checked.
    func hasRefreshed(_ session: Session, _ outcome: TokenRefresh.Outcome)
}

extension AccountProvider {
    package var credentials: Redacted<String> { Redacted("") }

    package func granted(_ key: SessionKey) throws(OIDCError) -> TokenRefresh.Outcome {
        throw TokenRefresh.impossible
    }

    package func mayHaveSession(ofClientIn key: SessionKey) -> Bool { false }
    package func refreshes(_ session: Session) {}
    package func hasRefreshed(_ session: Session, _ outcome: TokenRefresh.Outcome) {}

    /// Returns the endpoint that issues new tokens, with a new key if they are to be bound to one.
    package func newTokenEndpoint(
        _ metadata: ProviderMetadata, _ client: Client
    ) throws(OIDCError) -> TokenEndpoint {
        let url = try metadata.require(.token, presentingCertificate: client.presentsCertificate)
        let dpop: DPoPKey? = bindsTokens ? try DPoPKey.generate() : nil
        return try tokenEndpoint(at: url, client: client, dpop: dpop)
    }

    /// Returns the revocation of the tokens of a session that was removed from its store; nil if the provider offers
    /// none.
    package func revocation(of session: Session) throws(OIDCError) -> SessionRevocation? {
        guard let stored = session.endpoints.revocation else { return nil }
        let environment = try environment()
        let client = try tokenEndpoint(of: session, environment).client
        let url = alias(of: stored, for: .revocation, environment)
        return SessionRevocation(session: session, endpoint: url, client: client, environment: environment)
    }

    /// Revokes the tokens of a session that was removed from its store.
    package func revoke(_ session: Session) -> SessionRevocation.Result {
        do throws(OIDCError) {
            return try revocation(of: session)?.run() ?? SessionRevocation.Result()
        } catch {
            return SessionRevocation.Result(isOffered: true, failures: [error])
        }
    }
}

/// Sign-in, tokens and sign-out of one account, for the library and the command line.
package struct AccountEngine {
    package let key: SessionKey
    package let store: SessionStore
    package let provider: any AccountProvider

    var lockWait: LockWait { provider.lockWait }

    package init(key: SessionKey, store: SessionStore, _ provider: any AccountProvider) {
        self.key = key
        self.store = store
        self.provider = provider
    }

    /// Returns the flow of a sign-in. `request` gets the key that the tokens will be bound to.
    package func flow(
        _ metadata: ProviderMetadata, as client: Client, _ environment: OIDCContext,
        pushing: SignInFlow.Pushing = .auto,
        request: (DPoPKey?) throws(OIDCError) -> AuthorizationRequest
    ) throws(OIDCError) -> SignInFlow {
        let endpoint = try provider.newTokenEndpoint(metadata, client)
        var flow = SignInFlow(
            context: environment, metadata: metadata, tokenEndpoint: endpoint,
            request: try request(endpoint.dpop), key: key, pushing: pushing, leeway: provider.leeway)
        flow.keepsRefusedTokens = { [store, key, provider] in
            store.mayHaveSession(ofClientIn: key) || provider.mayHaveSession(ofClientIn: key)
        }
        return flow
    }

    /// Signs in, and saves the session before the user is told. `onStoreFailure` gets the error of a session that
    /// cannot be saved; without it, the sign-in fails.
    package func signIn(
        by way: some SignInWay, onStoreFailure: ((OIDCError) -> Void)? = nil
    ) throws(OIDCError) -> SignInFlow.Outcome {
        try way.run { outcome throws(OIDCError) in
            do throws(OIDCError) { try store.saveSignIn(outcome.session, lockWait) } catch {
                guard let onStoreFailure, error.kind != .interrupted else { throw error }
                onStoreFailure(error)
            }
        }
    }

    /// Returns access to the session's tokens. Failures of other processes since `startedAt` also apply to the caller.
    package func tokens(startedAt: MonotonicTime = .now()) -> SessionTokens {
        SessionTokens(
            store: store, key: key, now: { Clock.now() }, wait: lockWait, startedAt: startedAt,
            credentials: { provider.credentials },
            request: { (current, source) throws(OIDCError) in try answer(current, source) })
    }

    private func answer(
        _ current: Session?, _ source: TokenSource
    ) throws(OIDCError) -> SessionTokens.Answer {
        guard key.grant.needsUser else {
            var outcome = try provider.granted(key)
            outcome.session.kept = current?.kept ?? []
            return SessionTokens.Answer { () throws(OIDCError) in outcome }
        }
        guard let current else { throw SessionTokens.notSignedIn(key) }
        provider.refreshes(current)
        let environment = try provider.environment()
        let refresh = TokenRefresh(
            context: environment, tokenEndpoint: try provider.tokenEndpoint(of: current, environment),
            leeway: provider.leeway, allowedAlgorithms: provider.idTokenAlgorithms)
        let answer = try refresh.request(current, for: source)
        return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
            let outcome = try refresh.check(answer)
            provider.hasRefreshed(current, outcome)
            return outcome
        }
    }
}
