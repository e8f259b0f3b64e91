/// A script for bash 3.2 and later that needs nothing else loaded.
struct BashCompletion {
    private let program: Program
    private let nodes: [CompletionNode]

    init(_ program: Program) {
        self.program = program
        nodes = program.completionNodes
    }

    var script: String {
        [tables, candidates, following, main].joined(separator: "\n")
    }

    /// The prefix of every function of the script.
    private var f: String { "_" + program.identifier }

    /// For each place: its commands, options, the options with a value, and where operands end.
    private var places: String {
        nodes.map { node in
            let options = node.options.map(\.name).joined(separator: " ")
            let valued = node.valued.flatMap(\.spellings).joined(separator: " ")
            let commands = node.commands.map(\.name).joined(separator: " ")
            let last = if case .rest = node.operands.last?.arity { node.operands.count } else { 0 }
            return """
                    \(node.key.isEmpty ? "''" : node.key.shellQuoted))
                        commands='\(commands)' last=\(last) stops=\(node.stopsAtFirstOperand ? 1 : 0)
                        options='\(options)'
                        valued='\(valued)' ;;

                """
        }.joined()
    }

    /// What completes each option's value and each operand; what is alike in all places is written once.
    private var values: String {
        var rows: [(action: String, keys: [String])] = []
        func add(_ key: String, _ action: String) {
            if let row = rows.firstIndex(where: { $0.action == action }) {
                if !rows[row].keys.contains(key) { rows[row].keys.append(key) }
            } else {
                rows.append((action, [key]))
            }
        }
        for node in nodes {
            for option in node.valued {
                guard let action = action(option.completion) else { continue }
                let isAlike = nodes.allSatisfy { other in
                    other.options.allSatisfy { $0.name != option.name || $0.completion == option.completion }
                }
                let place = isAlike ? "*" : node.key.shellQuoted
                for spelling in option.spellings { add("\(place):\(spelling)", action) }
            }
            for (index, operand) in node.operands.enumerated() {
                guard let action = action(operand.completion) else { continue }
                add("\(node.key.shellQuoted):\(index + 1)", action)
            }
        }
        return rows.map { "    \($0.keys.joined(separator: " | "))) \($0.action) ;;\n" }.joined()
    }

    private func action(_ hint: CompletionHint) -> String? {
        switch hint {
        case .none, .commandNames: nil
        case .values(let words): "\(f)_words " + words.map(\.shellQuoted).joined(separator: " ")
        case .file: "\(f)_files -f"
        case .directory: "\(f)_files -d"
        case .command: "\(f)_files -c"
        case .dynamic(let kind): "\(f)_ask \(kind.shellQuoted)"
        }
    }

    private var tables: String {
        #"""
        # bash completion for \#(program.name); load it with: source <(\#(program.name) completions bash)

        \#(f)_place() {
            commands='' options='' valued='' last=0 stops=0
            case $1 in
        \#(places)    esac
        }

