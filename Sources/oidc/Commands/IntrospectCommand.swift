import CommandLineKit
import OIDCCore
import OIDCSystem

struct IntrospectCommand: RunnableCommand {
    static let name = "introspect"
    static let summary = "Ask the provider about a token"
    static let declaration = Declaration<IntrospectCommand>(
        discussion: "Asks the provider (RFC 7662) and prints its answer as JSON.",
        examples: [
            Example("oidc introspect", "the session's access token"),
            Example("oidc introspect - < token.txt", "any token"),
        ],
        operands: [.optional(\.source, "-", "read the token from stdin", completion: .values(["-"]))],
        options: [
            .flag(\.isRefreshToken, "--refresh-token", "introspect the session's refresh token"),
            .group(\.provider), .group(\.common),
        ])

    var source: String?
    var isRefreshToken = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) { try TokenOperand.validate(source) }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let setup = try context.provider(provider)
        let operand = TokenOperand(source: source, isRefreshToken: isRefreshToken)
        let (token, session) = try operand.token(setup)
        let call = try EndpointAccess(setup: setup, endpoint: .introspection, session: session)
        let answer = try call.perform { (url, client, environment) throws(OIDCError) in
            try Introspection.call(
                token, hint: isRefreshToken ? .refreshToken : .accessToken, at: url, client: client,
                now: environment.now(), random: environment.random)
        }
        try context.console.output(.object(answer.claims))
        return 0
    }
}

/// Which token a command is about: the session's, or one on stdin; never one in argv.
struct TokenOperand {
    let source: String?
    let isRefreshToken: Bool

    static func validate(_ source: String?) throws(UsageError) {
        guard let source, source != "-" else { return }
        throw UsageError(
            "a token is not taken from the command line, where every process can read it",
            hint: "give it on stdin, with - as the operand")
    }

    /// With the session that it belongs to, where it is the session's.
    func token(_ setup: ProviderContext) throws(OIDCError) -> (Redacted<String>, Session?) {
        if source != nil {
            let text = ASCII.trimmed(try InputText.read("-", named: "stdin"))
            guard !text.isEmpty else { throw OIDCError.usage("stdin holds no token") }
            return (Redacted(text), nil)
        }
        let access = try SessionAccess(setup)
        guard let session = try access.load() else {
            throw SessionAccess.noSession(access.key, setup.settings)
        }
        guard isRefreshToken else { return (session.tokens.access.token, session) }
        guard let token = session.tokens.refreshToken else {
            throw OIDCError(
                .loginRequired, "the session has no refresh token", hint: setup.settings.loginLine)
        }
        return (token, session)
    }
}

/// An endpoint that the client proves itself to: the session's own, else the provider's.
struct EndpointAccess {
    let url: WebURL
    let client: Client
    let environment: LoginEnvironment

    init(setup: ProviderContext, endpoint: ProviderEndpoint, session: Session?) throws(OIDCError) {
        environment = try setup.environment()
        let kept = endpoint == .revocation ? session?.endpoints.revocation : session?.endpoints.introspection
        if let session, let kept {
            url = kept
            client = try setup.client(nil, method: session.clientAuthentication, environment)
            return
        }
        guard session == nil else {
            throw OIDCError(
                .usage, "the provider offers no \(endpoint.rawValue)",
                hint: "set \(endpoint.rawValue), and sign in again", stage: .settings)
        }
        let metadata = try setup.metadata(environment, for: [endpoint])
        client = try setup.client(metadata, environment)
        url = try metadata.require(endpoint, presentingCertificate: client.presentsCertificate)
    }

    func perform<Value>(
        _ call: (WebURL, Client, LoginEnvironment) throws(OIDCError) -> EndpointCall<Value>
    ) throws(OIDCError) -> Value {
        try environment.transport.perform(try call(url, client, environment))
    }
}
