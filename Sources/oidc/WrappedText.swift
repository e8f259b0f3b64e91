import CommandLineKit
import OIDCCore
import Posix

/// Text for a terminal: lines that are too long are broken between words. URLs, and commands to paste, are
/// not broken.
struct WrappedText {
    /// The columns of the terminal; nil leaves every line as it is.
    let width: Int?

    init(width: Int?) {
        // In fewer columns, more lines would not be easier to read.
        self.width = width.flatMap { $0 >= 20 ? $0 : nil }
    }

    init(_ descriptor: FileDescriptor) { self.init(width: Terminal.width(descriptor)) }

    func text(_ text: String) -> String {
        guard let width else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { WrappedText.line(String($0), width: width) }.joined(separator: "\n")
    }

    private static func line(_ line: String, width: Int) -> String {
        let plain = Table.withoutEscapes(line)
        let indent = plain.prefix { $0 == " " }.count
        guard Table.columns(line) > width, !isVerbatim(plain.dropFirst(indent), indent: indent) else {
            return line
        }
        let hang = hangingIndent(plain, indent: indent, width: width)
        var lines = [TextLayout.spaces(indent)]
        var isLineEmpty = true
        for unit in units(line.dropFirst(indent)) {
            let used = Table.columns(lines[lines.count - 1])
            let length = Table.columns(unit.text)
            let gap = isLineEmpty ? 0 : unit.gap
            // A label is followed directly by a word that is too long for every line.
            let isAfterLabel = lines.count == 1 && lines[0].hasSuffix("try:") && hang + length > width
            if isLineEmpty || used + gap + length <= width || isAfterLabel {
                lines[lines.count - 1] += TextLayout.spaces(gap) + unit.text
            } else {
                lines.append(TextLayout.spaces(hang) + unit.text)
            }
            isLineEmpty = false
        }
        // A prompt ends with a space.
        return lines.joined(separator: "\n") + (plain.hasSuffix(" ") ? " " : "")
    }

    /// Returns whether an indented line is a URL or a command to paste.
    private static func isVerbatim(_ content: Substring, indent: Int) -> Bool {
        let starts = ["http://", "https://", "oidc ", "ssh ", "(umask ", "export ", "kill "]
        return indent >= 2 && starts.contains { content.hasPrefix($0) }
    }

    /// Returns the column at which the other lines of a long line start: below the text of a hint, of a
    /// numbered step or of the last column, as far as that is in the left half.
    private static func hangingIndent(_ plain: String, indent: Int, width: Int) -> Int {
        let content = plain.dropFirst(indent)
        if content.hasPrefix("try: ") { return indent + 5 }
        if ["error: ", "warning: ", "debug: "].contains(where: { content.hasPrefix($0) }) {
            return indent + 2
        }
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

    private static func units(_ text: Substring) -> [Unit] {
        var units: [Unit] = []
        var command: CommandWords?
        var gap = 0
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            gap += 1
            guard !word.isEmpty else { continue }
            if command?.takes(word) == true, let last = units.indices.last {
                units[last].text += TextLayout.spaces(gap) + word
            } else {
                units.append(Unit(gap: gap, text: String(word)))
                command = CommandWords(start: word)
            }
            gap = 0
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
