package import OIDCCore

/// The head of an answer, collected line by line, with unchanged bytes. The heads of interim answers (RFC 9110
/// §15.2) come before that of the final one, and trailers after it.
package struct ResponseHead {
    package struct Field {
        package let name: String
        package var value: [UInt8]

        package var text: String { String(decoding: value, as: UTF8.self) }
        /// The value with a character for each byte.
        package var latin1: String { Latin1.decode(value) }
    }

    /// The size limit of all lines together, including interim answers and trailers, in bytes.
    package static let byteLimit = 64 * 1_024
    /// The limit for their number.
    package static let lineLimit = 1_000

    package private(set) var status = 0
    package private(set) var reason: [UInt8] = []
    package private(set) var fields: [Field] = []
    package private(set) var interimCount = 0
    /// Whether the final answer's head has ended.
    package private(set) var isComplete = false
    private var byteCount = 0
    private var lineCount = 0

    /// Returns whether a faulty server may send a body although the answer has none (RFC 9112 §6.3): the method was HEAD,
    /// or the head announces one.
    package func mayLeaveStrayBody(after method: HTTPMethod) -> Bool {
        guard method != HTTPMethod("HEAD") else { return true }
        guard status == 204 || status == 304 else { return false }
        return !values("Transfer-Encoding").isEmpty || !values("Content-Length").allSatisfy { $0 == "0" }
    }

    package enum Line {
        case more
        /// The end of the head of an interim answer, or of the final one.
        case interim, complete
        /// The end of a head whose body libcurl would decode, though no request asks for that (RFC 9112 §7.4). It keeps
        /// all that comes of one piece, even while the transfer is paused.
        case encoded
        /// Not a line of a head (RFC 9112 §4, §5). What can be read of it is.
        case malformed
        case tooLarge
    }

    /// Whether the next line is the first one of a head.
    private var startsHead = true

    package init() {}

    package var headers: HTTPHeaders { HTTPHeaders(fields.map { ($0.name, $0.text) }) }

    /// The answer without its body.
    package var response: HTTPResponse { HTTPResponse(status: status, headers: headers) }

    package func values(_ name: String) -> [String] {
        fields.filter { ASCII.isSameIgnoringCase($0.name, name) }.map(\.text)
    }

    /// Takes the next line; those of trailers are only counted.
    package mutating func take(_ line: UnsafeRawBufferPointer) -> Line {
        byteCount += line.count
        lineCount += 1
        guard byteCount <= Self.byteLimit, lineCount <= Self.lineLimit else { return .tooLarge }
        guard !isComplete else { return .more }
        var end = line.count
        while end > 0, line[end - 1] == .lineFeed || line[end - 1] == .carriageReturn { end -= 1 }
        let text = line[..<end]
        if text.isEmpty { return endHead() }
        // Only the first line is a status line: libcurl takes others like it for fields, and keeps those before them.
        let isStart = startsHead
        startsHead = false
        let isWellFormed = isStart ? text.starts(with: "HTTP/".utf8) && begin(text) : addField(text)
        return isWellFormed && FieldSyntax.isValue(text) ? .more : .malformed
    }

    private mutating func endHead() -> Line {
        startsHead = true
        isComplete = status >= 200
        if !isComplete { interimCount += 1 }
        guard values("Transfer-Encoding").allSatisfy(Self.leavesBody) else { return .encoded }
        return isComplete ? .complete : .interim
    }

    /// Returns whether the body has no transfer coding except for its framing.
    private static func leavesBody(_ codings: String) -> Bool {
        codings.split(separator: ",").allSatisfy {
            ["chunked", "identity", ""].contains(ASCII.lowercased(ASCII.trimmed($0)))
        }
    }

    /// Takes a status line; returns false if it is malformed.
    private mutating func begin(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        let words = line.split(separator: .space, maxSplits: 2)
        status = words.count > 1 ? Int(String(decoding: Self.trimmed(words[1]), as: UTF8.self)) ?? 0 : 0
        reason = words.count > 2 ? Array(words[2]) : []
        fields = []
        return (100...599).contains(status) && words[1].startIndex == words[0].endIndex + 1
    }

    /// Takes a field, or the folded rest of one; returns false if it is malformed.
    private mutating func addField(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        if let first = line.first, first == .space || first == .tab, !fields.isEmpty {
            fields[fields.count - 1].value += [.space] + Self.trimmed(line)
            return true
        }
        guard let colon = line.firstIndex(of: .colon) else { return false }
        let name = line[..<colon]
        fields.append(
            Field(
                name: String(decoding: Self.trimmed(name), as: UTF8.self),
                value: Array(Self.trimmed(line[(colon + 1)...]))))
        return FieldSyntax.isName(name)
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var rest = bytes
        while let first = rest.first, ASCII.isBlank(first) { rest = rest.dropFirst() }
        while let last = rest.last, ASCII.isBlank(last) { rest = rest.dropLast() }
        return rest
    }
}

/// The syntax of header fields.
enum FieldSyntax {
    /// Returns whether bytes are a field's name, which is a token (RFC 9110 §5.1, §5.6.2).
    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { ASCII.isTokenCharacter($0) }
    }

    /// Returns whether bytes are a field's value: no control character except the tab (RFC 9110 §5.5).
    static func isValue(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { !ASCII.isControl($0) || $0 == .tab }
    }
}
