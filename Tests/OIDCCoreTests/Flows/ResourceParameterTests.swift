import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("the resource parameter (RFC 8707)")
struct ResourceParameterTests {
    private static let resources = ["https://api.example/a", "https://api.example/b"]

    private func login(
        _ provider: InMemoryProvider, _ change: (inout TokenEndpoint) -> Void = { _ in }
    ) throws -> SignInFlow {
        var login = try provider.login(endpoint: change)
        login.request.resources = Self.resources
        return login
    }

    private func refresh(
        _ provider: InMemoryProvider, _ session: Session, _ source: TokenSource = .own, sends: Bool = true
    ) throws -> Session {
        var endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo"))
        endpoint.sendsResources = sends
        return try TokenRefresh(context: provider.environment, tokenEndpoint: endpoint)
            .refresh(session, for: source).session
    }

    /// The resources in each request to an endpoint.
    private func sent(_ provider: InMemoryProvider, to endpoint: Endpoint) -> [[String]] {
        provider.with { provider in
            provider.requests(to: endpoint).map { request in
                let body =
                    request.method == .get
                    ? request.url.query ?? "" : String(decoding: request.body, as: UTF8.self)
                return (FormEncoding.decode(body) ?? []).filter { $0.name == "resource" }.map(\.value)
            }
        }
    }

    @Test("is sent in the authorization request, the code exchange and every refresh of the session (§2.2)")
    func everywhere() throws {
        let provider = try InMemoryProvider()
        var session = try provider.finish(login(provider)).session
        session = try refresh(provider, session)
        session = try refresh(provider, session, .derived(scope: Scope("openid"), resources: []))
        _ = try refresh(provider, session, .derived(scope: nil, resources: [Self.resources[0]]))
        #expect(sent(provider, to: .authorize).first == Self.resources)
        let all = Self.resources
        #expect(sent(provider, to: .token) == [all, all, all, [Self.resources[0]]])
    }

