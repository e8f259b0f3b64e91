/// The metadata of a protected resource (RFC 9728 §2). Members that we don't use are ignored.
public struct ProtectedResourceMetadata: Hashable, Sendable {
    /// The resource identifier, spelled as in the document: the value of `resource` in every request for a
    /// token.
    public let resource: String
    /// The issuers of the authorization servers, each once.
    public let authorizationServers: [String]
    /// `scopes_supported`.
    public let scopesSupported: OAuthScope?
    /// `bearer_methods_supported`.
    public let bearerMethodsSupported: [String]?
    /// `dpop_bound_access_tokens_required`.
    public let requiresDPoP: Bool
    /// `dpop_signing_alg_values_supported`.
    public let dpopSigningAlgorithms: [String]?

    /// The most authorization servers that a document may name.
    private static let maximumServerCount = 16

    /// Creates the metadata of a URL that publishes none: its own origin's authorization server protects it.
    init(url: WebURL, issuer: String) {
        resource = url.withoutQuery
        authorizationServers = [issuer]
        scopesSupported = nil
        bearerMethodsSupported = nil
        requiresDPoP = false
        dpopSigningAlgorithms = nil
    }

    /// Parses a document about a URL, which its resource must cover.
    package init(document: JSONObject, for url: WebURL, allowsInsecureHTTP: Bool = false) throws(OIDCError) {
        let answer = JSONAnswer(document, stage: .discovery)
        resource = try ProtectedResourceMetadata.resource(answer, covering: url)
        var servers: [String] = []
        var fault: OIDCError?
        // Those that cannot be used count, too: each costs the time of an error.
        let listed = try answer.strings("authorization_servers") ?? []
        for issuer in listed.prefix(4 * ProtectedResourceMetadata.maximumServerCount)
        where !servers.contains(issuer) {
            guard servers.count < ProtectedResourceMetadata.maximumServerCount else {
                throw .protocolViolation(
                    .discovery, "authorization_servers",
                    expected: "at most \(ProtectedResourceMetadata.maximumServerCount)", found: "more")
            }
            do throws(OIDCError) {
                try ProtectedResourceMetadata.check(
                    issuer, resourceURL: url, allowsInsecureHTTP: allowsInsecureHTTP)
                servers.append(issuer)
            } catch {
                // An issuer that cannot be used is skipped; one on the user's machine makes the document
                // unusable.
                guard error.kind == .refused else { throw error }
                fault = fault ?? error
            }
        }
        if servers.isEmpty, let fault { throw fault }
        authorizationServers = servers
        scopesSupported = try answer.strings("scopes_supported").map { tokens in
            Scope(tokens: tokens.flatMap { Scope($0).tokens })
        }
        bearerMethodsSupported = try answer.strings("bearer_methods_supported")
        requiresDPoP = try answer.bool("dpop_bound_access_tokens_required") ?? false
        dpopSigningAlgorithms = try answer.strings("dpop_signing_alg_values_supported")
    }

    /// Returns `resource`, which must cover the URL (RFC 9728 §3.3). Otherwise a token could be sent to a
    /// resource other than the one for which it was requested.
    private static func resource(_ answer: JSONAnswer, covering url: WebURL) throws(OIDCError) -> String {
        let found = try answer.string("resource") ?? ""
        guard let identifier = ResourceIdentifier(found), identifier.covers(url) else {
            let sides = DisplayText.sides(
                expected: url.withoutQuery, found: found.isEmpty ? "none" : DisplayText.address(found))
            throw .untrusted(
                .discovery, "resource", expected: "a prefix of \(sides.expected)", found: sides.found,
                hint: found.isEmpty
                    ? ResourceSearch.faultHint : "if the found one is right, use its URL")
        }
        return found
    }

    /// Checks the issuer of an authorization server: https, or http on loopback, without query and fragment
    /// (RFC 8414 §2). A resource elsewhere must not lead to a server on this machine, which the user's
    /// network may trust.
    private static func check(
        _ issuer: String, resourceURL: WebURL, allowsInsecureHTTP: Bool
    ) throws(OIDCError) {
        guard let url = WebURL(issuer), url.query == nil, url.fragment == nil,
            url.isSafe(allowsInsecureHTTP: allowsInsecureHTTP)
        else {
            throw .protocolViolation(
                .discovery, "authorization_servers", expected: "https URLs without query and fragment",
                found: DisplayText.address(issuer))
        }
        try resourceURL.checkReach(of: url, named: "authorization_servers", .discovery)
    }
}

