/// An option's documentation, as the help, the manual page and the completer use it.
public struct OptionDescription: Sendable, Equatable {
    /// The long name with its dashes: `--profile`.
    public let name: String
    /// The letter of the short name: `p` for `-p`.
    public let short: Character?
    /// The placeholder for the value; nil for a flag.
    public let valueName: String?
    public let help: String
    public let environment: String?
    public var defaultText: String?
    /// The accepted values, if they can be listed.
    public let choices: [String]
    public let completion: CompletionHint
    public let isRepeatable: Bool
    public let isHidden: Bool
    /// The heading of the option's group; nil for the command's own options.
    public var group: String?
    let role: Role

    /// How the parser treats the option: it handles `--help` and `--version` itself.
    enum Role: Sendable { case ordinary, help, version }

    init(
        _ name: String, _ help: String, short: Character? = nil, valueName: String? = nil,
        choices: [String] = [], completion: CompletionHint = .none, environment: String? = nil,
        defaultText: String? = nil, isRepeatable: Bool = false, isHidden: Bool = false, role: Role = .ordinary
    ) {
        self.name = name
        self.short = short
        self.valueName = valueName
        self.help = help
        self.environment = environment
        self.defaultText = defaultText
        self.choices = choices
        self.completion = completion == .none && !choices.isEmpty ? .values(choices) : completion
        self.isRepeatable = isRepeatable
        self.isHidden = isHidden
        self.role = role
    }

    /// The short and the long name: `-p` and `--profile`.
    public var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [name] }
}

/// The kind of completion for the values of an option or operand.
public enum CompletionHint: Sendable, Equatable {
    case none
    case values([String])
    case file
    case directory
    /// A program, followed by its own arguments.
    case command
    /// The names of this program's commands.
    case commandNames
    /// Words that this program lists, under this name.
    case dynamic(String)
}
