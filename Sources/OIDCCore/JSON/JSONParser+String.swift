/// Strings (RFC 8259 §7).
extension JSONParser {
    mutating func string() throws(JSONError) -> String {
        index += 1
        let start = index
        var bits: UInt8 = 0
        while index < bytes.count, bytes[index] != .quote, bytes[index] != .backslash, bytes[index] >= .space
        {
            bits |= bytes[index]
            index += 1
        }
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

    private mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
        var decoded = Array(bytes[start..<index])
        while let character = current {
            index += 1
            switch character {
            case .quote:
                guard let text = String(validating: decoded, as: UTF8.self) else {
                    throw error("a string that is not UTF-8")
                }
                return text
            case .backslash: decoded += try escape()
            case 0..<UInt8.space:
                index -= 1
                throw error("a control character in a string", expecting: .quote)
            default: decoded.append(character)
            }
        }
        throw error("")
    }

    private mutating func escape() throws(JSONError) -> [UInt8] {
        guard let character = current else { throw error("") }
        index += 1
        switch character {
        case .quote, .backslash, .slash: return [character]
        case UInt8(ascii: "b"): return [.backspace]
        case UInt8(ascii: "f"): return [.formFeed]
        case UInt8(ascii: "n"): return [.lineFeed]
        case UInt8(ascii: "r"): return [.carriageReturn]
        case UInt8(ascii: "t"): return [.tab]
        case UInt8(ascii: "u"): return Array(String(try escapedScalar()).utf8)
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
