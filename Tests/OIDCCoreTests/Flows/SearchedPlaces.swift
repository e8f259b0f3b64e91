import Synchronization
import Testing

@testable import OIDCCore

/// A few servers by the URLs that they answer at; 404 elsewhere.
final class SearchedPlaces: HTTPTransport, DocumentCache {
    private struct State {
        var answers: [String: Result<HTTPResponse, OIDCError>] = [:]
        var asked: [String] = []
        var cached: [WebURL: [UInt8]] = [:]
    }
    private let state = Mutex(State())
    let isCaching: Bool

    init(_ answers: [String: HTTPResponse] = [:], isCaching: Bool = false) {
        self.isCaching = isCaching
        for (url, answer) in answers { self[url] = .success(answer) }
    }

    subscript(url: String) -> Result<HTTPResponse, OIDCError>? {
        get { state.withLock { $0.answers[url] } }
        set { state.withLock { $0.answers[url] = newValue } }
    }
    var asked: [String] {
        state.withLock { (state: inout State) in
            let asked = state.asked
            state.asked = []
            return asked
        }
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        #expect(request.method == .get && request.headers["Authorization"] == nil)
        // The resource itself may answer with a stream that does not end.
        #expect(request.needsOnlyHead == (stage == .resource))
        let answer = state.withLock {
            $0.asked.append(request.url.text)
            return $0.answers[request.url.text]
        }
        return try answer?.get() ?? HTTPResponse(status: 404)
    }

    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { state.withLock { $0.cached[url] } }
    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        if isCaching { state.withLock { $0.cached[url] = response.body } }
    }
    func forget(_ url: WebURL) { state.withLock { $0.cached[url] = nil } }

    func search(_ url: String) throws -> ResourceSearch {
        try ResourceSearch(
            Fixture.url(url),
            context: OIDCContext(
                transport: self, cache: self, now: { Fixture.now }, random: { Array(repeating: 1, count: $0) }
            ))
    }
}

/// A resource, its authorization server, and their documents.
extension SearchedPlaces {
    static let url = "https://mcp.example.com/mcp"
    static let root = "https://mcp.example.com/.well-known/oauth-protected-resource"
    static let server = "https://as.example"

    static func resource(
        _ resource: String = url, servers: [String] = [server], more: String = ""
    ) -> HTTPResponse {
        let list = servers.map { "\"\($0)\"" }.joined(separator: ",")
        return Fixture.json(#"{"resource":"\#(resource)","authorization_servers":[\#(list)]\#(more)}"#)
    }

    static func challenge(_ parameters: String, status: Int = 401) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders([("WWW-Authenticate", "Bearer \(parameters)")]))
    }

    static func metadata(
        _ issuer: String = server, at base: String? = nil,
        more: String = #","code_challenge_methods_supported":["S256"]"#
    ) -> HTTPResponse {
        let base = base ?? issuer
        return Fixture.json(
            #"{"issuer":"\#(issuer)","authorization_endpoint":"\#(base)/authorize","#
                + #""token_endpoint":"\#(base)/token"\#(more)}"#)
    }

    static let unusable: [HTTPResponse] = [
        HTTPResponse(status: 404), HTTPResponse(status: 401), HTTPResponse(status: 302), Fixture.html(),
        Fixture.json("[]"), Fixture.json("{"), HTTPResponse(status: 200), HTTPResponse(status: 405),
    ]
}
