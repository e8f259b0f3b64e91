/// A program: its commands in sections, and the text around their list.
package struct Program: Sendable {
    package let name: String
    package let summary: String
    package let sections: [CommandSection]
    /// The text below the list of commands in `--help`.
    package let footnote: String
    /// The options that every command has; they are also accepted before the command's name.
    package let common: any OptionGroup.Type
    /// The command that prints the completion scripts and answers their calls.
    package let completionCommand: String
    /// Commands and options of other programs, each with a hint.
    package let otherNames: @Sendable () -> [String: UsageError.Hint]
    /// The sections of the manual; those with a topic are printed by `help TOPIC`.
    package let manual: @Sendable () -> [ManSection]
    /// The explanation of a word that is neither a command nor a topic, such as a setting.
    package let glossary: @Sendable (String) -> ManSection?
    /// The words that the glossary explains, to suggest one for a similar word.
    package let glossaryWords: @Sendable () -> [String]
    /// The width of help texts in columns.
    package let width: @Sendable () -> Int

    package init(
        name: String, summary: String, common: any OptionGroup.Type, sections: [CommandSection],
        footnote: String = "", completionCommand: String = "completions",
        otherNames: @escaping @Sendable () -> [String: UsageError.Hint] = { [:] },
        manual: @escaping @Sendable () -> [ManSection] = { [] },
        glossary: @escaping @Sendable (String) -> ManSection? = { _ in nil },
        glossaryWords: @escaping @Sendable () -> [String] = { [] },
        width: @escaping @Sendable () -> Int = { TextLayout.width }
    ) {
        self.name = name
        self.summary = summary
        self.common = common
        self.sections = sections
        self.footnote = footnote
        self.completionCommand = completionCommand
        self.otherNames = otherNames
        self.manual = manual
        self.glossary = glossary
        self.glossaryWords = glossaryWords
        self.width = width
    }

    package var commonOptions: [OptionDescription] { common.descriptions() }
}

/// Commands under one heading, in the order of the help.
package struct CommandSection: Sendable {
    package let title: String
    package let commands: [any Command.Type]
    /// Whether the overview lists the commands without their summaries.
    package let isBrief: Bool

    package init(_ title: String, _ commands: [any Command.Type], isBrief: Bool = false) {
        self.title = title
        self.commands = commands
        self.isBrief = isBrief
    }
}

/// The `help` command, to be listed in a section. The parser handles it.
package struct HelpCommand: Command {
    package static let name = "help"
    package static let summary = "Explain a command"
    package static let declaration = Declaration<HelpCommand>(
        operands: [
            .rest(\.path, "COMMAND", "the command and its subcommand, or a topic", completion: .commandNames)
        ])

    package var path: [String] = []

    package init() {}
}
