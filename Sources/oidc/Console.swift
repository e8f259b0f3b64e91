import CurlHTTP
import OIDCCore
import Posix
import Synchronization

/// The program's output: data on stdout, messages on stderr.
struct Console: Sendable {
    let isJSON: Bool
    let isVerbose: Bool
    let isQuiet: Bool
    /// The command line that runs, which hints repeat.
    let line: InvokedLine
    /// The transcript that replaces both outputs, if another command will print them.
    var transcript: Transcript?

    init(_ common: CommonOptions, line: InvokedLine? = nil) {
        isJSON = common.output == .json
        isVerbose = common.isVerbose
        isQuiet = common.isQuiet
        self.line = line ?? InvokedLine(common)
    }

    /// The command that runs, if it is the first word.
    var command: String? { line.words.first }

    /// Prints a message.
    func note(_ text: String) {
        guard !isQuiet else { return }
        write(message: text)
    }

    /// Prints a message while a prompt waits at the terminal, and then the prompt again. It is one text, so if messages
    /// are dropped, the last one still ends with the prompt.
    func note(_ text: String, interrupting prompt: String?) {
        guard !isQuiet else { return }
        write(message: text, after: prompt == nil ? "" : "\n", before: prompt ?? "")
    }

    /// Prints a warning; the command continues. The text may quote a provider, so no command in it is completed.
    func warn(_ text: String) { warn(text, hint: "") }

    /// Prints a warning, with its hint in parentheses.
    func warn(_ warning: Warning) {
        warn(warning.message, hint: warning.hint.map { "(\(line.text($0)))" } ?? "")
    }

    private func warn(_ text: String, hint: String) {
        guard !isQuiet else { return }
        write(
            message: DisplayText.singleSpaced(DisplayText.clean(text, limit: .max)), hint: hint,
            after: style.warning("warning:") + " ")
    }

    /// Prints a warning about an error. `subject` says what it prevents.
    func warn(_ error: OIDCError, _ subject: String? = nil) {
        warn(Warning((subject.map { $0 + ": " } ?? "") + error.message, hint: error.hint))
    }

    /// Returns the console of the same command line with other options.
    func with(_ common: CommonOptions) -> Console { Console(common, line: line) }

    /// Prints text as it is, without a line end; `text` returns it in the style of stderr.
    func note(_ text: (TextStyle) -> String) {
        guard !isQuiet else { return }
        write(message: "", after: text(style))
    }

    /// Colors and links on stderr.
    static var style: TextStyle {
        let environment = ProcessEnvironment.current
        return TextStyle(
            isOn: Terminal.usesColor(environment: environment),
            hasLinks: Terminal.showsLinks(environment: environment))
    }

    /// Explains on a terminal why Ctrl-C has no effect yet.
    func noteFinishing() {
        guard Terminal.isTerminal(.standardError) else { return }
        TerminalStatusLine.erase(environment: ProcessEnvironment.current)
        note("finishing the request in progress; press Ctrl-C again to stop now (the session may be lost)")
    }

    /// Prints what a command waits for, on a terminal or with `--verbose`. A script that reads stderr sees
    /// only errors.
    func noteWaiting(_ text: String) {
        if Terminal.isTerminal(.standardError) { note(text) } else { trace(text) }
    }

    /// Returns the exit code of a command that runs until a signal, which is not a failure. A terminal shows
    /// `^C` itself.
    func ended(bySignal signal: Int32) -> Int32 {
        if Terminal.isTerminal(.standardError) { note("") }
        return 128 + signal
    }

    /// Logs a step, with `--verbose`.
    func trace(_ text: @autoclosure () -> String) {
        guard isVerbose else { return }
        write(message: "debug: \(text())", isKept: false)
    }

    private var style: TextStyle { transcript == nil ? Console.style : TextStyle(isOn: false) }

    /// Writes a message to stderr. `text` can hold names from files and providers and is cleaned; `start` and `end` are
    /// not.
    private func write(
        message text: String, hint: String = "", after start: String = "", before end: String = "",
        isKept: Bool = true
    ) {
        let message = start + DisplayText.lines(text)
        let hint = DisplayText.lines(hint)
        if isKept, let transcript {
            return transcript.add(WrappedText(width: nil).text(message, hint: hint) + "\n")
        }
        func shown(_ text: String) -> String {
            Terminal.text(text, environment: ProcessEnvironment.current)
        }
        let lines = WrappedText(.standardError).text(shown(message), hint: shown(hint))
        StandardError.write(style.linked(lines) + "\n" + end)
    }

    /// Prints the messages of another command.
    func repeating(_ messages: String) {
        guard !isQuiet, !messages.isEmpty else { return }
        let text = Terminal.text(DisplayText.lines(messages), environment: ProcessEnvironment.current)
        StandardError.write(WrappedText(.standardError).text(text))
    }

    /// Prints a line of data, or fails. A terminal whose locale is not UTF-8 gets ASCII.
    func output(_ line: String) throws(OIDCError) {
        let isPlain = line.utf8.allSatisfy { $0 < 0x80 } || !Terminal.isTerminal(.standardOutput)
        try write(isPlain ? line : Terminal.text(line, environment: ProcessEnvironment.current))
    }

    /// Prints lines for people as `output` does, in the width of a terminal.
    func report(_ text: String) throws(OIDCError) {
        try output(WrappedText(.standardOutput).text(text))
    }

    /// Prints a JSON document: indented on a terminal, or else on one line.
    func output(_ json: JSONValue) throws(OIDCError) {
        if let transcript { return transcript.finish(with: json) }
        try write(Terminal.isTerminal(.standardOutput) ? json.indented : json.compact)
    }

