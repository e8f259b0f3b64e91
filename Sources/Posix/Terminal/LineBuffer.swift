import OIDCCore

/// A bounded buffer that splits bytes into lines, and handles editing keys on a terminal.
struct LineBuffer: Sendable {
    private let limit: Int
    private let edits: Bool
    private var line: [UInt8] = []
    /// The number of characters that were typed beyond the limit, which are not kept.
    private var excess = 0
    private var events: [TerminalInput.Event] = []
    private var nextEvent = 0

    init(limit: Int, edits: Bool) {
        self.limit = limit
        self.edits = edits
    }

    var count: Int { line.count }

    /// Removes the unfinished line if it is only this byte, and returns whether it was.
    mutating func take(_ key: UInt8) -> Bool {
        guard line == [key] else { return false }
        line = []
        return true
    }

    mutating func feed(_ bytes: [UInt8]) {
        for byte in bytes {
            switch byte {
            case .lineFeed: finishLine()
            case .carriageReturn where edits: finishLine()
            case .delete where edits, .backspace where edits: erase()
            // Ctrl-U and Ctrl-D
            case 0x15 where edits: clear()
            case 0x04 where edits && line.isEmpty: events.append(.endOfInput)
            case _ where edits && ASCII.isControl(byte): continue
            default: append(byte)
            }
        }
    }

    mutating func next() -> TerminalInput.Event? {
        guard nextEvent < events.count else {
            events = []
            nextEvent = 0
            return nil
        }
        nextEvent += 1
        return events[nextEvent - 1]
    }

    /// Ends the input; a last line without a line end counts.
    mutating func finish() {
        if !line.isEmpty || excess > 0 { finishLine() }
    }

    private mutating func append(_ byte: UInt8) {
        guard excess > 0 || line.count >= limit else { return line.append(byte) }
        if !UTF8.isContinuation(byte) {
            excess += 1
        } else if excess == 0 {
            // The limit is within this character.
            eraseKept()
            excess = 1
        }
    }

    /// Erases the last character, with all its bytes.
    private mutating func erase() {
        if excess > 0 { excess -= 1 } else { eraseKept() }
    }

    private mutating func eraseKept() {
        while let last = line.popLast(), UTF8.isContinuation(last) {}
    }

    private mutating func finishLine() {
        if excess > 0 {
            events.append(.tooLong)
        } else {
            if line.last == .carriageReturn { line.removeLast() }
            events.append(.line(String(decoding: line, as: UTF8.self)))
        }
        clear()
    }

    private mutating func clear() {
        line = []
        excess = 0
    }
}
