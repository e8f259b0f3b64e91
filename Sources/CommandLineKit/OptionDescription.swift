/// What can be said of an option without knowing the command's type: for help, completion and the man page.
public struct OptionDescription: Sendable, Equatable {
    /// The long name with its dashes: `--profile`.
    public let name: String
    /// The letter of the short name: `p` for `-p`.
    public let short: Character?
    /// The placeholder of its value; nil for a flag.
    public let valueName: String?
    public let help: String
    public var environment: String?
    public var defaultText: String?
    public var choices: [String] = []
    public var completion = CompletionHint.none
    public var isRepeatable = false
    public var isHidden = false
    /// The heading of the group that it came with; nil for the command's own.
    public var group: String?
    var role = Role.ordinary

    /// Two options are asked of the parser itself.
    enum Role: Sendable { case ordinary, help, version }

    init(_ name: String, short: Character?, valueName: String?, help: String) {
        self.name = name
        self.short = short
        self.valueName = valueName
        self.help = help
    }

    init(
        _ name: String, _ short: Character?, _ valueName: String, _ help: String, _ environment: String?,
        _ defaultText: String?, _ completion: CompletionHint = .none, _ isHidden: Bool = false
    ) {
        self.init(name, short: short, valueName: valueName, help: help)
        self.environment = environment
        self.defaultText = defaultText
        self.completion = completion
        self.isHidden = isHidden
    }

    /// `-p` and `--profile`.
    public var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [name] }
}

/// How the shell finds values for an option or operand.
public enum CompletionHint: Sendable, Equatable {
    case none
    case values([String])
    case file
    case directory
    /// A program of the machine and then its own arguments.
    case command
    /// The names of the program's own commands.
    case commandNames
    /// Words that the program itself lists, under this name.
    case dynamic(String)
}