    private func write(_ line: String) throws(OIDCError) {
        try StandardOutput.write(Array((line + "\n").utf8))
    }
}

/// The output of a command in the background, kept for the command that asks for it.
final class Transcript: Sendable {
    private let content = Mutex<(messages: String, document: JSONValue?)>(("", nil))

    /// The messages for stderr.
    var messages: String { content.withLock { $0.messages } }
    /// The document for stdout; nil if there is none.
    var document: JSONValue? { content.withLock { $0.document } }

    func add(_ message: String) { content.withLock { $0.messages += message } }
    func finish(with document: JSONValue) { content.withLock { $0.document = document } }
}

/// Colors and links, if the terminal supports them.
struct TextStyle {
    let isOn: Bool
    var hasLinks = false

    func title(_ text: String) -> String { painted(text, "1") }
    func name(_ text: String) -> String { text.isEmpty ? "" : painted(text, "36") }
    func good(_ text: String) -> String { painted(text, "32") }
    func bad(_ text: String) -> String { painted(text, "31") }
    func warning(_ text: String) -> String { painted(text, "33") }

    /// Returns the text with a link (OSC 8) in each line that is an indented URL. A terminal that breaks a
    /// long URL into several lines then opens all of it.
    func linked(_ text: String) -> String {
        guard hasLinks else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard line.hasPrefix("  http"), let url = WebURL(String(line.dropFirst(2))),
                url.text.utf8.allSatisfy({ ASCII.isVisible($0) })
            else { return String(line) }
            return "  \u{1B}]8;;\(url.text)\u{1B}\\\(url.text)\u{1B}]8;;\u{1B}\\"
        }.joined(separator: "\n")
    }

    /// Returns a line that is a link to a URL.
    func linked(_ line: String, to url: WebURL) -> String {
        guard hasLinks, url.text.utf8.allSatisfy({ ASCII.isVisible($0) }) else { return line }
        return "\u{1B}]8;;\(url.text)\u{1B}\\\(line)\u{1B}]8;;\u{1B}\\"
    }

    private func painted(_ text: String, _ code: String) -> String {
        isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Log lines of HTTP requests and responses. URLs are logged without their queries.
extension HTTPTraceEvent {
    var line: String {
        switch self {
        case .request(let method, let url, let bytes):
            "→ \(method) \(url)" + (bytes > 0 ? " (\(bytes) bytes)" : "")
        case .answer(let method, let url, let status, let elapsed, let isReused, let bytes):
            "← \(status) \(method) \(url) (\(bytes) bytes, \(HTTPTraceEvent.milliseconds(elapsed)) ms, "
                + "\(isReused ? "same connection" : "new connection"))"
        case .failure(let method, let url, let elapsed, let message):
            "← failed \(method) \(url) (\(HTTPTraceEvent.milliseconds(elapsed)) ms): \(message)"
        case .repeating(let method, let url, let pause):
            "again in \(HTTPTraceEvent.milliseconds(pause)) ms: \(method) \(url)"
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}

/// Text in columns.
enum Table {
    static func text(_ rows: [(String, String)]) -> String { text(columns: rows.map { [$0.0, $0.1] }) }

    /// Formats rows below a header, or, if they are wider than the terminal, each row as a block of its own.
    /// A column without a header holds a mark for the next column.
    static func text(_ header: [String], _ rows: [[String]], width: Int?) -> String {
        let table = text(columns: [header] + rows)
        guard let width, table.pieces(between: "\n").contains(where: { columns($0) > width }) else {
            return table
        }
        return rows.map { row in
            var (mark, pairs) = ("", [(String, String)]())
            for (name, cell) in zip(header, row) {
                if name.isEmpty {
                    mark = cell
                } else {
                    pairs.append((ASCII.lowercased(name), mark.isEmpty ? cell : "\(cell) \(mark)"))
                    mark = ""
                }
            }
            return text(pairs)
        }.joined(separator: "\n\n")
    }

    /// Returns the string without escape sequences: colors (CSI) and links (OSC 8).
    static func withoutEscapes(_ text: String) -> String {
        guard text.utf8.contains(0x1B) else { return text }
        var plain = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\u{1B}" else {
                plain.append(scalar)
                continue
            }
            // A link's URL ends with ESC and a backslash; a color ends with a letter.
            let isLink = rest.first == "]"
            rest = rest.drop { isLink ? $0 != "\u{1B}" : !("A"..."z").contains($0) || $0 == "[" }
            rest = rest.dropFirst(isLink ? 2 : 1)
        }
        return String(plain)
    }

    /// Returns how many columns of a terminal a string takes; characters of East Asian scripts take two.
    static func columns(_ text: some StringProtocol) -> Int {
        withoutEscapes(String(text)).unicodeScalars.reduce(0) { count, scalar in
            switch scalar.value {
            case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
                0xFF00...0xFF60, 0x1F300...0x1F64F, 0x20000...0x3FFFD:
                count + 2
            default: count + 1
            }
        }
    }

    /// Formats rows of equal length; nothing is padded at the end of a line.
    static func text(columns rows: [[String]]) -> String {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { columns($0[column]) }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let isLast = row[(column + 1)...].allSatisfy(\.isEmpty)
                let padding = isLast ? 0 : widths[column] - columns(cell) + 2
                return cell + String(repeating: " ", count: padding)
            }.joined()
        }.joined(separator: "\n")
    }
}
