import CommandLineKit

extension Program {
    /// Every command there is, in the order of the help.
    static let oidc = Program(
        name: "oidc", summary: "sign in once, and every script on this machine has a valid token",
        common: CommonOptions.self,
        sections: [
            CommandSection(
                "Sign in", [LoginCommand.self, LogoutCommand.self, StatusCommand.self, DemoCommand.self]),
            CommandSection("Get a token", [TokenCommand.self, UserinfoCommand.self]),
            CommandSection(
                "Use it",
                [ExecCommand.self, RequestCommand.self, ResourcesCommand.self, CredentialCommand.self]),
            CommandSection(
                "Look inside",
                [
                    InspectCommand.self, DiscoverCommand.self, IntrospectCommand.self, DoctorCommand.self,
                ]),
            CommandSection(
                "Building blocks",
                [
                    PKCECommand.self, AuthorizeURLCommand.self, ExchangeCommand.self, RevokeCommand.self,
                    RegisterCommand.self,
                ]),
            CommandSection(
                "Settings", [ConfigCommand.self, CompletionsCommand.self, ManCommand.self, HelpCommand.self]),
        ],
        footnote: "Without an account: oidc demo. More on a command: oidc help COMMAND")
}
