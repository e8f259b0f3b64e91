import CommandLineKit
import OIDCCore
import Posix

enum OutputFormat: String, CaseIterable, OptionValue, Sendable {
    case text
    case json
}

/// The options of every command.
struct CommonOptions: OptionGroup {
    static let title = "Common options"

    static let options: [Option<CommonOptions>] = [
        .repeated(
            \.profiles, "--profile", "NAME", "the profile to use", short: "p", environment: "OIDC_PROFILE",
            completion: .dynamic("profiles"), isShownRepeatable: false),
        .value(
            \.config, "--config", "FILE", "the configuration file", environment: "OIDC_CONFIG",
            completion: .file),
        .value(\.format, "--output", "FORMAT", "output format", short: "o", defaultText: "text"),
        .flag(\.isJSON, "--json", "short for --output json"),
        .flag(\.isVerbose, "--verbose", "log each step on stderr, without secrets", short: "v"),
        .flag(\.isQuiet, "--quiet", "print errors only", short: "q"),
        .help(),
        .version(),
    ]

    /// The profiles in the order of the command line; `Main` refuses more than one for all commands but `lend`.
    var profiles: [String] = []
    var config: String?
    var format: OutputFormat?
    var isJSON = false
    var isVerbose = false
    var isQuiet = false

    var profile: String? {
        get { profiles.last }
        set { profiles = newValue.map { [$0] } ?? [] }
    }

    var output: OutputFormat { isJSON ? .json : format ?? .text }

    /// Checks rules that concern several options or an option's value.
    func validate() throws(OIDCError) {
        if isJSON, format == .text {
            throw .usage("--json and --output text cannot be used together", hint: "leave one of them out")
        }
        if config == "" {
            throw .usage("--config is empty", hint: "give it the path of a file, or leave it out")
        }
    }

    /// Returns a hint with the profile and the file of these options in its commands.
    func completing(_ hint: Hint) -> String { InvokedLine(self).text(hint) }
}

/// The options of every command that talks to a provider.
struct ProviderOptions: OptionGroup {
    static let title = "Provider options"

    static let options: [Option<ProviderOptions>] = [
        .value(\.issuer, "--issuer", "URL", "the provider's issuer URL", environment: "OIDC_ISSUER"),
        .value(\.clientID, "--client-id", "ID", "the client ID", environment: "OIDC_CLIENT_ID"),
        .repeated(
            \.scope, "--scope", "S", "scope to request, or a quoted list",
            environment: "OIDC_SCOPE"),
        .value(
            \.account, "--account", "NAME", "one of several sign-ins of the client",
            environment: "OIDC_ACCOUNT"),
        .value(\.audience, "--audience", "A", "the API that the token is for", environment: "OIDC_AUDIENCE"),
        .repeated(\.resource, "--resource", "URI", "a resource indicator (RFC 8707)"),
        .value(
            \.grant, "--grant", "G", oneOf: Setting.grant.kind.choices, "the grant type",
            environment: "OIDC_GRANT"),
        .repeated(
            \.assignments, "--set", "KEY=VALUE", "any other setting",
            completion: .dynamic("settings")),
    ]

    var issuer: String?
    var clientID: String?
    var scope: [String] = []
    var account: String?
    var audience: String?
    var resource: [String] = []
    var grant: String?
    var assignments: [String] = []

    /// Returns the settings that these options set.
    func entries() throws(OIDCError) -> [SettingLayers.Entry] {
        var entries = try SettingsLoader.entries([
            (.issuer, "--issuer", issuer), (.clientID, "--client-id", clientID),
            (.scope, "--scope", scope.isEmpty ? nil : scope.joined(separator: " ")),
            (.account, "--account", account), (.audience, "--audience", audience),
            (.grant, "--grant", grant),
        ])
        if !resource.isEmpty {
            for resource in resource { try ResourceIndicator.check(resource) }
            entries.append(
                SettingLayers.Entry(
                    setting: .resource, value: .array(resource.map { .string($0) }),
                    origin: .option("--resource")))
        }
        for assignment in assignments { entries.append(try SettingsLoader.assignment(assignment)) }
        try SettingsLoader.checkRepeated(entries)
        return entries
    }
}

/// The text of a file, or of stdin if the name is `-`.
enum InputText {
    static func read(_ path: String, limit: Int = 1 << 20, named name: String) throws(OIDCError) -> String {
        let bytes =
            path == "-"
            ? try UserFile.readStandardInput(limit: limit)
            : try UserFile.require(path, limit: limit, named: name).bytes
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw OIDCError.usage("\(name): expected UTF-8 text")
        }
        return text
    }
}
