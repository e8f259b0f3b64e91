/// Names the mistake that people make when they write JSON by hand, and its line and column.
struct JSONMistake {
    /// What the grammar allows at the offset.
    enum Expected {
        case value, name, colon, comma, quote, escape, end
        /// Anything, but the file has ended.
        case more
    }

    let bytes: UnsafeBufferPointer<UInt8>
    /// The byte that the grammar does not allow.
    let offset: Int
    /// Nil if no common mistake leads here.
    let expected: Expected?

    /// Returns the mistake and its place. `reason` is what the grammar says, if no common mistake is recognized.
    func description(or reason: String) -> String {
        if bytes.allSatisfy(JSONMistake.isBlank) { return "it is empty" }
        if isWide { return "it is UTF-16 or UTF-32; save it as UTF-8" }
        let (mistake, place) = common ?? (reason, offset)
        let (line, column) = location(of: place)
        return "line \(line), column \(column): \(mistake)"
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Whether the file has a byte order mark of UTF-16 or UTF-32, or zeros as their ASCII has.
    private var isWide: Bool {
        guard bytes.count >= 2 else { return false }
        return (bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF)
            || bytes[0] == 0 || bytes[1] == 0
    }

    /// Returns the line and column of a byte, from 1. Columns count characters; a byte order mark has none.
    private func location(of place: Int) -> (line: Int, column: Int) {
        var (line, column) = (1, 1)
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF] as [UInt8]) ? 3 : 0
        for byte in bytes[min(start, place)..<min(place, bytes.count)] {
            if byte == 0x0A {
                (line, column) = (line + 1, 1)
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return (line, column)
    }

    /// Where the last byte before the offset is that is not blank.
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
            return byte == 0x0A || byte == 0x0D ? ("a string without its closing quote", offset) : nil
        case .escape: return (#"a single backslash; in a string it is written \\"#, offset)
        case .more: return nil
        case .value, .name, .colon, .comma, .end: return foreign(byte) ?? misplaced(byte, expected)
        }
    }

    /// Names what other notations have and JSON does not.
    private func foreign(_ byte: UInt8) -> (String, Int)? {
        let next = offset + 1 < bytes.count ? bytes[offset + 1] : 0
        switch byte {
        case 0x23: return ("a comment; JSON has none", offset)
        case 0x2F where next == 0x2F || next == 0x2A: return ("a comment; JSON has none", offset)
        case 0x27: return ("single quotes; JSON has double quotes", offset)
        case 0xE2 where next == 0x80: return ("curly quotes; use straight ones", offset)
        default: return nil
        }
    }

    private func misplaced(_ byte: UInt8, _ expected: Expected) -> (String, Int)? {
        let before = previous.map { bytes[$0] }
        let isClosing = byte == 0x7D || byte == 0x5D
        switch expected {
        case .value, .name:
            if isClosing, before == 0x2C, let previous { return ("trailing comma", previous) }
            if isClosing { return expected == .value ? ("a value is missing", offset) : nil }
            if byte == 0x2C { return (before == 0x2C ? "two commas" : "a value is missing", offset) }
            let isName = expected == .name
            return isLetter(byte) ? ("a \(isName ? "name" : "value") without double quotes", offset) : nil
        case .colon: return byte == 0x3D ? ("“=” instead of “:”", offset) : nil
        case .comma:
            if byte == 0x3D || byte == 0x3A { return nil }
            if isClosing { return ("the wrong closing bracket", offset) }
            return previous.map { ("missing comma", $0 + 1) }
        case .end: return isClosing ? ("one closing bracket too many", offset) : nil
        case .quote, .escape, .more: return nil
        }
    }

    private func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte == 0x24
    }
}
