/// A script for zsh, to be loaded or put on `fpath`; a function for each place, by `_arguments`.
struct ZshCompletion {
    private let program: Program
    private let nodes: [CompletionNode]

    init(_ program: Program) {
        self.program = program
        nodes = program.completionNodes
    }

    var script: String {
        ([heading] + nodes.map(function) + [ending]).joined(separator: "\n")
    }

    /// The prefix of every function of the script.
    private var f: String { "_" + program.identifier }

    private func name(_ node: CompletionNode) -> String { ([f] + node.path).joined(separator: "__") }

    private func function(_ node: CompletionNode) -> String {
        guard !node.commands.isEmpty else { return command(node) }
        let rows = node.commands.map { "        \(Self.quoted("\($0.name):\($0.summary)"))\n" }.joined()
        let collect = node.path.isEmpty ? "    \(f)_collect\n" : ""
        let next = "_call_function ret \(name(node))__$words[1]"
        return """
            \(name(node))_commands() {
                local -a commands=(
            \(rows)    )
                _describe -t commands command commands
            }

            \(name(node))() {
                local curcontext=$curcontext context state line ret=1
                typeset -A opt_args
            \(collect)\(arguments(node, ["'1: :\(name(node))_commands'", "'*:: :->command'"])) && ret=0
                if [[ $state == command ]]; then \(next); fi
                return ret
            }

            """
    }

    private func command(_ node: CompletionNode) -> String {
        let operands = node.operands.enumerated().flatMap { index, operand in
            self.operands(operand, index + 1, stops: node.stopsAtFirstOperand)
        }
        return """
            \(name(node))() {
            \(arguments(node, operands))
            }

            """
    }

    private func arguments(_ node: CompletionNode, _ operands: [String]) -> String {
        let flags = node.stopsAtFirstOperand || !node.commands.isEmpty ? " -A '-*'" : ""
        return (["    _arguments -C -s -S\(flags)"] + node.options.flatMap(specification) + operands)
            .joined(separator: " \\\n        ")
    }

    /// One specification for each spelling, each excluding the other unless it may be repeated.
    private func specification(_ option: OptionDescription) -> [String] {
        let start = option.isRepeatable ? "*" : "(\(option.spellings.joined(separator: " ")))"
        let value = option.valueName.map { ":\(Self.escaped($0)):\(action(option.completion))" } ?? ""
        return option.spellings.map { spelling in
            let sign = value.isEmpty ? "" : (spelling == option.name ? "=" : "+")
            return Self.quoted("\(start)\(spelling)\(sign)[\(Self.escaped(option.help))]\(value)")
        }
    }

    private func operands(_ operand: OperandDescription, _ place: Int, stops: Bool) -> [String] {
        let tail = "\(Self.escaped(operand.name)):\(action(operand.completion))"
        if stops {
            return [Self.quoted("(-)\(place):\(tail)"), "'*:: :_normal'"]
        }
        switch operand.arity {
        case .required: return [Self.quoted("\(place):\(tail)")]
        case .optional: return [Self.quoted("\(place)::\(tail)")]
        case .rest: return [Self.quoted("*:\(tail)")]
        }
    }

    private func action(_ hint: CompletionHint) -> String {
        switch hint {
        case .none, .commandNames: " "
        case .values(let words): "(" + words.map(Self.listed).joined(separator: " ") + ")"
        case .file: "_files"
        case .directory: "_files -/"
        case .command: "_command_names -e"
        case .dynamic(let kind): "\(f)_ask \(kind.shellQuoted)"
        }
    }

    /// Brackets end a description, colons a field.
    private static func escaped(_ text: String) -> String {
        text.substituting("\\", with: "\\\\").substituting("[", with: "\\[").substituting("]", with: "\\]")
            .substituting(":", with: "\\:")
    }

    /// A word of a list in parentheses.
    private static func listed(_ word: String) -> String {
        var result = ""
        for character in word {
            if " ()\\:'\"$`&|;<>*?[]#~=^!{}".contains(character) { result += "\\" }
            result.append(character)
        }
        return result
    }

    private static func quoted(_ text: String) -> String { "'" + text.substituting("'", with: "'\\''") + "'" }

    private var heading: String {
        let list = (program.dynamicCompletion?.words ?? []).map(\.shellQuoted).joined(separator: " ")
        let forwarded = program.forwardedSpellings.joined(separator: " ")
        return #"""
            #compdef \#(program.name)
            # zsh completion for \#(program.name); load it with: source <(\#(program.name) completions zsh)

            typeset -ga \#(f)_call \#(f)_options

            # Keeps the words that the program needs to list values: its own name and some options.
            \#(f)_collect() {
                local -a forwarded=(\#(forwarded))
                local -i i
                \#(f)_options=()
                \#(f)_call=(${(Q)~words[1]} \#(list))
                for ((i = 2; i < CURRENT; i++)); do
                    if [[ $words[i] == -[^-]?* ]] && (( ${forwarded[(Ie)${words[i][1,2]}]} )); then
                        \#(f)_options+=("${(Q)words[i]}")
                    elif (( i + 1 < CURRENT && ${forwarded[(Ie)$words[i]]} )); then
                        \#(f)_options+=("$words[i]" "${(Q)words[i + 1]}")
                        i+=1
                    elif [[ $words[i] == --*=* ]] && (( ${forwarded[(Ie)${words[i]%%=*}]} )); then
                        \#(f)_options+=("${(Q)words[i]}")
                    fi
                done
            }

            \#(f)_ask() {
                local -a lines=(${(f)"$($\#(f)_call $@[-1] $\#(f)_options 2>/dev/null </dev/null)"})
                local ret=1
                compadd "${@[1,-2]}" -- ${lines:#*=} && ret=0
                compadd "${@[1,-2]}" -S '' -- ${(M)lines:#*=} && ret=0
                return ret
            }

            """#
    }

    private var ending: String {
        """
        if [[ $funcstack[1] == \(f) ]]; then
            \(f) "$@"
        else
            compdef \(f) \(program.name)
        fi

        """
    }
}
