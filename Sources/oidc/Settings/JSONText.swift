import OIDCCore

/// The text of a JSON object, edited member by member. Order, blanks and line ends are kept.
struct JSONText {
    private(set) var bytes: [UInt8]

    /// Creates an editor of a string, which must be a valid JSON object.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private struct Member {
        let name: String
        let start: Int
        let value: Range<Int>
    }

    private struct Span {
        let open: Int
        let close: Int
        let members: [Member]
    }

    /// Replaces a member's value in the object at a path, or adds the member at the object's start or end.
    /// Does nothing if there is no such object.
    mutating func set(_ name: String, to value: JSONValue, in path: [String], first: Bool = false) {
        guard let object = object(at: path) else { return }
        if let member = object.members.last(where: { ExactText.isSame($0.name, name) }) {
            replace(member.value, with: text(value, below: indentation(at: member.start)))
            return
        }
        guard let last = object.members.last, let start = object.members.first?.start else {
            return fill(object, name, value)
        }
        let model = first ? start : last.start
        var lead = Array(bytes[leadStart(of: model)..<model])
        if lead.isEmpty, object.members.count == 1, bytes[last.value.lowerBound - 1] == .space {
            lead = [.space]
        }
        let member = self.member(name, value, like: last, indentation: indentation(at: model))
        if first {
            replace(start..<start, with: member + [.comma] + (lead.isEmpty ? [] : lead))
        } else {
            replace(last.value.upperBound..<last.value.upperBound, with: [.comma] + lead + member)
        }
    }

    /// Removes a member from the object at a path, if it is there.
    mutating func remove(_ name: String, in path: [String]) {
        guard let object = object(at: path),
            let index = object.members.firstIndex(where: { ExactText.isSame($0.name, name) })
        else { return }
        let member = object.members[index]
        if index + 1 < object.members.count {
            replace(member.start..<object.members[index + 1].start, with: [])
        } else if index > 0 {
            replace(object.members[index - 1].value.upperBound..<member.value.upperBound, with: [])
        } else {
            replace(object.open + 1..<object.close, with: [])
        }
    }

    private mutating func replace(_ range: Range<Int>, with text: [UInt8]) {
        bytes.replaceSubrange(range, with: text)
    }

    /// Adds the only member of an empty object: on a line of its own, unless the file is a single line.
    private mutating func fill(_ object: Span, _ name: String, _ value: JSONValue) {
        let isLine = !bytes[..<object.close].contains(.lineFeed) && object.open > start
        let outer = indentation(at: object.open)
        let inner = outer + unit
        var content = isLine ? [] : newline + inner
        content += JSONValue.string(name).bytes + Array(": ".utf8) + text(value, below: inner)
        if !isLine { content += newline + outer }
        replace(object.open + 1..<object.close, with: content)
    }

    /// Returns a member with the same blanks around `:` as another one.
    private func member(
        _ name: String, _ value: JSONValue, like other: Member, indentation: [UInt8]
    ) -> [UInt8] {
        var separator = Array(bytes[endOfValue(other.start)..<other.value.lowerBound])
        if separator.contains(.lineFeed) { separator = Array(": ".utf8) }
        return JSONValue.string(name).bytes + separator + text(value, below: indentation)
    }

    /// Returns the value as text: an object on several lines, anything else on one.
    private func text(_ value: JSONValue, below indentation: [UInt8]) -> [UInt8] {
        guard value.object?.isEmpty == false, bytes.contains(.lineFeed) else { return value.bytes }
        let level = indentation.count / unit.count
        return value.configuration(within: level).utf8
            .flatMap { $0 == .lineFeed ? newline + indentation : [$0] }
    }

    private var newline: [UInt8] {
        bytes.contains(.carriageReturn) ? [.carriageReturn, .lineFeed] : [.lineFeed]
    }

    /// The indentation of the file's first indented line.
    private var unit: [UInt8] {
        for (index, byte) in bytes.enumerated() where byte == .lineFeed {
            let blanks = bytes[(index + 1)...].prefix { $0 == .space || $0 == .tab }
            if !blanks.isEmpty { return Array(blanks) }
        }
        return [.space, .space]
    }

    /// Returns the indentation of the line that holds an index.
    private func indentation(at index: Int) -> [UInt8] {
        guard let line = bytes[..<index].lastIndex(of: .lineFeed) else { return [] }
        return Array(bytes[(line + 1)...].prefix { $0 == .space || $0 == .tab })
    }

    /// Returns the start of the blanks before a member's name.
    private func leadStart(of index: Int) -> Int {
        (bytes[..<index].lastIndex { !JSONText.isBlank($0) } ?? index - 1) + 1
    }

    /// The index of the object, after a byte order mark.
    private var start: Int {
        skipBlanks(bytes.starts(with: [0xEF, 0xBB, 0xBF] as [UInt8]) ? 3 : 0)
    }

    private func object(at path: [String]) -> Span? {
        var index = start
        for name in path {
            guard let member = span(at: index)?.members.last(where: { ExactText.isSame($0.name, name) })
            else { return nil }
            index = member.value.lowerBound
        }
        return span(at: index)
    }

    private func span(at open: Int) -> Span? {
        guard open < bytes.count, bytes[open] == .leftBrace else { return nil }
        var members: [Member] = []
        var index = skipBlanks(open + 1)
        while index < bytes.count, bytes[index] == .quote {
            let end = endOfValue(index)
            let value = skipBlanks(skipBlanks(end) + 1)
            guard let name = (try? JSONValue(parsing: Array(bytes[index..<end])))?.string else { return nil }
            members.append(Member(name: name, start: index, value: value..<endOfValue(value)))
            index = skipBlanks(endOfValue(value))
            if index < bytes.count, bytes[index] == .comma { index = skipBlanks(index + 1) }
        }
        guard index < bytes.count, bytes[index] == .rightBrace else { return nil }
        return Span(open: open, close: index, members: members)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == .space || byte == .tab || byte == .lineFeed || byte == .carriageReturn
    }

    private func skipBlanks(_ index: Int) -> Int {
        bytes[min(index, bytes.count)...].firstIndex { !JSONText.isBlank($0) } ?? bytes.count
    }

    /// Returns the index after the value that starts at an index.
    private func endOfValue(_ start: Int) -> Int {
        var depth = 0
        var isInString = false
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case .backslash where isInString: index += 1
            case .quote: isInString.toggle()
            case .leftBrace where !isInString, .leftBracket where !isInString: depth += 1
            case .rightBrace where !isInString, .rightBracket where !isInString:
                if depth == 0 { return index }
                depth -= 1
            case .comma where !isInString && depth == 0: return index
            case let byte where !isInString && depth == 0 && JSONText.isBlank(byte): return index
            case .colon where !isInString && depth == 0: return index
            default: break
            }
            index += 1
            if depth == 0, !isInString, [.quote, .rightBrace, .rightBracket].contains(bytes[index - 1]) {
                return index
            }
        }
        return min(index, bytes.count)
    }
}
