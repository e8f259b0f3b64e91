import LoopbackHTTP
import OIDCCore
import OIDCCrypto

/// The checks of a request before anything is sent: Host, Origin, the caller's secret, method and path.
struct ProxyGate {
    let routes: [ProxyRoute]
    let address: ProxyAddress

    /// A request that may be forwarded.
    struct Admission {
        let route: Int
        let target: WebURL
        /// The request target as the caller wrote it, if it has characters that a URL cannot contain.
        let rawTarget: String?
        /// The start of the caller's request targets on this route, without the `/` at its end.
        let prefix: String
        /// The target after the route's own path, without the query.
        let shownPath: String
    }

    func admit(_ request: HTTPServerRequest) -> Result<Admission, ProxyProblem.Refusal> {
        guard address.isOurs(request.host) else { return refuse(.wrongHost) }
        guard request.headers["Origin"] == nil, request.headers["Service-Worker"] == nil,
            !isOfOtherSite(request)
        else { return refuse(.origin) }
        guard let match = match(request) else {
            return refuse(address.needsSecret ? .wrongSecret : .noRoute)
        }
        // A secret must reach neither the log nor the server, which could use it in a redirect.
        guard !hasSecret(String(match.rest)) else { return refuse(.secretInTarget) }
        let shown = "/" + Substring(match.rest.utf8.prefix { $0 != .questionMark }.drop { $0 == .slash })
        func refuseHere(_ problem: ProxyProblem) -> Result<Admission, ProxyProblem.Refusal> {
            .failure(ProxyProblem.Refusal(problem: problem, route: match.route, path: shown))
        }
        // Servers differ on the case of a method, and an echo would contain the token (RFC 9110 §9.3.8).
        switch ASCII.lowercased(request.method.name) {
        case "trace", "track": return refuseHere(.echo(request.method))
        case "connect": return refuseHere(.tunnel)
        default: break
        }
        guard !asksForWebSocket(request) else { return refuseHere(.upgrade) }
        guard !match.rest.hasPrefix("//"), ProxyRoute.withoutExtraSlash(match.rest) == match.rest else {
            return refuseHere(.doubleSlash)
        }
        guard let (target, raw) = routes[match.route].targets(match.rest) else { return refuseHere(.target) }
        return .success(
            Admission(
                route: match.route, target: target, rawTarget: raw, prefix: match.prefix, shownPath: shown))
    }

    /// Returns whether a browser sends a request for a page of another site: such requests may have no Origin (Fetch Metadata
    /// Request Headers §2). A link that opens in a window of its own, as in a terminal of a web page, is the user's; a form
    /// is not. A page that is loaded in advance says `none`.
    private func isOfOtherSite(_ request: HTTPServerRequest) -> Bool {
        let sites = request.headers.values("Sec-Fetch-Site").map(ASCII.trimmed)
        let purpose = request.headers["Purpose"]
        if request.headers["Sec-Purpose"] != nil
            || purpose.map({ ASCII.isSameIgnoringCase($0, "prefetch") }) == true
        {
            return sites != ["same-origin"]
        }
        guard sites.contains(where: { $0 != "none" && $0 != "same-origin" }) else { return false }
        return !["GET", "HEAD"].contains(request.method.name)
            || request.headers["Sec-Fetch-Mode"] != "navigate"
            || request.headers["Sec-Fetch-Dest"] != "document"
    }

    /// Returns whether the caller requires a WebSocket. Other upgrades are optional and are not passed on
    /// (RFC 9110 §7.8).
    private func asksForWebSocket(_ request: HTTPServerRequest) -> Bool {
        ProxyHeaders.connectionOptions(request.headers.values("Upgrade")).contains { option in
            option.prefix { $0 != "/" } == "websocket"
        }
    }

    /// Returns whether a request, whose first fields are known, has the secret of a route, or needs none.
    func hasProof(_ request: HTTPServerRequest) -> Bool { !address.needsSecret || match(request) != nil }

    /// Returns whether a string contains the secret of any route.
    func hasSecret(_ text: String) -> Bool {
        address.needsSecret && routes.contains { text.includes($0.secret.revealed) }
    }

    private func refuse(_ problem: ProxyProblem) -> Result<Admission, ProxyProblem.Refusal> {
        .failure(ProxyProblem.Refusal(problem: problem, route: nil, path: nil))
    }

    private struct RouteMatch {
        let route: Int
        let prefix: String
        let rest: Substring
    }

    /// Returns whether a request target, which a route's answer leads to, is that route's. On a socket, where the path
    /// alone names the route, a longer path may be another one's.
    func leads(_ target: String, to route: Int) -> Bool {
        guard !address.needsSecret else { return true }
        return match(below: "", target[...], among: Array(routes.indices))?.route == route
    }

    /// Finds the route by the secret in the path, by the secret as a bearer token, or, on a socket, by the
    /// path alone.
    private func match(_ request: HTTPServerRequest) -> RouteMatch? {
        let target = request.target
        guard address.needsSecret else { return match(below: "", target[...], among: Array(routes.indices)) }
        let segment = Substring(target.utf8.dropFirst().prefix { $0 != .slash && $0 != .questionMark })
        if let route = route(provenBy: segment) {
            return match(below: "/\(segment)", target[segment.endIndex...], among: [route])
                .map { match in
                    RouteMatch(
                        route: match.route, prefix: match.prefix,
                        rest: ProxyRoute.withoutExtraSlash(match.rest))
                }
        }
        let proofs = request.headers.values("Authorization").filter {
            ASCII.isSameIgnoringCase($0.prefix(7), "Bearer ")
        }
        guard proofs.count == 1, let route = route(provenBy: ASCII.trimmed(proofs[0].dropFirst(7))) else {
            return nil
        }
        return match(below: "", target[...], among: [route])
    }

    private func match(below start: String, _ target: Substring, among candidates: [Int]) -> RouteMatch? {
        let mark = target.utf8.firstIndex(of: .questionMark) ?? target.endIndex
        let ordered = candidates.sorted { routes[$0].path.utf8.count > routes[$1].path.utf8.count }
        for route in ordered {
            let path = routes[route].path
            if target.hasPrefix(path) {
                return RouteMatch(
                    route: route, prefix: start + path.dropLast(), rest: target.dropFirst(path.count))
            }
            if target[..<mark] == path.dropLast() {
                return RouteMatch(route: route, prefix: start + path.dropLast(), rest: target[mark...])
            }
        }
        return nil
    }

    /// Returns the route with this secret; nil if there is none. The time does not depend on where the
    /// secrets differ.
    private func route(provenBy proof: some StringProtocol) -> Int? {
        var found: Int?
        let proof = Array(proof.utf8)
        for (index, route) in routes.enumerated()
        where equalInConstantTime(proof, Array(route.secret.revealed.utf8)) {
            found = index
        }
        return found
    }
}

extension ProxyProblem {
    /// A refused request, with the route and path if the caller sent the secret.
    struct Refusal: Error {
        let problem: ProxyProblem
        let route: Int?
        let path: String?
    }
}
