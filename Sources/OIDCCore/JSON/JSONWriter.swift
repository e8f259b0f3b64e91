extension JSONValue {
    /// The JSON text on one line, without spaces.
    public var compact: String { written(indented: false) }

    /// The JSON text indented by two spaces.
    public var indented: String { written(indented: true) }

    /// Returns the indented text of a part of a configuration that is inside `level` objects. A list or object that
    /// is a profile's setting stays on one line if it is short and simple.
    package func configuration(within level: Int) -> String { written(indented: true, level: level) }

    /// The compact JSON text in UTF-8.
    public var bytes: [UInt8] { Array(compact.utf8) }

    private func written(indented: Bool, level: Int? = nil) -> String {
        var writer = JSONWriter(isIndented: indented, level: level)
        writer.write(self, depth: 0)
        return String(decoding: writer.output, as: UTF8.self)
    }
}

private struct JSONWriter {
    private let isIndented: Bool
    /// The number of objects around the value, in a configuration.
    let level: Int?
    var output: [UInt8] = []

    init(isIndented: Bool, level: Int?) {
        self.isIndented = isIndented
        self.level = level
    }

    mutating func write(_ value: JSONValue, depth: Int) {
        switch value {
        case .null: output += "null".utf8
        case .bool(let flag): output += (flag ? "true" : "false").utf8
        case .number(let number): output += number.text.utf8
        case .string(let text): write(text)
        case .array(let items):
            let isLine = isLine(items, depth: depth)
            write(items, between: .leftBracket, and: .rightBracket, depth: depth, isLine: isLine) {
                writer, item in
                writer.write(item, depth: depth + 1)
            }
        case .object(let object):
            let isLine = isLine(object.members.map(\.value), depth: depth)
            write(object.members, between: .leftBrace, and: .rightBrace, depth: depth, isLine: isLine) {
                writer, member in
                writer.write(member.name)
                writer.output += (writer.isIndented ? ": " : ":").utf8
                writer.write(member.value, depth: depth + 1)
            }
        }
    }

    private mutating func write<Item>(
        _ items: [Item], between open: UInt8, and close: UInt8, depth: Int, isLine: Bool,
        each: (inout JSONWriter, Item) -> Void
    ) {
        output.append(open)
        for (position, item) in items.enumerated() {
            if position > 0 { output += (isLine ? ", " : ",").utf8 }
            if !isLine { startLine(depth: depth + 1) }
            each(&self, item)
        }
        if !items.isEmpty, !isLine { startLine(depth: depth) }
        output.append(close)
    }

    /// Returns whether items stay on one line: a few simple values in a profile's setting, which is the third level
    /// of a configuration.
    private func isLine(_ items: [JSONValue], depth: Int) -> Bool {
        guard let level, level + depth >= 3, items.count <= 4 else { return false }
        return items.allSatisfy { $0.object == nil && $0.array == nil && $0.compact.utf8.count <= 40 }
    }

    private mutating func startLine(depth: Int) {
        guard isIndented else { return }
        output.append(.lineFeed)
        for _ in 0..<depth { output += "  ".utf8 }
    }

    /// Writes a string. Control, invisible and bidirectional characters are escaped (CWE-150); all others are
    /// written unchanged.
    private mutating func write(_ text: String) {
        output.append(.quote)
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            writeBytes(text.utf8)
        } else {
            for scalar in text.unicodeScalars {
                if scalar.isASCII || !DisplayText.isInvisible(scalar) {
                    writeBytes(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                } else {
                    for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                        writeEscape(unit)
                    }
                }
            }
        }
        output.append(.quote)
    }

    private mutating func writeBytes(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            switch byte {
            case .quote, .backslash: output += [.backslash, byte]
            case .lineFeed: output += "\\n".utf8
            case .carriageReturn: output += "\\r".utf8
            case .tab: output += "\\t".utf8
            case _ where ASCII.isControl(byte): writeEscape(UInt16(byte))
            default: output.append(byte)
            }
        }
    }

    private mutating func writeEscape(_ unit: UInt16) {
        output += "\\u".utf8
        for shift in [12, 8, 4, 0] as [UInt16] {
            output.append(ASCII.hexDigit(UInt8(unit >> shift & 15)))
        }
    }
}
