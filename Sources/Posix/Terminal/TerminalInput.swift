import CPlatform

/// Lines that the user pastes or a program sends, read without blocking.
///
/// A terminal's own line editing cuts lines at 4,095 bytes, which is too short for some redirected URLs. On a
/// terminal, lines are therefore edited here, without echo, as pasted URLs contain a code.
package struct TerminalInput: Sendable {
    package enum Event: Hashable, Sendable {
        /// A line without its line end; invalid UTF-8 is replaced.
        case line(String)
        case endOfInput
        /// A line over the limit, which is dropped; later lines are read.
        case tooLong
    }

    private let source: FileDescriptor
    private let isTerminal: Bool
    private var lines: LineBuffer
    private var isAtEnd = false

    /// Starts reading. On a terminal, takes over line editing until `release` or the end of the input.
    package init(_ source: FileDescriptor = .standardInput) {
        self.source = source
        isTerminal = source.isTerminal
        lines = LineBuffer(limit: 65_536, edits: isTerminal)
        if isTerminal { _ = oidc_take_lines(source.rawValue) }
    }

    /// Whether stdin is closed or at its end.
    package static var isExhausted: Bool {
        !FileDescriptor.standardInput.isTerminal
            && oidc_input_is_exhausted(FileDescriptor.standardInput.rawValue) != 0
    }

    /// Returns the descriptor to wait for; nil at the end of the input, and while another program is in the
    /// terminal's foreground, as reading would stop this process.
    ///
    /// Takes over line editing again, as a shell that stopped this process has changed it.
    package func descriptor() -> Int32? {
        guard !isAtEnd else { return nil }
        guard !isTerminal || oidc_take_lines(source.rawValue) == 0 else { return nil }
        return source.rawValue
    }

    /// The length of an unfinished line, to be shown instead of an echo.
    package var pendingCount: Int { lines.count }

    /// Removes the unfinished line if it is only this key, and returns whether it was.
    package mutating func take(_ key: Unicode.Scalar) -> Bool { lines.take(UInt8(ascii: key)) }

    /// Returns the next event, once the descriptor is readable; nil if no line is complete. Call it until it
    /// returns nil or the end of the input.
    package mutating func next() -> Event? {
        guard !isAtEnd else { return lines.next() ?? .endOfInput }
        if let event = lines.next() { return noting(event) }
        guard let descriptor = descriptor(), Poll.isReady(descriptor, .reading) else { return nil }
        let bytes = (try? source.read(limit: 16_384)) ?? []
        lines.feed(bytes)
        if bytes.isEmpty {
            lines.finish()
            end()
        }
        return lines.next().map { noting($0) } ?? (isAtEnd ? .endOfInput : nil)
    }

    private mutating func noting(_ event: Event) -> Event {
        if event == .endOfInput { end() }
        return event
    }

    private mutating func end() {
        isAtEnd = true
        release()
    }

    /// Gives line editing back to the terminal.
    package func release() {
        if isTerminal { oidc_release_lines() }
    }
}
