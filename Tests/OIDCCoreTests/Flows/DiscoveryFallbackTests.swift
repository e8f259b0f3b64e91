import DemoProvider
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("discovery goes on to the next URL after an answer that cannot be used")
struct DiscoveryFallbackTests {
    /// Keeps what it is given, for ever.
    private final class Memory: DocumentCache {
        private let kept = Mutex<[WebURL: [UInt8]]>([:])

        func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { kept.withLock { $0[url] } }
        func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
            kept.withLock { $0[url] = response.body }
        }
        func forget(_ url: WebURL) { kept.withLock { $0[url] = nil } }
    }

    private static let first = "/.well-known/openid-configuration"
    private static let second = "/.well-known/oauth-authorization-server"

    /// A provider whose URLs give these answers; nil is the true one.
    private func provider(_ answers: [String: Result<HTTPResponse, OIDCError>]) throws -> InMemoryProvider {
        let provider = try InMemoryProvider()
        provider.intercept { (request) throws(OIDCError) in try answers[request.url.path]?.get() }
        return provider
    }

    private func discover(
        _ provider: InMemoryProvider, cache: any DocumentCache = NoCache()
    ) throws -> ProviderMetadata {
        var environment = provider.environment
        environment.cache = cache
        return try ProviderDocuments(context: environment).metadata(issuer: InMemoryProvider.issuer)
    }

    private static func answer(_ status: Int, _ body: String = "", type: String = "text/html") -> HTTPResponse
    {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", type)]), body: Array(body.utf8))
    }

    private static let page = "<!doctype html><title>App</title>"
    private static let foreign = #"{"issuer":"https://other.example"}"#

    private static let unusable: [HTTPResponse] =
        [400, 401, 403, 404, 405, 406, 410, 418, 302].map { answer($0) } + [
            answer(200, page), answer(200), answer(200, "[]", type: "application/json"),
            answer(200, #"{"issuer":"#, type: "application/json"),
            answer(200, foreign, type: "application/json"), answer(200, "{}", type: "application/json"),
            answer(403, #"{"error":"access_denied"}"#, type: "application/json"),
        ]

    @Test("if the answer at the first URL cannot be used, the second one is fetched", arguments: unusable)
    func goesOn(_ response: HTTPResponse) throws {
        let provider = try provider([Self.first: .success(response)])
        #expect(try discover(provider).issuer == InMemoryProvider.issuer)
    }

    @Test("an answer that the transport refuses, such as a redirect to another origin, is one of them")
    func refusedByTransport() throws {
        let refusal = OIDCError(.refused, "discovery: redirects to another origin", stage: .discovery)
        #expect(try discover(provider([Self.first: .failure(refusal)])).isDiscovered)
    }

    private static let outages: [Result<HTTPResponse, OIDCError>] =
        [429, 500, 502, 503].map { .success(answer($0)) } + [
            .failure(OIDCError(.unreachable, "no route", stage: .discovery)),
            .failure(OIDCError(.timedOut, "too late", stage: .discovery)),
            .failure(OIDCError(.untrusted, "its certificate could not be verified", stage: .discovery)),
            .failure(OIDCError(.interrupted, "interrupted by SIGINT")),
        ]

    @Test(
        "an unreachable provider is reported as unreachable, and the other URL is not fetched",
        arguments: outages)
    func outage(_ outage: Result<HTTPResponse, OIDCError>) throws {
        let kind: OIDCError.Kind = if case .failure(let error) = outage { error.kind } else { .unreachable }
        for answers in [
            [Self.first: outage], [Self.first: outage, Self.second: .success(Self.answer(404))],
            [Self.first: .success(Self.answer(403)), Self.second: outage],
        ] {
            let provider = try provider(answers)
            let error = #expect(throws: OIDCError.self) { try discover(provider) }
            #expect(error?.kind == kind)
            #expect(provider.with { $0.requestCount(.discovery) } == 0)
        }
    }

    @Test("if no document can be used, the first refusal is reported, or an untrusted document before it")
    func report() throws {
        let untrusted = Self.answer(200, Self.foreign, type: "application/json")
        let cases: [(HTTPResponse, HTTPResponse, OIDCError.Kind, String)] = [
            (Self.answer(403), Self.answer(404), .refused, "status 403"),
            (Self.answer(404), Self.answer(401), .refused, "status 401"),
            (Self.answer(400), Self.answer(200, Self.page), .refused, "status 400"),
            (Self.answer(200, Self.page), Self.answer(403), .refused, "an HTML page with status 200"),
            (untrusted, Self.answer(403), .untrusted, "issuer: expected"),
            (Self.answer(403), untrusted, .untrusted, "issuer: expected"),
            (Self.answer(404), Self.answer(404), .refused, "has neither /.well-known"),
            // Keycloak 26.7
            (
                Self.answer(404, #"{"error":"Realm does not exist"}"#, type: "application/json"),
                Self.answer(404),
                .refused, "nor /.well-known/oauth-authorization-server; it answered Realm does not exist"
            ),
        ]
        for (first, second, kind, message) in cases {
            let provider = try provider([Self.first: .success(first), Self.second: .success(second)])
            let error = #expect(throws: OIDCError.self) { try discover(provider) }
            #expect(
                error?.kind == kind && error?.message.contains(message) == true, "\(error?.message ?? "")")
            #expect(error?.hint != nil)
        }
    }

    @Test("metadata takes one request, none if it is cached, and two if the first URL has nothing")
    func requests() throws {
        let ordinary = try InMemoryProvider()
        let cache = Memory()
        for _ in 0..<3 { _ = try discover(ordinary, cache: cache) }
        #expect(ordinary.with { $0.requestCount(.discovery) } == 1)
        let count = Mutex(0)
        let app = try InMemoryProvider()
        app.intercept { (request) throws(OIDCError) in
            count.withLock { $0 += 1 }
            return request.url.path == Self.first ? Self.answer(200, Self.page) : nil
        }
        let warm = Memory()
        for _ in 0..<3 { _ = try discover(app, cache: warm) }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("with metadata_url nothing else is fetched, and the issuer is still compared")
    func metadataURL() throws {
        let provider = try InMemoryProvider()
        let asked = Mutex<[String]>([])
        let issuer = Mutex(InMemoryProvider.issuer)
        provider.intercept { [unowned provider] (request) throws(OIDCError) in
            asked.withLock { $0.append(request.url.path) }
            guard request.url.path == "/elsewhere/metadata", let url = request.url.replacingPath(Self.first)
            else {
                return Self.answer(404)
            }
            let now = provider.now
            var response = provider.with { $0.handle(HTTPRequest(.get, url), at: now) }
            var object = (try? JSONValue(parsing: response.body))?.object ?? JSONObject()
            object["issuer"] = .string(issuer.withLock { $0 })
            response.body = JSONValue.object(object).bytes
            return response
        }
        let documents = ProviderDocuments(context: provider.environment)
        let url = WebURL("\(InMemoryProvider.issuer)/elsewhere/metadata")
        #expect(try documents.metadata(issuer: InMemoryProvider.issuer, at: url).isDiscovered)
        #expect(asked.withLock { $0 } == ["/elsewhere/metadata"])
        issuer.withLock { $0 = "https://other.example" }
        var error = #expect(throws: OIDCError.self) {
            try documents.metadata(issuer: InMemoryProvider.issuer, at: url)
        }
        #expect(error?.kind == .untrusted)
        error = #expect(throws: OIDCError.self) {
            try documents.metadata(
                issuer: InMemoryProvider.issuer, at: WebURL("\(InMemoryProvider.issuer)/nothing"))
        }
        #expect(error?.kind == .refused && error?.hint == .advice(.checkMetadataURL))
        #expect(!asked.withLock { $0.contains(Self.first) })
    }
}