    @Test(
        "if Entra ID refuses it at a refresh, the same refresh goes without it, and the session remembers that",
        arguments: ["AADSTS9010010: x", "AADSTS901002: x"])
    func refusedAtRefresh(_ description: String) throws {
        let provider = try InMemoryProvider()
        var session = try provider.finish(login(provider)).session
        let refused = refusals(provider, description)
        session = try refresh(provider, session)
        #expect(refused() == 1 && session.sendsResources == false)
        #expect(try Session(stored: session.json.bytes).sendsResources == false)
        _ = try refresh(provider, session)
        #expect(refused() == 1)
        // A token for another resource cannot do without it.
        session.sendsResources = true
        let error = #expect(throws: OIDCError.self) {
            try refresh(provider, session, .derived(scope: nil, resources: ["https://other.example"]))
        }
        #expect(error?.kind == .refused)
    }

    /// Refuses the parameter from now on, and returns how often it did.
    private func refusals(_ provider: InMemoryProvider, _ description: String) -> () -> Int {
        final class Count: Sendable { let value = Mutex(0) }
        let count = Count()
        provider.intercept { request in
            guard String(decoding: request.body, as: UTF8.self).contains("resource=") else { return nil }
            count.value.withLock { $0 += 1 }
            return HTTPResponse(
                status: 400, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(#"{"error":"invalid_target","error_description":"\#(description)"}"#.utf8))
        }
        return { count.value.withLock { $0 } }
    }

    @Test(
        "an answer that may repeat the words of the request is not Entra ID's, and nothing goes without resource",
        arguments: [
            ("unknown: AADSTS9010010: x", "openid"), ("not AADSTS901002: x", "openid"),
            ("AADSTS9010010: x", "openid aadsts9010010:"),
        ])
    func repeatedAtRefresh(_ description: String, scope: String) throws {
        let provider = try InMemoryProvider()
        var session = try provider.finish(login(provider)).session
        session.requestedScope = Scope(scope)
        let refused = refusals(provider, description)
        let error = #expect(throws: OIDCError.self) { try refresh(provider, session) }
        #expect(error?.kind == .refused && refused() == 1)
    }

    @Test("a provider that needs it gets the granted scope with a refresh, and offline_access if asked for")
    func scopeOfRefresh() throws {
        let provider = try InMemoryProvider()
        let session = try provider.signIn()
        func scope(_ change: (inout TokenEndpoint) -> Void) throws -> String? {
            var endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo"))
            change(&endpoint)
            _ = try? TokenRefresh(context: provider.environment, tokenEndpoint: endpoint).request(
                session, for: .own)
            let body = provider.with { $0.requests(to: .token).last?.body } ?? []
            let pairs = FormEncoding.decode(String(decoding: body, as: UTF8.self)) ?? []
            return pairs.first { $0.name == "scope" }?.value
        }
        #expect(try scope { _ in } == nil)
        let granted = try #require(session.grantedScope)
        #expect(try scope { $0.refreshNamesScope = true } == granted.union(Scope("offline_access")).text)
        let own = FormEncoding.Pair("scope", "api://x/.default")
        #expect(
            try scope {
                $0.refreshNamesScope = true
                $0.extraParameters = [own]
            } == own.value)
    }

    @Test("is sent in a pushed request, a device request and its polls")
    func otherRequests() throws {
        let provider = try InMemoryProvider {
            $0.user = .approves("alice")
            $0.requiresPushedAuthorization = true
        }
        let login = try login(provider)
        _ = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        let device = try login.requestDeviceCode()
        let session = try login.outcome(of: login.poll(device)).session
        #expect(session.requestedResources == Self.resources && session.sendsResources == true)
        for endpoint in [Endpoint.pushedAuthorization, .device, .token] {
            #expect(sent(provider, to: endpoint) == [Self.resources])
        }
    }

    @Test("is never sent if it is off, and a token for another resource is then a usage error")
    func off() throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        let login = try login(provider) { $0.sendsResources = false }
        var session = try provider.finish(login).session
        let device = try login.requestDeviceCode()
        _ = try login.outcome(of: login.poll(device))
        session = try refresh(provider, session)
        #expect(session.requestedResources == Self.resources && session.sendsResources == false)
        #expect(session.source(for: TokenDemand(resources: Self.resources)) == .own)
        let other = TokenSource.derived(scope: nil, resources: ["https://other.example"])
        let error = #expect(throws: OIDCError.self) { try refresh(provider, session, other) }
        #expect(error?.kind == .usage && error?.hint == .set(.resourceParameter, to: "on"))
        for endpoint in [Endpoint.authorize, .device, .token] {
            #expect(sent(provider, to: endpoint).allSatisfy { $0.isEmpty })
        }
    }

    @Test("is not sent unasked, nor with a refresh of a session of version 0.1.0, nor once it is off")
    func unasked() throws {
        let provider = try InMemoryProvider()
        var session = try provider.finish(provider.login()).session
        #expect(session.sendsResources == nil)
        session.requestedResources = Self.resources
        session = try refresh(provider, session)
        session.sendsResources = true
        _ = try refresh(provider, session, sends: false)
        #expect(sent(provider, to: .token).allSatisfy { $0.isEmpty })
    }
}

@Suite("another URL for refreshes")
struct RefreshEndpointTests {
    @Test("is part of the session, and the code still goes to the token endpoint")
    func used() throws {
        let provider = try InMemoryProvider()
        let url = try #require(WebURL("\(InMemoryProvider.issuer)/refresh"))
        let session = try provider.finish(provider.login(explicit: [.refresh: url])).session
        #expect(session.endpoints.refresh == url && session.endpoints.token.path == "/token")
        #expect(try Session(stored: session.json.bytes, for: session.key)?.endpoints.refresh == url)
        #expect(try provider.finish(provider.login()).session.endpoints.refresh == nil)
    }
}

@Suite("other members of a token answer")
struct ExtraMemberFlowTests {
    @Test(
        "extra members of the redirect and the token response are kept; a refresh replaces those that it repeats"
    )
    func merged() throws {
        let provider = try InMemoryProvider()
        provider.faults = [.tokenResponse(.unknownMembers)]
        let login = try provider.login()
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        let callback = try provider.callback(of: url) + "&realmId=1&resource=redirect"
        let session = try login.finish(pending.acceptPasted(callback)).session
        #expect(session.tokens.extra["realmId"] == "1")
        #expect(session.tokens.extra["resource"] == ["https://api.example"])
        provider.intercept { request throws(OIDCError) in
            guard request.url.path == "/token" else { return nil }
            let body = #"{"access_token":"at","token_type":"Bearer","ext_expires_in":9,"new":"x"}"#
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(body.utf8))
        }
        let endpoint = TokenEndpoint(url: session.endpoints.token, client: Client(id: "demo"))
        let refresh = TokenRefresh(context: provider.environment, tokenEndpoint: endpoint)
        let extra = try refresh.refresh(session, for: .own).session.tokens.extra
        #expect(extra["realmId"] == "1" && extra["ext_expires_in"] == 9 && extra["new"] == "x")
    }
}
