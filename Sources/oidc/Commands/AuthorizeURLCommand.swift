import CommandLineKit
import OIDCCore
import OIDCSystem

struct AuthorizeURLCommand: RunnableCommand {
    static let name = "authorize-url"
    static let summary = "Print an authorize URL and what belongs to it"
    static let declaration = Declaration<AuthorizeURLCommand>(
        discussion: """
            Prints, as JSON, the address to open and what its answer will be checked against: state, nonce, \
            code verifier, redirect address, issuer. Keep it in a file that only you can read, and give it to \
            `oidc exchange --pending`.
            """,
        examples: [
            Example("(umask 077; oidc authorize-url > pending.json)", "begin a sign-in by hand"),
            Example("oidc authorize-url | jq -r .url", "the address alone"),
        ],
        options: [
            .value(\.prompt, "--prompt", "P", "none, login, consent, select_account or create"),
            .value(\.loginHint, "--login-hint", "H", "who is to sign in"),
            .group(\.provider), .group(\.common),
        ])

    var prompt: String?
    var loginHint: String?
    var provider = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var entries: [Settings.Entry] = []
        for (setting, option, word) in [
            (Setting.prompt, "--prompt", prompt), (.loginHint, "--login-hint", loginHint),
        ] {
            guard let word else { continue }
            entries.append(try SettingsLoader.entry(setting, word, .option(option), named: option))
        }
        let setup = ProviderSetup(try context.settings(provider, and: entries), context)
        let signIn = SignIn(setup: setup, access: try SessionAccess(setup))
        let (pending, url) = try signIn.begin()
        try context.console.output(pending.json(opening: url))
        return 0
    }
}
