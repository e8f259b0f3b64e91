/// The shells that a completion script can be made for.
public enum Shell: String, CaseIterable, OptionValue {
    case bash, zsh, fish
}

/// Completion scripts, made from the same table as parsing and help.
public enum Completion {
    /// The script that the shell's user loads; it lists everything but dynamic values by itself.
    public static func script(_ shell: Shell, _ program: Program) -> String {
        switch shell {
        case .bash: BashCompletion(program).script
        case .zsh: ZshCompletion(program).script
        case .fish: FishCompletion(program).script
        }
    }
}

/// One place on the command line: the program itself, a command of commands, or a command.
struct CompletionNode {
    /// Without the program's name: `config show`; empty for the program.
    let path: [String]
    let commands: [(name: String, summary: String)]
    let options: [OptionDescription]
    let operands: [OperandDescription]
    let stopsAtFirstOperand: Bool

    var key: String { path.joined(separator: " ") }
    var valued: [OptionDescription] { options.filter { $0.valueName != nil } }
}

extension Program {
    /// Every place, the program first; `help` has places of its own, which name commands.
    var completionNodes: [CompletionNode] {
        let commands = sections.flatMap(\.commands)
        let root = CompletionNode(
            path: [], commands: commands.map { ($0.name, $0.summary) }, options: commonOptions,
            operands: [], stopsAtFirstOperand: false)
        return [root] + descriptions.flatMap { places(of: $0, root) }
    }

    private func places(of command: CommandDescription, _ root: CompletionNode) -> [CompletionNode] {
        let path = Array(command.path.dropFirst())
        if command.operands.contains(where: { $0.completion == .commandNames }) {
            let parents = descriptions.filter { !$0.subcommands.isEmpty }
            return [helpPlace(path, root.commands)]
                + parents.map { parent in
                    helpPlace(
                        path + parent.path.dropFirst(), parent.subcommands.map { ($0.name, $0.summary) })
                }
        }
        let isGroup = !command.subcommands.isEmpty
        return [
            CompletionNode(
                path: path, commands: command.subcommands.map { ($0.name, $0.summary) },
                options: isGroup ? root.options : command.options, operands: command.operands,
                stopsAtFirstOperand: command.stopsAtFirstOperand)
        ]
    }

    private func helpPlace(
        _ path: [String], _ commands: [(name: String, summary: String)]
    ) -> CompletionNode {
        CompletionNode(path: path, commands: commands, options: [], operands: [], stopsAtFirstOperand: false)
    }

    /// All spellings of the options that are passed on when the program is asked.
    var forwardedSpellings: [String] {
        let forwarded = dynamicCompletion?.forwarded ?? []
        return commonOptions.filter { forwarded.contains($0.name) }.flatMap(\.spellings)
    }

    /// The program's name as a part of a function's name.
    var identifier: String {
        String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }
}

extension String {
    /// A word for a POSIX-like shell, quoted only when it must be.
    var shellQuoted: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return isPlain && !isEmpty ? self : "'" + substituting("'", with: "'\\''") + "'"
    }

    /// Every occurrence of a character replaced.
    func substituting(_ character: Character, with text: String) -> String {
        var result = ""
        for each in self { result += each == character ? text : String(each) }
        return result
    }
}
