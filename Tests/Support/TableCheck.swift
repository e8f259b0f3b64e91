package import CommandLineKit

extension CommandLineKit.Program {
    /// The mistakes in the program's tables, one line each, for its tests.
    package var tableFaults: [String] {
        let commands = descriptions
        var faults = overviewFaults
        faults += Self.repeated(sections.flatMap(\.commands).map { $0.name }).map { "two commands: \($0)" }
        for command in commands {
            let call = command.path.joined(separator: " ")
            faults += Self.faults(of: command).map { "\(call): \($0)" }
            let names = command.options.map(\.name)
            let hasCommon = commonOptions.allSatisfy { names.contains($0.name) || $0.isHidden }
            if command.subcommands.isEmpty, !Self.isHelp(command), !hasCommon {
                faults.append("\(call): lacks the common options")
            }
        }
        return faults
    }

    /// The mistakes in `--help`, which must fit 42 lines of 80 columns.
    private var overviewFaults: [String] {
        let lines = help().split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let wide = lines.filter { $0.unicodeScalars.count > 80 }.map { "--help is too wide: \($0)" }
        return (lines.count > 42 ? ["--help has \(lines.count) lines"] : []) + wide
    }

    private static func isHelp(_ command: CommandDescription) -> Bool {
        command.operands.contains { $0.completion == .commandNames }
    }

    private static func faults(of command: CommandDescription) -> [String] {
        var faults: [String] = []
        let name = command.path.last ?? ""
        if !isWord(name) { faults.append("is not a lower-case word") }
        if command.summary.isEmpty || command.summary.unicodeScalars.count > 60
            || command.summary.hasSuffix(".")
        {
            faults.append("the summary is not one phrase of at most 60 characters without a period")
        }
        if command.subcommands.isEmpty, !isHelp(command), command.examples.count < 2 {
            faults.append("has fewer than two examples")
        }
        faults += repeated(command.subcommands.map { $0.name }).map { "two subcommands: \($0)" }
        faults += repeated(command.options.flatMap(\.spellings)).map { "two options: \($0)" }
        for option in command.options {
            if !option.name.hasPrefix("--") || !isWord(String(option.name.dropFirst(2))) {
                faults.append("\(option.name) is not an option's name")
            }
            if option.help.isEmpty { faults.append("\(option.name) has no help") }
        }
        let repeats = command.operands.dropLast().contains {
            if case .rest = $0.arity { true } else { false }
        }
        if repeats { faults.append("has operands after one that takes all the rest") }
        return faults
    }

    private static func isWord(_ text: String) -> Bool {
        text.wholeMatch(of: /[a-z0-9][a-z0-9-]*/) != nil
    }

    private static func repeated(_ words: [String]) -> [String] {
        words.enumerated().filter { words.prefix($0.offset).contains($0.element) }.map(\.element)
    }
}
