/// The layout of plain text in lines of a given width, counted in Unicode scalars.
package enum TextLayout {
    package static let width = 80

    /// Fills lines with words. Words longer than a line are not broken.
    static func wrap(_ text: String, width: Int = width, indent: Int = 0) -> [String] {
        let margin = spaces(indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if line.isEmpty {
                line = String(word)
            } else if indent + length(line) + 1 + length(word) <= width {
                line += " " + word
            } else {
                lines.append(margin + line)
                line = String(word)
            }
        }
        if !line.isEmpty { lines.append(margin + line) }
        return lines
    }

    /// Fills each paragraph; lines that start with a space are kept as they are.
    static func prose(_ text: String, width: Int = width) -> [String] {
        var lines: [String] = []
        for block in blocks(text) {
            if !lines.isEmpty { lines.append("") }
            if block.isVerbatim {
                lines += block.lines
            } else {
                lines += wrap(block.lines.joined(separator: " "), width: width)
            }
        }
        return lines
    }

    struct Block: Equatable {
        var isVerbatim: Bool
        var lines: [String]
    }

    /// Splits text into paragraphs and indented examples.
    static func blocks(_ text: String) -> [Block] {
        var blocks: [Block] = []
        var isOpen = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.allSatisfy({ $0 == " " }) {
                isOpen = false
                continue
            }
            let isVerbatim = line.hasPrefix(" ")
            if isOpen, let last = blocks.indices.last, blocks[last].isVerbatim == isVerbatim {
                blocks[last].lines.append(String(line))
            } else {
                blocks.append(Block(isVerbatim: isVerbatim, lines: [String(line)]))
                isOpen = true
            }
        }
        return blocks
    }

    /// Places a meaning beside its term, or below it if the term is too long for its column.
    static func entry(_ term: String, _ meaning: String, column: Int, width: Int = width) -> [String] {
        var lines = wrap(meaning, width: width, indent: column)
        guard let first = lines.first else { return [term] }
        guard length(term) + 2 <= column else { return [term] + lines }
        lines[0] = term + spaces(column - length(term)) + first.dropFirst(column)
        return lines
    }

    /// Fills lines with items separated by commas. Items are not broken.
    static func list(of items: [String], width: Int, indent: Int) -> [String] {
        var lines: [String] = []
        for (index, item) in items.enumerated() {
            let item = index == items.count - 1 ? item : item + ","
            if let last = lines.last, length(last) + 1 + length(item) <= width {
                lines[lines.count - 1] += " " + item
            } else {
                lines.append(spaces(indent) + item)
            }
        }
        return lines
    }

    /// Joins words as `a`, `a or b`, or `a, b or c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    static func length(_ text: some StringProtocol) -> Int { text.unicodeScalars.count }

    package static func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
}
