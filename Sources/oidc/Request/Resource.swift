import OIDCCore
import OIDCSystem

/// Where a token may go: to its provider, to the profile's resources, and where the person says so. A mistyped
/// host is none of these.
struct AllowedOrigins {
    private let origins: Set<String>

    init(_ provider: ProviderContext, _ session: Session?, naming named: [String]) throws(OIDCError) {
        var origins: Set<String> = []
        let known = [
            provider.settings.provider.issuer.flatMap { WebURL($0) },
            session?.endpoints.issuer.flatMap { WebURL($0) },
            session?.endpoints.userInfo,
        ]
        for url in known.compactMap({ $0 }) { origins.insert(url.origin) }
        for resource in provider.settings.tools.resources { origins.insert(resource.url.origin) }
        for text in named { origins.insert(try AllowedOrigins.origin(text)) }
        self.origins = origins
    }

    func check(_ url: WebURL) throws(OIDCError) {
        guard !origins.contains(url.origin) else { return }
        throw .usage(
            "\(url.origin) is neither the provider nor one of the profile's resources, so it gets no token",
            hint: "if the token is meant for it, --allow-origin \(ShellWord.quoted(url.origin))")
    }

    private static func origin(_ text: String) throws(OIDCError) -> String {
        guard let url = WebURL(text), ["", "/"].contains(url.path), url.query == nil, url.fragment == nil
        else {
            throw .usage(
                "--allow-origin takes scheme, host and port, as in https://api.example.com, not "
                    + DisplayText.quoted(text, limit: 100))
        }
        return url.origin
    }
}

/// An API that the profile knows.
struct Resource {
    let title: String
    let url: WebURL
    let scope: Scope
    let method: HTTPMethod

    init?(_ record: JSONValue) {
        guard let title = record["title"]?.string, let url = record["url"]?.string.flatMap(WebURL.init) else {
            return nil
        }
        self.title = title
        self.url = url
        scope = Scope(record["scope"]?.string ?? "")
        method = HTTPMethod(record["method"]?.string ?? "GET")
    }

    /// Whether the session's scope covers what it needs; nil where the scope is not known.
    func isOpen(to session: Session?) -> Bool? {
        guard let session else { return false }
        if scope.isEmpty { return true }
        return session.grantedScope.map { scope.isSubset(of: $0) }
    }
}
