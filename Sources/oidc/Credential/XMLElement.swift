import OIDCCore

/// An element of the XML subset that web services send: elements and text, of limited depth. Document types,
/// CDATA sections, processing instructions, and all but the five predefined entities are refused.
struct XMLElement: Equatable {
    /// The name without its namespace prefix.
    let name: String
    var children: [XMLElement] = []
    /// This element's own text, trimmed.
    var text = ""

    struct Malformed: Error, Equatable {
        let reason: String
    }

    /// Returns the first child of that name.
    subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

    init(name: String) {
        self.name = name
    }

    init(parsing bytes: [UInt8]) throws(Malformed) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Malformed(reason: "no UTF-8") }
        var parser = XMLParser(bytes: bytes)
        self = try parser.document()
    }
}

private struct XMLParser {
    static let depthLimit = 16
    static let elementLimit = 1_000

    let bytes: [UInt8]
    var position = 0
    var open: [XMLElement] = []
    var text: [[UInt8]] = []
    var count = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(XMLElement.Malformed) -> XMLElement {
        if take("\u{FEFF}") {}
        if take("<?xml") { try skip(past: "?>") }
        var root: XMLElement?
        while position < bytes.count {
            if take("<!--") {
                try skip(past: "-->")
            } else if bytes[position] == 0x3C {
                guard root == nil else { throw malformed("something follows the root element") }
                root = bytes[position...].starts(with: "</".utf8) ? try closed() : try opened()
            } else {
                try takeText()
            }
        }
        guard let root else { throw malformed(open.isEmpty ? "no element" : "an element is not closed") }
        return root
    }

    /// Reads a start tag. Returns the root element if the tag completes it.
    private mutating func opened() throws(XMLElement.Malformed) -> XMLElement? {
        position += 1
        count += 1
        let element = XMLElement(name: try name())
        guard open.count < XMLParser.depthLimit else { throw malformed("too deep") }
        guard count <= XMLParser.elementLimit else { throw malformed("too many elements") }
        while true {
            let isApart = skipBlanks()
            if take("/>") { return try finished(element, []) }
            if take(">") { break }
            guard isApart else { throw malformed("a tag is malformed") }
            try attribute()
        }
        open.append(element)
        text.append([])
        return nil
    }

    private mutating func closed() throws(XMLElement.Malformed) -> XMLElement? {
        position += 2
        let name = try name()
        skipBlanks()
        guard take(">"), let element = open.popLast(), let content = text.popLast(), element.name == name
        else {
            throw malformed("a tag closes nothing")
        }
        return try finished(element, content)
    }

    private mutating func finished(
        _ element: XMLElement, _ content: [UInt8]
    ) throws(XMLElement.Malformed) -> XMLElement? {
        var element = element
        element.text = XMLParser.trimmed(content)
        guard !open.isEmpty else { return element }
        open[open.count - 1].children.append(element)
        return nil
    }

    private static func trimmed(_ content: [UInt8]) -> String {
        var content = content.drop { $0 <= 0x20 }
        while let last = content.last, last <= 0x20 { content.removeLast() }
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func attribute() throws(XMLElement.Malformed) {
        _ = try name()
        skipBlanks()
        guard take("=") else { throw malformed("an attribute has no value") }
        skipBlanks()
        guard position < bytes.count, bytes[position] == 0x22 || bytes[position] == 0x27 else {
            throw malformed("an attribute is not quoted")
        }
        let quote = bytes[position]
        guard let end = bytes[(position + 1)...].firstIndex(of: quote),
            !bytes[position..<end].contains(0x3C)
        else { throw malformed("an attribute is not closed") }
        position = end + 1
    }

    private mutating func takeText() throws(XMLElement.Malformed) {
        let byte = bytes[position]
        guard !open.isEmpty else {
            guard [0x20, 0x09, 0x0A, 0x0D].contains(byte) else { throw malformed("text outside of elements") }
            position += 1
            return
        }
        if byte == 0x26 { return text[text.count - 1] += try reference() }
        guard byte >= 0x20 || [0x09, 0x0A, 0x0D].contains(byte) else {
            throw malformed("a control character")
        }
        text[text.count - 1].append(byte)
        position += 1
    }

    /// Parses an entity such as `&amp;`, `&#38;` or `&#x26;`.
    private mutating func reference() throws(XMLElement.Malformed) -> [UInt8] {
        let rest = bytes[(position + 1)...].prefix(12)
        guard let end = rest.firstIndex(of: 0x3B) else { throw malformed("an entity is not closed") }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        position = end + 1
        let known = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
        if let text = known[name] { return Array(text.utf8) }
        let isHexadecimal = name.hasPrefix("#x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        let number =
            name.hasPrefix("#") && digits.utf8.allSatisfy(ASCII.isAlphanumeric)
            ? UInt32(digits, radix: isHexadecimal ? 16 : 10) : nil
        guard let scalar = number.flatMap(Unicode.Scalar.init), scalar.value >= 0x20 else {
            throw malformed("an entity that is not XML's own")
        }
        return Array(String(scalar).utf8)
    }

    private mutating func name() throws(XMLElement.Malformed) -> String {
        let rest = bytes[position...]
        let name = rest.prefix { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
            default: false
            }
        }
        guard let first = name.first, first >= 0x3A else { throw malformed("a tag is malformed") }
        position += name.count
        let local = name.lastIndex(of: 0x3A).map { name[(name.index(after: $0))...] } ?? name
        guard let first = local.first, first >= 0x41 else { throw malformed("a name is malformed") }
        return String(decoding: local, as: UTF8.self)
    }

    @discardableResult
    private mutating func skipBlanks() -> Bool {
        let start = position
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
        return position > start
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func skip(past text: String) throws(XMLElement.Malformed) {
        while position < bytes.count {
            if take(text) { return }
            position += 1
        }
        throw malformed("something is not closed")
    }

    private func malformed(_ reason: String) -> XMLElement.Malformed {
        XMLElement.Malformed(reason: reason)
    }
}
