import CommandLineKit
import OIDCCore
import OIDCSystem

struct IntrospectCommand: TokenOperandCommand {
    static let name = "introspect"
    static let summary = "Ask the provider about a token"
    static let declaration: Declaration<IntrospectCommand> = tokenDeclaration(
        "Asks the provider (RFC 7662) and prints its answer as JSON.",
        examples: [
            Example("oidc introspect", "the session's access token"),
            Example("oidc introspect - < token.txt", "any token"),
        ],
        refreshToken: "introspect the session's refresh token")

    var source: String?
    var isRefreshToken = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let provider = try context.provider(options)
        let (token, session) = try token(provider)
        let endpoint = try AuthenticatedEndpoint(
            provider: provider, endpoint: .introspection, session: session)
        let environment = endpoint.environment
        let answer = try environment.transport.perform(
            try Introspection.call(
                token, hint: hint, at: endpoint.url, client: endpoint.client,
                now: environment.now(), random: environment.random))
        try context.console.output(.object(answer.claims))
        return 0
    }
}
