import OIDCCore
import OIDCSystem

/// The command line that another program's configuration is to hold: this program with the options that were
/// given now, and with what variables say in their place, as that program has none of our variables.
struct CredentialSetup {
    let words: [String]
    let settings: Settings

    init(
        _ kind: String, _ context: CommandContext, _ provider: ProviderOptions, more: [String] = []
    ) throws(OIDCError) {
        let settings = try context.settings(provider)
        self.settings = settings
        var words = [CredentialSetup.program(context.environment), "credential", kind]
        func add(_ option: String, _ value: String?) {
            if let value { words += [option, value] }
        }
        let loader = context.settingsLoader
        add("--config", loader.configPath.map { CredentialSetup.absolute($0, context.environment) })
        add("-p", loader.profileName)
        for (option, setting) in CredentialSetup.options {
            guard let entry = settings.entries.first(where: { $0.setting == setting }) else { continue }
            switch entry.origin {
            case .option(option): add(option, entry.value.string)
            case .variable: add(option, try CredentialSetup.checked(entry, settings))
            default: break
            }
        }
        for resource in provider.resource { add("--resource", resource) }
        for assignment in provider.assignments { add("--set", assignment) }
        self.words = words + more
    }

    private static let options: [(String, Setting)] = [
        ("--issuer", .issuer), ("--client-id", .clientID), ("--scope", .scope), ("--audience", .audience),
        ("--grant", .grant),
    ]

    /// An address with a password in it is refused before it is printed.
    private static func checked(_ entry: Settings.Entry, _ settings: Settings) throws(OIDCError) -> String? {
        let text = entry.value.string
        if entry.setting == .issuer, let text {
            _ = try ProviderMetadata.checkedIssuer(
                text, allowsInsecureHTTP: settings.flag(.allowInsecureHTTP))
        }
        return text
    }

    /// For a shell, or a program that splits as one does.
    var line: String { words.map(ShellWord.quoted).joined(separator: " ") }

    /// By its name where that is found, else by the path that it was called by.
    private static func program(_ environment: [String: String]) -> String {
        if (try? Executable.find("oidc", in: environment)) != nil { return "oidc" }
        guard let path = CommandLine.arguments.first, path.contains("/") else { return "oidc" }
        return absolute(path, environment)
    }

    private static func absolute(_ path: String, _ environment: [String: String]) -> String {
        guard !path.hasPrefix("/"), let directory = environment["PWD"], directory.hasPrefix("/") else {
            return path
        }
        return "\(directory == "/" ? "" : directory)/\(path)"
    }
}
