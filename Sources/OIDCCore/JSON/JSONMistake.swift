/// The reason why a string is not JSON, with its position.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error, without its position.
    public let reason: String
    /// The byte offset of the error.
    public let offset: Int
    /// The error in a file that a user wrote, by line and column: `line 3, column 5: trailing comma`.
    package let inFile: String

    /// The reason and the position.
    public var description: String { "\(reason) at byte \(offset)" }
}

/// A common mistake in handwritten JSON, with its line and column.
package struct JSONMistake {
    /// The tokens that the grammar allows at the offset.
    package enum Expected {
        case value, name, colon, comma, quote, escape, end
        /// Any token, as the file has ended.
        case more
    }

    let bytes: UnsafeBufferPointer<UInt8>
    /// The byte that the grammar does not allow.
    let offset: Int
    /// The expected token; nil if no common mistake leads to this error.
    let expected: Expected?

    /// Returns the mistake with its position, or the problem of the file as a whole. `reason` is used if the
    /// mistake is not a common one.
    func description(or reason: String) -> String {
        if bytes.allSatisfy(JSONMistake.isBlank) { return "it is empty" }
        // Some file systems leave such a file after a power failure.
        if bytes.allSatisfy({ $0 == 0 }) { return "it contains only NUL bytes" }
        if isWide { return "it is UTF-16 or UTF-32; save it as UTF-8" }
        let (mistake, place) = common ?? (reason, offset)
        let (line, column) = location(of: place)
        return "line \(line), column \(column): \(mistake)"
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == .space || byte == .tab || byte == .lineFeed || byte == .carriageReturn
    }

    /// Whether the file is UTF-16 or UTF-32, by its byte order mark or the zeros in its ASCII characters.
    private var isWide: Bool {
        guard bytes.count >= 2 else { return false }
        return (bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF)
            || bytes[0] == 0 || bytes[1] == 0
    }

    /// Returns the line and column of a byte, counted from 1. Columns count characters, without a byte order
    /// mark.
    private func location(of place: Int) -> (line: Int, column: Int) {
        var (line, column) = (1, 1)
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF] as [UInt8]) ? 3 : 0
        for byte in bytes[min(start, place)..<min(place, bytes.count)] {
            if byte == .lineFeed {
                (line, column) = (line + 1, 1)
            } else if !UTF8.isContinuation(byte) {
                column += 1
            }
        }
        return (line, column)
    }

    /// The index of the last non-blank byte before the offset; nil if there is none.
    private var previous: Int? {
        bytes[..<min(offset, bytes.count)].lastIndex { !JSONMistake.isBlank($0) }
    }

    private var common: (String, Int)? {
        guard let expected else { return nil }
        guard offset < bytes.count else {
            return ("the file ends here, but a quote or bracket is still open", offset)
        }
        let byte = bytes[offset]
        switch expected {
        case .quote:
            return byte == .lineFeed || byte == .carriageReturn
                ? ("a string without its closing quote", offset) : nil
        case .escape: return (#"a single backslash; in a string it is written \\"#, offset)
        case .more: return nil
        case .value, .name, .colon, .comma, .end: return foreign(byte) ?? misplaced(byte, expected)
        }
    }

    /// Returns the mistake if the byte starts a notation that JSON does not have.
    private func foreign(_ byte: UInt8) -> (String, Int)? {
        let next = offset + 1 < bytes.count ? bytes[offset + 1] : 0
        switch byte {
        case .hash: return ("a comment; JSON has none", offset)
        case .slash where next == .slash || next == UInt8(ascii: "*"):
            return ("a comment; JSON has none", offset)
        case .apostrophe: return ("single quotes; JSON has double quotes", offset)
        case 0xE2 where next == 0x80: return ("curly quotes; use straight ones", offset)
        default: return nil
        }
    }

    private func misplaced(_ byte: UInt8, _ expected: Expected) -> (String, Int)? {
        let before = previous.map { bytes[$0] }
        let isClosing = byte == .rightBrace || byte == .rightBracket
        switch expected {
        case .value, .name:
            if isClosing, before == .comma, let previous { return ("trailing comma", previous) }
            if isClosing { return expected == .value ? ("a value is missing", offset) : nil }
            if byte == .comma { return (before == .comma ? "two commas" : "a value is missing", offset) }
            let isName = expected == .name
            return isLetter(byte) ? ("a \(isName ? "name" : "value") without double quotes", offset) : nil
        case .colon: return byte == .equals ? ("\"=\" instead of \":\"", offset) : nil
        case .comma:
            if byte == .equals || byte == .colon { return nil }
            if isClosing { return ("the wrong closing bracket", offset) }
            return previous.map { ("missing comma", $0 + 1) }
        case .end: return isClosing ? ("one closing bracket too many", offset) : nil
        case .quote, .escape, .more: return nil
        }
    }

    private func isLetter(_ byte: UInt8) -> Bool {
        ASCII.isUppercase(byte) || ASCII.isLowercase(byte) || byte == .underscore || byte == UInt8(ascii: "$")
    }
}
