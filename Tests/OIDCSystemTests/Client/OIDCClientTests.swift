import DemoProvider
import OIDCCore
@testable import OIDCSessions
import OIDCSignIn
@testable import OIDCAccount
@testable import OIDCSystem
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// The library's calls against a provider in memory; only the redirect of a browser sign-in crosses a socket.
@Suite("the library's client")
struct OIDCClientTests {
    private func client(
        _ provider: InMemoryProvider, _ store: SessionStore = .inMemory(),
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) -> OIDCClient {
        var configuration = ClientConfiguration(issuer: InMemoryProvider.issuer, clientID: "demo")
        configuration.transport = provider
        configuration.store = store
        configuration.opensBrowser = false
        change(&configuration)
        var client = OIDCClient(configuration)
        client.notice = { notice in
            guard let url = notice.url else { return }
            try? BackgroundThread {
                guard let text = try? provider.callback(of: url), let callback = WebURL(text) else { return }
                _ = try? Visit.send(HTTPRequest(.get, callback))
            }.detach()
        }
        return client
    }

    private func provider(_ change: (inout DemoConfiguration) -> Void = { _ in }) throws -> InMemoryProvider {
        try InMemoryProvider(change, clock: { Clock.now() })
    }

    private static let scope = "openid profile email offline_access"

    @Test("signs in, gives tokens and claims, and signs out")
    func whole() async throws {
        let provider = try provider()
        let store = SessionStore.inMemory()
        let client = client(provider, store)
        #expect(try client.session() == nil)
        let session = try await client.signIn(scope: Self.scope)
        #expect(try client.session() == session)
        #expect(try await client.accessToken() == session.tokens.access)
        #expect(try await client.userInfo()["sub"]?.string == session.subject)
        #expect(try await client.signOut() == .revoked)
        #expect(try client.session() == nil)
        #expect(provider.with { $0.requestCount(.revocation) } == 2)
        let error = await #expect(throws: OIDCError.self) { try await client.accessToken() }
        #expect(error?.kind == .loginRequired)
    }

    @Test("a redirect URL elsewhere is received where callbackListen and callbackPath say")
    func passedOn() async throws {
        let text = "https://code.example/x/cb"
        let provider = try provider { $0.clients = [DemoClient(id: "demo", redirectURIs: [text])] }
        let (descriptor, port) = try LoopbackSocket.listen(.ipv4Loopback, port: 0, backlog: 1)
        descriptor.close()
        var client = client(provider) {
            $0.redirectURI = text
            $0.callbackListen = "127.0.0.1:\(port)"
            $0.timeout = .seconds(60)
            $0.callbackPath = "/cb"
        }
        client.notice = { notice in
            guard let url = notice.url else { return }
            try? BackgroundThread {
                guard let text = try? provider.callback(of: url), let query = WebURL(text)?.query,
                    let callback = WebURL("http://127.0.0.1:\(port)/cb?\(query)")
                else { return }
                _ = try? Visit.send(HTTPRequest(.get, callback))
            }.detach()
        }
        #expect(try await client.signIn(scope: Self.scope).subject != nil)
        let wrong = self.client(provider) { $0.callbackListen = "code.example:80" }
        let error = await #expect(throws: OIDCError.self) { try await wrong.signIn(scope: Self.scope) }
        #expect(error?.kind == .usage)
    }

    @Test("a session bound to a key is refreshed, used and read with its proofs (RFC 9449)")
    func bound() async throws {
        let provider = try provider { $0.requiresDPoP = true }
        let store = SessionStore.inMemory()
        let client = client(provider, store) { $0.bindsTokens = true }
        let session = try await client.signIn(scope: Self.scope)
        #expect(session.dpopKey != nil)
        try expire(session, in: store)
        let token = try await client.accessToken()
        #expect(token.type == .dpop && token != session.tokens.access)
        #expect(try await client.userInfo()["sub"]?.string == session.subject)
        let url = try #require(session.endpoints.userInfo)
        #expect(try await client.send(HTTPRequest(.get, url)).status == 200)
    }

    @Test("a confidential client proves itself at the exchange, the refresh and the sign-out")
    func confidential() async throws {
        let provider = try provider()
        let demo = DemoClient.confidentialDemo
        let store = SessionStore.inMemory()
        let client = client(provider, store) {
            $0.clientID = demo.id
            $0.authentication = .clientSecretBasic(demo.secret ?? Redacted(""))
        }
        let session = try await client.signIn(scope: Self.scope)
        try expire(session, in: store)
        #expect(try await client.accessToken() != session.tokens.access)
        #expect(try await client.signOut() == .revoked)
    }

    @Test("an expired token is refreshed once for all callers, and the new refresh token is stored")
    func refresh() async throws {
        let provider = try provider()
        let store = SessionStore.inMemory()
        let client = client(provider, store)
        let session = try await client.signIn(scope: Self.scope)
        try expire(session, in: store)
        let first = try await client.accessToken()
        #expect(try await client.accessToken() == first)
        #expect(provider.with { $0.requestCount(grant: "refresh_token") } == 1)
        let stored = try #require(try client.session())
        #expect(stored.tokens.refreshToken != session.tokens.refreshToken)
    }

