import CommandLineKit
import OIDCCore

/// The way in which the keyring program prints a credential.
enum KeyringMode: String, CaseIterable, OptionValue, Sendable {
    case password
    case creds
}

struct CredentialKeyringCommand: RunnableCommand {
    static let name = "keyring"
    static let summary = "Give pip, uv and twine a token as their password"
    static let declaration = Declaration<CredentialKeyringCommand>(
        discussion: """
            Implements the keyring program, also under the name keyring: pip and uv run it if their keyring provider is \
            `subprocess`. Answers for the hosts in the setting `keyring_hosts`; for any other it prints nothing and \
            ends with 1, as these programs ask for every index. What they store is ignored. twine takes the token from \
            TWINE_PASSWORD.
            """,
        examples: [
            Example("oidc credential keyring --setup", "the commands that make the program keyring"),
            Example(
                "pip install --keyring-provider subprocess NAME", "then, with a user name in the index's URL"),
            Example("TWINE_PASSWORD=$(oidc token) twine upload dist/*", "twine"),
        ],
        operands: [
            .optional(
                \.action, "get|set|del", "the operation", completion: .values(["get", "set", "del"])),
            .optional(\.service, "SERVICE", "the URL or host of the index"),
            .optional(\.username, "USERNAME", "the user name"),
        ],
        options: [
            .value(\.mode, "--mode", "MODE", "what get prints: the password, or user name and password"),
            .flag(\.isSetup, "--setup", "print the commands that make the program keyring"),
            .group(\.options), .group(\.common),
        ])

    var action: String?
    var service: String?
    var username: String?
    var mode = KeyringMode.password
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { false }

    func validate() throws(UsageError) {
        guard !isSetup else { return }
        guard let action, ["get", "set", "del"].contains(action) else {
            let problem = action.map { "unknown operation \(UsageError.quoted($0))" } ?? "missing operation"
            throw UsageError("\(problem): get, set or del")
        }
        if service == nil { throw UsageError("the URL or host of the index is missing") }
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        guard action == "get" else { return 0 }
        let settings = try context.settings(options)
        guard let host = served(by: try settings.tools.keyringHosts.checked()) else { return 1 }
        let token = try CredentialToken(.access, try Account(ProviderContext(settings, context)))
        if mode == .creds {
            try context.console.output(host.username ?? username ?? CredentialHost.usualName)
        }
        try context.console.output(token.text.revealed)
        return 0
    }

    /// Returns the configured host of the index; nil if no token may be sent there. pip and uv name the URL first, and
    /// then its host.
    private func served(by hosts: [CredentialHost]) -> CredentialHost? {
        guard let service else { return nil }
        let isURL = service.hasPrefix("https://") || service.hasPrefix("http://")
        guard let url = WebURL(isURL ? service : "https://\(service)"), url.isSecure || url.isLoopback else {
            return nil
        }
        return hosts.first { host in
            (host.serves(url) || !isURL && url.isLoopback && host.host == service)
                && (username == nil || host.username == nil || username == host.username)
        }
    }

    /// Prints the commands that make a program of that name, with the profile in it.
    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let command = try CredentialCommandLine("keyring", context, options)
        _ = try command.settings.tools.keyringHosts.required(example: "pypi.example.com")
        let script = ShellWord.quoted("exec \(command.line) \"$@\"")
        // `set -C` does not overwrite another program of that name.
        try context.console.output(
            "(set -C; printf '%s\\n' '#!/bin/sh' \(script) >~/.local/bin/keyring) && chmod +x ~/.local/bin/keyring"
        )
        context.console.note(
            "pip: pip config set global.keyring-provider subprocess; uv: UV_KEYRING_PROVIDER=subprocess.\n"
                + "Both look the token up for an index whose URL has a user name, as in "
                + "https://oauth2@pypi.example.com/simple")
        return 0
    }
}
