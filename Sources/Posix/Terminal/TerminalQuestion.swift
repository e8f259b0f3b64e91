package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A question to the user at the terminal, answered with one line. It needs no escape sequences, so it works
/// on every terminal.
package enum TerminalQuestion {
    /// Whether stdin and stderr are terminals, so the user can be prompted.
    package static var isPossible: Bool {
        FileDescriptor.standardInput.isTerminal && FileDescriptor.standardError.isTerminal
    }

    /// Asks and returns the answer without surrounding spaces; nil at the end of the input. A hidden answer
    /// is not shown while it is typed.
    package static func ask(_ prompt: String, isHidden: Bool = false) throws(OIDCError) -> String? {
        try isHidden ? hiddenLine(prompt) : visibleLine(prompt)
    }

    /// Asks whether something is allowed, and returns whether the answer is yes. Returns nil as soon as
    /// `isWithdrawn`, which is called at least twice a second, returns true. Input typed before the question is
    /// discarded.
    package static func isAllowed(
        _ prompt: String, isWithdrawn: () -> Bool = { false }
    ) throws(OIDCError) -> Bool? {
        _ = tcflush(FileDescriptor.standardInput.rawValue, TCIFLUSH)
        StandardError.write(prompt)
        // While the terminal takes no output, what is typed is no answer to a question that is not on the screen yet.
        let moment = MonotonicTime.now().adding(milliseconds: 200)
        var isLate = false
        while !StandardError.isWritten {
            try throwIfInterrupted()
            guard !isWithdrawn() else { return nil }
            Poll.pause(until: .now().adding(milliseconds: 5))
            isLate = MonotonicTime.now() > moment
        }
        if isLate { _ = tcflush(FileDescriptor.standardInput.rawValue, TCIFLUSH) }
        let input = FileDescriptor.standardInput.rawValue
        while !Poll.wait(for: input, .reading, until: .now().adding(milliseconds: 500)) {
            try throwIfInterrupted()
            guard !isWithdrawn() else {
                StandardError.write("\n")
                return nil
            }
        }
        try throwIfInterrupted()
        let answer = try readLine() ?? ""
        return ["y", "yes"].contains(ASCII.lowercased(answer))
    }

    private static func visibleLine(_ prompt: String) throws(OIDCError) -> String? {
        StandardError.write(prompt)
        try wait(for: FileDescriptor.standardInput.rawValue)
        return try readLine()
    }

    private static func readLine() throws(OIDCError) -> String? {
        let bytes: [UInt8]
        do throws(Errno) { bytes = try FileDescriptor.standardInput.read(limit: 4_096) } catch {
            throw OIDCError(.failed, "the terminal cannot be read: \(error)")
        }
        guard !bytes.isEmpty else {
            StandardError.write("\n")
            return nil
        }
        return ASCII.trimmed(String(decoding: bytes, as: UTF8.self))
    }

    private static func hiddenLine(_ prompt: String) throws(OIDCError) -> String? {
        // Turns echo off before the prompt, so nothing typed after it is shown.
        var input = TerminalInput()
        StandardError.write(prompt)
        defer {
            input.release()
            StandardError.write("\n")
        }
        while true {
            switch input.next() {
            case .line(let line): return ASCII.trimmed(line)
            case .endOfInput: return nil
            case .tooLong: throw OIDCError.usage("the answer is too long")
            case nil: try wait(for: input.descriptor())
            }
        }
    }

    private static func wait(for descriptor: Int32?) throws(OIDCError) {
        guard let descriptor else { throw OIDCError.usage("the terminal belongs to another program") }
        Poll.wait(for: descriptor, .reading, until: nil)
        try throwIfInterrupted()
    }

    private static func throwIfInterrupted() throws(OIDCError) {
        guard Interruption.pending != nil else { return }
        StandardError.write("\n")
        try Interruption.throwIfPending()
    }
}
