extension JSONValue {
    /// Parses one value (RFC 8259). Refuses duplicate members, nesting deeper than 64, lone surrogates,
    /// invalid UTF-8, and anything after the value.
    public init(parsing bytes: [UInt8]) throws(JSONError) {
        var outcome: Result<JSONValue, JSONError> = .success(.null)
        bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(bytes: buffer)
            outcome = Result { () throws(JSONError) in try parser.document() }
        }
        self = try outcome.get()
    }

    /// Parses a document.
    public init(parsing text: String) throws(JSONError) {
        try self.init(parsing: Array(text.utf8))
    }
}

/// A recursive-descent parser over bytes, of bounded depth.
package struct JSONParser {
    package static let maximumDepth = 64
    package let bytes: UnsafeBufferPointer<UInt8>
    package var index = 0

    package init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func document() throws(JSONError) -> JSONValue {
        skipMark()
        let value = try value(depth: 0)
        try end()
        return value
    }

    /// Skips a byte order mark (RFC 8259 §8.1).
    package mutating func skipMark() {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// Checks that nothing follows the value.
    package mutating func end() throws(JSONError) {
        skipBlanks()
        guard index == bytes.count else { throw error("unexpected text after the value", expecting: .end) }
    }

    package func error(_ reason: String, expecting expected: JSONMistake.Expected? = nil) -> JSONError {
        index >= bytes.count
            ? error("the text is incomplete", at: index, expecting: .more)
            : error(reason, at: index, expecting: expected)
    }

    private func error(
        _ reason: String, at offset: Int, expecting expected: JSONMistake.Expected? = nil
    ) -> JSONError {
        let mistake = JSONMistake(bytes: bytes, offset: offset, expected: expected)
        return JSONError(reason: reason, offset: offset, inFile: mistake.description(or: reason))
    }

    package var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    package mutating func skipBlanks() {
        while index < bytes.count {
            switch bytes[index] {
            case .space, .tab, .lineFeed, .carriageReturn: index += 1
            default: return
            }
        }
    }

    package mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < JSONParser.maximumDepth else { throw error("nested too deeply") }
        skipBlanks()
        switch current {
        case .leftBrace: return .object(try object(depth: depth))
        case .leftBracket: return .array(try array(depth: depth))
        case .quote: return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case let byte? where byte == .hyphen || ASCII.isDigit(byte):
            return .number(try number())
        default: throw error("expected a value", expecting: .value)
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let length = word.utf8CodeUnitCount
        guard index + length <= bytes.count,
            (0..<length).allSatisfy({ bytes[index + $0] == word.utf8Start[$0] })
        else { throw error("expected a value", expecting: .value) }
        index += length
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        index += 1
        var members: [JSONObject.Member] = []
        var earlier: Set<[UInt8]> = []
        skipBlanks()
        if current == .rightBrace {
            index += 1
            return JSONObject()
        }
        while true {
            skipBlanks()
            let start = index
            let name = try name()
            let isNew =
                members.count < 32
                ? !members.contains { ExactText.isSame($0.name, name) }
                : isNewName(name, among: members, &earlier)
            guard isNew else {
                throw error("duplicate member \(DisplayText.quoted(name, limit: 60))", at: start)
            }
            try colon()
            members.append(JSONObject.Member(name: name, value: try value(depth: depth + 1)))
            guard try continues(until: .rightBrace) else { return JSONObject(unique: members) }
        }
    }

    package mutating func name() throws(JSONError) -> String {
        skipBlanks()
        guard current == .quote else {
            throw error("a member's name must be a string", expecting: .name)
        }
        return try string()
    }

    package mutating func colon() throws(JSONError) {
        skipBlanks()
        guard current == .colon else {
            throw error("missing \":\" after a member's name", expecting: .colon)
        }
        index += 1
    }

    /// Returns whether a name is new. Names are compared by code point (RFC 8259 §8.3). Small objects are searched,
    /// large ones use a set, so none takes quadratic time.
    private func isNewName(
        _ name: String, among members: [JSONObject.Member], _ earlier: inout Set<[UInt8]>
    ) -> Bool {
        if earlier.isEmpty { earlier = Set(members.map { Array($0.name.utf8) }) }
        return earlier.insert(Array(name.utf8)).inserted
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        index += 1
        var items: [JSONValue] = []
        skipBlanks()
        if current == .rightBracket {
            index += 1
            return items
        }
        while true {
            items.append(try value(depth: depth + 1))
            guard try continues(until: .rightBracket) else { return items }
        }
    }

    package mutating func continues(until end: UInt8) throws(JSONError) -> Bool {
        skipBlanks()
        let character = current
        guard character == .comma || character == end else {
            throw error("missing \",\" or a closing bracket", expecting: .comma)
        }
        index += 1
        return character == .comma
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = index
        if current == .hyphen { index += 1 }
        let integerStart = index
        guard skipDigits() > 0 else { throw error("expected a digit") }
        guard bytes[integerStart] != UInt8(ascii: "0") || index == integerStart + 1 else {
            throw error("a number with leading zeros")
        }
        if current == .period {
            index += 1
            guard skipDigits() > 0 else { throw error("no digits after the decimal point") }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            index += 1
            if current == .plus || current == .hyphen { index += 1 }
            guard skipDigits() > 0 else { throw error("no digits in the exponent") }
        }
        return JSONNumber(validated: String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = index
        while let digit = current, ASCII.isDigit(digit) { index += 1 }
        return index - start
    }
}

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
