import CPlatform
import OIDCCore

/// The capabilities of a terminal.
package enum Terminal {
    package static func isTerminal(_ descriptor: FileDescriptor) -> Bool { descriptor.isTerminal }

    /// Returns the number of columns; nil if it is not a terminal or its width is unknown.
    package static func width(_ descriptor: FileDescriptor = .standardError) -> Int? {
        let width = Int(oidc_terminal_width(descriptor.rawValue))
        return width > 0 ? width : nil
    }

    /// Returns whether to use colors and overwrite lines: on a terminal that is not `dumb`, unless `NO_COLOR`
    /// is set to a nonempty value.
    package static func usesColor(
        _ descriptor: FileDescriptor = .standardError, environment: [String: String]
    ) -> Bool {
        canRewrite(descriptor, environment: environment) && environment["NO_COLOR", default: ""].isEmpty
    }

    static func canRewrite(_ descriptor: FileDescriptor, environment: [String: String]) -> Bool {
        descriptor.isTerminal && !["", "dumb"].contains(environment["TERM", default: ""])
    }
}

/// A line at the bottom of a terminal that is overwritten to show progress; without a terminal it does
/// nothing.
package struct TerminalStatusLine: Sendable {
    private let descriptor: FileDescriptor
    private let isShown: Bool
    private var current = ""

    package init(_ descriptor: FileDescriptor = .standardError, environment: [String: String]) {
        self.descriptor = descriptor
        isShown = Terminal.canRewrite(descriptor, environment: environment)
    }

    /// Replaces the text, cut to the width of the terminal.
    package mutating func show(_ text: String) {
        guard isShown else { return }
        let line = DisplayText.clean(text, limit: max(1, (Terminal.width(descriptor) ?? 80) - 2))
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

    private func write(_ text: String) {
        try? descriptor.writeAll(Array(text.utf8))
    }
}
