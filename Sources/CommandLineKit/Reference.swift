/// The reference of all commands and options in Markdown.
package enum Reference {
    /// Returns a heading for each section, a table for each command, and one table of the shared options at
    /// the end.
    package static func markdown(_ program: Program, headingLevel: Int = 3) -> String {
        let marks = String(repeating: "#", count: headingLevel)
        let all = program.descriptions
        var lines: [String] = []
        for section in program.sections {
            lines += ["\(marks) \(section.title.capitalizedFirst)", ""]
            let names = section.commands.map { $0.name }
            for command in all where names.contains(command.path[1]) { lines += self.command(command) }
        }
        for group in program.sharedOptions(all) {
            let owners = group.commands.map { $0.map(code).joined(separator: ", ") } ?? "every command"
            lines += ["\(marks) \(group.title)", "", "For \(owners).", ""] + table(group.options)
        }
        while lines.last == "" { lines.removeLast() }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func command(_ command: CommandDescription) -> [String] {
        let usage = command.usage.map(code).joined(separator: "<br>")
        let operands = command.operands.filter { !$0.help.isEmpty }.map { operand in
            row(operand.name, operand.help, [choices(operand.choices, operand.name)])
        }
        let rows = operands + command.own.map(row)
        return ["\(usage)<br>", "\(escaped(command.summary)).", ""] + table(rows: rows)
    }

    private static func table(_ options: [OptionDescription]) -> [String] {
        table(rows: options.filter { !$0.isHidden }.map(row))
    }

    private static func table(rows: [String]) -> [String] {
        rows.isEmpty ? [] : ["| option | meaning |", "| --- | --- |"] + rows + [""]
    }

    private static func row(_ option: OptionDescription) -> String {
        let name = option.short.map { "-\($0), " } ?? ""
        return row(
            name + option.synopsis, option.help,
            [
                choices(option.choices, option.valueName ?? ""),
                option.isRepeatable ? "repeatable" : nil,
                option.defaultText.map { "default: \(escaped($0))" },
                option.environment.map { "or " + code("$\($0)") },
            ])
    }

    private static func row(_ term: String, _ help: String, _ notes: [String?]) -> String {
        let cells = [code(term), Help.annotated(escaped(help), notes)]
        return "| " + cells.map { $0.substituting("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    private static func choices(_ words: [String], _ placeholder: String) -> String? {
        Help.choices(words, placeholder) == nil ? nil : TextLayout.list(words.map(code))
    }

    private static func code(_ text: String) -> String {
        let fence = text.contains("`") ? "``" : "`"
        return fence + text + fence
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "*<_\\".contains(character) { result += "\\" }
            result.append(character)
        }
        return result
    }
}

extension String {
    /// The string with only its first letter in upper case: `Sign in` for `SIGN IN`.
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst().lowercased() }
}
