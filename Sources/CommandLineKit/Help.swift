extension Program {
    /// Returns the text of `--help`: the commands in their sections, in at most 40 lines of 80 columns.
    package func help() -> String {
        let names = sections.flatMap(\.commands).map { $0.name }
        let column = 4 + (names.map(TextLayout.length).max() ?? 0)
        var lines = TextLayout.wrap("\(name): \(summary)")
        lines += ["Usage: \(name) [options] COMMAND [options]"]
        for section in sections {
            lines += ["", section.title]
            for command in section.commands {
                lines += TextLayout.entry("  \(command.name)", command.summary, column: column)
            }
        }
        if !footnote.isEmpty { lines += [""] + TextLayout.prose(footnote) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the help of the command at a path, which does not include the program's name.
    package func help(_ path: [String]) -> String? {
        command(path).map(Help.text)
    }

    /// Returns the section of the manual for a topic.
    package func topic(_ name: String) -> ManSection? { manual().first { $0.topic == name } }

    func help(for type: any Command.Type, path: [String]) -> String {
        Help.text(CommandDescription(type, path: path))
    }
}

/// The help of a command, for a terminal.
enum Help {
    static func text(_ command: CommandDescription) -> String {
        var blocks = [usage(command), TextLayout.wrap(command.summary)]
        if !command.discussion.isEmpty { blocks.append(TextLayout.prose(command.discussion)) }
        if !command.subcommands.isEmpty { blocks.append(subcommands(command)) }
        if command.operands.contains(where: { !$0.help.isEmpty }) { blocks.append(operands(command)) }
        if !command.own.isEmpty { blocks.append(options("Options", command.own)) }
        for title in command.groups {
            blocks.append(options(title, command.options.filter { $0.group == title }))
        }
        if !command.examples.isEmpty { blocks.append(examples(command)) }
        if !command.exitCodes.isEmpty { blocks.append(exitCodes(command)) }
        return blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    static func text(_ section: ManSection) -> String {
        let column = column(section.entries.map(\.term))
        let entries = section.entries.flatMap { TextLayout.entry("  \($0.term)", $0.meaning, column: column) }
        let prose = TextLayout.prose(section.text)
        return (prose + (prose.isEmpty ? [] : [""]) + entries).joined(separator: "\n") + "\n"
    }

    private static func usage(_ command: CommandDescription) -> [String] {
        command.usage.enumerated().map { ($0.offset == 0 ? "Usage: " : "       ") + $0.element }
    }

    private static func subcommands(_ command: CommandDescription) -> [String] {
        let column = 4 + (command.subcommands.map { TextLayout.length($0.name) }.max() ?? 0)
        return ["Commands:"]
            + command.subcommands.flatMap {
                TextLayout.entry("  \($0.name)", $0.summary, column: column)
            }
    }

    private static func operands(_ command: CommandDescription) -> [String] {
        let shown = command.operands.filter { !$0.help.isEmpty }
        let column = column(shown.map(\.name))
        return ["Arguments:"]
            + shown.flatMap { operand in
                TextLayout.entry(
                    "  \(operand.name)", annotated(operand.help, [choices(operand.choices, operand.name)]),
                    column: column)
            }
    }

    private static func options(_ title: String, _ options: [OptionDescription]) -> [String] {
        let column = column(options.map { String($0.term.dropFirst(2)) })
        return ["\(title):"]
            + options.flatMap { TextLayout.entry($0.term, $0.annotatedHelp, column: column) }
    }

    private static func examples(_ command: CommandDescription) -> [String] {
        ["Examples:"]
            + command.examples.flatMap { example in
                ["  \(example.command)"] + TextLayout.wrap(example.explanation, indent: 6)
            }
    }

    private static func exitCodes(_ command: CommandDescription) -> [String] {
        let column = column(command.exitCodes.map(\.code))
        return ["Exit codes:"]
            + command.exitCodes.flatMap { TextLayout.entry("  \($0.code)", $0.meaning, column: column) }
    }

    /// Returns the column at which the meanings start: right of the longest term, but at most 28.
    private static func column(_ terms: [String]) -> Int {
        4 + (terms.map(TextLayout.length).filter { $0 <= 24 }.max() ?? 0)
    }

    static func annotated(_ help: String, _ notes: [String?]) -> String {
        let notes = notes.compactMap { $0 }
        return notes.isEmpty ? help : "\(help) (\(notes.joined(separator: "; ")))"
    }

    /// Returns the list of accepted words; nil if the placeholder already lists them.
    static func choices(_ words: [String], _ placeholder: String) -> String? {
        words.isEmpty || placeholder.contains("|") ? nil : TextLayout.list(words)
    }
}

extension OptionDescription {
    /// The long name and the placeholder: `--port N`.
    var synopsis: String { valueName.map { "\(name) \($0)" } ?? name }

    /// The names as the help lists them, with the long names aligned: `  -p, --profile NAME`.
    var term: String { (short.map { "  -\($0), " } ?? "      ") + synopsis }

    /// The help text, followed by the accepted words, the default and the environment variable.
    var annotatedHelp: String {
        Help.annotated(
            help,
            [
                Help.choices(choices, valueName ?? ""),
                isRepeatable ? "repeatable" : nil,
                defaultText.map { "default: \($0)" },
                environment.map { "or $\($0)" },
            ])
    }
}
