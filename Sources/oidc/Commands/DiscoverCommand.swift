import CommandLineKit
import OIDCCore

struct DiscoverCommand: RunnableCommand {
    static let name = "discover"
    static let summary = "Print the provider's metadata"
    static let declaration = Declaration<DiscoverCommand>(
        discussion: """
            Fetches the metadata from the well-known URLs of OpenID Connect Discovery and RFC 8414, or from \
            `metadata_url`, checks the issuer, and prints it as JSON. Reports what is missing or unsafe on stderr.
            """,
        examples: [
            Example("oidc discover --issuer https://login.example.com", "any provider"),
            Example("oidc discover | jq -r .token_endpoint", "one member of the default profile's metadata"),
        ],
        options: [.group(\.options), .group(\.common)])

    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try context.provider(options)
        guard let issuer = provider.settings.provider.issuer else {
            throw Setting.issuer.missing(option: "--issuer URL")
        }
        var environment = try provider.environment()
        environment.cache = FreshCache(kept: environment.cache)
        let metadata = try provider.discovered(issuer, environment)
        try context.console.output(.object(metadata.raw))
        for remark in metadata.remarks { context.console.note("note: \(DisplayText.clean(remark))") }
        return 0
    }
}

/// A document cache that never returns a document, but stores each response for other commands.
private struct FreshCache: DocumentCache {
    let kept: any DocumentCache

    func lookup(_ url: WebURL, at now: Instant) -> [UInt8]? { nil }
    func keep(_ response: HTTPResponse, from url: WebURL, at now: Instant) {
        kept.keep(response, from: url, at: now)
    }
    func forget(_ url: WebURL) { kept.forget(url) }
}
