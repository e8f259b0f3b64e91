import OIDCCore
import OIDCSystem

/// The routes of a proxy, from operands or the profile.
enum ProxyRoutes {
    /// Returns the routes of the URLs that were given, else of `proxy_routes`. Naming a URL is the user's word
    /// that the token is meant for it.
    static func routes(
        _ urls: [String], _ provider: ProviderContext, onSocket: Bool = false
    ) throws(OIDCError) -> [ProxyRoute] {
        let given: [(url: String, path: String?)] =
            urls.isEmpty ? provider.settings.tools.proxyRoutes : urls.map { ($0, nil) }
        guard !given.isEmpty else {
            throw .usage(
                "no URL to serve",
                hint: "oidc proxy https://api.example.com, or set proxy_routes in the profile")
        }
        var routes: [ProxyRoute] = []
        for (index, entry) in given.enumerated() {
            // On a socket no secret in the path tells the routes apart.
            let path = entry.path ?? (onSocket && given.count > 1 ? "/\(index + 1)" : "/")
            let route = try ProxyRoute(try url(entry.url, provider), path: path)
            guard !onSocket || !routes.contains(where: { $0.path == route.path }) else {
                throw .usage("proxy_routes: two routes have the path \(DisplayText.quoted(route.path))")
            }
            routes.append(route)
        }
        return routes
    }

    private static func url(_ text: String, _ provider: ProviderContext) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text) else {
            throw .usage(
                "\(DisplayText.quoted(DisplayText.address(text), limit: 200)) is not a URL",
                hint: WebURL("https://\(text)").map { "oidc proxy \(ShellWord.quoted($0.text))" })
        }
        try RequestOptions.checkScheme(url, provider)
        return url
    }
}
