/// A program: its commands in sections, and the text around their list.
public struct Program: Sendable {
    public let name: String
    public let summary: String
    public let sections: [CommandSection]
    /// The text below the list of commands in `--help`.
    public let footnote: String
    /// The options that every command has; they are also accepted before the command's name.
    public let common: any OptionGroup.Type
    /// The command that prints the completion scripts and answers their calls.
    public let completionCommand: String
    /// Commands and options of other programs, each with a hint: a command line or a sentence.
    public let otherNames: [String: String]
    /// The sections of the manual; those with a topic are printed by `help TOPIC`.
    public let manual: @Sendable () -> [ManSection]

    public init(
        name: String, summary: String, common: any OptionGroup.Type, sections: [CommandSection],
        footnote: String = "", completionCommand: String = "completions",
        otherNames: [String: String] = [:], manual: @escaping @Sendable () -> [ManSection] = { [] }
    ) {
        self.name = name
        self.summary = summary
        self.common = common
        self.sections = sections
        self.footnote = footnote
        self.completionCommand = completionCommand
        self.otherNames = otherNames
        self.manual = manual
    }

    var commonOptions: [OptionDescription] { common.descriptions() }
}

/// Commands under one heading, in the order of the help.
public struct CommandSection: Sendable {
    public let title: String
    public let commands: [any Command.Type]

    public init(_ title: String, _ commands: [any Command.Type]) {
        self.title = title
        self.commands = commands
    }
}

/// The `help` command, to be listed in a section. The parser handles it.
public struct HelpCommand: Command {
    public static let name = "help"
    public static let summary = "Explain a command"
    public static let declaration = Declaration<HelpCommand>(
        operands: [
            .rest(\.path, "COMMAND", "the command and its subcommand, or a topic", completion: .commandNames)
        ])

    public var path: [String] = []

    public init() {}
}
