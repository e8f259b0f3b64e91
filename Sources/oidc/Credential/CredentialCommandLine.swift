import OIDCCore
import Posix

/// The command line to put into another program's configuration. That program does not have our variables, so
/// options replace them; it runs in another directory, so paths are absolute.
struct CredentialCommandLine {
    let words: [String]
    let settings: Settings
    /// The profile that the command line names. It names the default one too: after `oidc switch`, the program would
    /// otherwise get another provider's token.
    let profile: String?

    init(
        _ kind: String, _ context: CommandContext, _ provider: ProviderOptions, type: TokenKind? = nil
    ) throws(OIDCError) {
        try self.init(["credential", kind], context, provider, type: type)
    }

    /// Creates the command line of a command, with an optional URL operand.
    init(
        _ command: [String], _ context: CommandContext, _ provider: ProviderOptions, operand: WebURL? = nil,
        type: TokenKind? = nil
    ) throws(OIDCError) {
        let settings = try context.settings(provider)
        self.settings = settings
        var words = [CredentialCommandLine.program(context.environment)] + command
        if let operand { words.append(operand.text) }
        func add(_ option: String, _ value: String?) {
            if let value { words += [option, value] }
        }
        let loader = context.settingsLoader
        add("--config", loader.configPath.map(UserFile.absolute))
        profile = loader.profileName ?? settings.profile
        add("-p", profile)
        words += try settings.repeatedOptions()
        for resource in provider.resource { add("--resource", resource) }
        for entry in try provider.entries() where entry.origin == .option("--set") {
            let value = entry.setting.kind.resolved(entry.value, in: UserFile.currentDirectory)
            add("--set", "\(entry.setting.name)=\(value.string ?? value.compact)")
        }
        if type == .access { words += ["--type", TokenKind.access.rawValue] }
        self.words = words
    }

    /// The command line for a shell, or for a program that splits words as a shell does.
    var line: String { words.map(ShellWord.quoted).joined(separator: " ") }

    /// Returns `oidc` if PATH has a program of this name, or if this one was found there under another; otherwise the
    /// absolute path that it was called by.
    private static func program(_ environment: Variables) -> String {
        if (try? Executable.find("oidc", in: environment)) != nil { return "oidc" }
        guard let path = ProcessEnvironment.arguments.first, path.contains("/") else { return "oidc" }
        return UserFile.absolute(path)
    }
}
