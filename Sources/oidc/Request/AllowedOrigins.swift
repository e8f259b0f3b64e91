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
