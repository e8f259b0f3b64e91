/// What a command accepts and says about itself; the table behind parsing, help, completion and the man page.
public struct Declaration<Root>: Sendable {
    /// Prose below the summary; blank lines part paragraphs, indented lines are kept as they are.
    public let discussion: String
    /// Replaces the usage line made from the operands, without the command's path.
    public let usage: [String]
    public let examples: [Example]
    public let exitCodes: [ExitCode]
    /// Where another command follows (`exec`): its first word ends our options.
    public let stopsAtFirstOperand: Bool

    private let makeOperands: @Sendable () -> [Operand<Root>]
    private let makeOptions: @Sendable () -> [Option<Root>]

    public init(
        discussion: String = "",
        usage: [String] = [],
        examples: [Example] = [],
        exitCodes: [ExitCode] = [],
        operands: @autoclosure @escaping @Sendable () -> [Operand<Root>] = [],
        stopsAtFirstOperand: Bool = false,
        options: @autoclosure @escaping @Sendable () -> [Option<Root>] = []
    ) {
        self.discussion = discussion
        self.usage = usage
        self.examples = examples
        self.exitCodes = exitCodes
        self.makeOperands = operands
        self.stopsAtFirstOperand = stopsAtFirstOperand
        self.makeOptions = options
    }

    /// The table of options, built when asked for: an argument list without options never does.
    var options: [OptionLeaf] { Option.leaves(makeOptions()) }

    var operands: [OperandLeaf] { Operand.leaves(makeOperands()) }
}

/// A command line worth copying, and what it does.
public struct Example: Sendable, Equatable {
    public let command: String
    public let explanation: String

    public init(_ command: String, _ explanation: String) {
        self.command = command
        self.explanation = explanation
    }
}

/// An exit code of one command, in words.
public struct ExitCode: Sendable, Equatable {
    public let code: String
    public let meaning: String

    public init(_ code: String, _ meaning: String) {
        self.code = code
        self.meaning = meaning
    }
}

/// The property that an option or operand sets: `\.port` where one is expected.
public typealias Property<Root, Value> = any WritableKeyPath<Root, Value> & Sendable