    @Test("eight tasks that share one client and its memory refresh once")
    func tasks() async throws {
        let provider = try provider()
        let store = SessionStore.inMemory()
        let client = client(provider, store)
        try expire(try await client.signIn(scope: Self.scope), in: store)
        provider.intercept { request in
            if request.url.path == "/token" { Poll.sleep(until: .now().adding(milliseconds: 100)) }
            return nil
        }
        let tokens = try await withThrowingTaskGroup(of: AccessToken.self) { group in
            for _ in 0..<8 { group.addTask { try await client.accessToken() } }
            return try await group.reduce(into: Set<AccessToken>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(provider.with { $0.requestCount(grant: "refresh_token") } == 1)
    }

    @Test("a token that a resource no longer accepts is replaced once, and the request sent again")
    func refusedToken() async throws {
        let provider = try provider()
        let client = client(provider)
        let session = try await client.signIn(scope: Self.scope)
        let old = session.tokens.access.token.revealed
        provider.intercept { request in
            guard request.url.path == "/userinfo", request.headers["Authorization"] == "Bearer \(old)" else {
                return nil
            }
            return HTTPResponse(
                status: 401, headers: HTTPHeaders([("WWW-Authenticate", #"Bearer error="invalid_token""#)]))
        }
        let url = try #require(session.endpoints.userInfo)
        #expect(try await client.send(HTTPRequest(.get, url)).status == 200)
        #expect(provider.with { $0.requestCount(grant: "refresh_token") } == 1)
    }

    @Test(
        "if UserInfo refuses the token, it is called once more with a new one, with any status",
        arguments: [(400, true), (401, true), (200, true), (400, false)])
    func refusedByUserInfo(status: Int, isRefreshed: Bool) async throws {
        let provider = try provider()
        let client = client(provider)
        let old = try await client.signIn(scope: Self.scope).tokens.access.token.revealed
        provider.intercept { request in
            guard request.url.path == "/userinfo", request.headers["Authorization"] == "Bearer \(old)" else {
                return nil
            }
            let code = isRefreshed ? "invalid_token" : "invalid_request"
            return HTTPResponse(status: status, body: Array(#"{"error":"\#(code)"}"#.utf8))
        }
        guard isRefreshed else {
            await #expect(throws: OIDCError.self) { try await client.userInfo() }
            #expect(provider.with { $0.requestCount(grant: "refresh_token") } == 0)
            return
        }
        #expect(try await client.userInfo()["sub"] == "alice")
        #expect(provider.with { $0.requestCount(grant: "refresh_token") } == 1)
    }

    @Test("a session is pinned to its tenant until the user signs out")
    func tenants() async throws {
        let provider = try provider()
        let client = client(provider) { $0.issuer = Tenancy.common }
        provider.faults = [.authorization(.issuerMissing)]
        provider.play(Tenancy())
        let first = try await client.signIn(scope: Self.scope)
        #expect(try await client.userInfo()["sub"] == "alice")
        provider.play(Tenancy(tenant: "another"))
        let error = await #expect(throws: OIDCError.self) { try await client.signIn(scope: Self.scope) }
        #expect(error?.kind == .untrusted && error?.hint == .advice(.keepTenantsApart))
        #expect(try client.session() == first)
        try await client.signOut()
        let second = try await client.signIn(scope: Self.scope)
        #expect(second.endpoints.issuer == Tenancy.issuer(of: "another"))
    }

    @Test("a device code signs in without a browser (RFC 8628)")
    func device() async throws {
        let provider = try provider {
            $0.user = .approves("alice")
            $0.deviceInterval = 1
        }
        var client = client(provider)
        let codes = Mutex<[String]>([])
        client.notice = { notice in
            if let code = notice.userCode { codes.withLock { $0.append(code) } }
        }
        let session = try await client.signInOnDevice(scope: Self.scope)
        #expect(try client.session() == session)
        #expect(codes.withLock { $0.count } == 1)
    }

    @Test("canceling the task ends a sign-in, and nothing is stored", arguments: [false, true])
    func cancelled(onDevice: Bool) async throws {
        let provider = try provider { $0.deviceInterval = 1 }
        var client = client(provider)
        client.notice = { _ in }
        let task = Task { [client] in
            onDevice ? try await client.signInOnDevice() : try await client.signIn()
        }
        try await Task.sleep(for: .milliseconds(300))
        task.cancel()
        let outcome = await task.result
        #expect(throws: OIDCError.self) { try outcome.get() }
        #expect((outcome.failure as? OIDCError)?.kind == .interrupted)
        #expect(try client.session() == nil)
    }

    @Test("a sign-out removes the session even if it is canceled while a refresh holds the lock")
    func cancelledSignOut() async throws {
        let provider = try provider()
        let store = SessionStore.inMemory()
        let client = client(provider, store)
        try await client.signIn(scope: Self.scope)
        let result = try store.withLock(client.configuration.key, LockWait(limit: .zero)) {
            () throws(OIDCError) in
            try client.blockingSignOut { true }
        }
        #expect(result == .revoked)
        #expect(try client.session() == nil)
    }

    @Test("sessions of two accounts of one client are stored separately")
    func accounts() async throws {
        let provider = try provider()
        let store = SessionStore.inMemory()
        let alice = client(provider, store) { $0.account = "alice" }
        let bob = client(provider, store) { $0.account = "bob" }
        try await alice.signIn(scope: Self.scope)
        #expect(try bob.session() == nil)
        try await bob.signIn(scope: Self.scope)
        try await alice.signOut()
        #expect(try bob.session() != nil)
    }

    /// As if the session's access token had just expired.
    private func expire(_ session: Session, in store: SessionStore) throws {
        var expired = session
        expired.tokens.access.expiresAt = Clock.now().adding(-1)
        try store.save(expired, replacingDamaged: false)
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
