/// A manual page in man(7), built line by line. Text is escaped, so roff does not interpret it.
struct Roff {
    private(set) var text = ""

    /// Starts the page. `date` is written as it is: `2026-11-22`.
    mutating func title(_ name: String, date: String, source: String) {
        text +=
            ".TH \"\(Self.escaped(name))\" \"1\" \"\(date)\" \"\(Self.escaped(source))\" \"User Commands\"\n"
    }

    mutating func request(_ name: String, _ arguments: [String] = []) {
        let words = arguments.map { " \"\(Self.escaped($0))\"" }.joined()
        text += ".\(name)\(words)\n"
    }

    /// Adds text, in lines of at most 80 bytes.
    mutating func line(_ content: String) {
        for part in TextLayout.wrap(Self.escaped(content), width: TextLayout.width - 2) {
            text += (part.first == "." ? "\\&" : "") + part + "\n"
        }
    }

    /// Adds a line that starts with a bold word.
    mutating func bold(_ word: String, _ plain: String) {
        text += "\\fB\(Self.escaped(word))\\fR" + (plain.isEmpty ? "" : " \(Self.escaped(plain))") + "\n"
    }

    /// Adds a term and its meaning, which is indented.
    mutating func entry(bold: String, plain: String, _ meaning: String) {
        request("TP")
        let parts = [
            bold.isEmpty ? nil : "\\fB\(Self.escaped(bold))\\fR",
            plain.isEmpty ? nil : "\\fI\(Self.escaped(plain))\\fR",
        ]
        text += parts.compactMap { $0 }.joined(separator: " ") + "\n"
        line(meaning)
    }

    mutating func prose(_ content: String) {
        for (index, block) in TextLayout.blocks(content).enumerated() {
            if block.isVerbatim {
                verbatim(block.lines)
            } else {
                if index > 0 { request("PP") }
                for each in block.lines { line(each) }
            }
        }
    }

    /// Adds lines that roff does not fill.
    mutating func verbatim(_ lines: [String]) {
        request("PP")
        request("nf")
        for each in lines { text += "\\&\(Self.escaped(each))\n" }
        request("fi")
    }

    /// Escapes characters that roff would interpret or replace, and writes non-ASCII characters as numbers.
    static func escaped(_ content: String) -> String {
        var result = ""
        for scalar in content.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\"": result += "\\(dq"
            case "\n", "\r", "\t": result += " "
            // groff has no ellipsis to show in a locale that is not UTF-8.
            case "…": result += "..."
            case "\u{20}"..."\u{7E}": result.unicodeScalars.append(scalar)
            default:
                if scalar.value < 0xA0 { continue }
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits + "]"
            }
        }
        return result
    }
}
