/// The shells that have a completion script.
package enum Shell: String, CaseIterable, OptionValue {
    case bash, zsh, fish
}

extension Completion {
    /// Returns the script that the user loads into the shell. It calls the program for each word, as `toy
    /// completions SHELL --complete -- WORDS`, which `Program.answer` answers.
    package static func script(_ shell: Shell, _ program: Program) -> String {
        let name = program.name
        let function = "_" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        let ask = "\(program.completionCommand) \(shell.rawValue) --complete --"
        return switch shell {
        case .bash: bash(name, function, ask)
        case .zsh: zsh(name, function, ask)
        case .fish: fish(name, "_" + function, ask)
        }
    }

    /// Returns the script for bash 3.2 and later; it does not need the bash-completion package.
    private static func bash(_ name: String, _ function: String, _ ask: String) -> String {
        #"""
        # bash completion for \#(name); load it with: source <(\#(name) completions bash)

        \#(function)() {
            local kind='' word prefix=''
            COMPREPLY=()
            {
                read -r kind
                while IFS= read -r word; do COMPREPLY[${#COMPREPLY[@]}]=$word; done
            } < <("${1/#\~/$HOME}" \#(ask) "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null </dev/null)
            if [[ $kind == nospace ]]; then compopt -o nospace 2>/dev/null; fi
            if [[ $kind != -* ]]; then return; fi
            if [[ $kind != -c ]]; then compopt -o filenames 2>/dev/null; fi
            if [[ $2 == --*=* ]]; then prefix=${2%%=*}=; fi
            while IFS= read -r word; do
                COMPREPLY[${#COMPREPLY[@]}]=$prefix$word
            done < <(compgen "$kind" -- "${2#"$prefix"}")
        }

        complete -F \#(function) \#(name)

        """#
    }

    private static func zsh(_ name: String, _ function: String, _ ask: String) -> String {
        #"""
        #compdef \#(name)
        # zsh completion for \#(name); load it with: source <(\#(name) completions zsh)

        \#(function)() {
            local -a typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}") list
            list=("${(@f)$(${(Q)~words[1]} \#(ask) "$typed[@]" 2>/dev/null </dev/null)}")
            local kind=$list[1]
            shift list
            case $kind in
                files) compset -P '--*='; _files ;;
                directories) compset -P '--*='; _files -/ ;;
                command) shift $list[1] words; (( CURRENT -= list[1] )); _normal ;;
                nospace) _describe value list -S '' ;;
                *) _describe value list ;;
            esac
        }

        if [[ $funcstack[1] == \#(function) ]]; then
            \#(function) "$@"
        else
            compdef \#(function) \#(name)
        fi

        """#
    }

    private static func fish(_ name: String, _ function: String, _ ask: String) -> String {
        #"""
        # fish completion for \#(name); load it with: \#(name) completions fish | source

        function \#(function)
            set -l words (commandline -opc)
            set -l current (commandline -ct)
            set -l program (string replace -r '^~' $HOME -- $words[1])
            set -l answer ($program \#(ask) $words "$current" 2>/dev/null </dev/null)
            set -l prefix (string match -r -- '^--[^=]*=' "$current")
            set -l path (string replace -- "$prefix" '' "$current")
            switch "$answer[1]"
                case files
                    string join \n -- "$prefix"(complete -C "'' $path")
                case directories
                    string join \n -- "$prefix"(__fish_complete_directories "$path")
                case command
                    complete -C (string join ' ' -- (string escape -- $words[$answer[2]..-1]) $current)
                case '*'
                    string join \n -- $answer[2..-1]
            end
        end

        complete -c \#(name) -f -a '(\#(function))'

        """#
    }
}
