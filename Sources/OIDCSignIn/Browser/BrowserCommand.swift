import OIDCCore

/// The checks and the arguments of commands that open a URL.
package enum BrowserCommand {
    static let placeholder = "%s"

    /// Returns the reason why a command must not get a URL; nil if it is safe. The URL comes from the
    /// provider's metadata, so it must be one argument that no shell interprets (CWE-78).
    package static func problem(_ words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            let rest = words[(index + 1)...]
            let name = programName(word)
            if joiningPrograms.contains(name) {
                return "\(name) passes its arguments to a shell, which could execute parts of the URL"
            }
            if let option = rest.first(where: { joiningOptions[name]?.matches($0) == true }) {
                return "\(name) \(DisplayText.clean(option, limit: 20)) could execute parts of the URL"
            }
            if let options = programOptions(name), let option = rest.first(where: options.matches),
                !isScript(words[(rest.firstIndex(of: option) ?? index)...].dropFirst().first, after: option)
            {
                return "\(name) \(DisplayText.clean(option, limit: 20)) could execute parts of the URL"
            }
            if index > 0, word.includes(placeholder), !isPlain(word) {
                return "%s must be a separate word, or follow = at the end of a word"
            }
        }
        return nil
    }

    /// Returns the arguments with the URL in place of `%s`, or at the end if there is none.
    static func arguments(_ words: [String], address: String) -> [String] {
        guard words.dropFirst().contains(where: isPlain) else { return words + [address] }
        return words.prefix(1)
            + words.dropFirst().map { isPlain($0) ? $0.dropLast(placeholder.count) + address : $0 }
    }

    /// Returns whether a word is `%s` or `--option=%s`.
    private static func isPlain(_ word: String) -> Bool {
        guard word.hasSuffix(placeholder) else { return false }
        let before = word.dropLast(placeholder.count)
        return before.isEmpty || (before.last == "=" && !String(before).includes(placeholder))
    }

    /// The options after which the next word is program text: letters, alone or among others after one `-`,
    /// and long names.
    private struct TextOptions {
        let letters: String
        var names: [String] = []

        func matches(_ word: String) -> Bool {
            guard word.hasPrefix("-") else { return names.contains(word) }
            if names.contains(where: { word == $0 || word.hasPrefix($0 + "=") }) { return true }
            return !word.hasPrefix("--") && word.dropFirst().contains(where: letters.contains)
        }
    }

    private static let shells: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "yash", "busybox", "su",
        "runuser", "script", "sg", "flock",
    ]

    private static let shellOptions = TextOptions(letters: "c", names: ["--command", "--session-command"])

    /// Interpreters with an option for a program as text; its other arguments are safe.
    private static let interpreters: [String: TextOptions] = [
        "perl": TextOptions(letters: "eEmM"), "python": TextOptions(letters: "c"),
        "pypy": TextOptions(letters: "c"), "ruby": TextOptions(letters: "e"),
        "node": TextOptions(letters: "ep", names: ["--eval", "--print"]),
        "nodejs": TextOptions(letters: "ep", names: ["--eval", "--print"]),
        "bun": TextOptions(letters: "ep", names: ["--eval", "--print"]),
        "deno": TextOptions(letters: "", names: ["eval"]),
        "php": TextOptions(letters: "rBRE", names: ["--run"]), "lua": TextOptions(letters: "e"),
        "luajit": TextOptions(letters: "e"), "rscript": TextOptions(letters: "e"),
        "osascript": TextOptions(letters: "e"), "guile": TextOptions(letters: "c"),
        "elixir": TextOptions(letters: "e", names: ["--eval"]), "julia": TextOptions(letters: "eE"),
        "raku": TextOptions(letters: "e"), "groovy": TextOptions(letters: "e"),
        "vim": TextOptions(letters: "c", names: ["--cmd"]),
        "nvim": TextOptions(letters: "c", names: ["--cmd"]),
        "vi": TextOptions(letters: "c"), "emacs": TextOptions(letters: "", names: ["--eval", "--execute"]),
        "emacsclient": TextOptions(letters: "e", names: ["--eval"]),
        "gdb": TextOptions(letters: "", names: ["-ex"]),
    ]

    /// Programs that always read an argument as program text, or join their arguments into a command line. wslview
    /// pastes the URL into a command of PowerShell, which evaluates `$(…)` in it (wslu 4.1.4, 2024-11).
    private static let joiningPrograms: Set = [
        "ssh", "cmd", "powershell", "pwsh", "eval", "watch", "tmux", "screen", "byobu", "parallel", "awk",
        "gawk", "mawk", "nawk", "sed", "expr", "m4", "make", "expect", "wslview",
    ]

    /// Programs with options after which words are joined, split or read as a command line: `-e` of many
    /// terminals is one, and differs between their versions.
    private static let joiningOptions: [String: TextOptions] = {
        let terminal = TextOptions(letters: "ex", names: ["--command", "--execute"])
        let names = [
            "xterm", "uxterm", "lxterm", "x-terminal-emulator", "gnome-terminal", "konsole", "xfce4-terminal",
            "mate-terminal", "lxterminal", "qterminal", "terminator", "tilix", "terminology", "rxvt", "urxvt",
            "urxvtc", "alacritty", "kitty", "foot", "st", "aterm", "eterm", "mlterm", "ptyxis", "kgx",
            "cool-retro-term", "deepin-terminal", "sakura", "roxterm", "termite", "wezterm",
        ]
        var options = Dictionary(uniqueKeysWithValues: names.map { ($0, terminal) })
        options["env"] = TextOptions(letters: "S", names: ["--split-string"])
        return options
    }()

    /// Returns the options of a shell or interpreter. A version may follow its name, as in `python3.11`.
    private static func programOptions(_ name: String) -> TextOptions? {
        if shells.contains(name) { return shellOptions }
        let version = name.reversed().prefix { $0.isNumber || $0 == "." || $0 == "-" }.count
        return interpreters[name] ?? interpreters[String(name.dropLast(version))]
    }

    private static func programName(_ word: String) -> String {
        let last = word.split { $0 == "/" || $0 == "\\" }.last.map { ASCII.lowercased($0) } ?? ""
        return last.hasSuffix(".exe") ? String(last.dropLast(4)) : last
    }

    /// Returns whether the word after `-c` is the whole script and not the URL. If other options follow `-c`,
    /// that is unclear, and the result is false.
    private static func isScript(_ word: String?, after option: String) -> Bool {
        guard let word, !option.contains("o"), !option.contains("O"), !option.contains("=") else {
            return false
        }
        return !word.hasPrefix("-") && !word.hasPrefix("+") && !word.includes(placeholder)
    }
}

