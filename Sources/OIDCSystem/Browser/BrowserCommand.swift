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
            if shells.contains(name), let option = rest.first(where: isCommandOption),
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

    private static let shells: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "yash", "busybox", "su",
        "runuser", "script",
    ]

    /// Programs that join their arguments into one command line.
    private static let joiningPrograms: Set = ["ssh", "cmd", "powershell", "pwsh", "eval"]

    private static func programName(_ word: String) -> String {
        let last = word.split { $0 == "/" || $0 == "\\" }.last.map { ASCII.lowercased($0) } ?? ""
        return last.hasSuffix(".exe") ? String(last.dropLast(4)) : last
    }

    /// Returns whether a word is `-c`, alone or among other letters, or its long form.
    private static func isCommandOption(_ word: String) -> Bool {
        guard word.hasPrefix("-") else { return false }
        guard word.hasPrefix("--") else { return word.dropFirst().contains("c") }
        return word.hasPrefix("--command") || word.hasPrefix("--session-command")
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
