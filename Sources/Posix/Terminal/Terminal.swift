import CPlatform
import OIDCCore

/// The capabilities of a terminal.
package enum Terminal {
    package static func isTerminal(_ descriptor: FileDescriptor) -> Bool { descriptor.isTerminal }

    /// Whether this process has a controlling terminal, which `/dev/tty` opens even if no stream is on it.
    package static var isControlling: Bool { oidc_has_terminal() != 0 }

    /// Makes ^Z do nothing, also for programs that are started.
    package static func ignoreStops() { oidc_ignore_stops() }

    /// Returns whether this process may read from a terminal without being stopped.
    package static func isForeground(_ descriptor: FileDescriptor) -> Bool {
        oidc_is_foreground(descriptor.rawValue) != 0
    }

    /// Returns the number of columns; nil if it is not a terminal or its width is unknown.
    package static func width(_ descriptor: FileDescriptor = .standardError) -> Int? {
        let width = Int(oidc_terminal_width(descriptor.rawValue))
        return width > 0 ? width : nil
    }

    /// Returns the number of rows; nil if it is not a terminal or its height is unknown.
    package static func height(_ descriptor: FileDescriptor = .standardError) -> Int? {
        let height = Int(oidc_terminal_height(descriptor.rawValue))
        return height > 0 ? height : nil
    }

    /// Returns whether the locale's encoding is UTF-8 (POSIX Base Definitions §8.2); otherwise, only ASCII is
    /// shown.
    package static func usesUnicode(environment: Variables) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let locale else { return false }
        let encoding = ASCII.lowercased(locale)
        return encoding.hasSuffix("utf-8") || encoding.hasSuffix("utf8") || encoding.includes("utf-8@")
            || encoding.includes("utf8@")
    }

    /// Returns the text as it is, or in ASCII if the locale's encoding is not UTF-8.
    package static func text(_ text: String, environment: Variables) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }), !usesUnicode(environment: environment) else {
            return text
        }
        return text.unicodeScalars.reduce(into: "") { ascii, scalar in
            ascii += scalar.isASCII ? String(scalar) : replacements[scalar] ?? "?"
        }
    }

    private static let replacements: [Unicode.Scalar: String] = [
        "…": "...", "“": "\"", "”": "\"", "‘": "'", "’": "'", "→": "->", "←": "<-", "—": "-", "–": "-",
        "·": "-",
        "●": "*", "✓": "*",
    ]

    /// Returns whether the terminal is known to show links (OSC 8); others may print parts of them.
    package static func showsLinks(
        _ descriptor: FileDescriptor = .standardError, environment: Variables
    ) -> Bool {
        usesColor(descriptor, environment: environment) && knowsLinks(environment)
    }

    private static let linkingTerms: Set<String> = [
        "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "wezterm", "contour",
    ]
    private static let linkingPrograms: Set<String> = ["iTerm.app", "WezTerm", "ghostty", "vscode"]

    /// Returns whether the variables name a terminal that shows links. For tmux and screen, that depends on
    /// their version and on the outer terminal, so they do not count; VTE, as in GNOME Terminal, shows links
    /// since 0.50.
    private static func knowsLinks(_ environment: Variables) -> Bool {
        func value(_ name: String) -> String { environment[name, default: ""] }
        let term = value("TERM")
        guard !term.hasPrefix("screen"), !term.hasPrefix("tmux"), value("TMUX").isEmpty, value("STY").isEmpty
        else { return false }
        return linkingTerms.contains(term) || linkingPrograms.contains(value("TERM_PROGRAM"))
            || !value("WT_SESSION").isEmpty || !value("KONSOLE_VERSION").isEmpty
            || Int(value("VTE_VERSION")) ?? 0 >= 5000
    }

    /// Returns whether to use colors and other escape sequences: on a terminal that is not `dumb`, unless
    /// `NO_COLOR` is set to a nonempty value.
    package static func usesColor(
        _ descriptor: FileDescriptor = .standardError, environment: Variables
    ) -> Bool {
        descriptor.isTerminal && !["", "dumb"].contains(environment["TERM", default: ""])
            && environment["NO_COLOR", default: ""].isEmpty
    }
}

/// A line at the bottom of a terminal that each update replaces. Nothing is shown if escape sequences are not
/// to be used.
package struct TerminalStatusLine: Sendable {
    private let descriptor: FileDescriptor
    private let isShown: Bool
    private var current = ""

    package init(_ descriptor: FileDescriptor = .standardError, environment: Variables) {
        self.descriptor = descriptor
        isShown = Terminal.usesColor(descriptor, environment: environment)
    }

    /// Replaces the text, cut to the width of the terminal. In the background, shows nothing, as it would
    /// overwrite the shell's line.
    package mutating func show(_ text: String) {
        guard isShown, oidc_is_foreground(descriptor.rawValue) != 0 else { return }
        let width = max(1, (Terminal.width(descriptor) ?? 80) - 1)
        let line = String(DisplayText.clean(text, limit: .max).unicodeScalars.prefix(width))
        guard line != current else { return }
        write("\r\(line)\u{1B}[K")
        current = line
    }

    /// Erases the line, before other output and at the end.
    package mutating func clear() {
        guard isShown, !current.isEmpty else { return }
        write("\r\u{1B}[K")
        current = ""
    }

    /// Erases a line that another value shows, before output that cannot wait for it.
    package static func erase(environment: Variables) {
        var line = TerminalStatusLine(environment: environment)
        line.current = " "
        line.clear()
    }

    private func write(_ text: String) {
        guard descriptor != .standardError else { return StandardError.write(text) }
        try? descriptor.writeAll(Array(text.utf8))
    }
}
