import CommandLineKit
import OIDCCore
import Posix

/// Text for a terminal: lines that are too long are broken between words, and each further line starts with `|`, which no
/// line of this program does. Text from a provider thus cannot start a line that looks like a hint or an error. URLs, other
/// long words of ASCII, and commands to paste are not broken.
struct WrappedText {
    /// The columns of the terminal; nil leaves every line as it is.
    let width: Int?

    init(width: Int?) { self.width = width.flatMap { $0 > 0 ? $0 : nil } }

    init(_ descriptor: FileDescriptor) { self.init(width: Terminal.width(descriptor)) }

    /// Returns the text with its lines broken. `hint` follows the last one after a space: it is not from a provider, so its
    /// commands stay in one piece however long they are.
    func text(_ text: String, hint: String = "") -> String {
        guard let width else { return hint.isEmpty ? text : "\(text) \(hint)" }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return lines.enumerated().map { index, line in
            WrappedText.line(line, hint: index == lines.count - 1 ? hint : "", width: width)
        }.joined(separator: "\n")
    }

    private static func line(_ line: String, hint: String, width: Int) -> String {
        let plain = Table.withoutEscapes(line)
        let indent = plain.prefix { $0 == " " }.count
        let content = plain.dropFirst(indent)
        let whole = hint.isEmpty ? line : "\(line) \(hint)"
        guard columns(whole) > width, !isVerbatim(content, indent: indent) else { return whole }
        let isHint = content.hasPrefix(hintLabel)
        let hang = isHint ? indent + hintLabel.count : hangingIndent(plain, indent: indent, width: width)
        let mark = TextLayout.spaces(hang - 2) + "| "
        var units = units(line.dropFirst(indent))
        if !isHint { units = units.flatMap { pieces($0, columns: width - hang) } }
        var lines = [TextLayout.spaces(indent)]
        var isLineEmpty = true
        for unit in units + WrappedText.units(hint[...]) {
            let used = columns(lines[lines.count - 1])
            let length = columns(unit.text)
            let gap = isLineEmpty ? 0 : unit.gap
            // A label is followed directly by a word that is too long for every line.
            let isAfterLabel =
                isHint && lines.count == 1 && lines[0].hasSuffix("try:") && hang + length > width
            if isLineEmpty || used + gap + length <= width || isAfterLabel {
                lines[lines.count - 1] += TextLayout.spaces(gap) + unit.text
            } else {
                // The line of a command can be copied as a whole.
                let isCommand = isHint && CommandWords(start: unit.text.prefix { $0 != " " }) != nil
                lines.append((isCommand ? TextLayout.spaces(hang) : mark) + unit.text)
            }
            isLineEmpty = false
        }
        // A prompt ends with a space.
        return lines.joined(separator: "\n") + (plain.hasSuffix(" ") ? " " : "")
    }

    private static let hintLabel = "try: "

