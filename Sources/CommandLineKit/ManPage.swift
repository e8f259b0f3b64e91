/// A section of the manual page with the program's own text; it can also be a help topic.
package struct ManSection: Sendable {
    package let title: String
    /// The help topic that prints the section, as in `oidc help settings`; nil if only the manual page has
    /// it.
    package let topic: String?
    /// The section's text. Blank lines separate paragraphs; indented lines are kept as they are.
    package let text: String
    /// Terms and their meanings, listed below the text.
    package let entries: [(term: String, meaning: String)]

    package init(
        _ title: String, topic: String? = nil, _ text: String = "",
        entries: [(term: String, meaning: String)] = []
    ) {
        self.title = title
        self.topic = topic
        self.text = text
        self.entries = entries
    }
}

/// The program's manual page (section 1), written with man(7) macros.
package enum ManPage {
    /// Returns the page: name, synopsis, description, commands, shared options, then the program's own
    /// sections. `date` is the day of the version, as in `2026-11-22`.
    package static func text(
        _ program: Program, version: String, date: String, description: String, sections: [ManSection] = []
    ) -> String {
        var page = Roff()
        page.title(program.name.uppercased(), date: date, source: "\(program.name) \(version)")
        page.request("SH", ["NAME"])
        page.line("\(program.name) - \(program.summary)")
        page.request("SH", ["SYNOPSIS"])
        page.bold(program.name, "[options] COMMAND [options] [arguments]")
        page.request("SH", ["DESCRIPTION"])
        page.prose(description)
        page.request("SH", ["COMMANDS"])
        let commands = program.descriptions
        for command in commands { page.command(command) }
        page.request("SH", ["OPTIONS"])
        for group in program.sharedOptions { page.group(group) }
        for section in sections {
            page.request("SH", [section.title])
            page.prose(section.text)
            for entry in section.entries { page.entry(bold: entry.term, plain: "", entry.meaning) }
        }
        return page.text
    }

    /// Returns the page of one command, as `oidc-login(1)`. `path` does not include the program's name; returns nil
    /// if there is no such command.
    package static func text(
        _ program: Program, command path: [String], version: String, date: String
    ) -> String? {
        guard let command = program.command(path) else { return nil }
        let name = command.path.joined(separator: "-")
        var page = Roff()
        page.title(name.uppercased(), date: date, source: "\(program.name) \(version)")
        page.request("SH", ["NAME"])
        page.line("\(name) - \(command.summary)")
        page.request("SH", ["SYNOPSIS"])
        page.usage(command)
        page.request("SH", ["DESCRIPTION"])
        page.prose(command.discussion.isEmpty ? command.summary + "." : command.discussion)
        page.details(command)
        for subcommand in command.subcommands {
            page.entry(bold: subcommand.name, plain: "", subcommand.summary)
        }
        for title in command.groups {
            page.request("SH", [title.uppercased()])
            for option in command.options where option.group == title && !option.isHidden {
                page.option(option)
            }
        }
        page.request("SH", ["SEE ALSO"])
        page.line("\(program.name)(1)")
        return page.text
    }
}

/// Options that several commands share, under one heading.
package struct SharedOptions {
    package let title: String
    package let options: [OptionDescription]
    /// The commands that have these options; nil if all do.
    let commands: [String]?
}

extension Program {
    /// The groups of options that more than a few commands have. `help options` explains them, and the help of a command
    /// only names them.
    package var wideOptions: [SharedOptions] {
        sharedOptions.filter { group in group.commands.map { $0.count > Program.few } ?? true }
    }

    private static let few = 4

    /// The shared options that are not hidden, group by group, those of every command first.
    package var sharedOptions: [SharedOptions] {
        sharedOptions(descriptions).map { group in
            SharedOptions(
                title: group.title, options: group.options.filter { !$0.isHidden }, commands: group.commands)
        }
    }

    /// Returns each shared group once, starting with the options that every command has.
    fileprivate func sharedOptions(_ commands: [CommandDescription]) -> [SharedOptions] {
        var groups: [SharedOptions] = [
            SharedOptions(title: common.title, options: commonOptions, commands: nil)
        ]
        for command in commands {
            for title in command.groups where !groups.contains(where: { $0.title == title }) {
                let owners = commands.filter { $0.groups.contains(title) }
                groups.append(
                    SharedOptions(
                        title: title, options: command.options.filter { $0.group == title },
                        commands: owners.map { $0.path.dropFirst().joined(separator: " ") }))
            }
        }
        return groups
    }
}

extension Roff {
    fileprivate mutating func command(_ command: CommandDescription) {
        let call = command.path.joined(separator: " ")
        request("SS", [call])
        usage(command)
        request("br")
        line(command.summary + ".")
        if !command.discussion.isEmpty {
            request("PP")
            prose(command.discussion)
        }
        details(command)
    }

    fileprivate mutating func usage(_ command: CommandDescription) {
        let call = command.path.joined(separator: " ")
        for (index, usage) in command.usage.enumerated() {
            if index > 0 { request("br") }
            bold(call, String(usage.dropFirst(call.count).drop { $0 == " " }))
        }
    }

    /// Writes the operands, own options, examples and exit codes of a command.
    fileprivate mutating func details(_ command: CommandDescription) {
        for operand in command.operands where !operand.help.isEmpty {
            let note = Help.annotated(operand.help, [Help.choices(operand.choices, operand.name)])
            entry(bold: "", plain: operand.name, note)
        }
        for option in command.own { self.option(option) }
        if !command.examples.isEmpty {
            request("PP")
            line("Examples:")
        }
        for example in command.examples {
            request("PP")
            line(example.explanation)
            verbatim(["  \(example.command)"])
        }
        if !command.exitCodes.isEmpty {
            request("PP")
            line("Exit codes:")
            for code in command.exitCodes { entry(bold: code.code, plain: "", code.meaning) }
        }
    }

    fileprivate mutating func option(_ option: OptionDescription) {
        let names = option.spellings.joined(separator: ", ")
        entry(bold: names, plain: option.valueName ?? "", option.annotatedHelp)
    }

    fileprivate mutating func group(_ group: SharedOptions) {
        request("SS", [group.title])
        line(group.commands.map { "For " + $0.joined(separator: ", ") + ":" } ?? "For every command:")
        for option in group.options { self.option(option) }
    }
}
