import CommandLineKit
import OIDCCore
import Posix

/// Errors as text for users and scripts: one line, a hint and an exit code.
enum Diagnostics {
    static func exitCode(_ error: OIDCError) -> Int32 {
        switch error.kind {
        case .failed: 1
        case .usage: 2
        case .loginRequired: 3
        case .refused: 4
        case .unreachable: 5
        case .timedOut: 6
        case .untrusted: 7
        case .interrupted: 130
        }
    }

    /// Writes the last lines of stderr.
    static func write(
        _ error: OIDCError, asJSON: Bool, exitCode: Int32, line: InvokedLine = InvokedLine(CommonOptions())
    ) {
        let report = report(error, asJSON: asJSON, exitCode: exitCode, line: line, style: Console.style)
        StandardError.write(
            asJSON
                ? report
                : WrappedText(.standardError).text(
                    Terminal.text(report, environment: ProcessEnvironment.current)))
    }

    /// Returns the last lines of stderr: two for users, or one of JSON for `-o json`. `line` is the command line that
    /// failed, which the hint is for.
    static func report(
        _ error: OIDCError, asJSON: Bool, exitCode: Int32,
        line: InvokedLine = InvokedLine(CommonOptions()),
        style: TextStyle = TextStyle(isOn: false)
    ) -> String {
        let message = DisplayText.clean(error.message, limit: 900)
        let hint = error.hint.map { hint in
            DisplayText.clean(withoutLongWords(line.text(hint), except: hint.pages), limit: 12_000)
        }
        guard asJSON else {
            return "\(style.bad("error:")) \(DisplayText.singleSpaced(message))\n"
                + (hint.map { "  try: \($0)\n" } ?? "")
        }
        var object = JSONObject()
        object["kind"] = .string(error.kind.rawValue)
        object["exit"] = JSONValue(Int64(exitCode))
        object["stage"] = JSONValue(error.stage?.rawValue)
        object["oauth_error"] = JSONValue(error.oauthError.map { DisplayText.clean($0) })
        object["message"] = .string(message)
        object["hint"] = JSONValue(hint)
        return (["error": .object(object)] as JSONValue).compact + "\n"
    }

    /// Shortens the long words of a hint, which may repeat what was given on the command line. A page to open needs all
    /// of its URL.
    private static func withoutLongWords(_ hint: String, except pages: [String]) -> String {
        hint.split(separator: " ", omittingEmptySubsequences: false)
            .map { word in
                word.utf8.count > 200 && !pages.contains(String(word))
                    ? DisplayText.clean(word, limit: 80) : String(word)
            }
            .joined(separator: " ")
    }
}

extension DisplayText {
    /// Returns the text with one space in place of several. What follows several could look indented, like a hint, where a
    /// terminal breaks the line.
    static func singleSpaced(_ text: String) -> String {
        guard text.includes("  ") else { return text }
        return text.split(separator: " ").joined(separator: " ")
    }
}

extension UsageError.Hint {
    /// Returns a command from words with spaces between them.
    static func run(_ words: String) -> Self { .command(words.split(separator: " ").map(String.init)) }
}

extension Hint {
    /// The URLs of the pages to open.
    fileprivate var pages: [String] {
        parts.compactMap { if case .open(let url) = $0 { url.text } else { nil } }
    }

    fileprivate init(_ hint: UsageError.Hint) {
        switch hint {
        case .text(let text): self = .text(text)
        case .command(let words, let before, let after):
            self =
                before + after == "" ? .command(words) : .words(.text(before), .command(words), .text(after))
        case .options(let words): self = .options(words)
        }
    }
}

extension OIDCError {
    /// Returns the error; if a signal ends the program, its kind is `interrupted`.
    func ended(bySignal isSignaled: Bool) -> OIDCError {
        var error = self
        if isSignaled { error.kind = .interrupted }
        return error
    }

    /// Creates the error for a command line that could not be parsed.
    init(_ error: UsageError) {
        self = .usage(error.message, hint: error.hint.map { Hint($0) })
    }

    /// Creates the error with the command line to type instead as its hint, if only one word is misspelled.
    init(_ error: UsageError, correcting words: [String]) {
        self.init(error)
        hint = TypedLine(words: words).correcting(error.misspelling) ?? hint
    }
}
