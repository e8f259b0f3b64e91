import OIDCCore

/// The names of an object's members and the ranges of their values, for parsing only a few of the values.
struct JSONOutline {
    struct Member {
        let name: String
        let value: Range<Int>
    }

    /// The members of the document.
    let members: [Member]
    /// The members of the expanded object; nil if there is none.
    let inner: [Member]?
    /// Whether a skipped value may contain a member with one of the sought names.
    let mayHoldName: Bool

    /// Parses the outline of a document and of the object in its member `name`, and looks for the names in
    /// `sought` inside skipped values. Inside skipped objects and arrays, only strings and brackets are
    /// checked.
    init(of bytes: [UInt8], expanding name: String, seeking sought: [String]) throws(JSONError) {
        var outcome: Result<JSONOutline, JSONError> = .success(
            JSONOutline(members: [], inner: nil, mayHoldName: false))
        bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONOutlineReader(
                parser: JSONParser(bytes: buffer), sought: sought.map { Array($0.utf8) })
            outcome = Result { () throws(JSONError) in try reader.read(expanding: name) }
        }
        self = try outcome.get()
    }

    fileprivate init(members: [Member], inner: [Member]?, mayHoldName: Bool) {
        (self.members, self.inner, self.mayHoldName) = (members, inner, mayHoldName)
    }
}

/// A reader of names that skips values.
private struct JSONOutlineReader {
    var parser: JSONParser
    let sought: [[UInt8]]
    private var isFound = false

    init(parser: JSONParser, sought: [[UInt8]]) {
        self.parser = parser
        self.sought = sought
    }

    mutating func read(expanding name: String) throws(JSONError) -> JSONOutline {
        var members: [JSONOutline.Member] = []
        var inner: [JSONOutline.Member]?
        parser.skipMark()
        var isMore = try open()
        while isMore {
            let member = try parser.name()
            try parser.colon()
            parser.skipBlanks()
            let start = parser.index
            if member == name, parser.current == .leftBrace {
                inner = try outlinedObject()
            } else {
                try skipValue(depth: 1)
            }
            members.append(JSONOutline.Member(name: member, value: start..<parser.index))
            isMore = try parser.continues(until: .rightBrace)
        }
        try parser.end()
        return JSONOutline(members: members, inner: inner, mayHoldName: isFound)
    }

    private mutating func outlinedObject() throws(JSONError) -> [JSONOutline.Member] {
        var members: [JSONOutline.Member] = []
        var isMore = try open()
        while isMore {
            let name = try parser.name()
            try parser.colon()
            parser.skipBlanks()
            let start = parser.index
            try skipValue(depth: 2)
            members.append(JSONOutline.Member(name: name, value: start..<parser.index))
            isMore = try parser.continues(until: .rightBrace)
        }
        return members
    }

    /// Skips the start of an object, and returns whether it has members.
    private mutating func open() throws(JSONError) -> Bool {
        parser.skipBlanks()
        guard parser.current == .leftBrace else { throw parser.error("expected an object") }
        parser.index += 1
        return !skipEnd(.rightBrace)
    }

    /// Skips the end of an empty object or array; returns false if it is not empty.
    private mutating func skipEnd(_ end: UInt8) -> Bool {
        parser.skipBlanks()
        guard parser.current == end else { return false }
        parser.index += 1
        return true
    }

    /// Skips a value. Inside an object or array, only strings and brackets are checked.
    private mutating func skipValue(depth: Int) throws(JSONError) {
        switch parser.current {
        case .quote: parser.index = try endOfString(from: parser.index)
        case .leftBrace, .leftBracket: try skipBrackets(depth: depth)
        default: _ = try parser.value(depth: depth)
        }
    }

    private mutating func skipBrackets(depth: Int) throws(JSONError) {
        let bytes = parser.bytes
        var index = parser.index
        // One bit for each open bracket, 1 for a brace.
        var (open, count) = (UInt64(0), 0)
        repeat {
            guard index < bytes.count else {
                parser.index = index
                throw parser.error("")
            }
            let byte = bytes[index]
            switch byte {
            case .quote:
                index = try endOfString(from: index)
                continue
            case .leftBrace, .leftBracket:
                open = open << 1 | (byte == .leftBrace ? 1 : 0)
                count += 1
                guard depth + count <= JSONParser.maximumDepth else {
                    throw parser.error("nested too deeply")
                }
            case .rightBrace, .rightBracket:
                guard open & 1 == (byte == .rightBrace ? 1 : 0) else {
                    parser.index = index
                    throw parser.error("missing \",\" or a closing bracket")
                }
                open >>= 1
                count -= 1
            default: break
            }
            index &+= 1
        } while count > 0
        parser.index = index
    }

    /// Returns the index after a string that starts at `start`, and records whether it may be a sought name.
    private mutating func endOfString(from start: Int) throws(JSONError) -> Int {
        let bytes = parser.bytes
        var index = start + 1
        var hasEscapes = false
        while true {
            index = JSONOutlineReader.afterPlainBytes(bytes, from: index)
            guard index < bytes.count else { break }
            let byte = bytes[index]
            index &+= 1
            if byte == .quote {
                if !isFound { isFound = hasEscapes || isSought((start + 1)..<(index - 1)) }
                return index
            }
            if byte == .backslash {
                hasEscapes = true
                index &+= 1
            } else if byte < .space {
                parser.index = index - 1
                throw parser.error("a control character in a string")
            }
        }
        parser.index = bytes.count
        throw parser.error("")
    }

    private func isSought(_ range: Range<Int>) -> Bool {
        sought.contains { $0.count == range.count && parser.bytes[range].elementsEqual($0) }
    }

    /// Returns the index of the first quote, backslash or control character, or the end. Eight bytes are
    /// searched at a time.
    private static func afterPlainBytes(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        var index = start
        while index &+ 8 <= raw.count {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let (quotes, escapes) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
            let hits =
                ((quotes &- ones) & ~quotes | (escapes &- ones) & ~escapes | (word &- ones &* 0x20) & ~word)
                & highs
            // The subtraction can borrow and make false hits, but only in bytes after a true one.
            guard hits == 0 else { return index &+ hits.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < raw.count, raw[index] != .quote, raw[index] != .backslash, raw[index] >= .space {
            index &+= 1
        }
        return index
    }
}
