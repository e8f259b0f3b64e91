@testable import OIDCCore

/// A URL in the first line, and the answer to the request for its metadata in the rest.
@Sendable func fuzzResource(_ bytes: [UInt8]) {
    let (line, rest) = firstLine(bytes)
    guard let url = WebURL(text(line)), let place = WebURL("https://place.example/") else { return }
    let read = outcome { () throws(OIDCError) in
        try ProtectedResourceMetadata.call(place, for: url).read(response(rest))
    }
    guard case .some(.some(let metadata)) = read else { return }
    guard let resource = WebURL(metadata.resource) else {
        return require(false, "a resource that is not a URL")
    }
    require(resource.origin == url.origin && metadata.covers(url), "a resource of another origin")
    require(isBelow(plainPath(url), plainPath(resource)), "a path beside the resource's")
    require(metadata.authorizationServers.count <= 16, "endless authorization servers")
    for issuer in metadata.authorizationServers {
        guard let server = WebURL(issuer) else { return require(false, "an issuer that is not a URL") }
        require(server.isSecure || server.isLoopback, "a plain issuer")
        require(url.leadsToThisMachine || !server.leadsToThisMachine, "a way to this machine")
    }
    for place in ProtectedResourceMetadata.wellKnownURLs(for: url) {
        require(place.origin == url.origin && place.fragment == nil, "a place elsewhere")
    }
}

/// Returns the segments as a server reads them that decodes the path as often as it can.
private func plainPath(_ url: WebURL) -> [[UInt8]] {
    var path = Array(url.path.utf8)
    while true {
        var decoded: [UInt8] = []
        var index = 0
        while index < path.count {
            if path[index] == .percent, index + 2 < path.count, let high = ASCII.hexValue(path[index + 1]),
                let low = ASCII.hexValue(path[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(path[index])
                index += 1
            }
        }
        if decoded.count == path.count { break }
        path = decoded
    }
    var kept: [[UInt8]] = []
    for segment in path.split(whereSeparator: { $0 == .slash || $0 == .backslash }) {
        let name = Array(segment.prefix { $0 != 0x3B })
        if name == [.period, .period] {
            _ = kept.popLast()
        } else if name != [.period] {
            kept.append(Array(segment))
        }
    }
    return kept
}

private func isBelow(_ path: [[UInt8]], _ resource: [[UInt8]]) -> Bool { path.starts(with: resource) }

/// A resource whose challenge is the first line, and whose metadata, like that of its authorization servers, is the rest.
@Sendable func fuzzSearch(_ bytes: [UInt8]) {
    let (line, rest) = firstLine(bytes)
    let server = ResourceServer(challenge: text(line), document: rest)
    guard let url = WebURL("https://resource.example/path") else { return }
    let environment = OIDCContext(transport: server, cache: NoCache(), now: { now }, random: zeros)
    let found = outcome { () throws(OIDCError) in
        let search = try ResourceSearch(url, context: environment)
        let found = try search.find(after: try search.probe())
        let metadata = try search.authorizationServer(of: found.metadata)
        let choice = try ScopeChoice(
            challenge: found.challenge, resource: found.metadata, server: metadata)
        return (found, metadata, choice)
    }
    guard let (resource, metadata, choice) = found else { return }
    require((resource.metadataURL ?? url).origin == url.origin, "metadata of elsewhere")
    require(resource.metadata.authorizationServers.contains(metadata.issuer ?? ""), "another issuer")
    require(metadata.codeChallengeMethodsSupported?.contains("S256") == true, "a sign-in without S256")
    require(choice.scope.isWellFormed && choice.scope.text.utf8.count <= 4_096, "a scope that is none")
    for (endpoint, place) in metadata.endpoints.all {
        require(place.isSecure && !place.leadsToThisMachine, "\(endpoint.rawValue) on this machine, or plain")
    }
}

/// Answers 401 for the resource and the document for everything else, and checks what is requested.
private struct ResourceServer: HTTPTransport {
    let challenge: String
    let document: [UInt8]

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        require(request.method == .get && request.headers["Authorization"] == nil, "more than a question")
        require(request.url.isSecure && !request.url.leadsToThisMachine, "a question to this machine")
        if request.url.path == "/path" {
            return HTTPResponse(status: 401, headers: HTTPHeaders([("WWW-Authenticate", challenge)]))
        }
        return response(document)
    }
}
