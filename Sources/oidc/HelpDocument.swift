import CommandLineKit
import OIDCCore

/// The help as JSON, for `oidc help -o json`.
enum HelpDocument {
    /// Describes the command or topic at a path, or the program if the path is empty.
    static func json(_ program: Program, _ path: [String]) -> JSONValue {
        if path == [Program.optionsTopic] {
            return [
                "name": .string(Program.optionsTopic), "description": "",
                "entries": .array(program.wideOptions.flatMap { $0.options.map(option) }),
            ]
        }
        if path.count == 1, let topic = program.topic(path[0]) {
            return document(topic)
        }
        guard let command = program.command(path) else {
            let word = path.count == 1 ? program.glossary(path[0]) : nil
            return word.map(document) ?? reference(program)
        }
        return document(command, options: command.options)
    }

    /// Describes every command with its own options, and lists the shared options and topics once.
    private static func reference(_ program: Program) -> JSONValue {
        let descriptions = program.descriptions
        let sections = program.sections.map { section in
            (section.title, section.commands.map { $0.name })
        }
        let commands = descriptions.map { command -> JSONValue in
            var object = document(command, options: command.own).object
            object?["name"] = .string(command.path.dropFirst().joined(separator: " "))
            object?["section"] = JSONValue(
                sections.first { $0.1.contains(command.path.dropFirst().first ?? "") }?.0)
            object?["option_groups"] = .array(command.groups.map { .string($0) })
            return object.map { .object($0) } ?? .null
        }
        var shared = JSONObject()
        for group in program.sharedOptions { shared[group.title] = .array(group.options.map(option)) }
        return [
            "name": .string(program.name), "summary": .string(program.summary),
            "commands": .array(commands), "option_groups": .object(shared),
            "topics": .array(program.manual().filter { $0.topic != nil }.map(document)),
        ]
    }

    private static func document(_ topic: ManSection) -> JSONValue {
        let entries: JSONValue =
            switch topic.topic {
            case PresetReference.topic: PresetReference.json
            case Manual.settingsTopic: .array(Setting.all.map(setting))
            default:
                .array(
                    topic.entries.map { ["term": .string($0.term), "meaning": .string($0.meaning)] })
            }
        return [
            "name": JSONValue(topic.topic), "description": .string(topic.text), "entries": entries,
        ]
    }

    private static func setting(_ setting: Setting) -> JSONValue {
        [
            "term": .string(setting.name), "meaning": .string(setting.summary),
            "value": .string(setting.kind.expectation),
        ]
    }

    private static func document(_ command: CommandDescription, options: [OptionDescription]) -> JSONValue {
        [
            "name": .string(command.path.joined(separator: " ")), "summary": .string(command.summary),
            "usage": .array(command.usage.map { .string($0) }), "description": .string(command.discussion),
            "commands": .array(
                command.subcommands.map { ["name": .string($0.name), "summary": .string($0.summary)] }),
            "arguments": .array(command.operands.filter { !$0.help.isEmpty }.map(operand)),
            "options": .array(options.map(option)),
            "examples": .array(
                command.examples.map { ["command": .string($0.command), "text": .string($0.explanation)] }),
            "exit_codes": .array(
                command.exitCodes.map { ["code": .string($0.code), "meaning": .string($0.meaning)] }),
        ]
    }

    private static func operand(_ operand: OperandDescription) -> JSONValue {
        [
            "name": .string(operand.name), "help": .string(operand.help),
            "choices": .array(operand.choices.map { .string($0) }),
        ]
    }

    private static func option(_ option: OptionDescription) -> JSONValue {
        [
            "name": .string(option.name), "short": JSONValue(option.short.map { "-\($0)" }),
            "value": JSONValue(option.valueName), "help": .string(option.help),
            "choices": .array(option.choices.map { .string($0) }), "default": JSONValue(option.defaultText),
            "variable": JSONValue(option.environment), "repeatable": .bool(option.isShownRepeatable),
            "group": JSONValue(option.group),
        ]
    }
}
