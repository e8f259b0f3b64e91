import CommandLineKit
import OIDCCore

/// The help as JSON, for `oidc help -o json`.
enum HelpDocument {
    /// Describes the command or topic at a path, or the program if the path is empty.
    static func json(_ program: Program, _ path: [String]) -> JSONValue {
        if path.count == 1, let topic = program.topic(path[0]) {
            let entries = topic.entries.map { entry -> JSONValue in
                ["term": .string(entry.term), "meaning": .string(entry.meaning)]
            }
            return [
                "name": .string(path[0]), "description": .string(topic.text),
                "entries": topic.topic == PresetReference.topic ? PresetReference.json : .array(entries),
            ]
        }
        guard let command = program.command(path) else {
            let commands = program.sections.flatMap { section in
                section.commands.map { command($0.name, $0.summary, section: section.title) }
            }
            return [
                "name": .string(program.name), "summary": .string(program.summary),
                "commands": .array(commands),
            ]
        }
        return [
            "name": .string(command.path.joined(separator: " ")), "summary": .string(command.summary),
            "usage": .array(command.usage.map { .string($0) }), "description": .string(command.discussion),
            "commands": .array(command.subcommands.map { self.command($0.name, $0.summary) }),
            "arguments": .array(command.operands.filter { !$0.help.isEmpty }.map(operand)),
            "options": .array(command.options.map(option)),
            "examples": .array(
                command.examples.map { ["command": .string($0.command), "text": .string($0.explanation)] }),
            "exit_codes": .array(
                command.exitCodes.map { ["code": .string($0.code), "meaning": .string($0.meaning)] }),
        ]
    }

    private static func command(_ name: String, _ summary: String, section: String? = nil) -> JSONValue {
        var object: JSONObject = JSONObject()
        object["name"] = .string(name)
        object["summary"] = .string(summary)
        if let section { object["section"] = .string(section) }
        return .object(object)
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
            "variable": JSONValue(option.environment), "repeatable": .bool(option.isRepeatable),
            "group": JSONValue(option.group),
        ]
    }
}
