import LoopbackHTTP
import OIDCCore

/// The status and header fields of a server's answer, with unchanged bytes.
struct ProxyResponseHead {
    struct Field {
        let name: String
        var value: [UInt8]

        var text: String { String(decoding: value, as: UTF8.self) }
        /// The value with a character for each byte.
        var latin1: String { Latin1.decode(value) }
    }

    /// The size limit of all header lines together, including those of interim answers, in bytes.
    static let byteLimit = 256 * 1_024
    /// The limit for the number of interim answers before the final one.
    private static let interimLimit = 32

    private(set) var status = 0
    private(set) var reason: [UInt8] = []
    private(set) var fields: [Field] = []
    private var byteCount = 0
    private var interimCount = 0
    private(set) var isComplete = false

    enum Line {
        case more
        /// The end of the header of an interim answer (RFC 9110 §15.2), or of the final one.
        case interim, complete
        case malformed
    }

    mutating func take(_ line: UnsafeRawBufferPointer) -> Line {
        guard !isComplete else { return .more }
        byteCount += line.count
        guard byteCount <= Self.byteLimit else { return .malformed }
        var end = line.count
        while end > 0, line[end - 1] == .lineFeed || line[end - 1] == .carriageReturn { end -= 1 }
        let text = line[..<end]
        if text.isEmpty {
            if status >= 200 { isComplete = true } else { interimCount += 1 }
            guard interimCount <= Self.interimLimit else { return .malformed }
            return isComplete ? .complete : .interim
        }
        guard HTTP1.isFieldValue(text) else { return .malformed }
        if text.starts(with: "HTTP/".utf8) { return begin(text) ? .more : .malformed }
        if let first = text.first, first == .space || first == .tab {
            guard !fields.isEmpty else { return .malformed }
            fields[fields.count - 1].value += [.space] + ProxyResponseHead.trimmed(text)
            return .more
        }
        guard let colon = text.firstIndex(of: .colon), HTTP1.isToken(text[..<colon]) else {
            return .malformed
        }
        fields.append(
            Field(
                name: String(decoding: text[..<colon], as: UTF8.self),
                value: ProxyResponseHead.trimmed(text[(colon + 1)...])))
        return .more
    }

    private mutating func begin(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        let words = line.split(separator: .space, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count > 1, let status = Int(String(decoding: words[1], as: UTF8.self)),
            (100...599).contains(status)
        else { return false }
        self.status = status
        reason = words.count > 2 ? Array(words[2]) : []
        fields = []
        return true
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        var rest = bytes
        while let first = rest.first, first == .space || first == .tab { rest = rest.dropFirst() }
        while let last = rest.last, last == .space || last == .tab { rest = rest.dropLast() }
        return Array(rest)
    }

    func values(_ name: String) -> [String] {
        fields.filter { ASCII.isSameIgnoringCase($0.name, name) }.map(\.text)
    }

    /// The answer without its body, for the rules of tokens and nonces.
    var response: HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders(fields.map { ($0.name, $0.text) }))
    }

    /// Returns the value of Content-Length; nil if there is none or a Transfer-Encoding. Throws if it is
    /// malformed or has two values.
    func bodyLength() throws(HTTP1.Rejection) -> Int? {
        guard values("Transfer-Encoding").isEmpty else { return nil }
        let lengths = Set(values("Content-Length"))
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1, (1...18).contains(text.utf8.count),
            text.utf8.allSatisfy({ ASCII.isDigit($0) }), let length = Int(text)
        else { throw HTTP1.Rejection(502, "Content-Length is malformed, or given twice") }
        return length
    }
}
