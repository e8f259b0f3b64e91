import CommandLineKit
import OIDCCore
import Posix

extension Program {
    /// Every command, in the order of the help.
    static let oidc = Program(
        name: "oidc", summary: "sign in once, and every script on this machine has a valid token",
        common: CommonOptions.self,
        sections: [
            CommandSection(
                "Sign in",
                [
                    LoginCommand.self, LogoutCommand.self, SwitchCommand.self, StatusCommand.self,
                    DemoCommand.self,
                ]),
            CommandSection("Get a token", [TokenCommand.self, UserinfoCommand.self]),
            CommandSection(
                "Use it",
                [
                    ExecCommand.self, ProxyCommand.self, RequestCommand.self, ResourcesCommand.self,
                    CredentialCommand.self, LendCommand.self,
                ]),
            CommandSection(
                "Look inside",
                [
                    InspectCommand.self, DiscoverCommand.self, IntrospectCommand.self, DoctorCommand.self,
                ], isBrief: true),
            CommandSection(
                "Building blocks",
                [
                    PKCECommand.self, AuthorizeURLCommand.self, ExchangeCommand.self, RevokeCommand.self,
                    RegisterCommand.self,
                ], isBrief: true),
            CommandSection(
                "Settings", [ConfigCommand.self, CompletionsCommand.self, ManCommand.self, HelpCommand.self],
                isBrief: true),
        ],
        footnote: """
            oidc help COMMAND, or: options, providers, settings, environment, exit-codes
            """,
        otherNames: { otherNames },
        manual: { Manual.sections }, glossary: { Glossary.section($0) },
        glossaryWords: { Setting.all.map(\.name) },
        width: { min(TextLayout.width, max(30, Terminal.width(.standardOutput) ?? TextLayout.width)) })

