/// A script for fish: one function that follows the line, and one line for each option.
struct FishCompletion {
    private let program: Program
    private let nodes: [CompletionNode]

    init(_ program: Program) {
        self.program = program
        nodes = program.completionNodes
    }

    var script: String {
        [heading, walk, "complete -c \(program.name) -f", rows, ""].joined(separator: "\n")
    }

    /// The prefix of every function of the script.
    private var f: String { "__" + program.identifier }

    private var rows: String {
        nodes.flatMap { node in
            node.commands.map { command in
                line("\(f)_at_command \(Self.quoted(node.key))", "-a \(command.name)", command.summary)
            }
                + node.options.map { option($0, node) }
                + node.operands.enumerated().compactMap { operand($1, $0 + 1, node) }
        }.joined(separator: "\n")
    }

    private func line(_ condition: String, _ what: String, _ description: String?) -> String {
        let about = description.map { " -d \(Self.quoted($0))" } ?? ""
        return "complete -c \(program.name) -n \(Self.quoted(condition)) \(what)\(about)"
    }

    private func option(_ option: OptionDescription, _ node: CompletionNode) -> String {
        var what = option.short.map { "-s \($0) " } ?? ""
        what += "-l \(option.name.dropFirst(2))"
        if option.valueName != nil { what += " " + values(option.completion) }
        return line("\(f)_at \(Self.quoted(node.key))", what, option.help)
    }

    private func operand(_ operand: OperandDescription, _ place: Int, _ node: CompletionNode) -> String? {
        if node.stopsAtFirstOperand {
            return line("\(f)_at_command \(Self.quoted(node.key))", "-x -a '(\(f)_subcommand)'", nil)
        }
        guard operand.completion != .none else { return nil }
        let last = if case .rest = operand.arity { " or-later" } else { "" }
        let condition = "\(f)_at_operand \(Self.quoted(node.key)) \(place)\(last)"
        return line(condition, operandValues(operand.completion), operand.help)
    }

    private func operandValues(_ hint: CompletionHint) -> String {
        switch hint {
        case .file: "-F"
        default: values(hint)
        }
    }

    private func values(_ hint: CompletionHint) -> String {
        switch hint {
        case .none, .commandNames: "-x"
        case .values(let words): "-x -a \(Self.quoted(words.map(Self.quoted).joined(separator: " ")))"
        case .file: "-r -F"
        case .directory: "-x -a '(__fish_complete_directories)'"
        case .command: "-x -a '(__fish_complete_command)'"
        case .dynamic(let kind): "-x -a \(Self.quoted("(\(f)_ask \(kind.shellQuoted))"))"
        }
    }

    /// Single quotes; a backslash and a quote are escaped in them.
    private static func quoted(_ text: String) -> String {
        "'" + text.substituting("\\", with: "\\\\").substituting("'", with: "\\'") + "'"
    }

    /// What the walk needs of each place: its commands, its options with a value, where operands end.
    private var places: String {
        nodes.map { node in
            let words = node.commands.map(\.name).joined(separator: " ")
            let valued = node.valued.flatMap(\.spellings).joined(separator: " ")
            return """
                        case \(Self.quoted(node.key))
                            set commands \(words)
                            set valued \(valued)
                            set stops \(node.stopsAtFirstOperand ? 1 : 0)

                """
        }.joined()
    }

    private var heading: String {
        let list = (program.dynamicCompletion?.words ?? []).map(Self.quoted).joined(separator: " ")
        return """
            # fish completion for \(program.name); load it with: \(program.name) completions fish | source

            function \(f)_at
                \(f)_follow
                test "$\(f)_place" = "$argv[1]" -a "$\(f)_ended" = 0
            end

            function \(f)_at_command
                \(f)_follow
                test "$\(f)_place" = "$argv[1]"
            end

            function \(f)_at_operand
                \(f)_follow
                test "$\(f)_place" = "$argv[1]"; or return
                if set -q argv[3]
                    test (count $\(f)_rest) -ge (math $argv[2] - 1)
                else
                    test (count $\(f)_rest) -eq (math $argv[2] - 1)
                end
            end

            function \(f)_subcommand
                complete -C (string join ' ' -- (string escape -- $\(f)_rest) (commandline -ct))
            end

            function \(f)_ask
                \(f)_follow
                set -l program (string replace -r '^~' $HOME -- $\(f)_words[1])
                $program \(list) $argv[1] $\(f)_forward 2>/dev/null </dev/null
            end

            """
    }

    private var walk: String {
        let forwarded = program.forwardedSpellings.joined(separator: " ")
        return """
            # Follows the words before the cursor, once for each line: which command, which operands.
            function \(f)_follow
                set -l words (commandline -opc)
                test "$words" = "$\(f)_words"; and return
                set -g \(f)_words $words
                set -g \(f)_place ''
                set -g \(f)_ended 0
                set -g \(f)_rest
                set -g \(f)_forward
                set -l forwarded \(forwarded)
                set -l waiting
                set -l commands
                set -l valued
                set -l stops 0
                \(f)_enter
                for word in $words[2..-1]
                    if set -q waiting[1]
                        contains -- $waiting $forwarded; and set -a \(f)_forward $waiting $word
                        set waiting
                    else if test $\(f)_ended = 0; and string match -q -- '-?*' $word
                        \(f)_option
                    else if set -q commands[1]
                        set \(f)_place (string trim "$\(f)_place $word")
                        set \(f)_ended 0
                        \(f)_enter
                    else
                        set -a \(f)_rest $word
                        test $stops = 1; and set \(f)_ended 1
                    end
                end
            end

            function \(f)_option --no-scope-shadowing
                if test $word = --
                    set \(f)_ended 1
                else if string match -q -- '--*=*' $word
                    contains -- (string replace -r '=.*' '' -- $word) $forwarded; and set -a \(f)_forward $word
                else if string match -q -- '--*' $word
                    contains -- $word $valued; and set waiting $word
                else
                    set -l letters (string split '' -- (string sub -s 2 -- $word))
                    for index in (seq (count $letters))
                        contains -- -$letters[$index] $valued; or continue
                        if test $index = (count $letters)
                            set waiting -$letters[$index]
                        else if contains -- -$letters[$index] $forwarded
                            set -a \(f)_forward -(string sub -s (math $index + 1) -- $word)
                        end
                        break
                    end
                end
            end

            function \(f)_enter --no-scope-shadowing
                set commands
                set valued
                set stops 0
                switch "$\(f)_place"
            \(places)    end
            end

            """
    }
}
