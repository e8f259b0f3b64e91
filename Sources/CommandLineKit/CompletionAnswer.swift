extension Program {
    /// Returns the answer to a completion script: the first line says how to complete, the others are the
    /// candidates.
    ///
    /// bash passes its line up to the cursor and the part of the last word that it will replace; zsh and fish
    /// pass the words up to the cursor.
    package func answer(
        _ shell: Shell, _ arguments: [String], dynamic: @escaping (CompletionQuery) -> [Candidate]
    ) -> String {
        let line: ShellLine
        switch shell {
        case .bash: line = ShellLine(arguments.first ?? "")
        case .zsh: line = ShellLine(words: arguments)
        case .fish: line = ShellLine(words: arguments.dropLast() + [ShellLine.unquoted(arguments.last ?? "")])
        }
        let words = Array(line.words.dropFirst())
        let lines: [String]
        switch complete(words, dynamic: dynamic) {
        case .files: lines = [shell == .bash ? "-f" : "files"]
        case .directories: lines = [shell == .bash ? "-d" : "directories"]
        case .command(let start):
            switch shell {
            // bash cannot complete another program's command line, so its first word is completed as a
            // command and the others as files.
            case .bash: lines = [start == words.count - 1 ? "-c" : "-f"]
            case .zsh: lines = ["command", String(start + 1)]
            case .fish: lines = ["command", String(start + 2)]
            }
        case .words(let candidates):
            let shown = candidates.filter { !$0.word.isEmpty && !$0.word.hasControlCharacter }
            let kind = shown.contains { $0.word.hasSuffix("=") } ? "nospace" : "words"
            lines =
                [kind] + shown.compactMap { line.written($0, for: shell, replacing: arguments.last ?? "") }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// A command line up to the cursor, split into words as a POSIX shell does, without any expansion.
struct ShellLine: Equatable {
    /// The words without quotes; the last one is at the cursor.
    private(set) var words = [""]
    /// The last word as it was typed.
    private(set) var typed = ""
    private var quote: Character?

    init(words: [String]) { self.words = words }

    init(_ line: String) {
        var isEscaped = false
        for character in line.drop(while: { $0 == " " }) {
            if isEscaped {
                isEscaped = false
                // Between double quotes, a backslash escapes only these characters.
                if quote == "\"", !"\"\\$`".contains(character) { words[words.count - 1].append("\\") }
                add(character)
            } else if character == "\\", quote != "'" {
                isEscaped = true
                typed.append(character)
            } else if character == quote {
                quote = nil
                typed.append(character)
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
                typed.append(character)
            } else if quote == nil, character == " " || character == "\t" {
                if !typed.isEmpty { words.append("") }
                typed = ""
            } else {
                add(character)
            }
        }
    }

    private mutating func add(_ character: Character) {
        words[words.count - 1].append(character)
        typed.append(character)
    }

    static func unquoted(_ word: String) -> String { ShellLine(word).words.last ?? "" }

    /// Returns a candidate in the form that the shell's script expects, or nil if it does not match the typed
    /// text.
    ///
    /// bash replaces only the part after the last of `= : @` or an opening quote.
    func written(_ candidate: Candidate, for shell: Shell, replacing replaced: String) -> String? {
        let meaning = candidate.meaning.hasControlCharacter ? "" : candidate.meaning
        switch shell {
        case .bash:
            let kept = typed.hasSuffix(replaced) ? Self.unquoted(String(typed.dropLast(replaced.count))) : ""
            guard candidate.word.hasPrefix(kept) else { return nil }
            let word = String(candidate.word.dropFirst(kept.count))
            return quote == nil ? word.backslashed : word
        case .zsh:
            let word = candidate.word.substituting("\\", with: "\\\\").substituting(":", with: "\\:")
            return meaning.isEmpty ? word : "\(word):\(meaning)"
        case .fish: return meaning.isEmpty ? candidate.word : "\(candidate.word)\t\(meaning)"
        }
    }
}

extension String {
    fileprivate var hasControlCharacter: Bool {
        unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// The word with a backslash before each character that a shell would interpret.
    fileprivate var backslashed: String {
        var result = ""
        for character in self {
            let isPlain = !character.isASCII || character.isLetter || character.isNumber
            if !isPlain, !"-_./:=@%+,".contains(character) { result += "\\" }
            result.append(character)
        }
        return result
    }

    /// Replaces every occurrence of a character.
    func substituting(_ character: Character, with text: String) -> String {
        var result = ""
        for each in self { result += each == character ? text : String(each) }
        return result
    }
}