    private static let otherNames: [String: UsageError.Hint] = [
        "auth": .run("login"), "auth login": .run("login"), "auth logout": .run("logout"),
        "auth refresh": .run("token --refresh"), "auth status": .run("status"), "auth token": .run("token"),
        "signin": .run("login"), "sign-in": .run("login"), "signout": .run("logout"),
        "sign-out": .run("logout"),
        "whoami": .run("status"), "list": .run("status --all"), "ls": .run("status --all"),
        "accounts": .run("status --all"),
        "refresh": .run("token --refresh"),
        "get-token": .run("token"), "access-token": .run("token"), "decode": .run("inspect"),
        "config get": .run("config show"), "config view": .run("config show"),
        "config ls": .run("config list"), "config add": .run("config init"),
        "config new": .run("config init"), "config create": .run("config init"),
        "config edit": .command(["config", "path"], before: "edit the file that ", after: " prints"),
        "config delete": .run("config rm NAME"), "config remove": .run("config rm NAME"),
        "config mv": .run("config rename NAME NEW-NAME"), "config move": .run("config rename NAME NEW-NAME"),
        "config default": .run("switch NAME"), "config switch": .run("switch NAME"),
        "init": .run("config init"), "setup": .run("config init"), "version": .run("--version"),
        "--device": .run("login --flow device"), "--device-code": .run("login --flow device"),
        "--headless": .run("login --no-browser"), "--web": .run("login --flow browser"),
        "--paste": .run("login --flow paste"),
        "--browser": .options(["--set", #"browser=["firefox","%s"]"#]),
        "--redirect-uri": .options(["--set", "redirect_uri=URL"]),
        "--redirect-url": .options(["--set", "redirect_uri=URL"]),
        "--callback-url": .options(["--set", "redirect_uri=URL"]),
        "-X": .run("request POST https://api.example.com/"),
        "credential gcloud": .run("credential gcp"), "credential google": .run("credential gcp"),
        "credential codex": .run("credential headers https://api.example.com --setup codex"),
        "credential claude-code": .run("credential headers https://api.example.com --setup claude-code"),
        "use": .run("switch NAME"), "auth switch": .run("switch NAME"),
        "set": .run("config set KEY=VALUE"),
        "profile": .run("config list"), "profiles": .run("config list"),
        "presets": .run("help providers"), "preset": .run("help providers"),
        "provider": .run("help providers"),
        "--format": .options(["-o", "json"]),
        "credential kubernetes": .run("credential kubectl"), "credential k8s": .run("credential kubectl"),
        "--client-secret": .text("set client_secret_file, client_secret_command or OIDC_CLIENT_SECRET"),
    ]
}

/// The commands about the settings.
struct ConfigCommand: Command {
    static let name = "config"
    static let summary = "Show, check or change the settings"
    static let subcommands: [any Command.Type] = [
        ConfigShowCommand.self, ConfigListCommand.self, ConfigUseCommand.self, ConfigSetCommand.self,
        ConfigUnsetCommand.self, ConfigRemoveCommand.self, ConfigRenameCommand.self, ConfigPathCommand.self,
        ConfigInitCommand.self, ConfigCheckCommand.self, ConfigNewKeyCommand.self,
    ]
}

/// The commands that other programs call for a token.
struct CredentialCommand: Command {
    static let name = "credential"
    static let summary = "Give tokens to kubectl, git, docker, aws, gcloud and agents"
    static let subcommands: [any Command.Type] = [
        CredentialKubectlCommand.self, CredentialGitCommand.self, CredentialDockerCommand.self,
        CredentialKeyringCommand.self,
        CredentialAWSCommand.self, CredentialGCPCommand.self, CredentialHeadersCommand.self,
    ]
}

/// The parts of the manual that are not commands.
enum Manual {
    static let description = """
        Signs users and machines in at OAuth 2.0 and OpenID Connect providers, keeps their sessions, and \
        prints valid tokens. Data goes to stdout, everything else to stderr.
        """

    static let examples = """
        Write a profile, sign in, and see who is signed in:

          oidc config init --issuer https://login.example.com --client-id cli
          oidc login
          oidc status

        Call an API, with curl or without:

          curl -H "$(oidc token --header)" https://api.example.com/me
          oidc request https://api.example.com/me

        Get a token in a CI job, which has no user and no files:

          OIDC_CLIENT_SECRET=… oidc token --grant client_credentials

        Give the token to one command only:

          oidc exec -- ./deploy.sh

        Change a setting, or the profile that is used by default:

          oidc config set -p work flow=device
          oidc switch work
        """

    static let exitCodes: [(String, String)] = [
        ("0", "done"), ("1", "a fault of this program or machine"),
        ("2", "fix the command line or the configuration"), ("3", "run: oidc login"),
        ("4", "the provider or the user refused, or a response broke the protocol"),
        ("5", "the provider is unreachable: try later"), ("6", "timed out waiting for the sign-in"),
        ("7", "an issuer, token, signature or certificate could not be verified"),
        ("129, 130, 143", "ended by SIGHUP, SIGINT, SIGTERM"),
    ]

    /// The environment variables, for the manual.
    static let environment: [(term: String, meaning: String)] = [
        ("OIDC_<NAME>", "a setting, as in OIDC_CLIENT_SECRET: see oidc help settings"),
        ("OIDC_CONFIG", "the configuration file"), ("OIDC_PROFILE", "the profile to use"),
        (LentSocket.variable, "the socket of a session that oidc lend lends, as store=lent:PATH"),
        ("OIDC_STATE_DIR", "where sessions are kept"),
        ("OIDC_CACHE_DIR", "where metadata and keys are kept"),
        (
            "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
            "directories to use instead of ~/.config, ~/.local/state and ~/.cache"
        ),
        ("https_proxy, http_proxy, all_proxy, no_proxy", "proxies, as for curl; not used for this machine"),
        ("SSL_CERT_FILE", "PEM certificates to trust, unless ca_file is set"),
        ("BROWSER", "browsers to try, separated by colons; words may be quoted, %s is replaced by the URL"),
        (
            "DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION, SSH_TTY",
            "whether a browser can be shown: on a display, and not in an SSH session"
        ),
        ("USER, LOGNAME", "this user's name, for the other side of oidc lend"),
        (
            "SSH_ASKPASS, SSH_ASKPASS_REQUIRE",
            "the program that asks the questions of oidc lend --ask, and whether it is used, as for ssh"
        ),
        ("WSL_DISTRO_NAME", "set in WSL, where the browser of Windows is opened"),
        ("CODESPACES, CODESPACE_NAME", "set in a codespace, where only `BROWSER` opens the user's browser"),
        ("VSCODE_PROXY_URI", "set by code-server to the URL of a forwarded port; treated as in a codespace"),
        ("REMOTE_CONTAINERS", "set in a dev container; treated as in a codespace"),
        (
            "REMOTE_DEV_LAUNCHER_NAME_FOR_USAGE",
            "set in a JetBrains remote backend; treated as in a codespace"
        ),
        ("NO_COLOR, TERM", "no color if NO_COLOR is set, or if TERM is dumb"),
        ("LC_ALL, LC_CTYPE, LANG", "the locale; only ASCII is printed if it is not UTF-8"),
    ]

    static let settingsTopic = "settings"

    static var sections: [ManSection] {
        [
            PresetReference.section,
            ManSection(
                "SETTINGS", topic: settingsTopic,
                "Members of a profile in the configuration file, OIDC_<NAME> variables, or --set name=value.",
                entries: Setting.all.map { (term: $0.name, meaning: $0.summary) }),
            ManSection("EXAMPLES", examples),
            ManSection(
                "EXIT STATUS", topic: "exit-codes", entries: exitCodes.map { (term: $0.0, meaning: $0.1) }),
            ManSection(
                "ENVIRONMENT", topic: "environment",
                entries: environment),
            ManSection(
                "FILES",
                entries: [
                    (term: "~/.config/oidc/config.json", meaning: "profiles"),
                    (term: "~/.local/state/oidc/", meaning: "sessions, one file each, mode 0600"),
                    (
                        term: "~/.local/state/oidc/resources/, registrations/",
                        meaning: "the resources that were signed in to, and the clients registered for them"
                    ),
                    (term: "~/.cache/oidc/", meaning: "metadata and keys; safe to delete"),
                ]),
            ManSection(
                "SEE ALSO",
                """
                curl(1), jq(1), gitcredentials(7)

                OpenID Connect Core 1.0, RFC 6749 (OAuth 2.0), RFC 8252 (OAuth 2.0 for native apps), RFC 8628 (device \
                authorization grant), RFC 9700 (security best current practice)
                """),
        ]
    }
}
