/// The walk from the program down to the command that the words of a command line lead to.
struct CommandWalk {
    /// The end of a walk along a command line.
    enum End {
        /// A command without subcommands. Its arguments are `leading` and `rest`.
        case command(any Command.Type)
        /// The words end at the program, or at a command that needs a subcommand.
        case incomplete(Scan)
        /// These words do not start with the name of a command.
        case unknown([String])
    }

    let program: Program
    /// The words that lead to the command, including the program's name.
    private(set) var path: [String]
    /// The command; nil for the program.
    private(set) var type: (any Command.Type)?
    /// Options that were given before the command's name.
    private(set) var leading: [String] = []
    /// The words that have not been read.
    private(set) var rest: ArraySlice<String>
    private(set) var request: OptionDescription.Role?
    var fault: UsageError?
    /// The option that caused the error, if it is not in the table.
    private(set) var unknownOption: String?

    /// Starts at the program. `arguments` do not include its name.
    init(_ program: Program, _ arguments: ArraySlice<String> = []) {
        self.program = program
        path = [program.name]
        rest = arguments
    }

    /// Reads options and names of commands until there is no subcommand to go to.
    mutating func walk() -> End {
        while true {
            let ahead = Scan(
                rest, table: program.common.table, stopsAtFirstOperand: true, context: " before the command")
            take(ahead)
            guard let word = ahead.operands.first else { return .incomplete(ahead) }
            guard let type = enter(word) else { return .unknown(ahead.operands) }
            rest = ahead.operands.dropFirst()
            if type.subcommands.isEmpty { return .command(type) }
        }
    }

    /// Moves to the subcommand with this name and returns it; returns nil if there is none.
    @discardableResult
    mutating func enter(_ word: String) -> (any Command.Type)? {
        guard let next = subcommands.first(where: { $0.name == word }) else { return nil }
        path.append(word)
        type = next
        return next
    }

    /// Records the first request and the first error that a scan found.
    mutating func take(_ scan: Scan) {
        if request == nil { request = scan.request }
        if fault == nil { (fault, unknownOption) = (scan.fault, scan.unknownOption) }
        leading += scan.leading
    }

    /// The commands that can follow.
    var subcommands: [any Command.Type] { type?.subcommands ?? program.sections.flatMap(\.commands) }

    /// The documentation of the command; nil for the program.
    var description: CommandDescription? { type.map { CommandDescription($0, path: path) } }

    var call: String { path.joined(separator: " ") }

    /// The path without the program's name.
    var words: [String] { Array(path.dropFirst()) }

    /// The command that prints the help of this command.
    var hint: UsageError.Hint { .command(type == nil ? ["--help"] : ["help"] + words) }
}
