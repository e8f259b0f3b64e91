import CommandLineKit
import OIDCCore
import OIDCAccount

/// The kind of a session's token.
enum TokenKind: String, CaseIterable, OptionValue, Sendable {
    case access
    case id
}

/// A command about a token: the session's, or one on stdin. Tokens are never taken from arguments.
protocol TokenOperandCommand: RunnableCommand {
    var source: String? { get set }
    var isRefreshToken: Bool { get set }
    var options: ProviderOptions { get set }
    var common: CommonOptions { get set }
}

extension TokenOperandCommand {
    static func tokenDeclaration(
        _ discussion: String, examples: [Example], refreshToken help: String
    ) -> Declaration<Self> {
        Declaration(
            discussion: discussion, examples: examples,
            operands: [.optional(\.source, "-", "read the token from stdin", completion: .values(["-"]))],
            options: [
                .flag(\.isRefreshToken, "--refresh-token", help), .group(\.options), .group(\.common),
            ])
    }

    func validate() throws(UsageError) {
        try UsageError.refuseToken(source, hint: .command([Self.name, "-"], after: " < FILE"))
    }

    /// Returns the provider of the token. Which server a token on stdin is for, only the settings say, not the URL of a
    /// resource.
    func provider(_ context: CommandContext) throws(OIDCError) -> ProviderContext {
        guard source != nil else { return try context.sessionProvider(options) }
        let provider = try context.provider(options)
        guard provider.namesProvider || provider.lent != nil else {
            let hint = "name the provider that issued the token, with -p, or with --issuer and --client-id"
            throw .usage("issuer is not set", hint: .text(hint))
        }
        return try context.resourceServer(of: provider) ?? provider
    }

    var hint: TokenTypeHint { isRefreshToken ? .refreshToken : .accessToken }

    /// Returns the token, and the session if it is the session's.
    func token(
        _ provider: ProviderContext, of account: Account? = nil
    ) throws(OIDCError) -> (Redacted<String>, Session?) {
        if source != nil {
            let text = ASCII.trimmed(try InputText.read("-", named: "stdin"))
            guard !text.isEmpty else {
                throw OIDCError.usage("stdin is empty", hint: "name a file with one after <")
            }
            return (Redacted(text), nil)
        }
        let account = if let account { account } else { try Account(provider) }
        let session = try account.session()
        if let lent = provider.lent {
            guard !isRefreshToken else { throw try lent.terms().refusal(of: "its refresh token") }
            let delivery = try account.token(account.demand())
            return (delivery.access.token, delivery.session)
        }
        guard isRefreshToken else {
            let source = session.source(for: account.demand())
            guard let token = session.accessToken(from: source)?.token else {
                guard source == .own else {
                    throw OIDCError.usage(
                        "the session has no token for that scope or resource",
                        hint: .words("get one: ", .run("token")))
                }
                throw session.noAccessToken
            }
            return (token, session)
        }
        guard let token = session.tokens.refreshToken else {
            throw OIDCError(
                .loginRequired, "the session has no refresh token", hint: provider.settings.scopedLoginLine)
        }
        return (token, session)
    }
}

extension Session {
    /// The error for a session whose access token was revoked and not replaced.
    var noAccessToken: OIDCError {
        endedError
            ?? .usage(
                "the session has no access token: it was revoked",
                hint: .words("get a new one: ", .run("token")))
    }
}

extension UsageError {
    /// Refuses an operand other than `-`, which may be a token.
    static func refuseToken(_ operand: String?, hint: UsageError.Hint) throws(UsageError) {
        guard let operand, operand != "-" else { return }
        throw UsageError(
            "a token is not taken from the command line, where every process can read it", hint: hint)
    }
}
