import CPlatform
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
        footnote: """
            Without an account: oidc demo. More on a command: oidc help COMMAND, or on a \
            topic (settings, environment, exit-codes): oidc help TOPIC
            """,
        otherNames: [
            "auth": "oidc login", "auth login": "oidc login", "auth logout": "oidc logout",
            "auth refresh": "oidc token --refresh", "auth status": "oidc status", "auth token": "oidc token",
            "signin": "oidc login", "sign-in": "oidc login", "signout": "oidc logout",
            "sign-out": "oidc logout",
            "whoami": "oidc status", "list": "oidc status --all", "ls": "oidc status --all",
            "accounts": "oidc status --all",
            "refresh": "oidc token --refresh",
            "get-token": "oidc token", "access-token": "oidc token", "decode": "oidc inspect",
            "init": "oidc config init", "setup": "oidc config init", "version": "oidc --version",
            "--device": "oidc login --flow device", "--device-code": "oidc login --flow device",
            "--web": "oidc login --flow browser", "--paste": "oidc login --flow paste",
            "--client-secret": "set client_secret_file, client_secret_command or OIDC_CLIENT_SECRET",
        ],
        manual: { Manual.sections })
}

/// What `oidc --version` prints.
enum Version {
    static let number = "0.1.0"

    static var commit: String { String(cString: oidc_build_commit()) }
    static var text: String { commit.isEmpty ? "oidc \(number)" : "oidc \(number) (\(commit))" }
}
