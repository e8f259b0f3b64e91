import LoopbackHTTP
package import OIDCCore

/// An answer of the proxy itself, in place of the server's (RFC 9457). It holds no URL with a secret.
struct ProxyProblem: Hashable, Sendable {
    var status: Int
    /// The class of the error, as in `-o json`.
    var kind: String
    var detail: String
    var hint: String?
    /// The reason phrase, if it is not the usual one of the status.
    var reason: String?

    init(_ status: Int, _ kind: String, _ detail: String, hint: String? = nil) {
        self.status = status
        self.kind = kind
        self.detail = DisplayText.clean(detail, limit: 900)
        self.hint = hint.map { DisplayText.clean($0, limit: 600) }
    }

    /// Creates the answer for an error of the proxy.
    init(_ error: OIDCError, hint: String?) {
        let status =
            switch error.kind {
            case .loginRequired: 401
            case .unreachable, .refused, .untrusted: 502
            case .timedOut: 504
            case .interrupted: 503
            case .failed, .usage: 500
            }
        self.init(status, error.kind.rawValue, error.message, hint: hint)
    }

    /// Creates the answer to a malformed request.
    init(_ rejection: HTTP1.Rejection) {
        self.init(rejection.status, "usage", rejection.reason)
    }

    /// The answer to a request without the secret. Some clients, such as pip, show only the reason phrase, and leave
    /// the proxied URL because a page linked them elsewhere.
    static let wrongSecret: ProxyProblem = {
        var problem = ProxyProblem(
            403, "refused", "the request has no secret of this proxy, or a wrong one",
            hint: "use the URL that the proxy printed")
        problem.reason = "Outside the proxied URL"
        return problem
    }()
    static let tunnel = ProxyProblem(501, "usage", "the method CONNECT is not forwarded")
    static func echo(_ method: HTTPMethod) -> ProxyProblem {
        ProxyProblem(
            405, "usage", "the method \(method.name) is not forwarded: its answer would contain the token")
    }
    static let wrongHost = ProxyProblem(421, "refused", "the Host header does not name this proxy")
    static let origin = ProxyProblem(403, "refused", "web pages may not use this proxy")
    static let stranger = ProxyProblem(403, "refused", "another user of this machine may not use this proxy")
    static let target = ProxyProblem(400, "usage", "the path leads out of the route, or is malformed")
    static let doubleSlash = ProxyProblem(
        400, "usage", "the path starts with two slashes", hint: "the proxy's URL ends with one; leave one out"
    )
    static let secretInTarget = ProxyProblem(
        400, "usage", "the path or the query contains a secret of this proxy",
        hint: "put the proxy's URL before the path only once, and into no parameter")
    static let noRoute = ProxyProblem(404, "usage", "no route has this path")
    static let upgrade = ProxyProblem(
        501, "usage", "the proxy does not upgrade connections, so WebSocket is not available",
        hint: "use HTTP, such as server-sent events")
    static func timeout(milliseconds: Int64, hint: String) -> ProxyProblem {
        ProxyProblem(
            504, "unreachable", "the server did not answer within \(milliseconds / 1_000) s", hint: hint)
    }
    static let busy = ProxyProblem(
        503, "unreachable", "too many requests on this route are in progress", hint: "try again later")
    static let slowCaller = ProxyProblem(408, "usage", "the request did not arrive in time")

    var response: HTTPResponse {
        var object = JSONObject()
        object["type"] = "about:blank"
        object["title"] = .string(HTTP1.reasonPhrase(status))
        object["status"] = JSONValue(Int64(status))
        object["detail"] = .string(detail)
        object["kind"] = .string(kind)
        object["hint"] = JSONValue(hint)
        var headers = HTTPHeaders([
            ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ])
        // RFC 9110 §15.5.6 requires the methods, and §15.5.2 a challenge.
        if status == 405 { headers.append("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS") }
        if status == 401 { headers.append("WWW-Authenticate", "Bearer realm=\"proxy\"") }
        return HTTPResponse(
            status: status, headers: headers, body: Array(JSONValue.object(object).compact.utf8))
    }
}

/// The log entry of a request, without secrets.
package struct ProxyLogEntry: Hashable, Sendable {
    package var time: Instant
    /// The URL of the route; nil for a caller without the secret.
    package var route: WebURL?
    package var method: String
    /// The path below the route's own, without the query; nil for a caller without the secret.
    package var path: String?
    /// The status of the answer; nil if the caller left before it.
    package var status: Int?
    /// The number of bytes of the answer's body.
    package var bytes: Int
    package var milliseconds: Int64
    /// The number of refreshes that the request waited for.
    package var refreshes: Int
}
