import CommandLineKit
import OIDCCore

struct AuthorizeURLCommand: RunnableCommand {
    static let name = "authorize-url"
    static let summary = "Print an authorization URL and its state"
    static let declaration = Declaration<AuthorizeURLCommand>(
        discussion: """
            Prints, as JSON, the URL to open and what the answer is checked against: state, nonce, code verifier, \
            redirect URL and issuer. Keep it in a file that only you can read, and pass that file to \
            `oidc exchange --pending`.
            """,
        examples: [
            Example("(umask 077; oidc authorize-url > pending.json)", "start a manual sign-in"),
            Example("oidc authorize-url | jq -r .url", "only the URL"),
        ],
        options: [
            .value(
                \.prompt, "--prompt", "P", "\(Setting.promptList), or off to send none"
            ),
            .value(\.loginHint, "--login-hint", "H", "account to suggest"),
            .value(
                \.requestObjectOut, "--request-object-out", "FILE",
                "write the signed request, for the URL in `request_uri`", completion: .file),
            .group(\.options), .group(\.common),
        ])

    var prompt: String?
    var loginHint: String?
    var requestObjectOut: String?
    var options = ProviderOptions()
    var common = CommonOptions()

    func validate() throws(UsageError) { try Setting.checkPrompt(prompt) }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let entries = try SettingsLoader.entries([
            (.prompt, "--prompt", prompt), (.loginHint, "--login-hint", loginHint),
            (.requestObjectOut, "--request-object-out", requestObjectOut),
        ])
        let provider = try context.provider(options, and: entries)
        let signIn = SignIn(try Account(provider))
        let (pending, url) = try signIn.begin()
        try context.console.output(pending.json(opening: url))
        return 0
    }
}
