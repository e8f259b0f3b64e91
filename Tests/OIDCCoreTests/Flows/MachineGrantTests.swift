import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("grants without a user, and documents, in memory")
struct MachineGrantTests {
    private func send(
        _ request: TokenRequest, to provider: InMemoryProvider, secret: String = "demo-secret"
    ) throws -> TokenSet {
        let client = Client(id: "demo-confidential", authentication: .clientSecretBasic(Redacted(secret)))
        let endpoint = TokenEndpoint(
            url: try #require(WebURL("\(InMemoryProvider.issuer)/token")), client: client)
        return try endpoint.send(request, in: provider.environment)
    }

    @Test("client credentials return only an access token (RFC 6749 §4.4.3)")
    func clientCredentials() throws {
        let provider = try InMemoryProvider()
        let tokens = try send(.clientCredentials(scope: Scope("api:read")), to: provider)
        #expect(tokens.access.scope == Scope("api:read"))
        #expect(tokens.refreshToken == nil && tokens.idToken == nil)
        let error = #expect(throws: OIDCError.self) {
            try send(.clientCredentials(), to: provider, secret: "wrong")
        }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_client")
    }

    @Test("an access token is exchanged for one with less scope, never for more (RFC 8693 §2)")
    func exchange() throws {
        let provider = try InMemoryProvider()
        let session = try provider.signIn("openid api:read")
        func exchange(_ scope: String) throws -> TokenSet {
            var exchange = TokenExchange(
                subjectToken: session.tokens.access.token, subjectTokenType: .accessToken)
            exchange.scope = Scope(scope)
            return try send(.tokenExchange(exchange), to: provider)
        }
        #expect(try exchange("api:read").access.scope == Scope("api:read"))
        let error = #expect(throws: OIDCError.self) { try exchange("api:admin") }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_scope")
    }

    @Test("an assertion of an unknown issuer is refused (RFC 7523 §3)")
    func assertion() throws {
        let provider = try InMemoryProvider()
        let error = #expect(throws: OIDCError.self) {
            try send(.jwtBearer(assertion: Redacted("e30.e30.AAAA")), to: provider)
        }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_grant")
    }

    /// Keeps every document until it is forgotten.
    private final class Kept: DocumentCache {
        private let documents = Mutex<[WebURL: [UInt8]]>([:])

        func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { documents.withLock { $0[url] } }
        func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
            documents.withLock { $0[url] = response.body }
        }
        func forget(_ url: WebURL) { documents.withLock { $0[url] = nil } }
    }

    @Test("cached metadata and keys are not fetched again, unless a key is missing")
    func documents() throws {
        let provider = try InMemoryProvider()
        var environment = provider.environment
        environment.cache = Kept()
        let documents = ProviderDocuments(context: environment)
        let metadata = try documents.metadata(issuer: InMemoryProvider.issuer)
        _ = try documents.metadata(issuer: InMemoryProvider.issuer)
        #expect(provider.with { $0.requestCount(.discovery) } == 1)
        let keys = documents.keys(try #require(metadata.jwksURI))
        #expect(try keys.keys(refetching: false).keys.count == keys.keys(refetching: false).keys.count)
        #expect(provider.with { $0.requestCount(.jwks) } == 1)
        _ = try keys.keys(refetching: true)
        #expect(provider.with { $0.requestCount(.jwks) } == 2)
    }

    @Test("cached metadata that is no longer valid is fetched again")
    func spoiled() throws {
        let provider = try InMemoryProvider()
        var environment = provider.environment
        let cache = Kept()
        environment.cache = cache
        let url = try #require(WebURL("\(InMemoryProvider.issuer)/.well-known/openid-configuration"))
        cache.keep(HTTPResponse(status: 200, body: Array("{".utf8)), from: url, at: provider.now)
        _ = try ProviderDocuments(context: environment).metadata(issuer: InMemoryProvider.issuer)
        #expect(provider.with { $0.requestCount(.discovery) } == 1)
    }
}
