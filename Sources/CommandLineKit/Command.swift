/// A command: a struct whose properties hold its defaults, and a table of the options and operands that set
/// them.
package protocol Command: Sendable {
    /// The word that runs it, as in `oidc token`.
    static var name: String { get }
    /// A one-line summary of at most 60 characters.
    static var summary: String { get }
    /// The command's options, operands, examples and longer description.
    static var declaration: Declaration<Self> { get }
    /// The command's subcommands. A command that has some does nothing itself: the user must name one of
    /// them.
    static var subcommands: [any Command.Type] { get }

    init()

    /// Checks rules that involve several options, after all options are read.
    func validate() throws(UsageError)
}

extension Command {
    package static var declaration: Declaration<Self> { Declaration() }
    package static var subcommands: [any Command.Type] { [] }
    package func validate() throws(UsageError) {}
}

/// Options that several commands share: a struct with its own table, held as one property of each command.
package protocol OptionGroup: Sendable {
    /// The heading above the group in the help, as in `Common options`.
    static var title: String { get }
    static var options: [Option<Self>] { get }

    init()
}

/// The property that an option or operand sets, written as `\.port`. It is evaluated only to store an
/// argument or to show a default, as the first key path of a process takes as long as all other parsing.
package typealias Property<Root, Value> = any WritableKeyPath<Root, Value> & Sendable

/// A command's options and operands with their documentation: the table behind parsing, help, completion and
/// the manual page.
package struct Declaration<Root>: Sendable {
    /// The longer description. Blank lines separate paragraphs; indented lines are kept as they are.
    package let discussion: String
    /// Usage lines that replace the one made from the operands, without the command's path.
    package let usage: [String]
    package let examples: [Example]
    package let exitCodes: [ExitCode]
    /// Whether the first operand ends the options, as for a command that runs another program (`exec`).
    package let stopsAtFirstOperand: Bool
    let operands: [Operand<Root>]
    private let table: @Sendable () -> [Option<Root>]

    /// Creates a declaration. `options` is evaluated only if needed: not for a command line without options,
    /// such as `oidc token`.
    package init(
        discussion: String = "", usage: [String] = [], examples: [Example] = [], exitCodes: [ExitCode] = [],
        operands: [Operand<Root>] = [], stopsAtFirstOperand: Bool = false,
        options: @autoclosure @escaping @Sendable () -> [Option<Root>] = []
    ) {
        self.discussion = discussion
        self.usage = usage
        self.examples = examples
        self.exitCodes = exitCodes
        self.operands = operands
        self.stopsAtFirstOperand = stopsAtFirstOperand
        table = options
    }

    var options: [Option<Root>.Entry] { table().flatMap(\.entries) }
}

/// A command line to copy, with its explanation.
package struct Example: Sendable, Equatable {
    package let command: String
    package let explanation: String

    package init(_ command: String, _ explanation: String) {
        self.command = command
        self.explanation = explanation
    }
}

/// An exit code that only one command has.
package struct ExitCode: Sendable, Equatable {
    package let code: String
    package let meaning: String

    package init(_ code: String, _ meaning: String) {
        self.code = code
        self.meaning = meaning
    }
}
