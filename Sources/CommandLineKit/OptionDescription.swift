/// An option's documentation, as the help, the manual page and the completer use it.
package struct OptionDescription: Sendable, Equatable {
    /// The long name with its dashes: `--profile`.
    package let name: String
    /// The letter of the short name: `p` for `-p`.
    package let short: Character?
    /// The placeholder for the value; nil for a flag.
    package let valueName: String?
    package let help: String
    package let environment: String?
    package var defaultText: String?
    /// The accepted values, if they can be listed.
    package let choices: [String]
    package let completion: CompletionHint
    package let isRepeatable: Bool
    /// Whether the help says that the option is repeatable.
    package let isShownRepeatable: Bool
    package let isHidden: Bool
    /// The heading of the option's group; nil for the command's own options.
    package var group: String?
    let role: Role

    /// The role of the option; the parser itself handles `--help` and `--version`.
    enum Role: Sendable { case ordinary, help, version }

    init(
        _ name: String, _ help: String, short: Character? = nil, valueName: String? = nil,
        choices: [String] = [], completion: CompletionHint = .none, environment: String? = nil,
        defaultText: String? = nil, isRepeatable: Bool = false,
        isShownRepeatable: Bool? = nil, isHidden: Bool = false, role: Role = .ordinary
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
        self.isShownRepeatable = isShownRepeatable ?? isRepeatable
        self.isHidden = isHidden
        self.role = role
    }

    /// The short and the long name: `-p` and `--profile`.
    package var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [name] }
}

/// The kind of completion for the values of an option or operand.
package enum CompletionHint: Sendable, Equatable {
    case none
    case values([String])
    case file
    case directory
    /// A program, followed by its own arguments.
    case command
    /// The names of this program's commands.
    case commandNames
    /// Words of this kind, which the program itself lists.
    case dynamic(String)
}