extension ProtectedResourceMetadata {
    /// Returns the URLs that may have the metadata of a resource (RFC 9728 §3.1), each once: with the
    /// resource's path and query inserted, then with the path alone, then at the root.
    package static func wellKnownURLs(for url: WebURL) -> [WebURL] {
        wellKnownURLs(for: url, tails: [""])
    }

    /// Returns the URLs at which only the resource itself can publish metadata: with its own path and query
    /// inserted.
    static func ownURLs(of url: WebURL) -> [WebURL] { wellKnownURLs(for: url, tails: []) }

    private static func wellKnownURLs(for url: WebURL, tails others: [String]) -> [WebURL] {
        let wellKnownPath = "/.well-known/oauth-protected-resource"
        let path = url.path == "/" ? "" : url.path
        var tails = [path, url.pathWithoutLastSlash] + others
        if let query = url.query { tails.insert("\(path)?\(query)", at: 0) }
        var urls: [WebURL] = []
        for tail in tails {
            guard let found = WebURL("\(url.scheme)://\(url.hostAndPort)\(wellKnownPath)\(tail)"),
                !urls.contains(found)
            else { continue }
            urls.append(found)
        }
        return urls
    }

    /// Returns the request for the metadata at one URL. The result is nil if there is none.
    package static func call(
        _ url: WebURL, for resourceURL: WebURL, allowsInsecureHTTP: Bool = false
    ) -> EndpointCall<ProtectedResourceMetadata?> {
        EndpointCall(.json(url), stage: .discovery) { response throws(OIDCError) in
            switch response.status {
            case 200..<300: break
            case 404, 405, 410: return nil
            default: throw OAuthErrorResponse.failure(response, stage: .discovery, url: url) { _ in nil }
            }
            let answer: JSONAnswer
            do throws(OIDCError) { answer = try JSONAnswer(response, stage: .discovery) } catch {
                // The usual hint is about the metadata of a provider.
                var error = error
                error.hint = nil
                throw error
            }
            return try ProtectedResourceMetadata(
                document: answer.members, for: resourceURL, allowsInsecureHTTP: allowsInsecureHTTP)
        }
    }

    /// Returns whether the resource covers a URL, so its token may be sent there.
    public func covers(_ url: WebURL) -> Bool { ResourceIdentifier(resource)?.covers(url) == true }
}

/// A resource identifier (RFC 8707 §2, RFC 9728 §1.2) that is a URL: an origin and a path, under which its
/// token may be sent.
package struct ResourceIdentifier: Hashable, Sendable {
    package let url: WebURL

    /// Parses an identifier; returns nil if it is not an http or https URL, or has a fragment or dot
    /// segments.
    package init?(_ text: String) {
        guard let url = WebURL(text), url.fragment == nil, !url.hasDotSegments else { return nil }
        self.url = url
    }

    /// Returns whether a URL is the identifier itself; a slash at the end makes no difference.
    package func identifies(_ other: WebURL) -> Bool {
        other.origin == url.origin
            && ExactText.isSame(other.pathWithoutLastSlash, url.pathWithoutLastSlash)
            && ExactText.isSame(other.query ?? "", url.query ?? "")
    }

    /// Returns whether a URL has the same origin and is at or below the identifier's path, segment by
    /// segment; hosts are compared as spelled. An identifier with a query covers only the same path and
    /// query.
    package func covers(_ other: WebURL) -> Bool {
        guard other.origin == url.origin, !other.hasDotSegments else { return false }
        if let query = url.query {
            return other.path == url.path && other.query.map { ExactText.isSame($0, query) } == true
        }
        let prefix = url.pathWithoutLastSlash
        return ExactText.isSame(other.path, prefix) || other.path.utf8.starts(with: "\(prefix)/".utf8)
    }
}