        \#(f)_value() {
            case $place:$1 in
        \#(values)    esac
        }

        """#
    }

    private var candidates: String {
        let list = (program.dynamicCompletion?.words ?? []).map(\.shellQuoted).joined(separator: " ")
        let forwarded = program.forwardedSpellings.joined(separator: " ")
        return #"""
            # Offers one candidate: what the shell itself has split off the word before is left out.
            \#(f)_offer() {
                local whole=$prefix$1
            if [[ $1 == *= ]]; then compopt -o nospace 2>/dev/null; fi
                COMPREPLY[${#COMPREPLY[@]}]=${whole#"$head"}
            }

            \#(f)_words() {
                local word quoted
                for word; do
                    printf -v quoted %q "$word"
                    if [[ $word == "$value"* || $quoted == "$value"* ]]; then \#(f)_offer "$quoted"; fi
                done
            }

            \#(f)_files() {
                local word
                [[ $1 == -c ]] || compopt -o filenames 2>/dev/null
                while IFS= read -r word; do \#(f)_offer "$word"; done < <(compgen "$1" -- "$value")
            }

            \#(f)_ask() {
                local line
                while IFS= read -r line; do
                    if [[ -n $line ]]; then \#(f)_words "$line"; fi
                done < <("${words[0]/#\~/$HOME}" \#(list) "$1" ${forward[@]+"${forward[@]}"} 2>/dev/null </dev/null)
            }

            \#(f)_takes() { [[ " $valued " == *" $1 "* ]]; }

            \#(f)_forwards() { [[ " \#(forwarded) " == *" $1 "* ]]; }

            """#
    }

    private var following: String {
        #"""
        # Joins what the shell broke at = : and @, as far as the cursor.
        \#(f)_join() {
            local line=${COMP_LINE:0:COMP_POINT} word i
            last_word=-1
            for ((i = 0; i <= COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]}
                if ((i == 0)) || [[ -z $line || $line == [[:space:]]* ]]; then
                    last_word=$((last_word + 1))
                    words[last_word]=''
                    line=${line#"${line%%[![:space:]]*}"}
                fi
                if ((i == COMP_CWORD)); then word=$line; fi
                words[last_word]+=$word
                line=${line#"$word"}
            done
        }

        # Follows the words before the cursor: which command, which option waits for its value.
        \#(f)_walk() {
            local i word letter
            for ((i = 1; i < last_word; i++)); do
                word=${words[i]}
                if [[ -n $waiting ]]; then
                    if \#(f)_forwards "$waiting"; then forward+=("$waiting" "$word"); fi
                    waiting=''
                elif [[ -z $ended && $word == -- ]]; then
                    ended=1
                elif [[ -z $ended && $word == --*=* ]]; then
                    if \#(f)_forwards "${word%%=*}"; then forward+=("$word"); fi
                elif [[ -z $ended && $word == --* ]]; then
                    if \#(f)_takes "$word"; then waiting=$word; fi
                elif [[ -z $ended && $word == -?* ]]; then
                    for ((letter = 1; letter < ${#word}; letter++)); do
                        if \#(f)_takes "-${word:letter:1}"; then
                            if ((letter + 1 == ${#word})); then
                                waiting=-${word:letter:1}
                            elif \#(f)_forwards "-${word:letter:1}"; then
                                forward+=("-${word:letter}")
                            fi
                            break
                        fi
                    done
                elif [[ -n $commands ]]; then
                    place=${place:+$place }$word
                    ended=''
                    \#(f)_place "$place"
                else
                    operands=$((operands + 1))
                    if ((stops)); then ended=1; fi
                fi
            done
        }

        """#
    }

    private var main: String {
        #"""
        \#(f)() {
            local words=() forward=() last_word commands options valued last stops
            local place='' waiting='' ended='' operands=0 current value prefix='' head='' breaks='' sign
            COMPREPLY=()
            \#(f)_join
            \#(f)_place ''
            \#(f)_walk
            current=${words[last_word]}
            value=$current
            for sign in = : @; do
                if [[ $COMP_WORDBREAKS == *"$sign"* ]]; then breaks+=$sign; fi
            done
            if [[ -n $breaks ]]; then head=${current%"${current##*[$breaks]}"}; fi
            if [[ -n $waiting ]]; then
                \#(f)_value "$waiting"
            elif [[ -z $ended && $current == --*=* ]]; then
                prefix=${current%%=*}=
                value=${current#*=}
                \#(f)_value "${current%%=*}"
            elif [[ -z $ended && $current == -* ]]; then
                \#(f)_words $options
            elif [[ -n $commands ]]; then
                \#(f)_words $commands
            elif ((stops && operands > 0)); then
                \#(f)_files -f
            else
                operands=$((operands + 1))
                if ((last && operands > last)); then operands=$last; fi
                \#(f)_value "$operands"
            fi
        }

        complete -F \#(f) \#(program.name)

        """#
    }
}
