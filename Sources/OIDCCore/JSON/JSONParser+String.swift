/// Strings (RFC 8259 §7).
extension JSONParser {
    mutating func string() throws(JSONError) -> String {
        let start = index + 1
        let bits = skipPlain(from: start)
        guard current == .quote else { return try stringWithEscapes(from: start) }
        // ASCII-only strings skip UTF-8 validation, which costs ten times as much as the rest of parsing.
        guard bits >= 0x80 else {
            defer { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }
        guard let text = String(validating: bytes[start..<index], as: UTF8.self) else {
            throw error("a string that is not UTF-8")
        }
        index += 1
        return text
    }

    /// Moves to the next quote, backslash or control character, and returns the bits that are set in any byte
    /// before it.
    private mutating func skipPlain(from start: Int) -> UInt8 {
        var bits: UInt8 = 0
        var end = start
        while end < bytes.count, bytes[end] != .quote, bytes[end] != .backslash, bytes[end] >= .space {
            bits |= bytes[end]
            end += 1
        }
        index = end
        return bits
    }

    private mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
        var decoded = Array(bytes[start..<index])
        while let character = current {
            switch character {
            case .quote:
                index += 1
                guard let text = String(validating: decoded, as: UTF8.self) else {
                    throw error("a string that is not UTF-8")
                }
                return text
            case .backslash:
                index += 1
                try appendEscape(to: &decoded)
            case 0..<UInt8.space: throw error("a control character in a string", expecting: .quote)
            default:
                let first = index
                _ = skipPlain(from: first)
                decoded += bytes[first..<index]
            }
        }
        throw error("")
    }

    private mutating func appendEscape(to decoded: inout [UInt8]) throws(JSONError) {
        guard let character = current else { throw error("") }
        index += 1
        switch character {
        case .quote, .backslash, .slash: decoded.append(character)
        case UInt8(ascii: "b"): decoded.append(.backspace)
        case UInt8(ascii: "f"): decoded.append(.formFeed)
        case UInt8(ascii: "n"): decoded.append(.lineFeed)
        case UInt8(ascii: "r"): decoded.append(.carriageReturn)
        case UInt8(ascii: "t"): decoded.append(.tab)
        case UInt8(ascii: "u"): decoded += String(try escapedScalar()).utf8
        default:
            index -= 1
            throw error("an unknown escape", expecting: .escape)
        }
    }

    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let high = try codeUnit()
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard (0xD800...0xDBFF).contains(high), index + 1 < bytes.count, bytes[index] == .backslash,
            bytes[index + 1] == UInt8(ascii: "u")
        else { throw error("a lone surrogate") }
        index += 2
        let low = try codeUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
        else { throw error("a lone surrogate") }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = current.flatMap(ASCII.hexValue) else {
                throw error("an escape without four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }
}
