import OIDCCore

extension DemoProvider {
    /// The issuer's path without a slash at its end.
    var basePath: String {
        issuer.path.hasSuffix("/") ? String(issuer.path.dropLast()) : issuer.path
    }

    /// The absolute address of a path below the issuer, whatever address the request came to.
    func address(_ path: String) -> String { "\(issuer.origin)\(basePath)\(path)" }

    func address(_ endpoint: Endpoint) -> String { address(endpoint.path) }

    /// The endpoint of a path; below `/moved` each is found again, for redirects that lead there.
    func route(_ requested: String) -> (Endpoint, path: String, wasMoved: Bool) {
        // RFC 8414 §3.1: the well-known part stands before the issuer's path.
        if requested == "/.well-known/oauth-authorization-server\(basePath)" {
            return (.discovery, requested, false)
        }
        guard requested.hasPrefix(basePath) else { return (.unknown, requested, false) }
        var path = String(requested.dropFirst(basePath.count))
        let wasMoved = path.hasPrefix("/moved/")
        if wasMoved { path = String(path.dropFirst(6)) }
        if path.isEmpty || path == "/" { return (.home, path, wasMoved) }
        if path.hasPrefix("/api/") { return (.resource, path, wasMoved) }
        let endpoint = Endpoint.allCases.first { $0.path == path && $0 != .unknown }
        return (endpoint ?? .unknown, path, wasMoved)
    }

    mutating func answer(_ call: Call) -> HTTPResponse {
        if let methods = call.endpoint.methods, !methods.contains(call.request.method) {
            var response = HTTPResponse.text("405 method not allowed", status: 405)
            response.headers["Allow"] = methods.map(\.name).joined(separator: ", ")
            return response
        }
        switch call.endpoint {
        case .discovery: return metadata(call)
        case .jwks: return keySet(call)
        case .authorize: return page(call) { (me, call) throws(Refusal) in try me.authorize(call) }
        case .login: return page(call) { (me, call) throws(Refusal) in try me.signIn(call) }
        case .consent: return page(call) { (me, call) throws(Refusal) in try me.decideConsent(call) }
        case .token: return token(call)
        case .userinfo: return protected(call) { (me, call) throws(Refusal) in try me.userInfo(call) }
        case .home: return homePage()
        default: return .text("404 not found", status: 404)
        }
    }

    typealias Handler = (inout DemoProvider, Call) throws(Refusal) -> HTTPResponse

    /// For programs: a refusal becomes a JSON object (RFC 6749 §5.2).
    mutating func protected(_ call: Call, _ handler: Handler) -> HTTPResponse {
        do { return try handler(&self, call) } catch { return error.response }
    }

    /// For people: a refusal becomes a page.
    mutating func page(_ call: Call, _ handler: Handler) -> HTTPResponse {
        do { return try handler(&self, call) } catch { return errorPage(error) }
    }
}

/// The date of a header (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(_ moment: Instant) -> String {
        // 2026-01-31T12:00:00Z
        let parts = moment.description.split { "-T:Z".contains($0) }
        guard parts.count == 6, let month = Int(parts[1]), (1...12).contains(month) else {
            return "Thu, 01 Jan 1970 00:00:00 GMT"
        }
        let dayNumber = Int((moment.secondsSinceEpoch / 86_400) % 7 + 7) % 7
        let time = parts[3...].joined(separator: ":")
        return "\(days[dayNumber]), \(parts[2]) \(months[month - 1]) \(parts[0]) \(time) GMT"
    }
}
