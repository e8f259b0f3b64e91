/// The forms in which servers may read a path: as it is, and with its escapes decoded once or several times.
package struct PathReadings {
    /// The path itself, then each decoding of the one before.
    package let all: [[UInt8]]
    /// Whether the last one has no escapes left. A path that needs more decodings is not honest.
    package let isComplete: Bool

    private static let limit = 4

    package init(_ path: some StringProtocol) {
        var readings = [Array(path.utf8)]
        var isComplete = false
        while !isComplete, readings.count <= Self.limit {
            let last = readings[readings.count - 1]
            let decoded = Self.decoded(last)
            isComplete = decoded.count == last.count
            if !isComplete { readings.append(decoded) }
        }
        all = readings
        self.isComplete = isComplete
    }

    /// Whether a server could read `.` or `..` as a segment: also with a parameter (`..;x`), before an escaped `?` or
    /// `#`, behind a backslash, or with the dot, the separator or the escape itself escaped (`%2e`, `%252e`,
    /// `%25%32%65`), in forms that only old decoders accept too (`%u002e`, `%c0%ae`, `%ef%bc%8e`).
    package var haveDotSegments: Bool {
        !isComplete || all.contains(where: Self.hasDotSegments)
    }

    /// The names of the segments as the most lenient server may read them: without parameters, dots and spaces at the end,
    /// empty segments and capital letters.
    package var lenientSegments: [String] {
        Self.narrowed(all[all.count - 1]).split { $0 == .slash || $0 == .backslash }.compactMap { segment in
            var name = segment.prefix { !Self.ends.contains($0) }
            while let last = name.last, last == .period || last == .space { name.removeLast() }
            return name.isEmpty ? nil : ASCII.lowercased(String(decoding: name, as: UTF8.self))
        }
    }

    private static func hasDotSegments(_ path: [UInt8]) -> Bool {
        let path = narrowed(path)
        guard path.contains(.period) else { return false }
        var start = 0
        while start <= path.count {
            let end = path[start...].firstIndex { $0 == .slash || $0 == .backslash } ?? path.endIndex
            if isDots(path[start..<end]) { return true }
            start = end + 1
        }
        return false
    }

    private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.first == .period else { return false }
        let rest = segment.dropFirst(segment.dropFirst().first == .period ? 2 : 1)
        // Windows leaves out spaces at the end.
        return rest.first { $0 != .space }.map(ends.contains) ?? true
    }

    /// The bytes that may end a segment's name: a parameter, what an escape hid from the parser of the URL,
    /// or the end of a string in C.
    private static let ends: [UInt8] = [.semicolon, .questionMark, .hash, 0]

    /// Returns the bytes with overlong UTF-8 (RFC 3629 §3) and other forms of `.`, `/`, `\` and what ends a segment, such
    /// as full-width ones, as ASCII: those that Unicode calls compatible, and the slashes of mathematics, which Windows
    /// replaces when it converts to its old character sets.
    private static func narrowed(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 >= 0xC0 }) else { return bytes }
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let (value, count) = scalar(bytes[index...].prefix(6))
            switch value {
            case 0xFF0E, 0xFE52, 0x2024: result.append(.period)
            case 0x2025: result += [.period, .period]
            case 0xFF0F, 0x2044, 0x2215: result.append(.slash)
            case 0xFF3C, 0xFE68, 0x2216: result.append(.backslash)
            case 0xFF1B, 0xFE54, 0x037E: result.append(.semicolon)
            case 0xFF1F, 0xFE56: result.append(.questionMark)
            case 0xFF03, 0xFE5F: result.append(.hash)
            case ..<0x80: result.append(UInt8(value))
            default: result += bytes[index..<index + count]
            }
            index += count
        }
        return result
    }

    /// Returns the value and the length of the first character; that of a byte that starts none is the byte itself.
    /// After `C0` and `C1`, IIS took any byte for a continuation.
    private static func scalar(_ bytes: ArraySlice<UInt8>) -> (value: Int, count: Int) {
        guard let first = bytes.first else { return (0, 0) }
        let (count, bits) =
            switch first {
            case 0xC0...0xDF: (2, first & 0x1F)
            case 0xE0...0xEF: (3, first & 0x0F)
            case 0xF0...0xF7: (4, first & 0x07)
            case 0xF8...0xFB: (5, first & 0x03)
            case 0xFC...0xFD: (6, first & 0x01)
            default: (1, first)
            }
        let rest = bytes.dropFirst().prefix(count - 1)
        guard rest.count == count - 1, first <= 0xC1 || rest.allSatisfy({ $0 & 0xC0 == 0x80 }) else {
            return (Int(first), 1)
        }
        return (rest.reduce(Int(bits)) { $0 << 6 | Int($1 & 0x3F) }, count)
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var start = 0
        while let escape = bytes[start...].firstIndex(of: .percent) {
            result += bytes[start..<escape]
            if escape + 2 < bytes.count, let high = ASCII.hexValue(bytes[escape + 1]),
                let low = ASCII.hexValue(bytes[escape + 2])
            {
                result.append(high << 4 | low)
                start = escape + 3
            } else if let value = wideEscape(bytes[escape...].prefix(6)) {
                result += String(value).utf8
                start = escape + 6
            } else {
                result.append(.percent)
                start = escape + 1
            }
        }
        return result + bytes[start...]
    }

    /// Returns the character that `%u` and four digits stand for, which IIS decodes; nil for anything else.
    private static func wideEscape(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard bytes.count == 6, bytes.first == .percent,
            bytes.dropFirst().first.map({ $0 | 0x20 }) == UInt8(ascii: "u")
        else { return nil }
        var value: UInt32 = 0
        for byte in bytes.dropFirst(2) {
            guard let digit = ASCII.hexValue(byte) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return Unicode.Scalar(value)
    }
}

extension WebURL {
    /// Whether a server could read `.` or `..` as a segment of the path.
    package var hasDotSegments: Bool { PathReadings(path).haveDotSegments }
}
