extension Program {
    /// The topic that explains the options that commands share.
    package static let optionsTopic = "options"

    /// Returns the text of `--help`: the commands in their sections.
    package func help() -> String { list(isOverview: false) }

    /// Returns the text that the program prints without arguments. It is that of `help()`, but lists only the
    /// names of the commands in brief sections, so it fits on a screen of 24 rows and 80 columns.
    package func overview() -> String { list(isOverview: true) }

    private func list(isOverview: Bool) -> String {
        let width = width()
        let whole = sections.filter { !isOverview || !$0.isBrief }
        let column = 4 + (whole.flatMap(\.commands).map { TextLayout.length($0.name) }.max() ?? 0)
        var lines = TextLayout.wrap("\(name): \(summary)", width: width)
        lines += ["Usage: \(name) [options] COMMAND [options]"]
        for section in whole {
            if !isOverview || section.title == whole.first?.title { lines.append("") }
            lines.append(section.title)
            for command in section.commands {
                lines += TextLayout.entry("  \(command.name)", command.summary, column: column, width: width)
            }
        }
        if isOverview { lines += briefSections(width) }
        if !footnote.isEmpty { lines += (isOverview ? [] : [""]) + TextLayout.prose(footnote, width: width) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func briefSections(_ width: Int) -> [String] {
        let brief = sections.filter(\.isBrief)
        let column = 2 + (brief.map { TextLayout.length($0.title) }.max() ?? 0)
        return brief.flatMap { section in
            TextLayout.entry(
                section.title, section.commands.map { $0.name }.joined(separator: ", "), column: column,
                width: width)
        }
    }

    /// Returns the help of the command at a path, which does not include the program's name.
    package func help(_ path: [String]) -> String? {
        command(path).map { Help(self).text($0) }
    }

    /// Returns the help of the options that commands share.
    package func optionsHelp() -> String { Help(self).text(wideOptions) }

    /// Returns the section of the manual for a topic.
    package func topic(_ name: String) -> ManSection? { manual().first { $0.topic == name } }

    /// The names of all topics.
    var topics: [String] { [Program.optionsTopic] + manual().compactMap(\.topic) }
}

/// The help of a command or topic, for a terminal.
struct Help {
    let width: Int
    /// The headings of the options that are only named in the help of a command, starting with those of every command.
    let wideTitles: [String]
    /// The command line that prints the shared options.
    let optionsCall: String

    init(_ program: Program) {
        width = program.width()
        wideTitles = program.wideOptions.map(\.title)
        optionsCall = "\(program.name) help \(Program.optionsTopic)"
    }

    func text(_ command: CommandDescription) -> String {
        var blocks = [usage(command), TextLayout.wrap(command.summary, width: width)]
        if !command.discussion.isEmpty { blocks.append(TextLayout.prose(command.discussion, width: width)) }
        if !command.subcommands.isEmpty { blocks.append(subcommands(command)) }
        if command.operands.contains(where: { !$0.help.isEmpty }) { blocks.append(operands(command)) }
        if !command.options.isEmpty { blocks += options(command) }
        if !command.examples.isEmpty { blocks.append(examples(command)) }
        if !command.exitCodes.isEmpty { blocks.append(exitCodes(command)) }
        return Help.text(blocks)
    }

    func text(_ section: ManSection) -> String {
        let column = column(section.entries.map(\.term))
        let entries = section.entries.flatMap {
            TextLayout.entry("  \($0.term)", $0.meaning, column: column, width: width)
        }
        let prose = TextLayout.prose(section.text, width: width)
        return (prose + (prose.isEmpty ? [] : [""]) + entries).joined(separator: "\n") + "\n"
    }

    /// Returns the help of the shared options, group by group.
    func text(_ groups: [SharedOptions]) -> String {
        Help.text(
            groups.map { group in
                let owners = group.commands.map { $0.joined(separator: ", ") } ?? "every command"
                return TextLayout.wrap("\(group.title), for \(owners):", width: width)
                    + entries(group.options)
            })
    }

    private static func text(_ blocks: [[String]]) -> String {
        blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    private func usage(_ command: CommandDescription) -> [String] {
        command.usage.enumerated().map { ($0.offset == 0 ? "Usage: " : "       ") + $0.element }
    }

    private func subcommands(_ command: CommandDescription) -> [String] {
        let column = 4 + (command.subcommands.map { TextLayout.length($0.name) }.max() ?? 0)
        return ["Commands:"]
            + command.subcommands.flatMap {
                TextLayout.entry("  \($0.name)", $0.summary, column: column, width: width)
            }
    }

    private func operands(_ command: CommandDescription) -> [String] {
        let shown = command.operands.filter { !$0.help.isEmpty }
        let column = column(shown.map(\.name))
        return ["Arguments:"]
            + shown.flatMap { operand in
                TextLayout.entry(
                    "  \(operand.name)",
                    Help.annotated(operand.help, [Help.choices(operand.choices, operand.name)]),
                    column: column, width: width)
            }
    }

    /// Returns the command's own options, the names of those that many commands have, and where these are explained.
    private func options(_ command: CommandDescription) -> [[String]] {
        var blocks: [[String]] = []
        if !command.own.isEmpty { blocks.append(["Options:"] + entries(command.own)) }
        for title in command.groups where title != wideTitles.first {
            let options = command.options.filter { $0.group == title }
            blocks.append(
                ["\(title):"]
                    + (wideTitles.contains(title)
                        ? TextLayout.list(of: options.map(\.synopsis), width: width, indent: 2)
                        : entries(options)))
        }
        let start = blocks.isEmpty ? "The options of every command:" : "and the options of every command:"
        // The command to type is not broken across lines.
        let isShort = TextLayout.length(start) + 1 + TextLayout.length(optionsCall) <= width
        let last = isShort ? ["\(start) \(optionsCall)"] : [start, "  \(optionsCall)"]
        if blocks.isEmpty { blocks.append([]) }
        blocks[blocks.count - 1] += last
        return blocks
    }

    private func entries(_ options: [OptionDescription]) -> [String] {
        let column = column(options.map { String($0.term.dropFirst(2)) })
        return options.flatMap {
            TextLayout.entry($0.term, $0.annotatedHelp, column: column, width: width)
        }
    }

    private func examples(_ command: CommandDescription) -> [String] {
        ["Examples:"]
            + command.examples.flatMap { example in
                ["  \(example.command)"] + TextLayout.wrap(example.explanation, width: width, indent: 6)
            }
    }

    private func exitCodes(_ command: CommandDescription) -> [String] {
        let column = column(command.exitCodes.map(\.code))
        return ["Exit codes:"]
            + command.exitCodes.flatMap {
                TextLayout.entry("  \($0.code)", $0.meaning, column: column, width: width)
            }
    }

    /// Returns the column at which the meanings start: right of the longest term, but at most 28, and in the left
    /// part of a narrow terminal.
    private func column(_ terms: [String]) -> Int {
        let most = min(24, width / 2 - 8)
        return 4 + (terms.map(TextLayout.length).filter { $0 <= most }.max() ?? 0)
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
                isShownRepeatable ? "repeatable" : nil,
                defaultText.map { "default: \($0)" },
                environment.map { "or $\($0)" },
            ])
    }
}
