import OIDCCore
import OIDCProxy

/// The routes of a proxy, from operands or the profile.
enum ProxyRoutes {
    /// Returns the routes of the given URLs, or else of `proxy_routes`. A URL that the user names may get the
    /// token.
    static func routes(
        _ urls: [String], _ provider: ProviderContext, onSocket: Bool = false,
        for command: String = "proxy"
    ) throws(OIDCError) -> [ProxyRoute] {
        let settings = provider.settings
        guard !urls.isEmpty || !settings.tools.proxyRoutes.isEmpty else {
            throw .usage(
                "no URL to serve, and \(settings.layers.absence(of: .proxyRoutes))",
                hint: line(command, "https://api.example.com"))
        }
        let allowsInsecureHTTP = settings.provider.allowsInsecureHTTP
        guard !urls.isEmpty else {
            return try configured(
                settings.tools, allowsInsecureHTTP: allowsInsecureHTTP, onSocket: onSocket, for: command)
        }
        return try routes(urls.map { ($0, nil) }, allowsInsecureHTTP, onSocket, command)
    }

    /// Returns the routes of `proxy_routes`.
    static func configured(
        _ tools: ToolSettings, allowsInsecureHTTP: Bool, onSocket: Bool, for command: String = "proxy"
    ) throws(OIDCError) -> [ProxyRoute] {
        try tools.layers.checking(.proxyRoutes) { () throws(OIDCError) in
            try routes(tools.proxyRoutes, allowsInsecureHTTP, onSocket, command)
        }
    }

    private static func routes(
        _ given: [(url: String, path: String?)], _ allowsInsecureHTTP: Bool, _ onSocket: Bool,
        _ command: String
    ) throws(OIDCError) -> [ProxyRoute] {
        var routes: [ProxyRoute] = []
        for (index, entry) in given.enumerated() {
            // On a socket, paths have no secret that distinguishes the routes.
            let path = entry.path ?? (onSocket && given.count > 1 ? "/\(index + 1)" : "/")
            let route = try ProxyRoute(try url(entry.url, allowsInsecureHTTP, for: command), path: path)
            guard !onSocket || !routes.contains(where: { $0.path == route.path }) else {
                throw .usage("proxy_routes: two routes have the path \(DisplayText.quoted(route.path))")
            }
            routes.append(route)
        }
        return routes
    }

    private static func url(
        _ text: String, _ allowsInsecureHTTP: Bool, for command: String
    ) throws(OIDCError) -> WebURL {
        guard let url = WebURL(text) else { throw problem(text, command) }
        try RequestOptions.checkScheme(url, allowsInsecureHTTP: allowsInsecureHTTP)
        return url
    }

    /// Returns the command with a URL, and the operands that `exec` needs after it.
    private static func line(_ command: String, _ url: String) -> Hint {
        .run(command, [url] + (command == "proxy" ? [] : ["--", "CMD"]))
    }

    /// Returns the error for a string that is not a URL. It never shows user information, which may be a
    /// password.
    private static func problem(_ text: String, _ command: String) -> OIDCError {
        let scheme = scheme(text)
        let rest = scheme.map { text.dropFirst($0.count + 3) } ?? text[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let mayHaveSecret = text.utf8.contains(.at) || text.includes("%40")
        guard !mayHaveSecret || !(authority.utf8.contains(.at) || scheme == nil) else {
            return .usage(
                "the URL has user information",
                hint: "leave out what is before the @: the token takes its place")
        }
        let shown = mayHaveSecret ? "the text" : DisplayText.quoted(text, limit: 200)
        guard let scheme else {
            return .usage(
                "\(shown) is not a URL",
                hint: WebURL("https://\(text)").map { line(command, $0.text) })
        }
        guard ["http", "https"].contains(ASCII.lowercased(scheme)) else {
            return .usage("\(shown): the scheme is not https", hint: "use https")
        }
        let port = authority.utf8.lastIndex(of: .colon).map { authority[$0...].dropFirst() }
        if let port, authority.utf8.last != .rightBracket, !port.isEmpty,
            port.utf8.allSatisfy({ ASCII.isDigit($0) }), !(1...65_535).contains(Int(port) ?? 0)
        {
            return .usage("\(shown): the port is not 1 to 65535")
        }
        return .usage("\(shown) is not a URL")
    }

    /// Returns the scheme before `://`; nil if there is none.
    private static func scheme(_ text: String) -> String? {
        guard let colon = text.utf8.firstIndex(of: .colon), text[colon...].hasPrefix("://") else {
            return nil
        }
        return String(text[..<colon])
    }
}
