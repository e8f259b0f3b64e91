import OIDCCore

/// An answer of the AWS Security Token Service: elements, each with text or with other elements. Anything
/// else that XML allows is refused: comments, document types, CDATA sections, processing instructions, and
/// all but the five predefined entities. So is a repeated element.
struct XMLAnswer {
    struct Element: Equatable {
        /// The names from the root to the element: `ErrorResponse/Error/Code`.
        let path: String
        /// The element's text, trimmed.
        var text = ""
    }

    struct Malformed: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    let elements: [Element]

    /// The text of an element.
    subscript(path: String) -> String? { elements.first { $0.path == path }?.text }

    init(parsing bytes: [UInt8]) throws(Malformed) {
        guard let document = String(validating: bytes, as: UTF8.self),
            !bytes.contains(where: { $0 < .space && ![.tab, .lineFeed, .carriageReturn].contains($0) })
        else { throw Malformed("not UTF-8 text") }
        var tags = document.pieces(between: "<")[...]
        guard ["", "\u{FEFF}"].contains(ASCII.trimmed(tags.removeFirst())) else {
            throw Malformed("text outside of elements")
        }
        if let first = tags.first, first.hasPrefix("?xml ") {
            guard ASCII.trimmed(first).hasSuffix("?>") else { throw Malformed("a tag is malformed") }
            tags.removeFirst()
        }
        var parser = XMLParser()
        for tag in tags { try parser.read(tag) }
        guard parser.open.isEmpty, !parser.elements.isEmpty else {
            throw Malformed("an element is not closed")
        }
        elements = parser.elements
    }
}

/// A parser that is fed tag by tag, and knows which elements are open.
private struct XMLParser {
    typealias Element = XMLAnswer.Element
    typealias Malformed = XMLAnswer.Malformed

    private static let elementLimit = 100
    private(set) var elements: [Element] = []
    /// The names of the elements that are not closed yet.
    private(set) var open: [String] = []
    /// The index of the element whose text follows; nil after its end.
    private var current: Int?

    /// Reads what follows a `<`: a tag, and the text up to the next one.
    mutating func read(_ tag: Substring) throws(Malformed) {
        guard let (tag, text) = tag.parts(around: ">") else { throw Malformed("a tag is not closed") }
        if tag.hasPrefix("/") { try close(tag) } else { try start(tag) }
        let content = try XMLParser.decoded(ASCII.trimmed(text))
        if let current {
            elements[current].text = content
        } else if !content.isEmpty {
            throw Malformed("text beside elements")
        }
    }

    private mutating func close(_ tag: Substring) throws(Malformed) {
        guard let name = open.popLast(), "/\(name)" == ASCII.trimmed(tag) else {
            throw Malformed("a tag closes nothing")
        }
        current = nil
    }

    private mutating func start(_ tag: Substring) throws(Malformed) {
        // An element with other elements has no text.
        guard current.map({ elements[$0].text.isEmpty }) ?? (elements.isEmpty || !open.isEmpty) else {
            throw Malformed("an element is misplaced")
        }
        open.append(try XMLParser.name(tag))
        let path = open.joined(separator: "/")
        guard elements.count < XMLParser.elementLimit, !elements.contains(where: { $0.path == path }) else {
            throw Malformed("too many elements, or one is repeated")
        }
        current = elements.count
        elements.append(Element(path: path))
        if tag.hasSuffix("/") {
            current = nil
            open.removeLast()
        }
    }

    /// Returns the name in a start tag. Attributes, such as `xmlns="…"`, are ignored if they are well-formed.
    private static func name(_ tag: Substring) throws(Malformed) -> String {
        let name = tag.prefix { $0.utf8.allSatisfy(ASCII.isAlphanumeric) }
        var rest = tag.hasSuffix("/") ? tag[name.endIndex...].dropLast() : tag[name.endIndex...]
        guard let first = name.utf8.first, !ASCII.isDigit(first), name.utf8.count <= 100 else {
            throw Malformed("a tag is malformed")
        }
        while !ASCII.trimmed(rest).isEmpty {
            guard ASCII.isBlank(rest.utf8.first ?? .slash), let (attribute, value) = rest.parts(around: "="),
                ASCII.trimmed(attribute).utf8.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == .colon }),
                let quote = value.first, quote == "\"" || quote == "'",
                let (_, after) = value.dropFirst().parts(around: String(quote))
            else { throw Malformed("a tag is malformed") }
            rest = after
        }
        return String(name)
    }

    /// Replaces entities such as `&amp;`, and characters by number, such as `&#39;`, which MinIO writes.
    private static func decoded(_ text: String) throws(Malformed) -> String {
        var pieces = text.pieces(between: "&")[...]
        var result = String(pieces.removeFirst())
        for piece in pieces {
            guard let (name, rest) = piece.parts(around: ";"), let scalar = scalar(name) else {
                throw Malformed("an unknown entity")
            }
            result.unicodeScalars.append(scalar)
            result += rest
        }
        return result
    }

    private static func scalar(_ name: Substring) -> Unicode.Scalar? {
        let entities: [(name: Substring, scalar: Unicode.Scalar)] = [
            ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"),
        ]
        if let known = entities.first(where: { $0.name == name }) { return known.scalar }
        let isHexadecimal = name.hasPrefix("#x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard name.hasPrefix("#"), digits.utf8.allSatisfy(ASCII.isAlphanumeric),
            let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), number >= 0x20
        else { return nil }
        return Unicode.Scalar(number)
    }
}
