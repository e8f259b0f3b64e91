public import OIDCCore
import OIDCCrypto
import OIDCSessions
import OIDCSignIn
import Posix

/// The blocking functions, which the asynchronous ones run on a separate thread.
extension OIDCClient {
    var store: any SessionStoring {
        if let store = configuration.store { return store }
        let directory = StateDirectories(environment: ProcessEnvironment.current).state
        return directory.map { FileSessionStore(directory: $0) } ?? memory
    }

    @usableFromInline
    func blockingSignIn(
        _ scope: Scope, onDevice: Bool, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> Session {
        let store = store
        try store.probe(configuration.key)
        let environment = configuration.environment(isCancelled: isCancelled)
        let login = try login(scope, onDevice: onDevice, environment)
        let deadline = MonotonicTime.now().adding(seconds: configuration.timeout.components.seconds)
        let keep = { (outcome: SignInFlow.Outcome) throws(OIDCError) in
            let wait = LockWait(limit: .seconds(90), isCancelled: { false })
            do throws(OIDCError) {
                try store.withLock(configuration.key, wait) { () throws(OIDCError) in
                    try store.save(outcome.session, replacingDamaged: true)
                }
            } catch {
                try store.save(outcome.session, replacingDamaged: true)
            }
        }
        guard !onDevice else {
            var device = DeviceSignIn(flow: login, deadline: deadline, notice: notice)
            device.isCancelled = isCancelled
            return try device.run(keep: keep).session
        }
        let variables = ProcessEnvironment.current
        let choice = BrowserChoice.resolve(.current(environment: variables))
        var browser = BrowserSignIn(
            flow: login, redirect: try RedirectAddress(configuration.redirectURI), readsInput: false,
            browser: configuration.opensBrowser && choice.isAvailable ? choice : nil,
            environment: ProcessEnvironment.withoutSecrets(variables), deadline: deadline, notice: notice)
        browser.isCancelled = isCancelled
        return try browser.run(keep: keep).session
    }

    private func login(
        _ scope: Scope, onDevice: Bool, _ environment: ProviderEnvironment
    ) throws(OIDCError) -> SignInFlow {
        let metadata = try metadata(environment)
        try metadata.validate(for: [onDevice ? .deviceAuthorization : .authorization, .token], scope: scope)
        let client = configuration.client
        let dpop = configuration.bindsTokens ? try DPoPKey.generate() : nil
        var request = AuthorizationRequest(
            client: client, redirectURI: configuration.redirectURI ?? RedirectAddress.standard, scope: scope)
        request.audience = configuration.audience
        request.resources = configuration.resources
        request.promptsForOfflineAccess = configuration.promptsForOfflineAccess
        request.dpopThumbprint = dpop?.thumbprint
        var login = SignInFlow(
            environment: environment, metadata: metadata,
            tokenEndpoint: endpoint(
                try metadata.require(.token, presentingCertificate: client.presentsCertificate), dpop),
            request: request, key: configuration.key, leeway: configuration.leeway)
        login.pin(to: try? store.load(configuration.key))
        login.keepsRefusedTokens = { [store, key = configuration.key] in
            store.mayHaveSession(ofClientIn: key)
        }
        return login
    }

    private func metadata(_ environment: ProviderEnvironment) throws(OIDCError) -> ProviderMetadata {
        try ProviderDocuments(environment: environment).metadata(
            issuer: configuration.issuer, at: configuration.metadataURL)
    }

    /// Returns the URL of a session's endpoint for a client with a certificate (RFC 8705 §5).
    private func alias(
        of url: WebURL, for endpoint: ProviderEndpoint, _ environment: ProviderEnvironment
    ) -> WebURL {
        guard configuration.client.presentsCertificate, let metadata = try? metadata(environment) else {
            return url
        }
        return metadata.alias(of: url, for: endpoint)
    }

    private func endpoint(_ url: WebURL, _ dpop: DPoPKey?) -> TokenEndpoint {
        var endpoint = TokenEndpoint(url: url, client: configuration.client, dpop: dpop)
        endpoint.sendsResources = configuration.sendsResources
        endpoint.refreshNamesScope = configuration.refreshNamesScope
        endpoint.assumedTokenType = configuration.assumedTokenType
        return endpoint
    }

    /// Returns access to the session's tokens. They are refreshed at the session's endpoint, with the
    /// client's authentication and the key that they are bound to.
    private func tokens(
        _ environment: ProviderEnvironment, _ isCancelled: @escaping @Sendable () -> Bool
    ) -> SessionTokens {
        let leeway = configuration.leeway
        return SessionTokens(
            store: store, key: configuration.key, now: environment.now,
            wait: LockWait(limit: .seconds(90), isCancelled: isCancelled)
        ) { (current, source) throws(OIDCError) in
            guard let current else { throw TokenRefresh.impossible }
            let dpop = try current.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) }
            let refresh = TokenRefresh(
                environment: environment,
                tokenEndpoint: endpoint(current.endpoints.refresh ?? current.endpoints.token, dpop),
                leeway: leeway)
            let answer = try refresh.request(current, for: source)
            return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
                try refresh.check(answer)
            }
        }
    }

    @usableFromInline
    func blockingToken(
        _ scope: Scope?, _ resources: [String], _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> AccessToken {
        let environment = configuration.environment(isCancelled: isCancelled)
        let demand = TokenDemand(scope: scope, resources: resources)
        return try tokens(environment, isCancelled).token(demand).access
    }

    @usableFromInline
    func blockingUserInfo(_ isCancelled: @escaping @Sendable () -> Bool) throws(OIDCError) -> JSONObject {
        let environment = configuration.environment(isCancelled: isCancelled)
        return try ProtectedRequest(tokens(environment, isCancelled), environment: environment).userInfo(
            leeway: configuration.leeway, alias: { alias(of: $0, for: .userInfo, environment) }
        ) { _ throws(OIDCError) in
            try UserInfo.Signing(metadata(environment)) { configuration.client }
        }
    }

    @usableFromInline
    func blockingSend(
        _ request: HTTPRequest, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> HTTPResponse {
        let environment = configuration.environment(isCancelled: isCancelled)
        let protected = ProtectedRequest(tokens(environment, isCancelled), environment: environment)
        return try protected.send { attempt throws(OIDCError) in
            var authorized = request
            try attempt.authorize(&authorized)
            let response = try environment.transport.send(authorized, stage: .resource)
            return attempt.next(after: response).map { .again($0) } ?? .done(response)
        }
    }

    @usableFromInline
    func blockingSignOut(
        _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(OIDCError) -> SignOutResult {
        let (store, key) = (store, configuration.key)
        let forget = { () throws(OIDCError) -> Session? in
            let session = try? store.load(key)
            try store.remove(key)
            return session
        }
        let session: Session?
        do throws(OIDCError) {
            session = try store.withLock(key, LockWait(limit: .seconds(90), isCancelled: isCancelled), forget)
        } catch {
            // Sign-out removes the session in every case, even while a refresh holds the lock.
            session = try forget()
        }
        guard let session, let stored = session.endpoints.revocation else { return .notOffered }
        let environment = configuration.environment(isCancelled: isCancelled)
        let endpoint = alias(of: stored, for: .revocation, environment)
        var isRevoked = false
        let failures = SessionRevocation(session, as: configuration.client, environment).run(at: endpoint) {
            if case .revoked = $0 { isRevoked = true }
        }
        return failures.first.map { .failed($0) } ?? (isRevoked ? .revoked : .notOffered)
    }
}