extension BrowserCommand {
    /// Returns the commands in `$BROWSER`, separated by colons. Words may be quoted as in a shell; an entry
    /// that is the path of an executable file is used whole, even with spaces.
    static func commands(
        ofVariable text: String, isExecutable: (String) -> Bool, warn: (String) -> Void
    ) -> [[String]] {
        var commands: [[String]] = []
        var rest = text[...]
        while !rest.isEmpty {
            let whole = ASCII.trimmed(rest.prefix { $0 != ":" })
            if whole.contains("/"), whole.contains(where: { " '\"\\".contains($0) }), isExecutable(whole) {
                commands.append([whole])
                rest = rest.drop { $0 != ":" }.dropFirst()
                continue
            }
            let entry = Entry(&rest)
            guard !entry.words.isEmpty || !entry.isClosed else { continue }
            if let problem = entry.isClosed ? problem(entry.words) : "a quote is not closed" {
                warn("an entry of $BROWSER is not used: \(problem)")
            } else {
                commands.append(entry.words)
            }
        }
        return commands
    }

    /// An entry of `$BROWSER`, which is removed from the front of the text with the colon after it.
    private struct Entry {
        var words: [String] = []
        /// Whether every quote is closed.
        var isClosed = true

        init(_ rest: inout Substring) {
            var word: String?
            var quote: Character?
            while let character = rest.popFirst() {
                switch (character, quote) {
                case (":", nil):
                    if let word { words.append(word) }
                    return
                case (" ", nil), ("\t", nil):
                    if let word { words.append(word) }
                    word = nil
                case ("'", nil), ("\"", nil):
                    quote = character
                    word = word ?? ""
                case (let end, let open?) where end == open: quote = nil
                case ("\\", nil):
                    word = (word ?? "") + (rest.popFirst().map { String($0) } ?? "\\")
                case ("\\", "\"") where rest.first.map { "\"\\$`".contains($0) } == true:
                    word = (word ?? "") + (rest.popFirst().map { String($0) } ?? "")
                default: word = (word ?? "") + String(character)
                }
            }
            if let word { words.append(word) }
            isClosed = quote == nil
        }
    }
}
