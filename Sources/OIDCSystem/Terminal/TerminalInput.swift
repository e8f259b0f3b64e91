import CPlatform

/// Lines that the user pastes or a program sends, read as they come so other things can be waited for
/// meanwhile. A terminal's own line editing cuts a line at 4,095 bytes, which is less than some redirected
/// addresses have: on a terminal the editing happens here, without echo, as what is pasted holds a code.
package struct TerminalInput: Sendable {
    package enum Event: Hashable, Sendable {
        /// Without its line end; bytes that are not valid UTF-8 are replaced.
        case line(String)
        case endOfInput
        /// The line is not used; what comes after it is.
        case tooLong
    }

    private let source: FileDescriptor
    private let isTerminal: Bool
    private var lines: LineBuffer
    private var isAtEnd = false

    /// On a terminal it takes line editing over until `release`.
    package init(_ source: FileDescriptor = .standardInput, lineLimit: Int = 65_536) {
        self.source = source
        isTerminal = source.isTerminal
        lines = LineBuffer(limit: lineLimit, edits: isTerminal)
        if isTerminal { _ = oidc_take_lines(source.rawValue) }
    }

    /// Whether stdin is closed or has nothing more to give.
    package static var isExhausted: Bool {
        !FileDescriptor.standardInput.isTerminal
            && oidc_input_is_exhausted(FileDescriptor.standardInput.rawValue) != 0
    }

    /// To wait for with `Poll`; nil at the end of the input, and while another program has the terminal: a
    /// process in the background is stopped when it reads.
    package var descriptor: Int32? {
        guard !isAtEnd else { return nil }
        guard !isTerminal || oidc_is_foreground(source.rawValue) != 0 else { return nil }
        return source.rawValue
    }

    /// How much of an unfinished line is there, to be shown in place of an echo.
    package var pendingCount: Int { lines.count }

    /// What has come, once the descriptor is readable; nil while no line is complete. Call again until nil or
    /// the end of the input.
    package mutating func next() -> Event? {
        guard !isAtEnd else { return lines.next() ?? .endOfInput }
        if let event = lines.next() { return noting(event) }
        guard let descriptor else { return nil }
        var interests = [Poll.Interest(descriptor, .reading)]
        guard Poll.wait(&interests, until: .now()) else { return nil }
        let bytes = (try? source.read(limit: 16_384)) ?? []
        lines.feed(bytes)
        if bytes.isEmpty {
            lines.finish()
            isAtEnd = true
        }
        return lines.next().map { noting($0) } ?? (isAtEnd ? .endOfInput : nil)
    }

    private mutating func noting(_ event: Event) -> Event {
        if event == .endOfInput { isAtEnd = true }
        return event
    }

    /// Gives line editing back to the terminal.
    package func release() {
        if isTerminal { oidc_release_lines() }
    }
}
