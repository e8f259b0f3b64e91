import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

struct ConfigInitCommand: RunnableCommand {
    static let name = "init"
    static let summary = "Write a profile, after checking the provider"
    static let declaration = Declaration<ConfigInitCommand>(
        discussion: """
            Writes the options into a profile of the configuration file, after fetching the provider's metadata. \
            For a provider known by name, the profile also gets its settings, and stderr says what to register, and \
            where; oidc help providers lists these providers. The profile is named by -p, or \
            `default`. Other profiles are not changed.
            """,
        examples: [
            Example("oidc config init google --client-id ID", "a provider known by name"),
            Example(
                "oidc config init -p work okta domain=dev-123456.okta.com --client-id ID", "another profile"),
            Example(
                "oidc config init --issuer https://login.example.com --client-id cli", "any other provider"),
        ],
        operands: [
            .optional(\.provider, "PROVIDER", "a provider known by name", completion: .dynamic("providers")),
            .rest(\.words, "NAME=VALUE", "the provider's parameters", completion: .dynamic("parameters")),
        ],
        options: [
            .flag(\.isForced, "--force", "replace a profile of that name"),
            .group(\.options), .group(\.common),
        ])

    var provider: String?
    var words: [String] = []
    var isForced = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        var draft = Draft(context, "default")
        draft.provider = provider
        draft.words = words
        draft.options = options
        draft.isForced = isForced
        guard TerminalQuestion.isPossible, !context.console.isJSON, try draft.isIncomplete else {
            let profile = try draft.made(context)
            try profile.write(replacing: isForced)
            try profile.report(withRegistration: true)
            ProfileSessions.noteSharing(of: profile.name, context)
            return 0
        }
        guard case .profile(let profile) = try draft.asking(context) else { return 0 }
        let settings = profile.settings
        if settings.store == "file", KeychainSeal.hasKeychain(context.environment),
            try InitDialog.confirms("Keep the keys of sessions in the keychain?", TerminalQuestion.ask)
        {
            var loader = context.settingsLoader
            loader.profileName = profile.name
            _ = try ProfilesFile(loader).set([
                try SettingsLoader.assignment("\(Setting.store.name)=keychain")
            ])
        }
        guard profile.hasSecret, profile.obstacles.isEmpty,
            try InitDialog.confirms("Sign in now?", TerminalQuestion.ask)
        else { return 0 }
        var login = LoginCommand()
        login.common = common
        login.common.profile = profile.name
        return try login.run(context.using(profile: profile.name))
    }
}