    /// Returns the columns that a string takes at most. Terminals differ in the width of other characters than ASCII, and
    /// break a line that is too long themselves, without `|`.
    private static func columns(_ text: String) -> Int {
        Table.withoutEscapes(text).unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : 2) }
    }

    /// Breaks up what a terminal would break itself into lines that could be taken for others: commands with their spaces,
    /// and words in other scripts. A long ASCII word stays in one piece, as it may be a URL to copy.
    private static func pieces(_ unit: Unit, columns limit: Int) -> [Unit] {
        guard columns(unit.text) > limit else { return [unit] }
        var pieces: [Unit] = []
        for word in words(unit.text[...]) {
            let gap = pieces.isEmpty ? unit.gap : word.gap
            guard !word.text.utf8.allSatisfy({ $0 < 0x80 }), !word.text.utf8.contains(0x1B) else {
                pieces.append(Unit(gap: gap, text: word.text))
                continue
            }
            pieces.append(Unit(gap: gap, text: ""))
            for character in word.text.unicodeScalars {
                let last = pieces.count - 1
                if !pieces[last].text.isEmpty, columns(pieces[last].text + String(character)) > limit {
                    pieces.append(Unit(gap: 0, text: String(character)))
                } else {
                    pieces[last].text.unicodeScalars.append(character)
                }
            }
        }
        return pieces
    }

    /// Returns whether an indented line is a URL or a command to paste.
    private static func isVerbatim(_ content: Substring, indent: Int) -> Bool {
        let starts = ["http://", "https://", "oidc ", "ssh ", "(umask ", "export ", "kill "]
        return indent >= 2 && starts.contains { content.hasPrefix($0) }
    }

    /// Returns the column at which the other lines of a long line start, after their mark: below the text of a numbered
    /// step or of the last column, as far as that is in the left half.
    private static func hangingIndent(_ plain: String, indent: Int, width: Int) -> Int {
        let column = columnOfText(plain, indent: indent, width: width)
        return column < 3 || column > width / 2 ? 4 : column
    }

    private static func columnOfText(_ plain: String, indent: Int, width: Int) -> Int {
        let content = plain.dropFirst(indent)
        if ["error: ", "warning: ", "debug: "].contains(where: { content.hasPrefix($0) }) { return 0 }
        let digits = content.prefix { $0.isNumber }.count
        if digits > 0, content.dropFirst(digits).hasPrefix(". ") { return indent + digits + 2 }
        // A label of one or two words, as in `Redirect URL: `.
        let label = content.prefix(14).prefix { $0 != ":" }
        var column = indent
        if label.first?.isUppercase == true, content.dropFirst(label.count).hasPrefix(": "),
            label.filter({ $0 == " " }).count < 2
        {
            column = indent + label.count + 2
        }
        var gap = 0
        for (index, character) in plain.enumerated().prefix(width / 2).dropFirst(indent) {
            if character != " ", gap >= 2 { column = index }
            gap = character == " " ? gap + 1 : 0
        }
        return column
    }

    /// A word with the spaces before it, or a command with its words.
    private struct Unit {
        var gap: Int
        var text: String
    }

    private static func words(_ text: Substring) -> [Unit] {
        var words: [Unit] = []
        var gap = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            gap += 1
            guard !word.isEmpty else { continue }
            words.append(Unit(gap: gap, text: String(word)))
            gap = 0
        }
        return words
    }

    private static func units(_ text: Substring) -> [Unit] {
        var units: [Unit] = []
        var command: CommandWords?
        for word in words(text) {
            if command?.takes(word.text[...]) == true, let last = units.indices.last {
                units[last].text += TextLayout.spaces(word.gap) + word.text
            } else {
                units.append(word)
                command = CommandWords(start: word.text[...])
            }
        }
        return units
    }
}

/// The words of a command line of this program within a sentence, as far as they can be distinguished from
/// it.
private struct CommandWords {
    private var path: [String] = []
    private var options: [OptionDescription] = []
    private var isValueNext = false
    private var isQuoted = false
    private var isEnded = false

    /// Starts with the program's name; nil if the word is another.
    init?(start word: Substring) {
        guard word.drop(while: { "(`'\"".contains($0) }) == "oidc" else { return nil }
    }

    mutating func takes(_ word: Substring) -> Bool {
        guard !isEnded else { return false }
        if isQuoted {
            note(word)
            return true
        }
        let name = String(word.prefix { !",;:.)`".contains($0) })
        if options.isEmpty, let command = Program.oidc.command(path + [name]) {
            path.append(name)
            options = command.options
            // Its operand may be a topic.
            isValueNext = path == ["help"]
            isEnded = name != word
            return true
        }
        guard !path.isEmpty, isValueNext || word.hasPrefix("-") || isArgument(word) else {
            isEnded = true
            return false
        }
        let option = options.first { $0.spellings.contains(String(word)) }
        isValueNext = option?.valueName != nil
        note(word)
        return true
    }

    /// Returns whether a word looks like a value: a URL, an assignment, a file, a quoted string or a
    /// placeholder.
    private func isArgument(_ word: Substring) -> Bool {
        let isPlaceholder = word.utf8.count > 1 && word.allSatisfy { ("A"..."Z").contains($0) || $0 == "-" }
        return isPlaceholder || word.hasPrefix("'") || word.dropLast().contains { "=/@".contains($0) }
    }

    private mutating func note(_ word: Substring) {
        if word.filter({ $0 == "'" }).count % 2 == 1 { isQuoted.toggle() }
        isEnded = !isQuoted && word.last.map { ",;:)`".contains($0) } ?? false
    }
}
