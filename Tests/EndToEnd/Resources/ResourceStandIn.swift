import LoopbackHTTP
import OIDCCore
import Synchronization

/// A protected resource on loopback, with its metadata, that keeps every request. As many MCP servers, it only
/// answers POST.
final class ResourceStandIn: Sendable {
    struct Rules: Sendable {
        var path = "/mcp"
        /// The path of the metadata; all other well-known places answer 404.
        var metadataPath = "/.well-known/oauth-protected-resource/mcp"
        /// The `resource` in the metadata, if not the resource's own URL.
        var identifier: String?
        var servers: [String] = []
        /// Members of the metadata to add or change; null removes one.
        var metadata: [String: JSONValue] = [:]
        /// The URL in `resource_metadata` of challenges, if not the metadata's own; nil in nil names none.
        var namedMetadata: String??
        /// More parameters of challenges.
        var challengeScope: String?
        var scheme = "Bearer"
        /// The answer to GET without a token; nil challenges it like POST.
        var answerToGet: HTTPResponse? = HTTPResponse(status: 404)
        /// Answers a request with a token instead of the resource, if it returns something.
        var answer: @Sendable (HTTPRequest, _ token: String) -> HTTPResponse? = { _, _ in nil }
        /// Answers any request instead of the resource, if it returns something.
        var anyAnswer: @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil }
    }

    private final class Box: Sendable {
        let rules = Mutex(Rules())
        let log = Mutex<[HTTPRequest]>([])
    }

    private let box = Box()
    private let server: BackgroundServer
    var origin: String { server.origin }
    var url: String { origin + rules.path }

    /// `accepts` says whether a server issued the token, and may check more of the request.
    init(accepts: @escaping @Sendable (HTTPRequest, _ token: String) -> Bool) throws {
        let box = self.box
        server = try BackgroundServer { request in
            box.log.withLock { $0.append(request) }
            return box.rules.withLock { $0 }.answer(request, accepts)
        }
    }

    deinit { server.end() }

    var rules: Rules { box.rules.withLock { $0 } }
    func change(_ body: (inout Rules) -> Void) { box.rules.withLock { body(&$0) } }

    var log: [HTTPRequest] { box.log.withLock { $0 } }
    func forget() { box.log.withLock { $0 = [] } }
    var paths: [String] { log.map(\.url.path) }

    /// The `Authorization` of each request to the resource itself that had one.
    var credentials: [String] { log.compactMap { $0.headers["Authorization"] } }
}

extension ResourceStandIn.Rules {
    fileprivate func answer(
        _ request: HTTPRequest, _ accepts: (HTTPRequest, String) -> Bool
    ) -> HTTPResponse {
        let origin = request.url.origin
        if let answer = anyAnswer(request) { return answer }
        if request.url.path == metadataPath { return .value(document(origin)) }
        guard request.url.path == path || request.url.path.hasPrefix(path + "/") else {
            return HTTPResponse(status: 404)
        }
        guard let credentials = request.headers["Authorization"] else {
            if request.method == .get, let answerToGet { return answerToGet }
            return challenge(401, at: origin, [("scope", challengeScope)])
        }
        let token = String(credentials.drop { $0 != " " }.dropFirst())
        if let answer = answer(request, token) { return answer }
        guard accepts(request, token) else {
            return challenge(401, at: origin, [("error", "invalid_token"), ("scope", challengeScope)])
        }
        return .value(["ok": true])
    }

    private func document(_ origin: String) -> JSONValue {
        let members: [String: JSONValue] = [
            "resource": .string(identifier ?? origin + path),
            "authorization_servers": .array(servers.map { .string($0) }),
        ]
        return .members(members, metadata)
    }

    func challenge(
        _ status: Int, at origin: String, _ parameters: [(String, String?)]
    ) -> HTTPResponse {
        let address = namedMetadata ?? origin + metadataPath
        let pairs = (parameters + [("resource_metadata", address)]).compactMap { name, value in
            value.map { "\(name)=\"\($0)\"" }
        }
        let value = ([scheme] + [pairs.joined(separator: ", ")]).filter { !$0.isEmpty }.joined(separator: " ")
        return HTTPResponse(status: status, headers: HTTPHeaders([("WWW-Authenticate", value)]))
    }
}
