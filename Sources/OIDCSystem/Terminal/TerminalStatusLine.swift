import OIDCCore

/// One live line at the bottom of a terminal, written over again and again; nothing where there is none.
package struct TerminalStatusLine: Sendable {
    private let descriptor: FileDescriptor
    private let isShown: Bool
    private var current = ""

    package init(_ descriptor: FileDescriptor = .standardError, environment: [String: String]) {
        self.descriptor = descriptor
        isShown = Terminal.canRewrite(descriptor, environment: environment)
    }

    /// Shows the text in place of the one before, cut to the width of the terminal.
    package mutating func show(_ text: String) {
        guard isShown else { return }
        let line = DisplayText.clean(text, limit: max(1, (Terminal.width(descriptor) ?? 80) - 2))
        guard line != current else { return }
        write("\r\(line)\u{1B}[K")
        current = line
    }

    /// Takes the line away, before anything else is written and at the end.
    package mutating func clear() {
        guard isShown, !current.isEmpty else { return }
        write("\r\u{1B}[K")
        current = ""
    }

    private func write(_ text: String) {
        try? descriptor.writeAll(Array(text.utf8))
    }
}
