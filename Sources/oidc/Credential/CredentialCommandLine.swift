import OIDCCore
import OIDCSystem

/// The command line to put into another program's configuration: this program with the given options, and with
/// options in place of variables, as the other program does not have our variables.
struct CredentialCommandLine {
    let words: [String]
    let settings: Settings

    init(
        _ kind: String, _ context: CommandContext, _ provider: ProviderOptions, type: TokenKind? = nil
    ) throws(OIDCError) {
        try self.init(["credential", kind], context, provider, type: type)
    }

    /// Makes the line of a command, with a URL operand if there is one.
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
        add("--config", loader.configPath.map { CredentialCommandLine.absolute($0, context.environment) })
        add("-p", loader.profileName)
        words += try settings.repeatedOptions()
        for resource in provider.resource { add("--resource", resource) }
        for assignment in provider.assignments { add("--set", assignment) }
        if type == .access { words += ["--type", TokenKind.access.rawValue] }
        self.words = words
    }

    /// The command line for a shell, or for a program that splits words as a shell does.
    var line: String { words.map(ShellWord.quoted).joined(separator: " ") }

    /// Returns the program's name if PATH finds it, or else the path that it was called by.
    private static func program(_ environment: Variables) -> String {
        if (try? Executable.find("oidc", in: environment)) != nil { return "oidc" }
        guard let path = ProcessEnvironment.arguments.first, path.contains("/") else { return "oidc" }
        return absolute(path, environment)
    }

    private static func absolute(_ path: String, _ environment: Variables) -> String {
        guard !path.hasPrefix("/"), let directory = environment["PWD"], directory.hasPrefix("/") else {
            return path
        }
        return "\(directory == "/" ? "" : directory)/\(path)"
    }
}
