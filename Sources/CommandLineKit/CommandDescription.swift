/// A command's documentation, as the help, the manual page and the completer use it.
package struct CommandDescription: Sendable {
    /// The words that lead to the command, including the program's name: `["oidc", "config", "show"]`.
    package let path: [String]
    package let summary: String
    package let discussion: String
    /// The complete usage lines.
    package let usage: [String]
    package let examples: [Example]
    package let exitCodes: [ExitCode]
    package let operands: [OperandDescription]
    /// All options except hidden ones.
    package let options: [OptionDescription]
    package let stopsAtFirstOperand: Bool
    package let subcommands: [any Command.Type]

    package init<Root: Command>(_ type: Root.Type, path: [String]) {
        let declaration = type.declaration
        let defaults = Root()
        self.path = path
        summary = type.summary
        discussion = declaration.discussion
        examples = declaration.examples
        exitCodes = declaration.exitCodes
        operands = declaration.operands.map(\.text)
        options = declaration.options.map { $0.described(by: defaults) }.filter { !$0.isHidden }
        stopsAtFirstOperand = declaration.stopsAtFirstOperand
        subcommands = type.subcommands
        let words: [String]
        if !declaration.usage.isEmpty {
            words = declaration.usage
        } else {
            let start = subcommands.isEmpty ? (options.isEmpty ? [] : ["[options]"]) : ["COMMAND [options]"]
            words = [(start + operands.map(\.synopsis)).joined(separator: " ")]
        }
        let call = path.joined(separator: " ")
        usage = words.map { $0.isEmpty ? call : "\(call) \($0)" }
    }

    /// The headings of the shared groups, in order of appearance.
    package var groups: [String] {
        var titles: [String] = []
        for case let title? in options.map(\.group) where !titles.contains(title) { titles.append(title) }
        return titles
    }

    /// The options that are in no shared group.
    package var own: [OptionDescription] { options.filter { $0.group == nil } }
}

extension Program {
    /// Every command in the order of the help, followed by its subcommands.
    package var descriptions: [CommandDescription] {
        sections.flatMap(\.commands).flatMap { describe($0, below: [name]) }
    }

    private func describe(_ type: any Command.Type, below parent: [String]) -> [CommandDescription] {
        let description = CommandDescription(type, path: parent + [type.name])
        return [description] + description.subcommands.flatMap { describe($0, below: description.path) }
    }

    /// Returns the command at a path, which does not include the program's name.
    package func command(_ path: some Sequence<String>) -> CommandDescription? {
        var walk = CommandWalk(self)
        for word in path {
            guard walk.enter(word) != nil else { return nil }
        }
        return walk.description
    }
}
