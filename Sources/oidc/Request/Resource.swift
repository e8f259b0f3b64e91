import OIDCCore

/// The origins that get the token: the provider, the profile's resources, and those that the user allows. A
/// mistyped host does not get it.
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

    func contains(_ url: WebURL) -> Bool { origins.contains(url.origin) }

    func check(_ url: WebURL) throws(OIDCError) {
        guard !contains(url) else { return }
        throw .usage(
            "\(url.origin) is neither the provider nor one of the profile's resources, so it gets no token",
            hint: .words(
                "give ", .options(["--allow-origin", url.origin]),
                " if the token is meant for it, or get one of its own: ", .run("login", url.text)))
    }

    private static func origin(_ text: String) throws(OIDCError) -> String {
        guard let url = WebURL(text), ["", "/"].contains(url.path), url.query == nil, url.fragment == nil
        else {
            throw .usage(
                "--allow-origin takes scheme, host and port, as in https://api.example.com, not "
                    + DisplayText.quoted(text, limit: 100),
                hint: ResourceOperand.meantURL(text).map { .options(["--allow-origin", $0.origin]) })
        }
        return url.origin
    }
}

/// An API in the profile.
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

    /// Returns whether the session's scope covers the resource's; nil if the scope is unknown.
    func isOpen(to session: Session?) -> Bool? {
        guard let session else { return false }
        if scope.isEmpty { return true }
        return session.grantedScope.map { $0.missing(from: scope).isEmpty }
    }
}
